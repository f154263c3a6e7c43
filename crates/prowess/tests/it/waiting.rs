//! A store that somebody else changes is waited for, and whoever waits is told; so is whoever interrupts it.
#![cfg(unix)]

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, Command, Stdio};

use prowess_testkit::Scene;

use crate::packages::{STORE, home, installed, manifest};

/// A store that this process has locked, and a process that waits for it, with what it said so far.
fn waiting(scene: &Scene) -> (File, Child, BufReader<std::process::ChildStderr>) {
    fs::create_dir_all(scene.path().join(STORE)).expect("a folder");
    let lock = File::create(scene.path().join(STORE).join("store.lock")).expect("a file");
    lock.lock().expect("nobody else has it");
    let mut child = scene
        .command(&["install", "./greet", "--allow-experimental"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut said = BufReader::new(child.stderr.take().expect("a pipe"));
    let mut line = String::new();
    while !line.starts_with("waiting for another process that changes `") {
        line.clear();
        assert_ne!(said.read_line(&mut line).expect("a line"), 0, "it ended without waiting");
    }
    (lock, child, said)
}

#[test]
fn whoever_waits_is_told() {
    let scene = home().file("greet/SKILL.md", manifest("greet", "1.0.0", ""));
    let (lock, mut child, mut said) = waiting(&scene);
    assert!(installed(&scene).is_empty());
    drop(lock);
    assert!(child.wait().expect("it ends").success());
    let mut rest = String::new();
    said.read_to_string(&mut rest).expect("text");
    assert_eq!(rest, "installed greet 1.0.0\n");
}

#[test]
fn whoever_interrupts_is_told_that_nothing_was_changed() {
    let scene = home().file("greet/SKILL.md", manifest("greet", "1.0.0", ""));
    let (_lock, mut child, mut said) = waiting(&scene);
    let id = child.id().to_string();
    let status = Command::new("kill").args(["-INT", &id]).status().expect("kill runs");
    assert!(status.success());
    assert!(!child.wait().expect("it ends").success());
    let mut rest = String::new();
    said.read_to_string(&mut rest).expect("text");
    assert_eq!(rest, "error: interrupted; nothing was changed\n");
    assert!(installed(&scene).is_empty());
}
