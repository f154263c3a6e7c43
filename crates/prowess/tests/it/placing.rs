//! `prowess install --agent`: skills get to agents, stay current there, and leave again.

use std::fs;

use insta::assert_snapshot;
use prowess_testkit::Scene;

use crate::{machine, skill};

fn scene() -> Scene {
    machine().file("work/greet/SKILL.md", skill("greet"))
}

const INSTALL: &str = "install ./greet --allow-experimental --yes";

/// What lies in the folders of agents: the links, and the copies.
fn agents_have(scene: &Scene) -> Vec<String> {
    let folders = [
        "home/.claude/skills",
        "home/.agents/skills",
        "home/.cursor/skills",
        "work/.claude/skills",
        "work/.agents/skills",
    ];
    let mut found = Vec::new();
    for folder in folders {
        let Ok(entries) = fs::read_dir(scene.path().join(folder)) else { continue };
        for entry in entries {
            let entry = entry.expect("an entry");
            let kind = if entry.path().is_symlink() { "link" } else { "copy" };
            assert!(entry.path().join("SKILL.md").is_file(), "{}", entry.path().display());
            found.push(format!("{folder}/{} {kind}", entry.file_name().to_string_lossy()));
        }
    }
    found
}

#[test]
fn each_agent_gets_what_it_sees() {
    let scene = scene();
    assert_snapshot!(scene.run(&format!("{INSTALL} --agent claude-code,codex --agent cursor")));
    assert_eq!(
        agents_have(&scene),
        [
            "home/.claude/skills/greet link",
            "home/.agents/skills/greet link",
            "home/.cursor/skills/greet copy"
        ]
    );
    assert_snapshot!(scene.run("list --agents"));
    // Again: nothing to install, and everything in its place.
    assert_snapshot!(scene.run(&format!("{INSTALL} --agent claude-code")));
}

#[test]
fn what_is_installed_already_is_placed_too() {
    let scene = scene();
    let _ = scene.run(INSTALL);
    assert!(agents_have(&scene).is_empty());
    let placed = scene.run(&format!("{INSTALL} --agent claude-code --copy"));
    assert!(placed.contains("placed greet in ~/.claude/skills/greet as a copy"), "{placed}");
    // Without a name: everything that the lock file names.
    let placed = scene.run("install --agent codex --allow-experimental");
    assert!(placed.contains("placed greet in ~/.agents/skills/greet as a link"), "{placed}");
}

#[test]
fn a_project_has_its_own_folders() {
    let scene = scene();
    assert_snapshot!(scene.run(&format!("{INSTALL} --project --all-agents")));
    assert_eq!(
        agents_have(&scene),
        ["work/.claude/skills/greet link", "work/.agents/skills/greet copy"]
    );
}

#[test]
fn an_update_renews_copies() {
    let scene = scene();
    let _ = scene.run(&format!("{INSTALL} --agent claude-code,cursor"));
    let scene = scene.file("work/greet/SKILL.md", skill("greet").replace("Do it.", "Do it twice."));
    assert_snapshot!(scene.run("update greet --allow-experimental --yes"));
    for agent in [".claude", ".cursor"] {
        let text = scene.text(&format!("home/{agent}/skills/greet/SKILL.md"));
        assert!(text.contains("Do it twice."), "{agent}: {text}");
    }
}

#[test]
fn an_update_leaves_alone_what_is_yours_by_now() {
    let scene = scene();
    let _ = scene.run(&format!("{INSTALL} --agent claude-code,cursor --copy"));
    let scene = scene
        .file("home/.claude/skills/greet/SKILL.md", "mine")
        .file("work/greet/SKILL.md", skill("greet").replace("Do it.", "Do it twice."));
    assert_snapshot!(scene.run("update greet --allow-experimental --yes"));
    assert_eq!(scene.text("home/.claude/skills/greet/SKILL.md"), "mine");
    assert!(scene.text("home/.cursor/skills/greet/SKILL.md").contains("Do it twice."));
}

