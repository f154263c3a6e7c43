//! Kills the process before every step of a write.

use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::Command;

use prowess_files::atomic::{WriteOptions, write};
use prowess_files::faults::{self, Exchange, Fault};
use prowess_testkit::temporary;

const PATH: &str = "PROWESS_KILLED_PATH";
const STEP: &str = "PROWESS_KILLED_STEP";

/// The process that is killed. Its parent is [`a_kill_at_any_step_leaves_the_old_or_the_new_content`].
#[test]
#[ignore = "kills its process; another test starts it"]
fn victim() {
    let variable = |name| std::env::var(name).expect("the parent sets it");
    let fault = (variable(STEP).parse().expect("a number"), Fault::Kill);
    let (result, _) = faults::with(Some(fault), Exchange::Real, || {
        write(Path::new(&variable(PATH)), b"new", WriteOptions::PRIVATE)
    });
    panic!("it was not killed: {result:?}");
}

#[test]
fn a_kill_at_any_step_leaves_the_old_or_the_new_content() {
    let folder = temporary();
    let path = folder.path().join("file");
    let undisturbed = || write(&path, b"new", WriteOptions::PRIVATE);
    let (result, steps) = faults::with(None, Exchange::Real, undisturbed);
    result.expect("no fault is planned");
    let mut found = Vec::new();
    for step in 0..steps.len() {
        fs::write(&path, "old").expect("written");
        let output = Command::new(std::env::current_exe().expect("this is a program"))
            .args(["--exact", "killed::victim", "--ignored", "--nocapture"])
            .env(PATH, &path)
            .env(STEP, step.to_string())
            .output()
            .expect("it can be started");
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.signal(), Some(9), "{step}: {stderr}");
        found.push(fs::read_to_string(&path).expect("it is there"));
    }
    assert_eq!(found, ["old", "old", "old", "old", "new"], "{steps:?}");
    // Leftovers of killed processes do not disturb the next write.
    write(&path, b"newer", WriteOptions::PRIVATE).expect("written");
    assert_eq!(fs::read_to_string(&path).expect("it is there"), "newer");
}
