//! A project's lock file in a clone: it means the same skills there, and its author's yes is not the reader's.

use std::fs;

use insta::assert_snapshot;
use prowess_testkit::Scene;

use crate::machine;
use crate::packages::{DANGEROUS, manifest, packed, steady};

const LOCK: &str = "work/.prowess/skill-lock.json";
const YES: &str = "--allow-experimental --yes";

/// A project with a dangerous skill in a folder of its own, installed by its author.
fn project() -> Scene {
    let scene = machine().file("work/skills/greet/SKILL.md", manifest("greet", "1.0.0", DANGEROUS));
    let said = scene.run(&format!("install ./skills/greet --project {YES}"));
    assert!(said.starts_with("exit 0"), "{said}");
    scene
}

/// What somebody else gets who clones it: everything but the installed skills.
fn clone_of(project: &Scene) -> Scene {
    machine()
        .file("work/skills/greet/SKILL.md", project.bytes("work/skills/greet/SKILL.md"))
        .file(LOCK, project.bytes(LOCK))
}

fn has(scene: &Scene, path: &str) -> bool {
    scene.path().join(path).exists()
}

#[test]
fn paths_in_the_project_are_relative_to_it() {
    let scene = project();
    let here = scene.path().display().to_string();
    let lock = scene.text(LOCK);
    assert!(lock.contains("\"path\": \"./skills/greet\""), "{lock}");
    assert!(!lock.contains(&here), "{lock}");
    // GAIA-7.3-2: in the clone it is another folder, and the same bytes.
    let clone = clone_of(&scene);
    let said = clone.run(&format!("install --project --frozen {YES}"));
    assert!(said.contains("installed greet 1.0.0"), "{said}");
    assert_eq!(clone.text(LOCK), lock, "what is frozen is not written anew");
    let said = clone.run(&format!("update greet --project {YES}"));
    assert!(said.contains("already up to date"), "{said}");

    let scene = machine().file("work/greet/SKILL.md", manifest("greet", "1.0.0", ""));
    fs::write(scene.path().join("work/greet.tar.gz"), packed_there(&scene)).expect("written");
    let said = scene.run(&format!("install ./greet.tar.gz --project {YES}"));
    assert!(said.starts_with("exit 0"), "{said}");
    let lock = scene.text(LOCK);
    assert!(lock.contains("\"location\": \"./greet.tar.gz\""), "{lock}");
}

fn packed_there(scene: &Scene) -> Vec<u8> {
    let author = machine().file("greet/SKILL.md", scene.bytes("work/greet/SKILL.md"));
    packed(&author.inside(""), "greet")
}

#[test]
fn absolute_paths_of_older_lock_files_still_work() {
    let scene = project();
    let absolute = scene.path().join("work/skills/greet").display().to_string();
    let lock = scene.text(LOCK).replace("./skills/greet", &absolute);
    let scene = scene.file(LOCK, &lock);
    fs::remove_dir_all(scene.path().join("work/.prowess/skills/greet")).expect("it is there");
    let said = scene.run("install --project --frozen");
    assert!(said.contains("installed greet 1.0.0"), "{said}");
    assert_eq!(scene.text(LOCK), lock);
}

#[test]
fn what_lies_outside_is_told() {
    let scene = machine().file("other/greet/SKILL.md", manifest("greet", "1.0.0", ""));
    assert_snapshot!(scene.run(&format!("install ../other/greet --project {YES}")));
    assert!(scene.text(LOCK).contains(&scene.path().join("other/greet").display().to_string()));
    // The user's own lock file is about this machine.
    let said = scene.run(&format!("install ../other/greet {YES}"));
    assert!(!said.contains("outside"), "{said}");
    // NEG-1: a lock file leads no further up than its repository.
    let scene = project();
    let lock = scene.text(LOCK).replace("./skills/greet", "../../other/greet");
    let scene = scene.file(LOCK, lock);
    assert_snapshot!(scene.run("install --project"));
}

