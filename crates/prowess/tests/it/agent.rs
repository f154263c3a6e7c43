//! `prowess agent`.

use insta::assert_snapshot;
use prowess_testkit::{Published, Scene, TestRegistry};

use crate::{packages, scene};

/// A skill with further lines of front matter.
fn skill(name: &str, more: &str) -> String {
    format!(
        "---\nname: {name}\ndescription: Does {name} when asked to\n{more}---\n\n# {name}\n\nDo it.\n"
    )
}

/// A skill with tools, each a command that reads nothing.
fn tool_skill(name: &str, tools: &[&str]) -> String {
    let tools: Vec<String> = tools
        .iter()
        .map(|tool| {
            format!(
                "\n### {tool}\n\nDoes {tool}\n\n#### Parameters\n\n| Name | Type | Required | Description |\n|---|---|---|---|\n| count | integer | yes | How many |\n\n#### Command\n\n```bash\necho {{{{count}}}}\n```\n"
            )
        })
        .collect();
    let tools = tools.concat();
    format!(
        "---\nname: {name}\nversion: 1.0.0\ndescription: Does {name} when asked to\n---\n\n# {name}\n{tools}"
    )
}

const DESK: &str = "\
name: desk
version: 0.3.0
description: Keeps a desk tidy
skills:
  - name: notes
    version: \">=1.0.0\"
  - name: mail
    version: \"^2.0.0\"
    required: false
model:
  minimum: \">=7B\"
  context: \">=32K\"
tools:
  - name: tidy
    description: Puts everything in its place
";

const SETS: &str = "\
name: desk
skills: [notes]
skill_sets:
  office: [mail]
  home: [music]
default_skill_set: home
";

fn at_home() -> Scene {
    scene().home("home")
}

/// A desk whose skills lie in a folder beside it.
fn desk() -> Scene {
    at_home()
        .file("desk/AGENT.yaml", DESK)
        .file("place/notes/SKILL.md", skill("notes", "version: 1.4.0\n"))
        .file("place/mail/SKILL.md", skill("mail", "version: 2.1.0\n"))
}

#[test]
fn a_manifest_is_held_against_what_is_installed() {
    // GAIA-9.1-1: what is required and missing fails, what is optional and missing warns.
    let empty = at_home().file("desk/AGENT.yaml", DESK);
    assert_snapshot!(empty.run("agent check desk/AGENT.yaml"));
    // GAIA-9.3-1: its own tools stand beside the skills.
    assert_snapshot!(empty.run("agent check desk --format json"));
    let there = at_home()
        .file("desk/AGENT.yaml", DESK)
        .file("desk/.prowess/skills/notes/SKILL.md", skill("notes", "version: 1.4.0\n"))
        .file("home/.local/share/prowess/skills/mail/SKILL.md", skill("mail", "version: 1.0.0\n"));
    assert_snapshot!(there.run("agent check desk/AGENT.yaml"));
}

#[test]
fn versions_and_models_are_compared() {
    let large = "version: 1.4.0\nrequirements:\n  model: \">=13B\"\n  context: \">=8K\"\n";
    // GAIA-9.1-2
    let scene = at_home()
        .file("desk/AGENT.yaml", DESK)
        .file("desk/.prowess/skills/notes/SKILL.md", skill("notes", large));
    assert_snapshot!(scene.run("agent check desk"));
    // GAIX-19
    let scene = at_home()
        .file("desk/AGENT.yaml", DESK)
        .file("desk/.prowess/skills/notes/SKILL.md", skill("notes", ""));
    assert_snapshot!(scene.run("agent check desk"));
}

#[test]
fn one_skill_set_is_active() {
    // GAIX-18
    let scene = at_home()
        .file("desk/AGENT.yaml", SETS)
        .file("desk/.prowess/skills/notes/SKILL.md", skill("notes", ""))
        .file("desk/.prowess/skills/mail/SKILL.md", skill("mail", ""))
        .file("desk/.prowess/skills/music/SKILL.md", skill("music", ""));
    assert_snapshot!(scene.run("agent check desk --set office"));
    assert_snapshot!(scene.run("agent check desk"));
    assert_snapshot!(scene.run("agent check desk --set ofice"));
    let scene = scene.variable("PROWESS_SKILL_SET", "office");
    let selected = scene.stdout("agent check desk --format json");
    assert!(selected.contains("\"set_chosen_by\": \"selector\""), "{selected}");
    let requested = scene.stdout("agent check desk --set home --format json");
    assert!(requested.contains("\"set\": \"home\""), "{requested}");
}

