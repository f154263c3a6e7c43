//! `prowess which`: what each agent loads, and why.

use insta::assert_snapshot;
use serde_json::Value;

use crate::{machine, skill};

#[test]
fn each_agent_has_its_own_rule() {
    let scene = machine()
        .file("home/.claude/skills/greet/SKILL.md", skill("greet"))
        .file("work/.claude/skills/greet/SKILL.md", skill("greet"))
        .file("home/.agents/skills/greet/SKILL.md", skill("greet"))
        .file("work/.agents/skills/greet/SKILL.md", skill("greet"))
        .file("home/.continue/skills/greet/SKILL.md", skill("greet"))
        .file("home/.gemini/settings.json", "{}");
    assert_snapshot!(scene.run("which greet"));
    let json = scene.stdout("which greet --agent claude-code,codex --format json");
    let views: Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(views["agents"][0]["loads"], "one");
    assert_eq!(views["agents"][0]["copies"][1]["fate"], "shadowed");
    assert_eq!(views["agents"][1]["loads"], "several");
    assert!(views["agents"][0]["cost"]["tokens"].is_u64(), "{json}");
}

#[test]
fn a_larger_model_has_more_room() {
    let scene = machine().file("home/.claude/skills/greet/SKILL.md", skill("greet"));
    let room = |arguments: &str| -> u64 {
        let json = scene.stdout(&format!("which greet --format json {arguments}"));
        let views: Value = serde_json::from_str(&json).expect("JSON");
        views["agents"][0]["cost"]["room_tokens"].as_u64().expect("a number")
    };
    assert_eq!(room("--agent claude-code --context 1000000"), 10_000);
    assert!(room("--agent claude-code") < 10_000);
}

#[test]
fn what_nobody_has_is_not_found() {
    let scene = machine().file("work/greet/SKILL.md", skill("greet"));
    assert_snapshot!(scene.run("which greet"));
    let _ = scene.run("install ./greet --allow-experimental --yes");
    assert_snapshot!(scene.run("which greet"));
    assert_snapshot!(scene.run("which greet --agent codex,cursor"));
}

#[test]
fn an_unknown_agent_gets_a_known_one() {
    let scene = machine();
    assert_snapshot!(scene.run("which greet --agent claude-cod"));
    assert_snapshot!(scene.run("which greet --agent codx"));
    let all = scene.run("which greet --agent something-else-entirely");
    assert!(all.starts_with("exit 2") && all.contains("claude-code, cline, "), "{all}");
}
