//! Which store a verb uses, what version control gets, and merge conflicts in a lock file.

use insta::assert_snapshot;
use prowess_testkit::Scene;
use serde_json::Value;

use crate::{machine, scene, skill};

const YES: &str = "--allow-experimental --yes";
const LOCK: &str = "work/.prowess/skill-lock.json";

fn versioned(name: &str, version: &str) -> String {
    format!(
        "---\nname: {name}\nversion: {version}\ndescription: Does one thing well\n---\n\n# {name}\n"
    )
}

fn json(scene: &Scene, arguments: &str) -> Value {
    serde_json::from_str(&scene.stdout(&format!("{arguments} --format json"))).expect("JSON")
}

/// A project with one skill, and a user with another one.
fn both() -> Scene {
    let scene = machine()
        .file("work/greet/SKILL.md", skill("greet"))
        .file("work/notes/SKILL.md", skill("notes"));
    let said = scene.run(&format!("install ./notes --user {YES}"));
    assert!(said.starts_with("exit 0"), "{said}");
    let said = scene.run(&format!("install ./greet --project {YES}"));
    assert!(said.starts_with("exit 0"), "{said}");
    scene
}

#[test]
fn a_project_with_a_lock_file_is_used_and_said_so() {
    let scene = machine().file("work/greet/SKILL.md", skill("greet"));
    // Without a lock file, the user's own store.
    let said = scene.run(&format!("install ./greet {YES}"));
    assert!(said.contains("using your own skills in `~/.local/share/prowess`\n"), "{said}");
    assert!(!scene.path().join("work/.prowess").exists());
    let scene = both();
    let line = "using the project's skills in `[SCENE]/work/.prowess`, because it has a lock file (`--user` uses your own)\n";
    let verbs = [
        format!("install {YES}"),
        "update --dry-run".to_owned(),
        "outdated".to_owned(),
        "verify".to_owned(),
        "lock".to_owned(),
        "lock --check".to_owned(),
        "remove greet --dry-run".to_owned(),
    ];
    for verb in &verbs {
        let said = scene.run(verb);
        assert!(said.starts_with("exit 0") && said.contains(line), "{verb}: {said}");
        let said = scene.run(&format!("{verb} --project"));
        assert!(said.contains("using the project's skills in `[SCENE]/work/.prowess`\n"), "{said}");
        let said = scene.run(&format!("{verb} --user"));
        assert!(said.contains("using your own skills in `~/.local/share/prowess`\n"), "{said}");
        let said = scene.run(&format!("{verb} --user --project"));
        assert!(said.starts_with("exit 2"), "{said}");
    }
    for verb in ["verify", "outdated", "list", "info greet", "update --dry-run"] {
        let value = json(&scene, verb);
        assert_eq!(value["scope"], "project", "{verb}");
        assert_eq!(value["scope_reason"], "project_lock", "{verb}");
        assert!(value["store"].as_str().is_some_and(|it| it.ends_with("/work/.prowess")), "{verb}");
    }
    assert!(scene.run("verify greet").starts_with("exit 0"));
    assert!(scene.run("verify notes").starts_with("exit 3"), "it is the user's");
    assert!(scene.run("verify notes --user").starts_with("exit 0"));
}

#[test]
fn list_and_info_show_one_store_on_request() {
    let scene = both();
    let names = |arguments: &str| {
        let value = json(&scene, arguments);
        let skills = value["skills"].as_array().expect("a list").iter();
        skills.map(|skill| skill["name"].as_str().expect("a name").to_owned()).collect::<Vec<_>>()
    };
    // The sources are in the folder `work`, which is no folder of skills.
    assert_eq!(names("list"), ["greet", "notes"]);
    assert_eq!(names("list --project"), ["greet"]);
    assert_eq!(names("list --user"), ["notes"]);
    assert!(scene.run("info notes --project").starts_with("exit 3"));
    assert!(scene.run("info notes --user").starts_with("exit 0"));
    // What is missing in the user's own store is no fault of the project.
    let home = scene.path().join("home/.local/share/prowess/skills/notes");
    std::fs::remove_dir_all(home).expect("it is installed");
    assert_eq!(names("list --project"), ["greet"]);
    assert!(scene.run("list --project").starts_with("exit 0"));
    assert!(scene.run("list").starts_with("exit 4"));
    assert!(scene.run("list --user").contains("missing"));
}