#[test]
fn a_broken_manifest_is_used_for_nothing() {
    let scene = at_home().file("desk/AGENT.yaml", "name: desk\nskills:\n  - version: \">=1\"\n");
    for verb in ["check", "install", "tools"] {
        assert_snapshot!(
            format!("broken_manifest_{verb}"),
            scene.run(&format!("agent {verb} desk"))
        );
    }
    assert_snapshot!(scene.run("agent check nowhere.yaml"));
    assert_snapshot!(at_home().file("empty/x", "").run("agent check empty"));
    assert!(!scene.path().join("desk/.prowess").exists());
}

#[test]
fn skills_are_installed_beside_the_manifest() {
    let scene = desk();
    assert_snapshot!(scene.run("agent install desk"));
    // GAIA-4.3-2: nobody has signed it, so that a manifest lists it is not enough.
    assert_snapshot!(scene.run("agent install desk --from place"));
    assert!(!scene.path().join("desk/.prowess/skill-lock.json").exists());
    assert_snapshot!(
        scene.run("agent install desk --from place --allow-experimental notes --dry-run")
    );
    assert!(!scene.path().join("desk/.prowess/skill-lock.json").exists());
    // The one that was named is installed, the optional one beside it is not.
    assert_snapshot!(scene.run("agent install desk --from place --allow-experimental notes"));
    assert!(scene.text("desk/.prowess/skill-lock.json").contains("\"notes\""));
    assert!(!scene.path().join("desk/.prowess/skills/mail").exists());
    assert!(!scene.path().join("home/.local/share/prowess/skills/notes").exists());
    assert!(scene.run("agent check desk").starts_with("exit 0"));
    assert_snapshot!(
        scene.run(
            "agent install desk --from place --allow-experimental mail --format json --dry-run"
        )
    );
    let again = scene.run("agent install desk --from place --allow-experimental mail");
    assert!(again.starts_with("exit 0"), "{again}");
    assert_snapshot!(scene.run("agent install desk --from place"));
}

#[test]
fn a_lock_file_is_all_that_is_installed_when_frozen() {
    let scene = desk();
    assert_snapshot!(scene.run("agent install desk --frozen"));
    let installed = scene.run(
        "agent install desk --from place --allow-experimental notes --allow-experimental mail",
    );
    assert!(installed.starts_with("exit 0"), "{installed}");
    std::fs::remove_dir_all(scene.path().join("desk/.prowess/skills/notes")).expect("it is there");
    assert_snapshot!(scene.run("agent install desk --frozen"));
    assert!(scene.run("agent check desk").starts_with("exit 0"));
    // The manifest asks for more than was locked.
    let scene = scene.file("desk/AGENT.yaml", DESK.replace(">=1.0.0", ">=3.0.0"));
    assert_snapshot!(scene.run("agent install desk --frozen"));
    // And the place does not have it.
    assert_snapshot!(scene.run("agent install desk --from place --allow-experimental notes"));
}

#[test]
fn a_clone_gets_what_the_lock_file_says() {
    let author = desk().file(".git/HEAD", "ref: x\n");
    let yes = "--allow-experimental notes,mail --yes";
    let said = author.run(&format!("agent install desk --from place {yes}"));
    assert!(said.starts_with("exit 0"), "{said}");
    let lock = author.text("desk/.prowess/skill-lock.json");
    let clone = desk().file("desk/.prowess/skill-lock.json", &lock).file(".git/HEAD", "ref: x\n");
    // Nobody here has agreed to them, and all of them are named at once.
    assert_snapshot!("agent_clone_refused", clone.run("agent install desk --from place"));
    assert_snapshot!("agent_clone_dry_run", clone.run("agent install desk --frozen --dry-run"));
    assert!(!clone.path().join("desk/.prowess/skills/notes").exists());
    let said = clone.run(&format!("agent install desk --from place {yes}"));
    assert!(said.contains("installed notes 1.4.0"), "{said}");
    assert!(clone.run("agent check desk").starts_with("exit 0"));
    // What is missing by now is put back, and not only spoken of.
    std::fs::remove_dir_all(clone.path().join("desk/.prowess/skills/notes")).expect("it is there");
    assert_snapshot!("agent_put_back", clone.run("agent install desk"));
    assert!(clone.run("agent check desk").starts_with("exit 0"));
}

