//! What the binary itself takes and leaves, whatever the tool does.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use prowess_testkit::Scene;
use serde_json::Value;

use crate::scene;

/// A skill with one tool.
fn probe(command: &str) -> Scene {
    let skill = format!(
        "---\nname: probe\nversion: 1.0.0\ndescription: Looks around\ntimeout: 300\n---\n\n### do\n\nDoes it.\n\n#### Parameters\n\n| Name | Type | Required | Description |\n|---|---|---|---|\n| text | string | no | Something |\n\n#### Command\n\n```bash\n{command}\n```\n"
    );
    scene()
        .home("home")
        .variable("PATH", "/usr/local/bin:/usr/bin:/bin")
        .file("repo/.git/HEAD", "ref: refs/heads/main\n")
        .file("skills/probe/SKILL.md", skill)
        .inside("repo")
}

/// Runs a program and says on the last line how much memory it or something that it has started took at most, in KiB.
const MEASURE: &str = "
import resource, subprocess, sys
code = subprocess.run(sys.argv[1:]).returncode
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
sys.exit(code)";

/// Runs a command through the binary; what it printed, and the most memory that the binary had, in KiB.
fn measured(command: &str) -> (Value, u64) {
    let scene = probe(command);
    let run = scene.command(&["run", "../skills/probe/do", "--yes", "--format", "json"]);
    let mut measured = Command::new("python3");
    measured.args(["-I", "-c", MEASURE]).arg(run.get_program()).args(run.get_args());
    measured.current_dir(run.get_current_dir().expect("it has a folder"));
    measured.env_clear();
    for (name, value) in run.get_envs() {
        measured.env(name, value.unwrap_or_default());
    }
    let output = measured.output().expect("Python is installed");
    let said = String::from_utf8_lossy(&output.stdout);
    let (envelope, most) = said.trim_end().rsplit_once('\n').unwrap_or_else(|| {
        panic!("{said}{}", String::from_utf8_lossy(&output.stderr));
    });
    (serde_json::from_str(envelope).expect("an envelope"), most.parse().expect("a number"))
}

#[test]
fn a_gibibyte_of_output_takes_little_memory() {
    // Attack sandbox-E11. The pages of the program itself count in the figure, and one that is built for tests has many of them:
    // what the output takes is the difference to a run without any.
    const WRITTEN: u64 = 1 << 30;
    const MOST_KIB: u64 = 8 << 10;
    let (_, without) = measured("head -c 1 /dev/zero");
    let (envelope, with) = measured(&format!("head -c {WRITTEN} /dev/zero"));
    assert_eq!(envelope["success"], true, "{envelope}");
    let note = format!("... [truncated {} bytes] ...", WRITTEN - 4096);
    assert!(envelope["output"].as_str().is_some_and(|text| text.contains(&note)), "{envelope}");
    assert!(with < without + MOST_KIB, "{with} KiB, and {without} KiB without output");
}

#[test]
fn nothing_outlives_a_killed_run() {
    // Attack sandbox-E04: SIGKILL for the binary, and one second.
    let marker = format!("86400.{}", std::process::id());
    let scene = probe("sleep {{text}}");
    let input = format!("text={marker}");
    let mut run = scene
        .command(&["run", "../skills/probe/do", "--yes", "--input", &input])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("it starts");
    let is_asleep = || {
        processes().iter().any(|words| {
            words == &format!("sleep\0{marker}\0")
                || words.ends_with(&format!("/sleep\0{marker}\0"))
        })
    };
    let patience = Instant::now() + Duration::from_mins(1);
    while !is_asleep() {
        assert!(Instant::now() < patience, "the tool never ran");
        std::thread::yield_now();
    }
    run.kill().expect("SIGKILL");
    run.wait().expect("it is gone");
    let killed = Instant::now();
    while processes().iter().any(|words| words.contains(&marker)) {
        assert!(killed.elapsed() < Duration::from_secs(1), "something lives on");
        std::thread::yield_now();
    }
}

/// The words of all processes of the machine.
fn processes() -> Vec<String> {
    let entries = std::fs::read_dir("/proc").expect("/proc is there").flatten();
    entries
        .filter(|entry| entry.file_name().to_str().is_some_and(|name| name.parse::<u32>().is_ok()))
        .filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok())
        .map(|words| String::from_utf8_lossy(&words).into_owned())
        .collect()
}
