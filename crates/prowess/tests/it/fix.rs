//! `prowess check --fix`: what changes in a file, and what never does.

use insta::assert_snapshot;

use crate::{scene, skill};

const FIXABLE: &str = "---\r\nname: hello # the name\r\ndescription: Use when: asked\r\nuser-invocable: yes\r\nx-own:   {a: 1}\r\n---\r\n\r\nText  \r\n";

#[test]
fn safe_fixes_leave_every_other_byte_alone() {
    let scene = scene().file("hello/SKILL.md", FIXABLE);
    assert_snapshot!(scene.run("check hello --fix --format concise"));
    assert_snapshot!(scene.text("hello/SKILL.md").escape_debug().to_string());
    assert_snapshot!(scene.files(), @"hello/SKILL.md");
}

#[test]
fn fixing_twice_changes_nothing_more() {
    let scene = scene().file("hello/SKILL.md", FIXABLE);
    let _ = scene.run("check hello --fix");
    let once = scene.bytes("hello/SKILL.md");
    let _ = scene.run("check hello --fix");
    assert_eq!(once, scene.bytes("hello/SKILL.md"));
}

#[test]
fn a_file_that_is_not_utf8_is_never_written() {
    let bytes = b"---\nname: hello\ndescription: caf\xe9\nuser-invocable: yes\n---\n\nText\n";
    let scene = scene().file("hello/SKILL.md", bytes);
    let _ = scene.run("check hello --fix");
    assert_eq!(scene.bytes("hello/SKILL.md"), bytes);
}

#[test]
fn a_clean_file_is_not_written() {
    let scene = scene().file("hello/SKILL.md", skill("hello"));
    let written =
        || scene.path().join("hello/SKILL.md").metadata().and_then(|data| data.modified());
    let before = written().expect("the file is there");
    let _ = scene.run("check hello --fix");
    assert_eq!(before, written().expect("the file is there"));
}

#[cfg(unix)]
#[test]
fn permissions_are_kept_and_links_are_left_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let scene = scene().file("hello/SKILL.md", FIXABLE).file("other/real.md", FIXABLE);
    let path = scene.path().join("hello/SKILL.md");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).expect("it is ours");
    std::os::unix::fs::symlink("real.md", scene.path().join("other/SKILL.md")).expect("a link");
    assert_snapshot!(scene.run("check . --fix --format concise"));
    let mode = path.metadata().expect("the file is there").permissions().mode();
    assert_eq!(mode & 0o777, 0o640);
    assert_eq!(scene.text("other/real.md"), FIXABLE);
}

#[test]
fn every_fixture_is_better_off_after_its_fixes() {
    let scene = scene().copy("fixtures", "fixtures");
    let errors = |output: &str| -> usize {
        let value: serde_json::Value = serde_json::from_str(output).expect("JSON");
        usize::try_from(value["summary"]["errors"].as_u64().expect("a number")).expect("fits")
    };
    let before = errors(&scene.stdout("check fixtures --format json"));
    let fixed = errors(&scene.stdout("check fixtures --fix --format json"));
    assert!(fixed <= before, "{fixed} errors after fixing, {before} before");
    let again = scene.stdout("check fixtures --format json");
    assert_eq!(errors(&again), fixed);
}