#[test]
fn paths_beside_a_manifest_stay_in_its_repository() {
    let scene = desk().file(".git/HEAD", "ref: refs/heads/main\n");
    let said = scene.run("agent install desk --from place --allow-experimental notes,mail --yes");
    assert!(said.starts_with("exit 0"), "{said}");
    let lock = scene.text("desk/.prowess/skill-lock.json");
    assert!(lock.contains("\"path\": \"../place/notes\""), "{lock}");
}

#[test]
fn a_place_that_lacks_a_skill_says_what_it_has() {
    let scene = at_home()
        .file("desk/AGENT.yaml", DESK)
        .file("place/mail/SKILL.md", skill("mail", "version: 2.1.0\n"));
    assert_snapshot!(scene.run("agent install desk --from place"));
    let scene = at_home().file("greet/SKILL.md", skill("greet", ""));
    assert_snapshot!("a_skill_is_no_agent", scene.run("agent check greet/SKILL.md"));
}

#[test]
fn the_tools_of_all_skills_are_under_one_roof() {
    // GAIA-5.2-1 GAIA-9.3-1
    let scene = at_home().file("desk/AGENT.yaml", DESK).file(
        "desk/.prowess/skills/notes/SKILL.md",
        tool_skill("notes", &["search", "write_note"]),
    );
    assert_snapshot!(scene.run("agent tools desk"));
    let scene = scene
        .file("desk/AGENT.yaml", DESK.replace("^2.0.0", "^1.0.0"))
        .file("desk/.prowess/skills/mail/SKILL.md", tool_skill("mail", &["search"]));
    assert_snapshot!(scene.run("agent tools desk"));
    assert_snapshot!(scene.run("agent tools desk --format json"));
    let without = at_home().file("desk/AGENT.yaml", DESK);
    assert_snapshot!(without.run("agent tools desk"));
}

/// A registry with `notes`, which needs `paper`, and `mail`; those that are named are signed.
fn registry(signed: &[&str]) -> (TestRegistry, String) {
    let needs = "dependencies:\n  skills:\n    - paper@^1\n";
    let author = packages::home()
        .file("notes/SKILL.md", packages::manifest("notes", "1.4.0", needs))
        .file("paper/SKILL.md", packages::manifest("paper", "1.0.0", ""))
        .file("mail/SKILL.md", packages::manifest("mail", "2.1.0", ""));
    assert!(author.run("key new release").starts_with("exit 0"));
    let registry = TestRegistry::start();
    for (name, version) in [("notes", "1.4.0"), ("paper", "1.0.0"), ("mail", "2.1.0")] {
        if signed.contains(&name) {
            packages::sign(&author, name, "release");
        }
        let archive = packages::packed(&author, name);
        let dependencies = match name {
            "notes" => vec![("acme/paper".to_owned(), "^1".to_owned())],
            _ => Vec::new(),
        };
        let version = Published::new("acme", name, version, archive);
        registry.publish(Published { dependencies, ..version });
    }
    (registry, author.stdout("key export release"))
}

/// A desk whose skills are in a registry, and whose user trusts a key.
fn desk_with(registry: &TestRegistry, key: &str) -> Scene {
    let scene = packages::home_with(registry).file("desk/AGENT.yaml", DESK);
    let said = scene.run_with(&["trust", "add", "-", "--role", "publisher"], key);
    assert!(said.starts_with("exit 0"), "{said}");
    scene
}

#[test]
fn signed_skills_of_a_registry_are_installed_for_an_agent() {
    let (registry, key) = registry(&["notes", "paper", "mail"]);
    let scene = desk_with(&registry, &key);
    assert_snapshot!(packages::steady(&scene.run("agent install desk")));
    let lock = scene.text("desk/.prowess/skill-lock.json");
    for name in ["notes", "paper", "mail"] {
        assert!(lock.contains(&format!("\"{name}\"")), "{lock}");
        assert!(scene.path().join(format!("desk/.prowess/skills/{name}/SIGNATURE.json")).exists());
    }
    assert!(scene.run("agent check desk").starts_with("exit 0"));
    // The same bytes again, and for somebody who trusts nobody they are refused.
    std::fs::remove_dir_all(scene.path().join("desk/.prowess/skills")).expect("it is there");
    assert!(scene.run("agent install desk --frozen").starts_with("exit 0"));
    let stranger = packages::home_with(&registry).file("desk/AGENT.yaml", DESK);
    let said = stranger.run("agent install desk");
    assert!(said.starts_with("exit 4"), "{said}");
    assert!(!stranger.path().join("desk/.prowess").exists(), "nothing is left");
}

