//! `prowess show`: the model in words and as JSON.

use insta::assert_snapshot;
use serde_json::Value;

use crate::{scene, skill};

#[test]
fn commands_are_shown_with_the_defaults_that_count() {
    let scene = scene().copy("fixtures/gibberish/8.1/git", "git");
    assert_snapshot!(scene.run("show git"));
}

#[test]
fn json_has_every_key() {
    let scene = scene().file("hello/SKILL.md", skill("hello"));
    assert_snapshot!(scene.run("show hello --format json"));
}

#[test]
fn json_holds_tools_and_permissions() {
    let scene = scene().copy("fixtures/gaia/2.1/web-search", "web-search");
    assert_snapshot!(scene.run("show web-search --format json"));
}

#[test]
fn unknown_fields_are_shown() {
    // SRT-CLI-2
    let scene = scene().file(
        "hello/SKILL.md",
        "---\nname: hello\nversion: 1.0.0\ndescription: Does one thing\nx-team: blue\nx-map: {a: [1, 2]}\n---\n\nText\n",
    );
    let output = scene.run("show hello");
    assert!(output.contains("x-team: blue"), "{output}");
    assert!(output.contains("x-map: {\"a\":[1,2]}"), "{output}");
}

#[test]
fn files_beside_the_skill_are_its_resources() {
    // GIB-1.1-2
    let scene = scene()
        .file("hello/SKILL.md", skill("hello"))
        .file("hello/scripts/run.sh", "")
        .file("hello/assets/deep/logo.svg", "")
        .file("hello/references/notes.md", "")
        .file("hello/elsewhere/secret.txt", "");
    let value: Value =
        serde_json::from_str(&scene.stdout("show hello --format json")).expect("JSON");
    assert_eq!(
        value["resources"],
        serde_json::json!(["assets/deep/logo.svg", "references/notes.md", "scripts/run.sh"])
    );
    assert!(scene.run("show hello").contains("scripts/run.sh"));
}

#[test]
fn the_name_falls_back_to_the_directory() {
    let scene = scene().file("hello/SKILL.md", "---\ndescription: Does one thing\n---\n\nText\n");
    let value: Value =
        serde_json::from_str(&scene.stdout("show hello --format json")).expect("JSON");
    assert_eq!(value["name"], "hello");
}

#[test]
fn broken_front_matter_is_shown_as_check_shows_it() {
    let scene = scene().file("hello/SKILL.md", "---\n- a\n- list\n---\n\nText\n");
    assert_snapshot!(scene.run("show hello --format json"));
}

#[test]
fn every_spelling_is_found_in_a_folder() {
    // OC-7
    for name in ["SKILL.md", "skill.md", "Skill.md", "skills.md", "SKILLS.md"] {
        let scene = scene().file(&format!("hello/{name}"), skill("hello"));
        assert!(scene.run("show hello").starts_with("exit 0"), "{name}");
    }
}

#[test]
fn agent_manifests_are_shown() {
    // GAIA-9.1-2
    let scene = scene().copy("fixtures/agent-manifest/9.3/notes-agent", "agent");
    assert_snapshot!(scene.run("show agent"));
    assert_snapshot!(scene.run("show agent/gaia-agent.yaml --format json"));
}
