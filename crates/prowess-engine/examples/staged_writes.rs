//! Times of runs that write, staged and directly: `cargo xtask bench run` reads them.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use prowess_core::ChangesState;
use prowess_engine::{
    Call, CancellationToken, Consent, Engine, RunDecision, SkillFolders, SkillResolver as _, World,
    Writes, changes, prepare,
};
use prowess_policy::Mode;
use serde_json::Map;

/// Tools that write; `{}` is the program.
const SKILL: &str = "---\nname: bench\nversion: 1.0.0\ndescription: Writes files\npermissions: [\"filesystem:write:./**\", \"shell:execute:python3\"]\n---\n";
/// The tools, with their programs.
const TOOLS: &[(&str, &str)] = &[
    ("none", "pass"),
    ("one", "open('0/0', 'w').write('new')"),
    ("thousand", "[open(f'{i // 100}/{i % 100}', 'w').write('new') for i in range(0, 10000, 10)]"),
    ("large", "open('large', 'wb').write(bytes(100 << 20))"),
];
/// The files of the project.
const FILES: usize = 10_000;
/// How often each is run in either way.
const RUNS: usize = 9;

type Error = Box<dyn std::error::Error>;

/// Fills the project again, as it was at the start.
fn fill(root: &Path) -> std::io::Result<()> {
    for folder in 0..FILES / 100 {
        let folder = root.join(folder.to_string());
        fs::create_dir_all(&folder)?;
        for file in 0..100 {
            fs::write(folder.join(file.to_string()), format!("text of file {file}\n"))?;
        }
    }
    Ok(())
}

/// The milliseconds of one run, with everything before and after it.
fn once(tool: &str, world: &Arc<World>, folders: &SkillFolders) -> Result<f64, Error> {
    let skill = folders.resolve("bench")?;
    let tool = skill.skill.tools.iter().find(|it| *it.name == tool).ok_or("no tool")?.clone();
    let call = Call { skill, tool, values: Map::new(), mode: Mode::Global };
    let started = Instant::now();
    let prepared = prepare(call, world)?;
    let engine = Engine::new(Arc::clone(world));
    let RunDecision::Ready(ready) = prepared.decide(&engine, Consent::InAdvance)? else {
        return Err("nobody can be asked".into());
    };
    let envelope = ready.run(&CancellationToken::default(), &mut |_| {});
    let time = started.elapsed().as_secs_f64() * 1e3;
    if !envelope.is_success() {
        return Err(format!("{envelope:?}").into());
    }
    if let Some(run) = envelope.changes.filter(|run| run.state == ChangesState::Applied) {
        changes::undo(&world.state, &run.run)?;
        changes::discard(&world.state, &run.run)?;
    }
    Ok(time)
}

#[expect(clippy::print_stdout, reason = "the result")]
fn main() -> Result<(), Error> {
    let folder = tempfile::tempdir()?;
    let root = folder.path().canonicalize()?;
    for name in ["home", "repo", "skills/bench"] {
        fs::create_dir_all(root.join(name))?;
    }
    fs::create_dir_all(root.join("repo/.git"))?;
    fs::write(root.join("repo/.git/HEAD"), "ref: refs/heads/main\n")?;
    let tools = TOOLS.iter().map(|(name, program)| {
        format!(
            "\n### {name}\n\nWrites.\n\n#### Command\n\n```bash\npython3 -c \"{program}\"\n```\n"
        )
    });
    fs::write(root.join("skills/bench/SKILL.md"), tools.fold(SKILL.to_owned(), |a, b| a + &b))?;
    fill(&root.join("repo"))?;
    let path = std::ffi::OsString::from("/usr/local/bin:/usr/bin:/bin");
    let world = World::at(&root.join("home"), &root.join("repo"), &path, Vec::new())?;
    let worlds =
        [Writes::Live, Writes::USUAL].map(|writes| Arc::new(World { writes, ..world.clone() }));
    let folders = SkillFolders { folders: vec![root.join("skills")] };
    let mut times: BTreeMap<(usize, usize), Vec<f64>> = BTreeMap::new();
    // The first round is not counted.
    for round in 0..=RUNS {
        for (number, (tool, _)) in TOOLS.iter().enumerate() {
            for (way, world) in worlds.iter().enumerate() {
                let time = once(tool, world, &folders)?;
                if round > 0 {
                    times.entry((number, way)).or_default().push(time);
                }
                if way == 0 {
                    let _ = fs::remove_file(root.join("repo/large"));
                    fill(&root.join("repo"))?;
                }
            }
        }
    }
    for ((number, way), mut times) in times {
        times.sort_by(f64::total_cmp);
        let way = ["direct", "staged"][way];
        println!("{}-{way} {:.2}", TOOLS[number].0, times[times.len() / 2]);
    }
    Ok(())
}
