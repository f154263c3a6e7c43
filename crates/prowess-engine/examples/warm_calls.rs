//! How long a call of a Python tool takes once its worker is warm, beside the same function behind a bare pipe. Prints a
//! name and the median in microseconds per line; `cargo xtask bench run` makes ratios of them. Takes the folder of the
//! example `greeting`.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use prowess_engine::{
    ApprovalStore, Call, Cancel, Consent, NoApprover, PythonWorkers, Subject, SystemClock, World,
    approve, prepare, run_with,
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

fn bare() -> Result<Vec<Duration>, Error> {
    let mut python = Command::new("/usr/bin/python3")
        .args(["-I", "-c", BARE])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut input = python.stdin.take().ok_or("stdin is piped")?;
    let mut output = BufReader::new(python.stdout.take().ok_or("stdout is piped")?);
    let mut times = Vec::new();
    let mut line = String::new();
    for call in 0..WARM_UP_CALLS + CALLS {
        let started = Instant::now();
        input.write_all(b"{\"name\": \"world\"}\n")?;
        line.clear();
        output.read_line(&mut line)?;
        if call >= WARM_UP_CALLS {
            times.push(started.elapsed());
        }
    }
    drop(input);
    python.wait()?;
    Ok(times)
}

/// The whole way of a call, and the part of it behind the decision.
fn warm(folder: &Path) -> Result<[Vec<Duration>; 2], Error> {
    let world = World::of_this_process()?;
    let workers = PythonWorkers::new(2);
    let file = folder.join("SKILL.md");
    let text = std::fs::read_to_string(&file)?;
    let skill = prowess_format::check(&text, prowess_format::ReadOptions::DETECT).skill;
    let tool = skill.tool("greet").ok_or("the skill greets")?;
    let values = serde_json::json!({ "name": "world" });
    let values = values.as_object().ok_or("an object")?;
    let store = ApprovalStore::of(&world.state);
    let mut times = [Vec::new(), Vec::new()];
    for call in 0..WARM_UP_CALLS + CALLS {
        let started = Instant::now();
        let subject = Subject {
            skill: &skill,
            name: "greeting",
            directory: Some(folder),
            file: &file,
            trust: Trust::of(&skill, Tier::Experimental, None, Origin::Local),
        };
        let wish = Call { subject, tool, values, mode: Mode::Global };
        let prepared = prepare(wish, &world)?;
        let allowed =
            approve(&prepared, Consent::InAdvance, &mut NoApprover, &SystemClock, &store)?;
        let decided = Instant::now();
        let envelope =
            run_with(&workers, &prepared, &allowed, &world, &Cancel::default(), &mut |_| ());
        assert!(envelope.error.is_none(), "{:?}", envelope.error);
        if call >= WARM_UP_CALLS {
            times[0].push(started.elapsed());
            times[1].push(decided.elapsed());
        }
    }
    Ok(times)
}

#[expect(clippy::print_stdout, reason = "the result")]
fn main() -> Result<(), Error> {
    let folder =
        std::env::args_os().nth(1).map(PathBuf::from).ok_or("name the folder of the skill")?;
    let folder = folder.canonicalize()?;
    let bare = bare()?;
    let [whole, run] = warm(&folder)?;
    println!("bare {}", median(bare));
    println!("run {}", median(run));
    println!("whole {}", median(whole));
    Ok(())
}
