//! `prowess remove`: looking first, being asked, and what programs are told.

use insta::assert_snapshot;
use prowess_testkit::Scene;

use crate::packages::{home, installed, manifest};
use crate::{machine, skill};

/// `top` needs `part`, and only `top` was asked for; `other` stands alone.
fn scene() -> Scene {
    let needs = "dependencies:\n  skills:\n    - part@^1\n";
    let scene = home()
        .file("top/SKILL.md", manifest("top", "1.0.0", needs))
        .file("part/SKILL.md", manifest("part", "1.0.0", ""))
        .file("other/SKILL.md", manifest("other", "1.0.0", ""));
    let said = scene.run("install ./top ./part ./other --allow-experimental");
    assert!(said.starts_with("exit 0"), "{said}");
    // As if it had come along.
    let lock = crate::packages::STORE.to_owned() + "/skill-lock.json";
    let text = scene.text(&lock);
    let (before, part) = text.split_once("\"part\": {").expect("it is locked");
    let part = part.replacen("\"explicit\": true", "\"explicit\": false", 1);
    scene.file(&lock, format!("{before}\"part\": {{{part}"))
}

#[test]
fn what_would_go_can_be_seen_first() {
    let scene = scene();
    let before = installed(&scene);
    assert_snapshot!("remove_dry_run", scene.run("remove top --dry-run"));
    assert_snapshot!("remove_dry_run_json", scene.run("remove top --dry-run --format json"));
    assert_snapshot!("remove_needed", scene.run("remove part"));
    assert_snapshot!("remove_needed_dry_run", scene.run("remove part --dry-run --yes"));
    assert_eq!(installed(&scene), before);
    assert_snapshot!("remove_json", scene.run("remove top --format json"));
    let left: Vec<String> = installed(&scene).into_iter().map(|(path, _)| path).collect();
    assert_eq!(left, ["skill-lock.json", "skills/other/SKILL.md"]);
}

#[cfg(target_os = "linux")]
#[test]
fn on_a_terminal_more_than_was_named_is_asked_about() {
    for (name, snapshot) in [("top", "remove_asks_orphans"), ("part", "remove_asks_dependents")] {
        let scene = scene();
        let before = installed(&scene);
        let said = scene.run_on_terminal(&["remove", name], "n\n");
        assert!(said.starts_with("exit 4"), "{said}");
        assert_eq!(installed(&scene), before);
        assert_snapshot!(snapshot, scene.run_on_terminal(&["remove", name], "y\n"));
        let left: Vec<String> = installed(&scene).into_iter().map(|(path, _)| path).collect();
        assert_eq!(left, ["skill-lock.json", "skills/other/SKILL.md"]);
    }
    // What was named alone is not asked about.
    let scene = scene();
    let said = scene.run_on_terminal(&["remove", "other"], "");
    assert!(said.starts_with("exit 0"), "{said}");
}

#[test]
fn the_skills_of_a_project_can_be_listed_alone() {
    let scene = machine()
        .file("work/greet/SKILL.md", skill("greet"))
        .file("work/mine/SKILL.md", skill("mine"))
        .file("home/.claude/skills/theirs/SKILL.md", skill("theirs"));
    for words in ["install ./greet --project", "install ./mine"] {
        let said = scene.run(&format!("{words} --allow-experimental --yes"));
        assert!(said.starts_with("exit 0"), "{said}");
    }
    assert_snapshot!(scene.stdout("list --project"));
    let all = scene.stdout("list");
    assert!(all.contains("theirs") && all.contains("mine"), "{all}");
}

#[test]
fn where_agents_would_get_it_can_be_seen_first() {
    let scene = machine().file("work/greet/SKILL.md", skill("greet"));
    let words = "install ./greet --allow-experimental --agent claude-code,cursor --dry-run";
    assert_snapshot!("place_dry_run", scene.run(words));
    let scene = scene.file("home/.claude/skills/greet/SKILL.md", "mine\n");
    assert_snapshot!("place_dry_run_occupied", scene.run(words));
}