#[test]
fn any_folder_becomes_a_project() {
    let scene =
        scene().home("home").inside("papers/2025").file("papers/greet/SKILL.md", skill("greet"));
    std::fs::create_dir_all(scene.path().join("papers/2025")).expect("a folder");
    let scene = scene.inside("papers");
    let said = scene.run(&format!("install ./greet --project {YES} --agent claude-code"));
    assert!(said.starts_with("exit 0"), "{said}");
    assert!(scene.path().join("papers/.prowess/skills/greet/SKILL.md").is_file());
    assert!(scene.path().join("papers/.claude/skills/greet/SKILL.md").is_file());
    // The folders below it are part of it, those beside it are not.
    let scene = scene.inside("papers/2025");
    assert!(scene.run("verify greet").starts_with("exit 0"));
    let scene = scene.inside("home");
    assert!(scene.run("verify greet").starts_with("exit 3"));
}

#[test]
fn version_control_gets_the_lock_file_and_not_the_rest() {
    let scene = both();
    assert_snapshot!(scene.text("work/.prowess/.gitignore"));
    // Whoever wants the skills in version control changes it, and keeps that.
    let scene = scene.file("work/.prowess/.gitignore", "/staging/\n");
    let said = scene.run("remove greet");
    assert!(said.starts_with("exit 0"), "{said}");
    assert_eq!(scene.text("work/.prowess/.gitignore"), "/staging/\n");
    assert!(!scene.path().join("home/.local/share/prowess/.gitignore").exists());
}

#[test]
fn a_frozen_installation_gives_exactly_what_is_locked() {
    let author = both();
    // A fresh machine: the sources and the lock file, and nobody has agreed to anything.
    let machine =
        machine().file("work/greet/SKILL.md", skill("greet")).file(LOCK, author.bytes(LOCK));
    let said = machine.run("install --frozen");
    assert!(said.starts_with("exit 4"), "{said}");
    let said = machine.run(&format!("install --frozen {YES}"));
    assert!(said.starts_with("exit 0"), "{said}");
    assert!(machine.path().join("work/.prowess/skills/greet/SKILL.md").is_file());
    assert_eq!(machine.bytes(LOCK), author.bytes(LOCK), "the lock file stays as it is");
    let said = machine.run("install --frozen");
    assert!(said.starts_with("exit 0"), "agreed to once: {said}");
    // Other bytes than the locked ones are refused.
    let other = crate::machine()
        .file("work/greet/SKILL.md", skill("greet").replace("Do it", "Do more"))
        .file(LOCK, author.bytes(LOCK));
    let said = other.run(&format!("install --frozen {YES}"));
    assert!(said.starts_with("exit 4"), "{said}");
    assert!(!other.path().join("work/.prowess/skills/greet").exists());
}

/// The lock file that version control leaves after two people have worked on it.
fn merged(ours: &str, theirs: &str) -> String {
    let inside = |lock: &str| {
        let start = lock.find("\"skills\": {\n").expect("skills") + "\"skills\": {\n".len();
        lock[start..lock.rfind("  }\n}").expect("the end")].to_owned()
    };
    format!(
        "{{\n  \"version\": 1,\n  \"skills\": {{\n<<<<<<< HEAD\n{}=======\n{}>>>>>>> feature\n  }}\n}}\n",
        inside(ours),
        inside(theirs)
    )
}

/// Two people have installed one skill each, and another one in two versions.
fn conflicted() -> Scene {
    let place = |version: &str, own: &str| {
        let scene = machine()
            .file("work/greet/SKILL.md", versioned("greet", version))
            .file(&format!("work/{own}/SKILL.md"), skill(own));
        let said = scene.run(&format!("install ./greet ./{own} --project {YES}"));
        assert!(said.starts_with("exit 0"), "{said}");
        scene
    };
    let (ours, theirs) = (place("1.0.0", "mail"), place("1.1.0", "notes"));
    let text = merged(&ours.text(LOCK), &theirs.text(LOCK));
    ours.file(LOCK, text).file("work/notes/SKILL.md", skill("notes"))
}

#[test]
fn a_merge_conflict_is_called_that() {
    let scene = conflicted();
    for verb in ["install", "update", "verify", "outdated", "lock", "remove mail"] {
        let said = scene.run(verb);
        assert!(said.starts_with("exit 1"), "{verb}: {said}");
        assert!(said.contains("it has a merge conflict (line 4)"), "{verb}: {said}");
        assert!(said.contains("hint: `prowess lock --resolve`"), "{verb}: {said}");
    }
    assert!(scene.run("list").contains("merge conflict (line 4)"));
}

