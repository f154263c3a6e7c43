//! `prowess check` on 10,000 real files, beside the physical limit, the reference validator and other checkers.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context as _, Result, bail, ensure};

use super::start_up;
use crate::process::{self, Profile, command, succeeds};
use crate::terminal::{self, Align, say};
use crate::test::install::{self, Permission};
use crate::usage;

pub(crate) const SUMMARY: &str = "10,000 files beside `wc -c`, skills-ref and other checkers";

/// How many files are checked: the corpus, repeated.
const FILES: usize = 10_000;
/// Rounds of the short commands; the slow peers run once.
const ROUNDS: usize = 5;

/// Goals of the benchmark, as ratios.
const WC_GOAL: f64 = 4.0;
const REFERENCE_GOAL: f64 = 200.0;
const START_UP_GOAL: f64 = 2.0;
const MEMORY_GOAL_MIB: f64 = 100.0;

/// Other checkers that the package registries serve: name, how to get it, how to run it on a folder.
struct Peer {
    name: &'static str,
    source: Source,
    arguments: &'static [&'static str],
}

enum Source {
    Pip(&'static str),
    Npm(&'static str),
}

const PEERS: &[Peer] = &[
    Peer { name: "agnix", source: Source::Pip("agnix==0.59.3"), arguments: &["--format", "json"] },
    Peer { name: "skillport", source: Source::Pip("skillport==1.1.2"), arguments: &["validate"] },
    Peer {
        name: "skill-check",
        source: Source::Npm("skill-check@1.2.0"),
        // Its scan is on by default and wants the network.
        arguments: &["check", "--no-security-scan", "--format", "json"],
    },
];

struct Measured {
    wall: f64,
    cpu: f64,
    peak_mib: f64,
}

struct Plan {
    argv: Vec<String>,
    stdin: Option<PathBuf>,
}

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let mut with_peers = true;
    for argument in arguments {
        match argument.as_str() {
            "--no-peers" => with_peers = false,
            other => return Err(usage::unexpected(other)),
        }
    }
    terminal::heading("Building");
    let prowess = process::build_prowess(Profile::Release)?;
    let set = FileSet::prepare()?;

    terminal::heading(&format!("Checking {FILES} files, {ROUNDS} rounds in turn"));
    let program = prowess.display().to_string();
    let folder = set.folder.display().to_string();
    let list = format!("--files-from={}", set.list0.display());
    let check = |threads: &str, what: &str| {
        let words = [&program, "check", "--format", "concise", "--threads", threads, what];
        Plan { argv: words.map(str::to_owned).to_vec(), stdin: None }
    };
    let wc = Plan {
        argv: vec![
            "wc".to_owned(),
            "-c".to_owned(),
            format!("--files0-from={}", set.list0.display()),
        ],
        stdin: None,
    };
    // `wc` and the reference validator get a list; so do we. A walk has to find the files first.
    let plans =
        [wc, check("1", &list), check("0", &list), check("1", &folder), check("0", &folder)];
    let [wc, one_thread, all_threads, walk_one, walk_all] = measure(ROUNDS, &plans)?
        .try_into()
        .map_err(|_| anyhow::anyhow!("five commands give five results"))?;

    terminal::heading("Starting up");
    let start_up = start_up::ratio(&prowess)?;

    let mut rows = vec![header()];
    rows.push(row("wc -c (physical limit)", &wc, &wc, ""));
    rows.push(row(
        "prowess check, one thread",
        &one_thread,
        &wc,
        &goal(one_thread.wall / wc.wall <= WC_GOAL, &format!("≤ {WC_GOAL} × wc")),
    ));
    rows.push(row(
        "prowess check, all threads",
        &all_threads,
        &wc,
        &goal(all_threads.peak_mib < MEMORY_GOAL_MIB, &format!("< {MEMORY_GOAL_MIB} MiB")),
    ));
    rows.push(row("the same as a walk, one thread", &walk_one, &wc, ""));
    rows.push(row("the same as a walk, all threads", &walk_all, &wc, ""));
    if with_peers {
        terminal::heading("The reference validator and other checkers, once each");
        let reference = reference(&set)?;
        rows.push(row(
            "skills-ref, one process",
            &reference,
            &wc,
            &goal(
                reference.wall / all_threads.wall >= REFERENCE_GOAL,
                &format!("{:.0} × our time, ≥ {REFERENCE_GOAL}", reference.wall / all_threads.wall),
            ),
        ));
        for peer in PEERS {
            let measured = peer.measure(&set)?;
            let ahead = measured.wall / all_threads.wall;
            rows.push(row(
                peer.name,
                &measured,
                &wc,
                &goal(ahead > 1.0, &format!("{ahead:.0} × our time")),
            ));
        }
    }
    let columns =
        [Align::Left, Align::Right, Align::Right, Align::Right, Align::Right, Align::Left];
    print!("{}", terminal::table(&columns, &rows));
    println!(
        "\nprowess --version takes {start_up:.2} × a Rust hello-world: {}",
        goal(start_up <= START_UP_GOAL, &format!("≤ {START_UP_GOAL}"))
    );
    Ok(())
}

fn header() -> Vec<String> {
    ["program", "wall", "CPU", "× wc", "peak", "goal"].map(str::to_owned).to_vec()
}

fn row(name: &str, measured: &Measured, limit: &Measured, goal: &str) -> Vec<String> {
    vec![
        name.to_owned(),
        format!("{:.3} s", measured.wall),
        format!("{:.3} s", measured.cpu),
        format!("{:.2}", measured.wall / limit.wall),
        format!("{:.0} MiB", measured.peak_mib),
        goal.to_owned(),
    ]
}

fn goal(met: bool, what: &str) -> String {
    format!("{what}: {}", if met { "met" } else { "missed" })
}

/// The corpus repeated to [`FILES`] files, each in a folder of its own name.
struct FileSet {
    folder: PathBuf,
    /// Every file, ended by NUL bytes.
    list0: PathBuf,
    /// Every skill folder, a line each.
    folders: PathBuf,
}

impl FileSet {
    fn prepare() -> Result<Self> {
        // Outside the repository: `target` is ignored by git, and a checker that honours that would find nothing.
        let home = std::env::temp_dir().join("prowess-bench-check-2");
        let set = Self {
            folder: home.join("files"),
            list0: home.join("files.list0"),
            folders: home.join("folders.list"),
        };
        if set.folders.is_file() {
            return Ok(set);
        }
        let corpus = process::workspace_root().join("../shared/corpus/files");
        if !corpus.is_dir() {
            bail!("the corpus of real files is missing at `{}`", corpus.display());
        }
        let sources = skill_files(&corpus)?;
        ensure!(!sources.is_empty(), "the corpus at `{}` is empty", corpus.display());
        say(&format!("repeating {} files to {FILES}", sources.len()));
        let (mut list0, mut folders) = (Vec::new(), String::new());
        for number in 0..FILES {
            let source = &sources[number % sources.len()];
            let name = source.parent().and_then(Path::file_name).unwrap_or_default();
            let copy = number / sources.len();
            // As in a repository of skills: a folder each, side by side. Names that occur twice go into another one.
            let folder = (0..sources.len())
                .map(|twin| set.folder.join(format!("{copy}-{twin}")).join(name))
                .find(|folder| !folder.exists())
                .context("each copy of the corpus has room for its twins")?;
            let file = folder.join("SKILL.md");
            fs::create_dir_all(&folder)
                .and_then(|()| fs::copy(source, &file))
                .with_context(|| format!("could not write `{}`", file.display()))?;
            list0.extend_from_slice(file.display().to_string().as_bytes());
            list0.push(0);
            folders.push_str(&folder.display().to_string());
            folders.push('\n');
        }
        fs::write(&set.list0, list0)?;
        // Written last: its presence says that the set is complete.
        fs::write(&set.folders, folders)?;
        Ok(set)
    }
}

fn skill_files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder)? {
            let path = entry?.path();
            if path.is_dir() {
                open.push(path);
            } else if path.file_name().is_some_and(|name| name == "SKILL.md") {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

fn measure(rounds: usize, plans: &[Plan]) -> Result<Vec<Measured>> {
    let commands: Vec<String> = plans
        .iter()
        .map(|plan| {
            let argv: Vec<String> = plan.argv.iter().map(|word| json_text(word)).collect();
            let stdin = plan
                .stdin
                .as_ref()
                .map_or("null".to_owned(), |path| json_text(&path.display().to_string()));
            format!("{{\"argv\":[{}],\"stdin\":{stdin}}}", argv.join(","))
        })
        .collect();
    let request = format!("{{\"rounds\":{rounds},\"commands\":[{}]}}", commands.join(","));
    let script = process::workspace_root().join("xtask/assets/measure.py");
    let mut python = command("python3")
        .arg(script)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .context("could not start `python3`")?;
    python.stdin.take().context("stdin is piped")?.write_all(request.as_bytes())?;
    let output = python.wait_with_output()?;
    ensure!(output.status.success(), "measuring failed: {}", output.status);
    let answer = String::from_utf8(output.stdout)?;
    let results = answer.split('{').skip(1).map(|entry| {
        Ok(Measured {
            wall: json_number(entry, "wall")?,
            cpu: json_number(entry, "cpu")?,
            peak_mib: json_number(entry, "peak_kib")? / 1024.0,
        })
    });
    results.collect()
}

/// A JSON string; paths and words hold nothing but these two to escape.
fn json_text(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

fn json_number(object: &str, key: &str) -> Result<f64> {
    let (_, rest) = object
        .split_once(&format!("\"{key}\":"))
        .with_context(|| format!("`{key}` is missing in `{object}`"))?;
    let digits = rest.trim_start();
    let end = digits
        .find(|character: char| {
            !(character.is_ascii_digit() || matches!(character, '.' | '-' | '+' | 'e' | 'E'))
        })
        .unwrap_or(digits.len());
    digits[..end].parse().with_context(|| format!("`{key}` is not a number in `{object}`"))
}

/// Its own clocks cover the calls alone, which favours the reference: starting Python does not count.
fn reference(set: &FileSet) -> Result<Measured> {
    let python = install::reference_validator(Permission::Granted)?;
    let script = process::workspace_root().join("xtask/assets/skills_ref_bench.py");
    let output = command(python)
        .arg(script)
        .stdin(fs::File::open(&set.folders)?)
        .stderr(Stdio::inherit())
        .output()?;
    ensure!(output.status.success(), "skills-ref failed: {}", output.status);
    let answer = String::from_utf8(output.stdout)?;
    Ok(Measured {
        wall: json_number(&answer, "wall_seconds")?,
        cpu: json_number(&answer, "cpu_seconds")?,
        peak_mib: 0.0,
    })
}

impl Peer {
    fn measure(&self, set: &FileSet) -> Result<Measured> {
        let program = self.install()?;
        let mut argv = vec![program.display().to_string()];
        argv.extend(self.arguments.iter().map(|&word| word.to_owned()));
        argv.push(set.folder.display().to_string());
        say(&format!("running {}", self.name));
        let measured = measure(1, &[Plan { argv, stdin: None }])?;
        measured.into_iter().next().context("one command gives one result")
    }

    fn install(&self) -> Result<PathBuf> {
        let home = process::target_dir().join("tools/peers").join(self.name);
        let program = match self.source {
            Source::Pip(_) => home.join("bin").join(self.name),
            Source::Npm(_) => home.join("node_modules/.bin").join(self.name),
        };
        if program.exists() {
            return Ok(program);
        }
        match self.source {
            Source::Pip(package) => {
                process::run(command("python3").args(["-m", "venv", "--clear"]).arg(&home))?;
                let mut pip = command(home.join("bin/python"));
                pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
                process::run(pip.arg(package))?;
            }
            Source::Npm(package) => {
                if !succeeds(command("npm").arg("--version")) {
                    bail!("`npm` is missing; install Node.js, or run with `--no-peers`");
                }
                fs::create_dir_all(&home)?;
                let mut npm = command("npm");
                npm.args(["install", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix"]);
                process::run(npm.arg(&home).arg(package))?;
            }
        }
        ensure!(program.exists(), "`{}` did not bring `{}`", self.name, program.display());
        Ok(program)
    }
}