#[test]
fn a_lock_file_of_somebody_else_is_looked_at_first() {
    // GAIA-4.3-1: that somebody has locked it is no leave.
    let author = project();
    let clone = clone_of(&author);
    let before = clone.text(LOCK);
    assert_snapshot!("clone_refused", clone.run("install --project"));
    assert_snapshot!("clone_dry_run", clone.run("install --project --dry-run"));
    assert_snapshot!(
        "clone_frozen_dry_run",
        clone.run("install --project --frozen --dry-run --allow-experimental")
    );
    assert_snapshot!("clone_asked", clone.run("install --project --allow-experimental"));
    for words in ["--agent claude-code", "--frozen", "--yes"] {
        let said = clone.run(&format!("install --project {words}"));
        assert!(said.starts_with("exit 4"), "{words}: {said}");
    }
    let said = clone.run("update --all --project");
    assert!(said.starts_with("exit 4"), "an update is no way around: {said}");
    assert!(!has(&clone, "work/.prowess/skills/greet"));
    assert!(!has(&clone, "work/.claude/skills/greet"));
    assert_eq!(clone.text(LOCK), before);
    // Agreed to once, on this machine and for these bytes.
    let said = clone.run(&format!("install --project {YES}"));
    assert!(said.contains("installed greet 1.0.0"), "{said}");
    fs::remove_dir_all(clone.path().join("work/.prowess/skills/greet")).expect("it is there");
    assert_snapshot!("clone_again", clone.run("install --project --frozen"));
    // The author goes on, and the new bytes are news.
    let author = author.file("work/skills/greet/SKILL.md", manifest("greet", "1.1.0", DANGEROUS));
    assert!(author.run("update --all --project").starts_with("exit 0"));
    let clone = clone
        .file("work/skills/greet/SKILL.md", author.bytes("work/skills/greet/SKILL.md"))
        .file(LOCK, author.bytes(LOCK));
    let said = clone.run("install --project");
    assert!(said.starts_with("exit 4"), "{said}");
}

#[test]
fn skills_that_came_with_a_clone_are_looked_at_before_agents_get_them() {
    let author = project();
    let clone = clone_of(&author)
        .file("work/.prowess/skills/greet/SKILL.md", author.bytes("work/skills/greet/SKILL.md"));
    for words in ["install", "install ./skills/greet"] {
        let said = clone.run(&format!("{words} --project --agent claude-code"));
        assert!(said.starts_with("exit 4"), "{words}: {said}");
    }
    assert!(!has(&clone, "work/.claude/skills/greet"));
    let said = clone.run(&format!("install --project --agent claude-code {YES}"));
    assert!(said.starts_with("exit 0"), "{said}");
    assert!(has(&clone, "work/.claude/skills/greet/SKILL.md"));
}

