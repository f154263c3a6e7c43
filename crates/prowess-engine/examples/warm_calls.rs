//! How long a call of a Python tool takes once its worker is warm, beside the same function behind a bare pipe. Prints a
//! name and the median in microseconds per line; `cargo xtask bench run` makes ratios of them. Takes the folder of the
//! example `greeting`.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use prowess_engine::{
    CancellationToken, Consent, Engine, LoadedSkill, NoApprover, PythonWorkers, ToolHandle, World,
};
use prowess_policy::{Mode, Origin, Tier, Trust};

const CALLS: usize = 500;
const WARM_UP_CALLS: usize = 20;

/// The same function, without anything around it.
const BARE: &str = r#"
import json, sys
GREETINGS = {"en": "Hello, {}!", "de": "Hallo, {}!"}
def greet(name, language="en"):
    return {"message": GREETINGS[language].format(name), "language": language}
for line in sys.stdin:
    print(json.dumps(greet(**json.loads(line))), flush=True)
"#;

type Error = Box<dyn std::error::Error>;

fn median(mut times: Vec<Duration>) -> u128 {
    times.sort();
    times[times.len() / 2].as_micros()
}

/// A Python behind two pipes.
struct Bare {
    python: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Bare {
    fn start() -> Result<Self, Error> {
        let mut python = Command::new("/usr/bin/python3")
            .args(["-I", "-c", BARE])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let input = python.stdin.take().ok_or("stdin is piped")?;
        let output = BufReader::new(python.stdout.take().ok_or("stdout is piped")?);
        Ok(Self { python, input, output })
    }

    fn call(&mut self) -> Result<(), Error> {
        self.input.write_all(b"{\"name\": \"world\"}\n")?;
        let mut line = String::new();
        self.output.read_line(&mut line)?;
        assert!(line.contains("Hello, world!"), "{line}");
        Ok(())
    }

    fn end(mut self) -> Result<(), Error> {
        drop(self.input);
        self.python.wait()?;
        Ok(())
    }
}

/// The times of a bare call, of one through a handle, as an agent's host makes it (what was decided stands while nothing
/// changes), and of one that is prepared and decided anew. They take turns, so that whatever else the machine does
/// happens to all of them.
fn times(folder: &Path) -> Result<[Vec<Duration>; 3], Error> {
    let world = Arc::new(World::of_this_process()?);
    let file = folder.join("SKILL.md");
    let text = std::fs::read_to_string(&file)?;
    let skill = prowess_format::check(&text, prowess_format::ReadOptions::DETECT).skill;
    let tool = skill.tool("greet").ok_or("the skill greets")?.clone();
    let values = serde_json::json!({ "name": "world" });
    let values = values.as_object().ok_or("an object")?;
    let loaded = Arc::new(LoadedSkill {
        trust: Trust::of(&skill, Tier::Experimental, None, Origin::Local),
        skill,
        name: "greeting".to_owned(),
        directory: Some(folder.to_owned()),
        file,
        diagnostics: Vec::new(),
        digest: None,
    });
    let engine = Engine { workers: PythonWorkers::new(2), ..Engine::new(world) };
    let call = |handle: &ToolHandle| -> Result<(), Error> {
        let cancel = CancellationToken::default();
        let envelope = handle.call(
            values,
            &engine,
            Consent::InAdvance,
            &mut NoApprover,
            &cancel,
            &mut |_| (),
        )?;
        assert!(envelope.error.is_none(), "{:?}", envelope.error);
        Ok(())
    };
    let mut bare = Bare::start()?;
    let standing = ToolHandle::new(Arc::clone(&loaded), tool.clone(), Mode::Global);
    let mut times = [Vec::new(), Vec::new(), Vec::new()];
    for turn in 0..WARM_UP_CALLS + CALLS {
        let anew = ToolHandle::new(Arc::clone(&loaded), tool.clone(), Mode::Global);
        let started = Instant::now();
        bare.call()?;
        let first = Instant::now();
        call(&standing)?;
        let second = Instant::now();
        call(&anew)?;
        let third = Instant::now();
        if turn >= WARM_UP_CALLS {
            for (times, time) in
                times.iter_mut().zip([first - started, second - first, third - second])
            {
                times.push(time);
            }
        }
    }
    // A figure of something else would be worse than none.
    assert!(standing.has_decision(), "files that were changed just now: try again");
    bare.end()?;
    Ok(times)
}

#[expect(clippy::print_stdout, reason = "the result")]
fn main() -> Result<(), Error> {
    let folder =
        std::env::args_os().nth(1).map(PathBuf::from).ok_or("name the folder of the skill")?;
    let folder = folder.canonicalize()?;
    let [bare, standing, anew] = times(&folder)?;
    println!("bare {}", median(bare));
    println!("standing {}", median(standing));
    println!("anew {}", median(anew));
    Ok(())
}
