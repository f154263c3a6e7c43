//! `prowess new`: skills to start from.

use insta::assert_snapshot;

use crate::scene;

const DIALECTS: &[&str] = &[
    "agent-skills",
    "claude-code",
    "skillli",
    "gibberish",
    "tool-pack",
    "gaia",
    "agent-flow",
    "skillrt",
    "openclaw",
    "prose",
];

#[test]
fn every_dialect_starts_clean() {
    let scene = scene();
    for dialect in DIALECTS {
        let made = scene.run(&format!("new my-{dialect} --dialect {dialect} --output skills"));
        assert!(made.starts_with("exit 0"), "{made}");
        let checked = scene.run(&format!("check skills/my-{dialect} --dialect {dialect} --strict"));
        assert!(checked.starts_with("exit 0"), "{checked}");
        assert!(checked.contains("0 errors, 0 warnings"), "{checked}");
    }
    assert_snapshot!(scene.files());
}

#[test]
fn a_folder_that_exists_is_left_alone() {
    let scene = scene().file("hello/notes.txt", "mine");
    assert_snapshot!(scene.run("new hello"), @"
    exit 1
    --- stderr
    error: `hello` already exists
    hint: choose another name, or another folder with `--output`
    ");
    assert_snapshot!(scene.files(), @"hello/notes.txt");
}

#[test]
fn a_file_in_the_way_is_named() {
    let scene = scene().file("skills", "mine");
    assert_snapshot!(scene.run("new hello --output skills"), @"
    exit 1
    --- stderr
    error: `skills` is a file, not a folder
    hint: name another folder, or move the file away
    ");
    assert_eq!(
        scene.run("new hello --output skills/deeper"),
        scene.run("new hello --output skills")
    );
    assert_eq!(scene.text("skills"), "mine");
}

#[test]
fn a_wrong_name_gets_a_right_one() {
    let scene = scene();
    assert_snapshot!(scene.run_with(&["new", "My Skill"], ""), @"
    exit 2
    --- stderr
    error: `My Skill` is not a valid name for a skill: it contains upper-case letters
    hint: try `prowess new my-skill`
    ");
    assert_snapshot!(scene.run("new ../escape"));
    assert_snapshot!(scene.run("new 1password --dialect gaia"), @"
    exit 2
    --- stderr
    error: `1password` is not a name that GAIA allows
    hint: try `prowess new skill-1password --dialect gaia`
    ");
    assert_snapshot!(scene.files(), @"");
}

#[cfg(unix)]
#[test]
fn scripts_can_be_run() {
    use std::os::unix::fs::PermissionsExt as _;
    let scene = scene();
    let _ = scene.run("new hello --dialect gibberish");
    let mode = |path: &str| {
        scene.path().join(path).metadata().expect("it is there").permissions().mode() & 0o100
    };
    assert_eq!(mode("hello/scripts/greet.sh"), 0o100);
    assert_eq!(mode("hello/SKILL.md"), 0);
}