#[test]
fn experimental_skills_are_installed_by_their_own_names_only() {
    // GAIA-4.3-2: not because a manifest lists it, and not because another skill needs it. What the registry says of them
    // does not count.
    let (registry, key) = registry(&["notes"]);
    let scene = desk_with(&registry, &key);
    assert_snapshot!(packages::steady(&scene.run("agent install desk")));
    // A name that is not the one in the way changes nothing.
    let said = scene.run("agent install desk --allow-experimental notes");
    assert!(said.starts_with("exit 4") && said.contains("`paper`"), "{said}");
    assert!(!scene.path().join("desk/.prowess").exists(), "nothing is left");
    // The one that is needed is named and comes along; the optional one is not named and stays away.
    assert_snapshot!(packages::steady(&scene.run("agent install desk --allow-experimental paper")));
    assert!(!scene.path().join("desk/.prowess/skills/mail").exists());
}

/// The names in an archive, and the text of one of its files.
fn unpacked(scene: &Scene, archive: &str, file: &str) -> (Vec<String>, String) {
    let installed = scene.run(&format!("install {archive} --allow-experimental --yes"));
    assert!(installed.starts_with("exit 0"), "{installed}");
    let folder = scene.path().join("home/.local/share/prowess/skills/fetch");
    let mut names: Vec<String> = std::fs::read_dir(&folder)
        .expect("it is installed")
        .map(|entry| entry.expect("it is read").file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    (names, std::fs::read_to_string(folder.join(file)).expect("it is there"))
}

#[test]
fn an_installed_skill_has_its_requirements_and_its_signature() {
    // GAIA-7.1-1
    let text = "---\nname: fetch\nversion: 1.0.0\ndescription: Fetches pages\nauthor: a\nlicense: MIT\npermissions: [filesystem:none]\nsecurity_tier: experimental\nrequirements:\n  dependencies: [\"requests>=2.31\", \"attrs\"]\ntools:\n  - name: fetch\n    description: Fetches\n---\n\n# Fetch\n";
    let scene = at_home()
        .file("fetch/SKILL.md", text)
        .file("fetch/tools.py", "def fetch() -> str:\n    \"\"\"Fetches.\"\"\"\n    return \"\"\n")
        .file("fetch/lib/client.py", "URL = \"\"\n");
    let wanted = "# Generated from the `requirements` of SKILL.md. Edit them there.\nattrs\nrequests>=2.31\n";
    let packed = scene.run("pack fetch --output unsigned.tar.gz");
    assert!(packed.contains("added `requirements.txt`"), "{packed}");
    // The author's folder is as it was.
    assert!(!scene.path().join("fetch/requirements.txt").exists());
    let (names, made) = unpacked(&scene, "./unsigned.tar.gz", "requirements.txt");
    assert_eq!(names, ["SKILL.md", "lib", "requirements.txt", "tools.py"]);
    assert_eq!(made, wanted);
    assert!(scene.run("key new release").starts_with("exit 0"));
    let signed = scene.run("sign fetch --key release");
    assert!(signed.contains("requirements.txt"), "{signed}");
    assert_eq!(scene.text("fetch/requirements.txt"), wanted);
    assert!(scene.run("pack fetch --output signed.tar.gz").starts_with("exit 0"));
    assert!(scene.run("remove fetch").starts_with("exit 0"));
    let (names, _) = unpacked(&scene, "./signed.tar.gz", "SIGNATURE.json");
    assert_eq!(names, ["SIGNATURE.json", "SKILL.md", "lib", "requirements.txt", "tools.py"]);
    // A signature is about all files, so nothing is added to a skill that has one.
    std::fs::remove_file(scene.path().join("fetch/requirements.txt")).expect("it is there");
    let packed = scene.run("pack fetch --output torn.tar.gz");
    assert!(!packed.contains("added"), "{packed}");
}