#[test]
fn resolving_keeps_the_skills_of_both_sides() {
    let scene = conflicted();
    let before = scene.text(LOCK);
    // Nobody to ask.
    assert_snapshot!(scene.run("lock --resolve"));
    assert_eq!(scene.text(LOCK), before, "nothing is written without a choice");
    assert_snapshot!(scene.run("lock --resolve --prefer newer"));
    assert_eq!(scene.text("work/.prowess/skill-lock.json.conflict"), before);
    let lock: Value = serde_json::from_str(&scene.text(LOCK)).expect("JSON");
    let skills = lock["skills"].as_object().expect("an object");
    assert_eq!(skills.keys().collect::<Vec<_>>(), ["greet", "mail", "notes"]);
    assert_eq!(skills["greet"]["version"], "1.1.0");
    // Once more there is nothing to do; what the other side added is reviewed like anything new.
    assert!(scene.run("lock --resolve").contains("has no merge conflict"));
    assert!(scene.run("install").starts_with("exit 4"));
    let scene = scene.file("work/greet/SKILL.md", versioned("greet", "1.1.0"));
    let said = scene.run(&format!("install {YES}"));
    assert!(said.starts_with("exit 0"), "{said}");
    assert!(scene.path().join("work/.prowess/skills/notes/SKILL.md").is_file());
    assert!(scene.run("verify").starts_with("exit 0"));
}

#[test]
fn resolving_tells_programs_what_it_did() {
    let scene = conflicted();
    let value = json(&scene, "lock --resolve");
    assert_eq!((&value["resolved"], &value["error"]["exit_code"]), (&false.into(), &4.into()));
    let value = json(&scene, "lock --resolve --prefer ours");
    assert_eq!(value["resolved"], true);
    let told: Vec<String> = value["skills"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|skill| format!("{} {} {}", skill["name"], skill["state"], skill["side"]))
        .collect();
    assert_eq!(
        told,
        [r#""greet" "differs" "ours""#, r#""mail" "only" "ours""#, r#""notes" "only" "theirs""#]
    );
}

#[cfg(target_os = "linux")]
#[test]
fn on_a_terminal_each_difference_is_asked_about() {
    let scene = conflicted();
    let said = scene.run_on_terminal(&["lock", "--resolve"], "\n");
    assert!(said.starts_with("exit 4") && said.contains("you chose no side"), "{said}");
    let said = scene.run_on_terminal(&["lock", "--resolve"], "t\n");
    assert!(said.starts_with("exit 0"), "{said}");
    assert!(said.contains("Which `greet`? [o]urs / [t]heirs / [N]o: "), "{said}");
    let lock: Value = serde_json::from_str(&scene.text(LOCK)).expect("JSON");
    assert_eq!(lock["skills"]["greet"]["version"], "1.1.0");
}

#[test]
fn an_entry_that_a_merge_has_mixed_is_not_chosen() {
    let scene = conflicted();
    // Both sides get the same hash of a file, as if only one of them had changed that line.
    let text = scene.text(LOCK);
    let at = text.find("\"SKILL.md\": \"").expect("a hash") + "\"SKILL.md\": \"".len();
    let end = at + text[at..].find('"').expect("its end");
    let mut broken = text.clone();
    broken.replace_range(at..end, &"0".repeat(end - at));
    let scene = scene.file(LOCK, &broken);
    let said = scene.run("lock --resolve --prefer ours");
    assert!(said.starts_with("exit 0"), "{said}");
    assert!(said.contains("greet 1.1.0: taken from `feature`"), "the other entry is whole: {said}");
    // Markers that do not fit together are no conflict that can be resolved.
    let scene = scene.file(LOCK, text.replace(">>>>>>> feature\n", ""));
    let said = scene.run("lock --resolve --prefer ours");
    assert!(said.starts_with("exit 1") && said.contains("markers are incomplete"), "{said}");
}

#[test]
fn update_works_without_names() {
    let scene = machine().file("work/greet/SKILL.md", versioned("greet", "1.0.0"));
    let _ = scene.run(&format!("install ./greet {YES}"));
    let scene = scene.file("work/greet/SKILL.md", versioned("greet", "1.1.0"));
    let said = scene.run(&format!("update {YES}"));
    assert!(said.starts_with("exit 0") && said.contains("greet 1.0.0 -> 1.1.0"), "{said}");
    assert!(scene.run("update greet --all").starts_with("exit 2"));
}

#[test]
fn a_misspelt_setting_is_an_error() {
    let scene = scene().home("home").file(
        "home/.config/prowess/config.toml",
        "model = \"ollama/x\"\n\n[registries.work]\nurl = \"https://skills.example\"\nnamespace = [\"acme\"]\n",
    );
    for verb in ["models", "search greet"] {
        let said = scene.run(verb);
        assert!(said.starts_with("exit 1"), "{said}");
        let problem =
            "line 5: `registries.work.namespace` is not a setting; did you mean `namespaces`?";
        assert!(said.contains(problem), "{said}");
    }
}
