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

#[test]
fn what_the_other_tool_has_installed_is_what_is_wanted() {
    let hash = |text: &str| {
        // The skills CLI hashes path and bytes without anything between them.
        let digest =
            prowess_package::digest::Sha256Digest::of(format!("SKILL.md{text}").as_bytes());
        LOCK.replace("\"computedHash\": \"00\"", &format!("\"computedHash\": \"{digest}\""))
    };
    let scene = machine()
        .file("work/skills-lock.json", hash(&skill("greet")))
        .file("work/their-skills/greet/SKILL.md", skill("greet"));
    let same = scene.run("install --import --allow-experimental --dry-run");
    assert!(same.starts_with("exit 0") && !same.contains("its files are not"), "{same}");
    // Somebody has exchanged the files since: nobody who does not agree gets them.
    let scene =
        scene.file("work/their-skills/greet/SKILL.md", skill("greet").replace("Do it.", "Do."));
    assert_snapshot!(scene.run("install --import --allow-experimental"));
    assert!(!scene.path().join("home/.local").exists(), "nothing was installed");
    let agreed = scene.run("install --import --allow-experimental --yes");
    assert!(agreed.contains("installed greet"), "{agreed}");
}
