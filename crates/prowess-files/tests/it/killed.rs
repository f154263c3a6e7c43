//! The process is killed before every single step of a write.

use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::Command;

use prowess_files::faults::{self, Exchange, Fault};
use prowess_files::whole::{WriteOptions, write};
use prowess_testkit::temporary;

const PATH: &str = "PROWESS_KILLED_PATH";
const STEP: &str = "PROWESS_KILLED_STEP";

/// The process that is killed. Its parent is [`killed_anywhere_old_or_new_is_whole`].
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
fn killed_anywhere_old_or_new_is_whole() {
    let folder = temporary();
    let path = folder.path().join("file");
    let undisturbed = || write(&path, b"new", WriteOptions::PRIVATE);
    let (result, steps) = faults::with(None, Exchange::Real, undisturbed);
    result.expect("nothing disturbs it");
    let mut found = Vec::new();
    for step in 0..steps.len() {
        fs::write(&path, "old").expect("written");
        let output = Command::new(std::env::current_exe().expect("this is a program"))
            .args(["--exact", "killed::victim", "--ignored", "--nocapture"])
            .env(PATH, &path)
            .env(STEP, step.to_string())
            .output()
            .expect("it can be started");
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.signal(), Some(9), "{step}: {told}");
        found.push(fs::read_to_string(&path).expect("it is there"));
    }
    assert_eq!(found, ["old", "old", "old", "old", "new"], "{steps:?}");
    // The next one does not mind what the dead have left.
    write(&path, b"newer", WriteOptions::PRIVATE).expect("written");
    assert_eq!(fs::read_to_string(&path).expect("it is there"), "newer");
}
