//! How a run ends: its codes, and that nothing is left of it.

#![cfg(target_os = "linux")]

use std::io::{BufRead as _, BufReader};
use std::process::{Child, ChildStdout, Command, Stdio};

use prowess_testkit::Scene;

use crate::run::{probe, skill};

const ASLEEP: &str = "permissions: [\"shell:execute:sleep\"]\n";
const TALKS: &str = "#!/bin/sh\necho ready\nwhile :; do echo more; sleep 0.05; done\n";
const WAITS: &str = "#!/bin/sh\necho ready\nwhile :; do sleep 0.05; done\n";

fn script(text: &str) -> Scene {
    probe(ASLEEP, &[("wait", &[], "./wait.sh")]).script("skills/probe/wait.sh", text)
}

/// Starts a run and waits until its tool has said something.
pub(crate) fn started(scene: &Scene) -> (Child, BufReader<ChildStdout>) {
    started_with(scene, &[])
}

/// The same, with further options.
pub(crate) fn started_with(scene: &Scene, options: &[&str]) -> (Child, BufReader<ChildStdout>) {
    let arguments = [&["run", "../skills/probe/wait", "--yes"], options].concat();
    let mut command = scene.command(&arguments);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().expect("it starts");
    let mut output = BufReader::new(child.stdout.take().expect("it is a pipe"));
    let mut line = String::new();
    output.read_line(&mut line).expect("the tool says something");
    assert_eq!(line, "ready\n");
    (child, output)
}

/// The processes that have something of the scene on their command line.
pub(crate) fn processes(scene: &Scene) -> Vec<String> {
    let place = scene.path().display().to_string();
    let entries = std::fs::read_dir("/proc").expect("there is /proc").flatten();
    entries
        .filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok())
        .map(|line| String::from_utf8_lossy(&line).replace('\0', " "))
        .filter(|line| line.contains(&place))
        .collect()
}

#[test]
fn a_reader_that_leaves_ends_the_run() {
    let scene = script(TALKS);
    let (mut child, output) = started(&scene);
    assert!(!processes(&scene).is_empty(), "the tool is at work");
    // As in `prowess run … | head -1`.
    drop(output);
    assert_eq!(child.wait().expect("it ends").code(), Some(141));
    assert_eq!(processes(&scene), [] as [&str; 0]);
}

#[test]
fn the_code_tells_the_signal() {
    for (signal, code) in [("-HUP", 129), ("-INT", 130), ("-TERM", 143)] {
        let scene = script(WAITS);
        let (mut child, _output) = started(&scene);
        let kill = Command::new("kill").args([signal, &child.id().to_string()]).status();
        assert!(kill.expect("there is `kill`").success());
        assert_eq!(child.wait().expect("it ends").code(), Some(code), "{signal}");
        assert_eq!(processes(&scene), [] as [&str; 0]);
    }
}

#[test]
fn the_codes_of_the_help_are_those_of_runs() {
    let help = probe("", &[]).stdout("run --help");
    let parameter: &[(&str, &str, &str)] = &[("text", "string", "yes")];
    let tools = skill(
        "timeout: 1\n",
        &[
            ("fine", &[], "true"),
            ("own", &[], "ls nowhere"),
            ("one", &[], "false"),
            ("value", parameter, "echo {{text}}"),
            ("slow", &[], "sleep 60"),
            ("locked", &[], "./locked.sh"),
            ("gone", &[], "no-such-program-anywhere"),
        ],
    );
    let scene = probe("", &[])
        .file("skills/probe/SKILL.md", tools)
        .file("skills/probe/locked.sh", "#!/bin/sh\n")
        .file("broken/SKILL.md", "---\nname: broken\nversion: x\n---\n\n### a\n");
    for (arguments, code) in [
        ("run ../skills/probe/fine --yes", 0),
        ("run ../skills/probe/one --yes", 1),
        ("run ../skills/probe/own --yes", 2),
        ("run ../skills/probe/value --yes", 2),
        ("run ../skills/probe/fine --no-such-option", 2),
        ("run ../skills/probe", 2),
        ("run ../nowhere --yes", 3),
        ("run ../skills/probe/nothing --yes", 3),
        ("run ../skills/probe/slow --yes", 124),
        ("run ../skills/probe/fine", 125),
        ("run ../broken --yes", 125),
        ("run ../skills/probe/locked --yes", 126),
        ("run ../skills/probe/gone --yes", 127),
    ] {
        let shown = scene.run(arguments);
        assert!(shown.starts_with(&format!("exit {code}\n")), "{arguments}\n{shown}");
        let line = format!("  {code:>3}  ");
        assert!(code == 1 || help.lines().any(|it| it.starts_with(&line)), "{code} is not told");
    }
}
