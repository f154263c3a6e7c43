//! What an approval is for, how it is shown, and how it is taken back: through the real binary.

#![cfg(target_os = "linux")]

use insta::assert_snapshot;
use prowess_testkit::Scene;
use serde_json::Value;

use crate::run::{Tool, probe};

/// A skill that may write in the working directory, beside two repositories.
fn two_projects(front_matter: &str, tools: &[Tool<'_>]) -> Scene {
    probe(front_matter, tools).file("other/.git/HEAD", "ref: refs/heads/main\n")
}

/// A transcript without what changes from day to day: `2026-01-31` is `[DAY]`.
fn undated(text: &str) -> String {
    let is_day = |bytes: &[u8]| {
        bytes.iter().enumerate().all(|(at, byte)| match at {
            4 | 7 => *byte == b'-',
            _ => byte.is_ascii_digit(),
        })
    };
    match text.as_bytes().windows(10).position(is_day) {
        Some(at) => format!("{}[DAY]{}", &text[..at], undated(&text[at + 10..])),
        None => text.to_owned(),
    }
}

/// A list of approvals without days and hashes.
fn listed(scene: &Scene) -> String {
    let list = undated(&scene.run("approvals list"));
    let lines: Vec<String> = list
        .lines()
        .map(|line| match line.split_once("sha256:") {
            Some((before, _)) => format!("{before}sha256:…"),
            None => line.replace(&scene.path().display().to_string(), "[SCENE]"),
        })
        .collect();
    lines.join("\n")
}

#[test]
fn an_approval_is_for_the_folder_that_was_shown() {
    let scene = two_projects("", &[("make", &[], "touch made")]);
    let asked = scene.run_on_terminal(&["run", "../skills/probe"], "y\n");
    assert!(asked.contains("  skill    probe in [SCENE]/skills/probe\n"), "{asked}");
    assert!(asked.contains("  works in [SCENE]/repo\n"), "{asked}");
    assert!(asked.starts_with("exit 0"), "{asked}");
    assert_snapshot!(listed(&scene));
    for line in scene.run_on_terminal(&["approvals", "list"], "").lines() {
        // A hash and a path are one word, and stay whole.
        let fits = line.chars().count() <= 80 || line.trim_start().split(' ').count() == 1;
        assert!(fits, "{line}");
    }
    let scene = scene.inside("other");
    assert_snapshot!(undated(&scene.run("run ../skills/probe")));
    assert!(!scene.path().join("other/made").exists());
    // Another yes, for the other folder; the first one stays.
    assert!(scene.run_on_terminal(&["run", "../skills/probe"], "y\n").starts_with("exit 0"));
    assert!(scene.path().join("other/made").exists());
    assert_eq!(scene.run("run ../skills/probe"), "exit 0\n");
    assert_eq!(scene.inside("repo").run("run ../skills/probe"), "exit 0\n");
}

#[test]
fn what_does_not_depend_on_the_folder_is_asked_once() {
    let permissions = "permissions: [\"filesystem:read:~/notes/**\"]\n";
    let scene = two_projects(permissions, &[("say", &[], "echo hello")]).file("home/notes/a", "");
    assert!(scene.run_on_terminal(&["run", "../skills/probe"], "y\n").ends_with("hello\n"));
    let list = listed(&scene);
    assert!(list.contains("  for       every folder: nothing in it depends on"), "{list}");
    assert_eq!(scene.inside("other").stdout("run ../skills/probe"), "hello\n");
}

#[test]
fn a_file_of_an_earlier_version_asks_once_more() {
    let scene = two_projects("", &[("say", &[], "echo hello")]);
    scene.run_on_terminal(&["run", "../skills/probe"], "y\n");
    let path = "home/.local/share/prowess/approvals.json";
    let mut stored: Value = serde_json::from_str(&scene.text(path)).expect("JSON");
    let record = stored["approvals"][0].as_object_mut().expect("a record");
    for key in ["project", "skill_folder", "files"] {
        assert!(record.remove(key).is_some(), "{key}");
    }
    let scene = scene.file(path, stored.to_string());
    assert_snapshot!(undated(&scene.run("run ../skills/probe")));
    assert!(listed(&scene).contains("  for       no folder: "), "{}", listed(&scene));
    scene.run_on_terminal(&["run", "../skills/probe"], "y\n");
    assert_eq!(scene.stdout("run ../skills/probe"), "hello\n");
    assert_eq!(listed(&scene).matches("approved").count(), 1, "the old record is replaced");
}

#[test]
fn a_tool_is_not_left_allowed_by_the_approval_of_its_skill() {
    let scene = two_projects("", &[("say", &[], "echo hello"), ("list", &[], "ls")]);
    scene.run_on_terminal(&["run", "../skills/probe/say"], "a\n");
    assert_eq!(scene.run("run ../skills/probe/list"), "exit 0\n");
    assert_snapshot!(scene.run("approvals revoke probe/list"), @"
    exit 0
    --- stderr
    took back 1 approval
    note: `probe/list` was approved with the whole skill, so `probe` asks again for its other tools too
    ");
    assert!(scene.run("run ../skills/probe/list").starts_with("exit 125"));
    assert!(scene.run("run ../skills/probe/say").starts_with("exit 125"));
}

#[test]
fn without_a_terminal_the_changed_file_is_told() {
    let scene = two_projects("", &[("say", &[], "./say.sh")])
        .script("skills/probe/say.sh", "#!/bin/sh\necho hello\n");
    scene.run_on_terminal(&["run", "../skills/probe"], "y\n");
    let scene = scene.script("skills/probe/say.sh", "#!/bin/sh\necho bye\n");
    assert_snapshot!(undated(&scene.run("run ../skills/probe")));
}

#[test]
fn what_was_typed_ahead_is_no_answer() {
    let scene = two_projects("", &[("make", &[], "touch made")]);
    let shown = scene.run_on_terminal_after("y\ny\ny\n", &["run", "../skills/probe"], "n\n");
    assert!(shown.starts_with("exit 125"), "{shown}");
    assert!(shown.contains("was not approved"), "{shown}");
    assert!(!scene.path().join("repo/made").exists());
}
