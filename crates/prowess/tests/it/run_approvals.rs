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
fn an_answer_that_is_none_is_asked_for_again() {
    let scene = two_projects("", &[("make", &[], "touch made")]);
    let asked = scene.run_on_terminal(&["run", "../skills/probe"], "yes please\nn\n");
    assert!(asked.starts_with("exit 125"), "{asked}");
    assert_eq!(asked.matches("Please answer y, a, o or n.").count(), 1, "{asked}");
    assert_eq!(asked.matches("Run it?").count(), 2, "{asked}");
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
    assert!(list.contains("  for       every folder: no permission depends on"), "{list}");
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
    assert!(listed(&scene).contains("  for       unknown: "), "{}", listed(&scene));
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
    revoked 1 approval
    note: `probe/list` was approved with the whole skill, so its other tools ask again too
    ");
    assert!(scene.run("run ../skills/probe/list").starts_with("exit 125"));
    assert!(scene.run("run ../skills/probe/say").starts_with("exit 125"));
}

#[test]
fn without_a_terminal_the_changed_file_is_told() {
    // Attack sandbox-C24: only the script has changed.
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

#[test]
fn the_list_marks_what_asks_again() {
    let scene = two_projects("", &[("say", &[], "echo hello"), ("list", &[], "ls")]);
    scene.run_on_terminal(&["run", "../skills/probe/say"], "a\n");
    let files = |scene: &Scene| {
        let list: Value =
            serde_json::from_str(&scene.stdout("approvals list --format json")).expect("JSON");
        list["approvals"][0]["files"].as_str().expect("a word").to_owned()
    };
    let grants = listed(&scene).matches("filesystem:write:./**").count();
    assert_eq!(grants, 1, "two tools want the same: {}", listed(&scene));
    assert_eq!(files(&scene), "same");
    assert!(!listed(&scene).contains("asks again"), "{}", listed(&scene));
    let before = scene.text("skills/probe/SKILL.md");
    let scene = scene.file("skills/probe/SKILL.md", format!("{before}\nMore.\n"));
    assert_eq!(files(&scene), "changed");
    let marked = "  changed   its files have changed, so it asks again\n";
    assert!(listed(&scene).contains(marked), "{}", listed(&scene));
    // What was approved is what is there: after a revert it counts again.
    let scene = scene.file("skills/probe/SKILL.md", before);
    assert_eq!(files(&scene), "same");
    assert_eq!(scene.stdout("run ../skills/probe/say"), "hello\n");
    std::fs::remove_dir_all(scene.path().join("skills/probe")).expect("it is ours");
    assert_eq!(files(&scene), "gone");
}

#[test]
fn a_commit_does_not_void_the_approval_of_a_skill_that_is_a_repository() {
    let scene = two_projects("read_only: true\n", &[("say", &[], "echo hello")])
        .file("skills/probe/.git/HEAD", "ref: refs/heads/main\n");
    scene.run_on_terminal(&["run", "../skills/probe"], "y\n");
    let scene = scene.file("skills/probe/.git/objects/ab/cd", "a commit");
    assert_eq!(scene.stdout("run ../skills/probe"), "hello\n");
}

/// The digest does not cover git's folder, so nothing in it may run.
#[test]
fn nothing_in_the_repository_of_a_skill_is_started() {
    let scene = two_projects("read_only: true\n", &[("say", &[], "./say.sh")])
        .script("skills/probe/.git/hooks/x", "#!/bin/sh\necho started\n")
        .script("skills/probe/say.sh", "#!/bin/sh\n\"$GIBBERISH_SKILL_DIR/.git/hooks/x\"\n");
    let shown = scene.run("run ../skills/probe --yes");
    assert!(!shown.contains("started\n"), "{shown}");
    assert!(shown.contains("ermission denied"), "{shown}");
}

#[test]
fn a_skill_that_is_the_project_says_before_the_answer_that_it_stays_as_it_is() {
    let scene = two_projects("", &[("say", &[], "echo hello")]).inside("skills/probe");
    let scene = scene.file("skills/probe/.git/HEAD", "ref: refs/heads/main\n");
    for shown in [scene.run("policy ."), scene.run_on_terminal(&["run", "."], "n\n")] {
        let shown = shown.replace("\n    ", " ");
        assert!(shown.contains("  - gets no access from `filesystem:write:./**`: "), "{shown}");
        assert!(shown.contains("is the skill itself and stays read-only"), "{shown}");
        assert!(!shown.contains("+ may write files"), "{shown}");
    }
}
