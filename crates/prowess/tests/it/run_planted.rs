//! Files that a tool left with `--live` are examined however its run ends (attack sandbox-A10). Otherwise a run that is
//! ended leaves none.

#![cfg(target_os = "linux")]

use std::process::Command;
use std::time::{Duration, Instant};

use prowess_testkit::Scene;

use crate::run::probe;
use crate::run_endings::{processes, started, started_with};

/// Leads git elsewhere, and does not end when it is asked to.
const PLANTS: &str = "#!/bin/sh
trap '' TERM
echo ../elsewhere > .git/commondir
echo ready
while :; do sleep 0.05; done
";

fn scene() -> Scene {
    let front = "permissions: [\"filesystem:write:./**\", \"shell:execute:sleep,true\"]\n";
    probe(front, &[("wait", &[], "./wait.sh"), ("look", &[], "true")])
        .script("skills/probe/wait.sh", PLANTS)
}

fn is_planted(scene: &Scene) -> bool {
    scene.path().join("repo/.git/commondir").exists()
}

#[test]
fn a_second_signal_does_not_skip_the_look() {
    let scene = scene();
    let (mut child, _output) = started_with(&scene, &["--live"]);
    assert!(is_planted(&scene), "the tool is at work");
    // Two different ones: the system makes one of two that are alike.
    for signal in ["-INT", "-TERM"] {
        let kill = Command::new("kill").args([signal, &child.id().to_string()]).status();
        assert!(kill.expect("there is `kill`").success());
    }
    assert_eq!(child.wait().expect("it ends").code(), Some(130));
    assert!(!is_planted(&scene));
    assert!(scene.path().join("repo/.git/commondir.planted").exists());
}

#[test]
fn the_next_run_looks_at_what_a_killed_one_left() {
    let scene = scene();
    let (mut child, _output) = started_with(&scene, &["--live"]);
    child.kill().expect("SIGKILL");
    child.wait().expect("it is gone");
    let patience = Instant::now() + Duration::from_mins(1);
    while !processes(&scene).is_empty() {
        assert!(Instant::now() < patience, "something lives on");
        std::thread::yield_now();
    }
    assert!(is_planted(&scene), "nobody could look");
    let look = || {
        let output = scene.output(&["run", "../skills/probe/look", "--yes"], "");
        assert_eq!(output.status.code(), Some(0));
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let said = look();
    let late = "a run of `probe/wait` was killed before its files were examined";
    assert!(said.contains(late), "{said}");
    assert!(said.contains("it was renamed to `commondir.planted`"), "{said}");
    assert!(!is_planted(&scene));
    // Once is enough, and the run that looked has left no note of its own.
    assert_eq!(look(), "");
    let notes = std::fs::read_dir(scene.path().join("home/.local/share/prowess/runs"));
    assert_eq!(notes.expect("there were some").count(), 0);
}

#[test]
fn a_run_that_is_killed_leaves_nothing() {
    let scene = scene();
    let (mut child, _output) = started(&scene);
    assert!(!is_planted(&scene), "the tool has written it, to a place of its own");
    child.kill().expect("SIGKILL");
    child.wait().expect("it is gone");
    let patience = Instant::now() + Duration::from_mins(1);
    while !processes(&scene).is_empty() {
        assert!(Instant::now() < patience, "something lives on");
        std::thread::yield_now();
    }
    assert!(!is_planted(&scene));
    // Nothing of it can be applied later either.
    let listed = scene.run("runs list");
    assert!(listed.contains("there are no changes of runs"), "{listed}");
}
