//! `prowess verify` and `lock --check`: whether installed skills are what was installed.

use insta::assert_snapshot;

use crate::packages::{STORE, home, manifest, sign, steady, trust};

#[test]
fn every_kind_of_drift_is_told() {
    // GAIX-26: content, presence, version and tier.
    let scene = ["changed", "gone", "older", "signed"].iter().fold(home(), |scene, name| {
        scene.file(&format!("{name}/SKILL.md"), manifest(name, "1.0.0", ""))
    });
    sign(&scene, "signed", "release");
    trust(&scene, "release", "root");
    let said = scene.run("install ./changed ./gone ./older ./signed --allow-experimental");
    assert!(said.starts_with("exit 0"), "{said}");
    assert_snapshot!(steady(&scene.run("lock --check")), @"");
    let skills = format!("{STORE}/skills");
    let scene = scene
        .file(&format!("{skills}/changed/added.txt"), "x")
        .file(&format!("{skills}/older/SKILL.md"), manifest("older", "0.9.0", ""))
        .file(&format!("{skills}/stranger/SKILL.md"), manifest("stranger", "1.0.0", ""));
    std::fs::remove_dir_all(scene.path().join(&skills).join("gone")).expect("it is there");
    std::fs::remove_file(scene.path().join(&skills).join("signed/SIGNATURE.json"))
        .expect("it is there");
    assert_snapshot!(steady(&scene.run("lock --check")), @"");
    assert_snapshot!(steady(&scene.run("verify changed --format json")), @"");
    assert!(scene.run("verify nobody").starts_with("exit 3"));
    // The lock puts all of it back, and leaves alone what it does not know.
    assert_snapshot!(scene.run("install"), @"");
    assert_snapshot!(steady(&scene.run("verify signed")), @"");
}

#[test]
fn an_empty_store_has_nothing_to_verify() {
    assert_snapshot!(home().run("verify"), @"");
    assert_snapshot!(home().run("lock"), @"");
    assert_snapshot!(home().run("lock --check --project"), @"");
}
