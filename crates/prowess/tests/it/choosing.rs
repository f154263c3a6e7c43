//! Choices that `install` offers on a terminal, and what it says about agents that do not see a skill.

use prowess_testkit::Scene;

use crate::{machine, skill};

/// A folder with three skills, on a machine with three agents.
fn several() -> Scene {
    ["mail", "notes", "tasks"].iter().fold(machine(), |scene, name| {
        scene.file(&format!("work/skills/{name}/SKILL.md"), skill(name))
    })
}

fn installed(scene: &Scene) -> Vec<String> {
    let folder = scene.path().join("home/.local/share/prowess/skills");
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let names = entries.map(|it| it.expect("an entry").file_name().to_string_lossy().into_owned());
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

#[cfg(target_os = "linux")]
#[test]
fn skills_and_agents_are_chosen_on_a_terminal() {
    let scene = several();
    let words = ["install", "./skills", "--allow-experimental"];
    // Asked about agents first, then about skills.
    let said = scene.run_on_terminal(&words, "choose:claude-code\nchoose:1,tasks\ny\n");
    assert!(said.starts_with("exit 0"), "{said}");
    assert!(
        said.contains("Which of them get it? Numbers, names or `all`; Enter for none: "),
        "{said}"
    );
    assert!(said.contains("  2  notes\n"), "{said}");
    assert_eq!(installed(&scene), ["mail", "tasks"]);
    assert!(scene.path().join("home/.claude/skills/tasks/SKILL.md").is_file());
    assert!(!scene.path().join("home/.cursor/skills/tasks").exists());
    assert!(!said.contains("no agent sees"), "{said}");
}

#[cfg(target_os = "linux")]
#[test]
fn nothing_chosen_installs_nothing() {
    let scene = several();
    let words = ["install", "./skills", "--allow-experimental"];
    let said = scene.run_on_terminal(&words, "choose:\nchoose:\n");
    assert!(said.starts_with("exit 2"), "{said}");
    assert!(installed(&scene).is_empty());
    // What is not in the list is asked for again.
    let said = scene.run_on_terminal(&words, "choose:\nchoose:male\nchoose:mail\n");
    assert!(said.contains("`male` is not in the list"), "{said}");
    assert_eq!(installed(&scene), ["mail"]);
}

#[cfg(target_os = "linux")]
#[test]
fn what_is_decided_in_advance_is_not_asked() {
    let scene = several();
    for more in [&["--yes", "--all"][..], &["--skill", "mail", "--agent", "codex"]] {
        let words = [&["install", "./skills", "--allow-experimental"], more].concat();
        let said = scene.run_on_terminal(&words, "");
        assert!(said.starts_with("exit 0") && !said.contains("Enter for none"), "{said}");
    }
}

#[test]
fn without_a_terminal_nothing_is_asked() {
    let scene = several();
    let said = scene.run("install ./skills --allow-experimental");
    assert!(said.starts_with("exit 2") && said.contains("contains 3 skills"), "{said}");
    assert!(said.contains("hint: choose it with `--skill NAME`"), "{said}");
}

#[test]
fn a_skill_that_no_agent_sees_is_named() {
    let scene = several();
    let said = scene.run("install ./skills --skill mail --allow-experimental");
    let command = "prowess install ./skills --skill mail --agent claude-code,codex,cursor";
    let note = format!("note: no agent sees `mail` yet; to place it: `{command}`");
    assert!(said.starts_with("exit 0") && said.contains(&note), "{said}");
    // The command does what it says.
    let said = scene.run(command.strip_prefix("prowess ").expect("our program"));
    assert!(said.starts_with("exit 0") && !said.contains("no agent sees"), "{said}");
    assert!(scene.path().join("home/.claude/skills/mail/SKILL.md").is_file());
    let said = scene.run("install ./skills --skill mail,notes --allow-experimental --format json");
    let value: serde_json::Value =
        serde_json::from_str(said.split("--- stdout\n").nth(1).expect("stdout")).expect("JSON");
    assert_eq!(value["unseen"], serde_json::json!(["notes"]));
    // Nobody misses anything on a machine without agents.
    let lonely = crate::scene().home("home").file("greet/SKILL.md", skill("greet"));
    let said = lonely.run("install ./greet --allow-experimental");
    assert!(said.starts_with("exit 0") && !said.contains("no agent"), "{said}");
}

#[test]
fn clients_and_agents_have_one_list_of_names() {
    let scene = machine().file("work/greet/SKILL.md", skill("greet"));
    for name in ["claude-code", "claude", "gemini", "gemini-cli", "agent-skills", "universal"] {
        let said = scene.run(&format!("check greet --for {name}"));
        assert!(said.starts_with("exit 0"), "--for {name}: {said}");
        let said =
            scene.run(&format!("install ./greet --allow-experimental --agent {name} --dry-run"));
        assert!(said.starts_with("exit 0"), "--agent {name}: {said}");
        assert!(!scene.run(&format!("which greet --agent {name}")).starts_with("exit 2"), "{name}");
    }
    let said = scene.run("check greet --for cursor");
    assert!(said.starts_with("exit 2"), "{said}");
    assert!(
        said.contains("it is not known how Cursor treats a skill; known clients: `claude-code`"),
        "{said}"
    );
    let said = scene.run("check greet --for codx");
    assert!(said.starts_with("exit 2") && said.contains("did you mean `codex`?"), "{said}");
}