#[test]
fn the_author_is_not_asked_again() {
    let scene = project();
    fs::remove_dir_all(scene.path().join("work/.prowess/skills/greet")).expect("it is there");
    assert_snapshot!(steady(&scene.run("install --project")), @"
    exit 0
    --- stderr
    using the project's skills in `[SCENE]/work/.prowess`
    installed greet 1.0.0
    note: no agent sees `greet` yet; to place it: `prowess install --project --agent claude-code,codex,cursor`
    ");
}

#[cfg(unix)]
#[test]
fn a_store_that_is_a_link_is_not_followed() {
    // A clone whose `.prowess` leads to a folder of the user's: nothing there may be replaced or deleted.
    let scene = machine()
        .file("work/skills/notes/SKILL.md", manifest("notes", "1.0.0", ""))
        .file("mine/skills/notes/diary.txt", "three years of work");
    std::os::unix::fs::symlink("../mine", scene.path().join("work/.prowess")).expect("a link");
    for words in ["install ./skills/notes", "install", "remove notes", "update --all", "lock"] {
        let said = scene.run(&format!("{words} --project"));
        assert!(!said.starts_with("exit 0"), "{words}: {said}");
        assert_eq!(scene.text("mine/skills/notes/diary.txt"), "three years of work", "{words}");
    }
    assert_snapshot!(scene.run(&format!("install ./skills/notes --project {YES}")), @"
    exit 1
    --- stderr
    using the project's skills in `[SCENE]/work/.prowess`
    error: the project's store `[SCENE]/work/.prowess` is a symbolic link to `../mine`, which is not followed; replace the link with a folder
    ");
    assert!(!has(&scene, "mine/staging"));
}

#[test]
fn a_folder_that_the_lock_file_does_not_list_is_not_replaced() {
    let scene = machine()
        .file("work/skills/notes/SKILL.md", manifest("notes", "1.0.0", ""))
        .file("work/.prowess/skills/notes/diary.txt", "three years of work");
    assert_snapshot!(scene.run(&format!("install ./skills/notes --project {YES}")), @"
    exit 4
    --- stderr
    using the project's skills in `[SCENE]/work/.prowess`
    notes 1.0.0, experimental
      from   [SCENE]/work/skills/notes
      files  1 (83 bytes)
      agent  follows its text with the agent's own rights
      ! its path is occupied by `[SCENE]/work/.prowess/skills/notes`, which contains `diary.txt`, and the lock file does not list it
    error: `notes` was not installed: its path is occupied by `[SCENE]/work/.prowess/skills/notes`, which contains `diary.txt`, and the lock file does not list it
    hint: move `[SCENE]/work/.prowess/skills/notes` somewhere else, or delete it if you do not need it, then install again
    ");
    let dry = scene.run(&format!("install ./skills/notes --project --dry-run {YES}"));
    assert!(dry.starts_with("exit 4"), "{dry}");
    assert_eq!(scene.text("work/.prowess/skills/notes/diary.txt"), "three years of work");
    assert!(!has(&scene, LOCK));
    // The user's own store as well.
    let store = "home/.local/share/prowess/skills/notes/diary.txt";
    let scene = scene.file(store, "more work");
    let said = scene.run(&format!("install ./skills/notes {YES}"));
    assert!(said.starts_with("exit 4"), "{said}");
    assert_eq!(scene.text(store), "more work");
    // The same files are no loss: after a lost lock file they are installed again.
    fs::remove_file(scene.path().join(store)).expect("it is there");
    let scene = scene
        .file("home/.local/share/prowess/skills/notes/SKILL.md", manifest("notes", "1.0.0", ""));
    let said = scene.run(&format!("install ./skills/notes {YES}"));
    assert!(said.starts_with("exit 0"), "{said}");
}

/// A skill with a tool that says a word.
fn parrot(word: &str) -> String {
    let tool =
        format!("\n## Tools\n\n### say\n\nSays it\n\n#### Command\n\n```bash\necho {word}\n```\n");
    format!("{}{tool}", manifest("parrot", "1.0.0", "read_only: true\n"))
}

#[test]
fn an_installed_skill_is_not_replaced_by_what_a_clone_brings() {
    // A stranger's clone with a folder and a store of the same name as a skill of the user's.
    let author = machine().file("work/skills/parrot/SKILL.md", parrot("theirs"));
    let said = author.run(&format!("install ./skills/parrot --project {YES}"));
    assert!(said.starts_with("exit 0"), "{said}");
    let clone = machine()
        .file("sources/parrot/SKILL.md", parrot("mine"))
        .file(LOCK, author.bytes(LOCK))
        .file(
            "work/.prowess/skills/parrot/SKILL.md",
            author.bytes("work/.prowess/skills/parrot/SKILL.md"),
        );
    // Not agreed to on this machine: it is somebody else's, whatever its lock file says about where it comes from.
    let said = clone.run("policy parrot/say");
    assert!(said.contains("downloaded") && !said.contains("file of yours"), "{said}");
    let said = clone.run("policy ./.prowess/skills/parrot/say");
    assert!(said.contains("downloaded") && !said.contains("file of yours"), "{said}");
    let said = clone.run(&format!("install ../sources/parrot --user {YES}"));
    assert!(said.starts_with("exit 0"), "{said}");
    let clone = clone.file("work/parrot/SKILL.md", parrot("folder"));
    let clone = clone.file("work/parrot/say/SKILL.md", parrot("below"));
    for way in ["run parrot --yes", "run parrot/say --yes", "run parrot@1/say --yes"] {
        let said = clone.run(way);
        assert!(said.contains("\nmine\n"), "{way}: {said}");
        assert!(said.contains("there is also"), "{way}: {said}");
    }
    for way in ["policy parrot/say", "show parrot", "render parrot/say", "prompt parrot"] {
        let said = clone.run(way);
        assert!(said.contains("there is also"), "{way}: {said}");
        assert!(!said.contains("theirs") && !said.contains("echo folder"), "{way}: {said}");
    }
    assert_snapshot!(clone.run("render parrot/say"), @"
    exit 0
    --- stdout
    echo mine
    --- stderr
    note: `parrot/say` is the installed skill; there is also a skill in the project's store (`.prowess/skills/parrot`), and a path (`./parrot/say`)
    ");
    // `./` is the folder, and what is agreed to on this machine is the project's.
    let said = clone.run("run ./parrot/say --yes");
    assert!(said.contains("\nfolder\n") || said.contains("\nbelow\n"), "{said}");
    let said = clone.run(&format!("install --project {YES}"));
    assert!(said.starts_with("exit 0"), "{said}");
    let said = clone.run("run parrot --yes");
    assert!(said.contains("\ntheirs\n"), "{said}");
}
