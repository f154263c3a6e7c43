//! `prowess list`: the skills of a machine, as a user and a program read them.

use insta::assert_snapshot;
use prowess_testkit::Scene;
use serde_json::Value;

use crate::{machine, skill};

/// A user with a skill of their own, and with others in the folders of agents and of other systems.
fn populated() -> Scene {
    let scene = machine()
        .file("work/greet/SKILL.md", versioned("greet", "1.2.0"))
        .file("work/.claude/skills/greet/SKILL.md", skill("greet"))
        .file("work/.claude/skills/review/SKILL.md", skill("review"))
        .file("home/.agents/skills/deploy/SKILL.md", skill("deploy"))
        .file("home/.gaia/skills/deploy/SKILL.md", skill("deploy"));
    let installed = scene.run("install ./greet --allow-experimental --yes");
    assert!(installed.starts_with("exit 0"), "{installed}");
    scene
}

fn versioned(name: &str, version: &str) -> String {
    skill(name).replacen("\n---\n", &format!("\nversion: {version}\n---\n"), 1)
}

#[test]
fn skills_stand_in_the_order_in_which_they_count() {
    let scene = populated();
    assert_snapshot!(scene.run("list"));
    assert_snapshot!(scene.run("list --agents"));
    assert_eq!(scene.run("list"), scene.run("list"), "the cache changes nothing");
}

#[test]
fn a_broken_skill_is_reported_and_takes_no_name() {
    // GAIX-20
    let scene = populated()
        .file("work/.claude/skills/review/SKILL.md", "---\nname: review\n---\n\n# Review\n")
        .file("home/.claude/skills/review/SKILL.md", skill("review"));
    assert_snapshot!(scene.run("list"));
    let listed: Value = serde_json::from_str(&scene.stdout("list --format json")).expect("JSON");
    let states: Vec<(&str, &str, usize)> = listed["skills"]
        .as_array()
        .expect("skills")
        .iter()
        .map(|skill| {
            let text = |key: &str| skill[key].as_str().expect("a text");
            (text("name"), text("state"), skill["problems"].as_array().map_or(0, Vec::len))
        })
        .collect();
    assert_eq!(
        states,
        [
            ("greet", "ok", 0),
            ("greet", "shadowed", 0),
            ("review", "broken", 1),
            ("review", "ok", 0),
            ("deploy", "ok", 0),
            ("deploy", "shadowed", 0),
        ]
    );
    let fixed = scene.file("work/.claude/skills/review/SKILL.md", skill("review"));
    assert!(fixed.run("list").starts_with("exit 0"), "{}", fixed.run("list"));
}

#[test]
fn a_lock_file_that_is_wrong_takes_away_the_tiers_only() {
    let scene = populated().file("home/.local/share/prowess/skill-lock.json", "{");
    assert_snapshot!(scene.run("list"));
}

#[test]
fn an_empty_machine_has_a_next_step() {
    let scene = machine();
    assert_snapshot!(scene.run("list"));
    assert_eq!(scene.files(), "home/.cache/prowess/listing\nwork/.git/HEAD\n", "no store is made");
}

#[test]
fn names_of_strangers_are_made_visible() {
    let text =
        "---\nname: \"a\\e[31mred\"\ndescription: Does one thing well\n---\n\n# a\n\nDo it.\n";
    let scene = machine().file("work/.claude/skills/a/SKILL.md", text);
    let listed = scene.run("list");
    assert!(!listed.contains('\u{1b}'), "{listed}");
    assert!(listed.contains("red"), "{listed}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_terminal_gets_lines_that_fit() {
    let deep = "work/.claude/skills/a-folder-with-quite-a-long-name/and-another-one/below-it";
    let scene = populated()
        .file(&format!("{deep}/SKILL.md"), skill("below-it"))
        .file("home/.agents/skills/below-it/SKILL.md", skill("below-it"));
    let screen = scene.run_on_terminal(&["list"], "");
    let fits = |line: &str| line.chars().count() <= 80 || !line.trim().contains(' ');
    assert!(screen.lines().all(fits), "{screen}");
    assert!(screen.contains("shadowed by"), "{screen}");
}
