//! `prowess info`: what is known about a skill that is here.

use insta::assert_snapshot;
use prowess_testkit::Scene;
use serde_json::Value;

use crate::{machine, skill};

/// What is said, without the moment of installing.
fn info(scene: &Scene, arguments: &str) -> String {
    let text = scene.run(&format!("info {arguments}"));
    let is_moment = |line: &&str| !line.starts_with("  installed ");
    text.lines().filter(is_moment).collect::<Vec<&str>>().join("\n")
}

fn installed() -> Scene {
    let scene = machine()
        .file("work/greet/SKILL.md", skill("greet"))
        .file("work/greet/scripts/hello.py", "print('hello')\n");
    let output = scene.run("install ./greet --allow-experimental --yes --agent claude-code,cursor");
    assert!(output.starts_with("exit 0"), "{output}");
    scene
}

#[test]
fn every_copy_is_told() {
    let scene = installed().file("work/.claude/skills/greet/SKILL.md", skill("greet"));
    assert_snapshot!(info(&scene, "greet"));
    let json = scene.stdout("info greet --format json");
    let told: Value = serde_json::from_str(&json).expect("JSON");
    let copies = told["copies"].as_array().expect("copies");
    assert_eq!(copies.len(), 3, "{json}");
    assert_eq!(copies[0]["security_tier"], "experimental");
    assert_eq!(copies[0]["drift"], serde_json::json!([]));
    assert_eq!(copies[0]["files"], 2);
    assert_eq!(copies[1]["drift"], Value::Null);
}

#[test]
fn a_change_since_the_installation_is_told() {
    let scene = installed().file("home/.local/share/prowess/skills/greet/scripts/hello.py", "1\n");
    assert_snapshot!(info(&scene, "greet"));
}

#[test]
fn a_broken_one_is_told_with_its_reason() {
    let scene =
        machine().file("home/.codex/skills/notes/SKILL.md", "---\nname: [\n---\n\n# Notes\n");
    assert_snapshot!(info(&scene, "notes"));
}

#[test]
fn an_unknown_name_gets_a_known_one() {
    assert_snapshot!(installed().run("info gret"), @"
    exit 3
    --- stderr
    error: there is no skill `gret` here
    hint: did you mean `greet`?
    ");
    assert_snapshot!(machine().run("info greet"), @r"
    exit 3
    --- stderr
    error: there is no skill `greet` here
    hint: `prowess list` shows the skills here, `prowess search` those of a registry
    ");
}

#[test]
fn who_needs_it_is_told() {
    let text = skill("party").replacen(
        "\n---\n",
        "\nversion: 1.0.0\nrequirements:\n  skills:\n    - name: greet\n---\n",
        1,
    );
    let scene =
        machine().file("work/party/SKILL.md", text).file("work/greet/SKILL.md", skill("greet"));
    let output = scene.run("install ./greet ./party --allow-experimental --yes");
    assert!(output.starts_with("exit 0"), "{output}");
    assert_snapshot!(info(&scene, "greet"));
}
