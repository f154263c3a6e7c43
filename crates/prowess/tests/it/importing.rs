//! `prowess install --import`: what other tools have installed.

use insta::assert_snapshot;

use crate::{machine, skill};

const LOCK: &str = r#"{
  "version": 1,
  "skills": {
    "greet": {"source": "./their-skills", "sourceType": "local", "computedHash": "00"},
    "../escape": {"source": "./their-skills", "sourceType": "local", "computedHash": "00"},
    "odd": {"source": "pkg", "sourceType": "node_modules", "computedHash": "00"}
  }
}"#;

#[test]
fn what_can_be_mapped_is_installed_and_the_rest_is_listed() {
    let scene = machine()
        .file("work/skills-lock.json", LOCK)
        .file("work/their-skills/greet/SKILL.md", skill("greet"))
        .file("work/their-skills/other/SKILL.md", skill("other"));
    let refused = scene.run("install --import");
    assert!(refused.starts_with("exit 4"), "the usual review: {refused}");
    assert_snapshot!(scene.run("install --import skills-lock.json --allow-experimental --yes"));
    assert_snapshot!(scene.stdout("list"));
}

#[test]
fn what_is_missing_or_unknown_is_told() {
    let scene = machine().file("work/package-lock.json", "{}");
    assert_snapshot!(scene.run("install --import"));
    assert_snapshot!(scene.run("install --import package-lock.json"));
    assert_snapshot!(scene.run("install --import nowhere.json"));
}

#[test]
fn a_lock_file_is_found_where_no_project_is() {
    let scene = crate::scene()
        .home("home")
        .inside("work")
        .file("work/greet/SKILL.md", crate::skill("greet"))
        .file(
            "work/skills-lock.json",
            r#"{"version": 1, "skills": {"greet": {"source": "./greet", "sourceType": "local"}}}"#,
        );
    let said = scene.run("install --import --allow-experimental --yes");
    assert!(said.starts_with("exit 0"), "{said}");
    assert!(scene.path().join("home/.local/share/prowess/skills/greet/SKILL.md").is_file());
}