#[test]
fn removing_takes_it_from_the_agents_first() {
    let scene = scene();
    let _ = scene.run(&format!("{INSTALL} --agent claude-code,cursor"));
    assert_snapshot!(scene.run("remove greet"));
    assert!(agents_have(&scene).is_empty());
}

#[test]
fn what_a_skill_is_needed_for_keeps_it_with_the_agents() {
    let needs = "\nversion: 1.0.0\nrequirements:\n  skills:\n    - name: greet\n---\n";
    let scene = scene().file("work/party/SKILL.md", skill("party").replacen("\n---\n", needs, 1));
    let _ = scene.run("install ./greet ./party --allow-experimental --yes --agent claude-code");
    let refused = scene.run("remove greet");
    assert!(refused.starts_with("exit 4"), "{refused}");
    assert_eq!(agents_have(&scene).len(), 2, "a refused removal changes nothing");
}

#[test]
fn what_others_made_stays_and_nothing_is_installed() {
    let scene = scene().file("home/.claude/skills/greet/SKILL.md", skill("greet"));
    for options in ["", " --dry-run"] {
        assert_snapshot!(scene.run(&format!("{INSTALL} --agent claude-code,codex{options}")));
        assert_eq!(agents_have(&scene), ["home/.claude/skills/greet copy"]);
        assert!(!scene.path().join("home/.local").exists(), "nothing was installed");
    }
    // The same for what a lock file names, and for what is installed already.
    let _ = scene.run(INSTALL);
    for words in ["install --frozen", INSTALL] {
        let said = scene.run(&format!("{words} --agent claude-code,codex"));
        assert!(said.starts_with("exit 4"), "{said}");
        assert!(said.contains("nothing was installed or placed"), "{said}");
        assert_eq!(agents_have(&scene), ["home/.claude/skills/greet copy"]);
    }
    // Without agents it is installed, and what is there already stays.
    let _ = scene.run("remove greet");
    assert_eq!(scene.text("home/.claude/skills/greet/SKILL.md"), skill("greet"));

    let changed = self::scene();
    let _ = changed.run(&format!("{INSTALL} --agent cursor"));
    let changed = changed.file("home/.cursor/skills/greet/mine.txt", "mine");
    assert_snapshot!(changed.run("remove greet"));
    assert_eq!(changed.text("home/.cursor/skills/greet/mine.txt"), "mine");
}

#[test]
fn mistakes_are_told_before_anything_is_installed() {
    let scene = scene();
    assert_snapshot!(scene.run(&format!("{INSTALL} --agent claude-cod")));
    assert_snapshot!(scene.run(&format!("{INSTALL} --copy")));
    assert!(scene.run("list").contains("there are no skills here"));
}

#[test]
fn programs_are_told_as_well() {
    let scene = scene();
    let json = scene.stdout(&format!("{INSTALL} --agent claude-code --format json"));
    let result: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(result["placed"][0]["form"], "link");
    assert_eq!(result["placed"][0]["change"], "made");
    assert_eq!(result["placed"][0]["agents"], serde_json::json!(["claude-code"]));
}

#[test]
fn a_reason_is_told_once_for_all() {
    let scene = scene().file("work/wave/SKILL.md", skill("wave"));
    let said =
        scene.run("install ./greet ./wave --allow-experimental --yes --agent cursor,claude-code");
    let notes: Vec<&str> = said.lines().filter(|line| line.contains("copies, because")).collect();
    assert_eq!(notes.len(), 1, "{said}");
    assert!(notes[0].starts_with("note: 2 of them are copies, because Cursor"), "{said}");
    // What we put there ourselves is no copy that somebody should wonder about.
    assert_snapshot!(scene.run("list"), @"
    exit 0
    --- stdout
    greet  -  experimental  ok      ~/.local/share/prowess/skills/greet
    wave   -  experimental  ok      ~/.local/share/prowess/skills/wave
    greet  -  -             placed  ~/.cursor/skills/greet, for cursor
    wave   -  -             placed  ~/.cursor/skills/wave, for cursor
    --- stderr
    looking everywhere; to install and update, this folder uses your own skills in `~/.local/share/prowess`
    ");
}
