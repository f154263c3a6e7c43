//! What verbs leave behind that only look, or that were refused: nothing.

use std::path::Path;

use prowess_testkit::{Scene, TestRegistry};

use crate::packages::{STORE, home, home_with, manifest, release};

/// Every file and folder below a folder, the empty ones as well.
fn everything(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(next).into_iter().flatten() {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path.clone());
            }
            let path = path.strip_prefix(folder).expect("it is below the folder");
            found.push(path.display().to_string());
        }
    }
    found.sort();
    found
}

/// The places of a scene in which something would stay: the user's data, and the project.
fn places(scene: &Scene) -> Vec<String> {
    ["home/.local", "home/.config", ".prowess"]
        .into_iter()
        .flat_map(|place| everything(&scene.path().join(place)))
        .collect()
}

#[test]
fn who_only_looks_or_is_refused_leaves_nothing() {
    let registry = TestRegistry::start();
    registry.publish(release("greet", "1.0.0", ""));
    // Each on a machine of its own, with the code that it ends with.
    for (words, code) in [
        ("install ./greet", 4),
        ("install ./greet --yes", 4),
        ("install ./greet --project", 4),
        ("install ./greet --allow-experimental --dry-run", 0),
        ("install ./greet --allow-experimental --dry-run --project", 0),
        ("install ./greet --allow-experimental --agent claude-code", 4),
        ("install ./nowhere", 3),
        ("install ./greet@", 3),
        ("install acme/greet", 4),
        ("install acme/greet --allow-experimental --dry-run", 0),
        ("install --frozen", 3),
        ("update --all", 0),
        ("update greet", 3),
        ("remove greet", 3),
        ("list", 0),
        ("list --agents", 0),
        ("info greet", 0),
        ("which greet", 0),
        ("verify", 0),
        ("verify --project", 0),
        ("verify greet", 0),
        ("verify nowhere", 3),
        ("show acme/greet", 0),
        ("check acme/greet", 0),
        ("policy acme/greet", 0),
        ("info acme/greet", 0),
        ("verify acme/greet", 0),
        ("lock", 3),
        ("lock --check", 3),
        ("search greet", 0),
        ("trust list", 0),
        ("key list", 0),
    ] {
        let scene = home_with(&registry)
            .file("greet/SKILL.md", manifest("greet", "1.0.0", ""))
            .file("home/.claude/skills/greet/SKILL.md", "mine");
        let said = scene.run(words);
        assert!(said.starts_with(&format!("exit {code}\n")), "{words}: {said}");
        assert_eq!(places(&scene), [""; 0], "{words}: {said}");
    }
}

#[test]
fn a_store_without_anything_to_write_into_can_be_read() {
    // As on a read-only disk: neither the file that writers lock nor the folder for changes is there, and none is made.
    let scene = home().file("greet/SKILL.md", manifest("greet", "1.0.0", ""));
    assert!(scene.run("install ./greet --allow-experimental").starts_with("exit 0"));
    let store = scene.path().join(STORE);
    std::fs::remove_file(store.join("store.lock")).expect("it is there");
    std::fs::remove_dir(store.join("staging")).expect("it is there and empty");
    let before = everything(&store);
    for words in [
        "list",
        "info greet",
        "verify",
        "verify greet",
        "lock",
        "lock --check",
        "install --frozen",
        "install ./greet --dry-run",
        "update --all",
        "show greet",
    ] {
        let said = scene.run(words);
        assert!(said.starts_with("exit 0"), "{words}: {said}");
        assert_eq!(everything(&store), before, "{words}");
    }
}
