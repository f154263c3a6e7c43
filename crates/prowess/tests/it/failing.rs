//! One skill that can't be had keeps no other from what it wants, and is named.

use std::fs;

use insta::assert_snapshot;
use prowess_testkit::{Published, Scene, TestRegistry};
use serde_json::Value;

use crate::packages::{
    DANGEROUS, STORE, home, home_with, installed, manifest, release, sign, steady, trust,
};

/// Three skills in folders, installed.
fn three() -> Scene {
    let scene = home()
        .file("one/SKILL.md", manifest("one", "1.0.0", ""))
        .file("two/SKILL.md", manifest("two", "1.0.0", ""))
        .file("three/SKILL.md", manifest("three", "1.0.0", ""));
    let said = scene.run("install ./one ./two ./three --allow-experimental");
    assert!(said.starts_with("exit 0"), "{said}");
    scene
}

/// Standard output, also of a program that fails.
fn stdout_of(scene: &Scene, words: &str) -> String {
    let words: Vec<&str> = words.split(' ').collect();
    let output = scene.output(&words, "");
    let path = scene.path().display().to_string();
    String::from_utf8(output.stdout).expect("it is UTF-8").replace(&path, "[SCENE]")
}

fn version(scene: &Scene, name: &str) -> String {
    let lock: Value = serde_json::from_str(&scene.text(&format!("{STORE}/skill-lock.json")))
        .expect("a lock file");
    lock["skills"][name]["version"].as_str().unwrap_or("none").to_owned()
}

#[test]
fn a_dead_source_does_not_stop_an_update() {
    let scene = three()
        .file("one/SKILL.md", manifest("one", "1.1.0", ""))
        .file("three/SKILL.md", manifest("three", "1.1.0", ""));
    fs::remove_dir_all(scene.path().join("two")).expect("it is there");
    assert_snapshot!("update_all_dry_run", scene.run("update --all --dry-run"));
    assert_eq!(version(&scene, "one"), "1.0.0");
    assert_snapshot!("update_all", scene.run("update --all"));
    assert_eq!(
        ["one", "two", "three"].map(|name| version(&scene, name)),
        ["1.1.0", "1.0.0", "1.1.0"]
    );
    assert!(scene.path().join(STORE).join("skills/two/SKILL.md").exists());
    assert_snapshot!("update_dead", scene.run("update two"));
    let object: Value =
        serde_json::from_str(&stdout_of(&scene, "update --all --format json")).expect("one object");
    assert_eq!(object["installed"], false);
    assert_eq!(object["failures"][0]["name"], "two");
    assert_eq!(object["failures"][0]["exit_code"], 1);
}

#[test]
fn a_refused_update_does_not_stop_the_others() {
    // Attack registry-C3.
    let scene = home()
        .file("one/SKILL.md", manifest("one", "1.0.0", ""))
        .file("two/SKILL.md", manifest("two", "1.0.0", ""));
    sign(&scene, "one", "release");
    trust(&scene, "release", "publisher");
    let said = scene.run("install ./one ./two --allow-experimental");
    assert!(said.starts_with("exit 0"), "{said}");
    fs::remove_file(scene.path().join("one/SIGNATURE.json")).expect("it is there");
    let scene = scene
        .file("one/SKILL.md", manifest("one", "1.1.0", ""))
        .file("two/SKILL.md", manifest("two", "1.1.0", ""));
    assert_snapshot!(steady(&scene.run("update --all")));
    assert_eq!(["one", "two"].map(|name| version(&scene, name)), ["1.0.0", "1.1.0"]);
}

#[test]
fn what_can_be_put_back_is_put_back() {
    let scene = three();
    fs::remove_dir_all(scene.path().join(STORE).join("skills")).expect("it is there");
    fs::remove_dir_all(scene.path().join("two")).expect("it is there");
    assert_snapshot!(scene.run("install --frozen"));
    let there = |name: &str| scene.path().join(STORE).join("skills").join(name).exists();
    assert_eq!(["one", "two", "three"].map(there), [true, false, true]);
}

#[test]
fn an_unreachable_entry_does_not_stop_an_import() {
    let lock = r#"{
  "version": 1,
  "skills": {
    "one": {"source": "./one", "sourceType": "local", "computedHash": "00"},
    "two": {"source": "./two", "sourceType": "local", "computedHash": "00"}
  }
}"#;
    let scene =
        home().file("skills-lock.json", lock).file("two/SKILL.md", manifest("two", "1.0.0", ""));
    let words = "install --import skills-lock.json --allow-experimental --yes";
    assert_snapshot!(scene.run(words));
    assert_eq!(version(&scene, "two"), "1.0.0");
    // Programs hear of it too, and of what was left out beforehand.
    let scene = scene.file("skills-lock.json", lock.replace("\"one\"", "\"../one\""));
    let object: Value = serde_json::from_str(&stdout_of(&scene, &format!("{words} --format json")))
        .expect("one object");
    let warning = object["warnings"][0].as_str().expect("a text");
    assert!(warning.starts_with("`../one` of"), "{warning}");
}

#[test]
fn what_is_named_is_installed_as_a_whole_or_not_at_all() {
    let scene = home().file("two/SKILL.md", manifest("two", "1.0.0", ""));
    let said = scene.run("install ./one ./two --allow-experimental");
    assert!(said.starts_with("exit 3"), "{said}");
    assert!(installed(&scene).is_empty());
}

#[test]
fn programs_are_told_what_was_refused() {
    let scene = home().file("greet/SKILL.md", manifest("greet", "1.0.0", DANGEROUS));
    for words in ["install ./greet --format json", "install ./greet --dry-run --format json"] {
        let said = scene.run(words);
        assert!(said.starts_with("exit 4"), "{words}: {said}");
        let object: Value = serde_json::from_str(&stdout_of(&scene, words)).expect("one object");
        assert_eq!(object["installed"], false, "{words}");
        assert_eq!(object["error"]["exit_code"], 4, "{words}");
        let refusal = &object["skills"][0]["refusals"][0];
        assert_eq!(refusal, "it is experimental: no one you trust has signed it", "{words}");
    }
    // A question, an unknown place, a placing that fails: each is in the object.
    let asked = stdout_of(&scene, "install ./greet --allow-experimental --format json");
    assert_snapshot!("json_asked", steady(&asked));
    assert_snapshot!("json_nowhere", stdout_of(&scene, "install ./nowhere --format json"));
    let scene = scene.file("home/.claude/skills/greet/SKILL.md", "mine\n");
    let words = "install ./greet --allow-experimental --yes --agent claude-code --format json";
    let object: Value = serde_json::from_str(&stdout_of(&scene, words)).expect("one object");
    assert_eq!(object["error"]["exit_code"], 4);
    let message = object["error"]["message"].as_str().expect("a text");
    assert!(message.contains(".claude/skills/greet"), "{message}");
    let lock: Value = {
        let _ = scene.run("install ./greet --allow-experimental --yes");
        serde_json::from_str(&scene.stdout("lock --format json")).expect("a lock is JSON")
    };
    assert_eq!(lock["skills"]["greet"]["version"], "1.0.0");
}

#[test]
fn a_result_that_nobody_gets_is_no_installation_that_failed() {
    let scene = home().file("greet/SKILL.md", manifest("greet", "1.0.0", ""));
    let full = fs::OpenOptions::new().write(true).open("/dev/full").expect("it is there");
    let output = scene
        .command(&["install", "./greet", "--allow-experimental", "--format", "json"])
        .stdout(full)
        .output()
        .expect("it ends");
    assert_eq!(output.status.code(), Some(1));
    assert_snapshot!(String::from_utf8_lossy(&output.stderr));
    assert!(!installed(&scene).is_empty());
}

#[test]
fn a_range_can_be_changed() {
    let registry = TestRegistry::start();
    for version in ["1.0.0", "1.4.0", "2.0.0"] {
        registry.publish(release("greet", version, ""));
    }
    let scene = home_with(&registry);
    assert!(scene.run("install greet@1.0.0 --allow-experimental").starts_with("exit 0"));
    assert_snapshot!("range_update_tells_newer", steady(&scene.run("update greet")));
    assert_snapshot!("range_outdated", scene.stdout("outdated"));
    assert_snapshot!("range_outdated_json", scene.run("outdated --format json"));
    assert_snapshot!("range_changed", steady(&scene.run("install greet@^1 --allow-experimental")));
    assert!(scene.text(&format!("{STORE}/skill-lock.json")).contains("\"requested\": \"^1\""));
    // The same version in another range: the lock file changes, and nothing else.
    let said = scene.run("install greet@~1.4 --allow-experimental");
    assert!(said.contains("within `~1.4` from now on"), "{said}");
    let said = scene.run("install greet --allow-experimental");
    assert!(said.contains("already up to date"), "{said}");
    assert!(scene.text(&format!("{STORE}/skill-lock.json")).contains("\"requested\": \"~1.4\""));
    let said = scene.run("install greet@>=1 --allow-experimental");
    assert!(said.contains("installed greet 2.0.0 instead of 1.4.0"), "{said}");
    assert_snapshot!("outdated_nothing", scene.run("outdated"));
}

#[test]
fn an_update_of_what_came_along_changes_nothing_about_why_it_is_there() {
    let needs = "dependencies:\n  skills:\n    - part@>=1\n";
    let registry = TestRegistry::start();
    let author = home()
        .file("part/SKILL.md", manifest("part", "1.0.0", ""))
        .file("greet/SKILL.md", manifest("greet", "1.0.0", needs));
    let publish = |author: &Scene, name: &str, version: &str, needs: &[(&str, &str)]| {
        sign(author, name, "release");
        let archive = crate::packages::packed(author, name);
        let needs = needs.iter().map(|(name, range)| ((*name).to_owned(), (*range).to_owned()));
        let published = Published::new("acme", name, version, archive);
        registry.publish(Published { dependencies: needs.collect(), ..published });
    };
    publish(&author, "part", "1.0.0", &[]);
    publish(&author, "greet", "1.0.0", &[("acme/part", ">=1")]);
    let scene = home_with(&registry);
    let public = author.stdout("key export release");
    assert!(scene.run_with(&["trust", "add", "-"], &public).starts_with("exit 0"));
    assert!(scene.run("install greet").starts_with("exit 0"));
    let author = author.file("part/SKILL.md", manifest("part", "2.0.0", ""));
    publish(&author, "part", "2.0.0", &[]);
    let said = scene.run("update part");
    assert!(said.contains("installed part 2.0.0 instead of 1.0.0"), "{said}");
    let lock: Value = serde_json::from_str(&scene.text(&format!("{STORE}/skill-lock.json")))
        .expect("a lock file");
    assert_eq!(lock["skills"]["part"]["explicit"], false);
    assert_eq!(lock["skills"]["greet"]["dependencies"]["part"], "2.0.0");
    let said = scene.run("remove greet");
    assert!(said.contains("removed part 2.0.0, which nothing needs any more"), "{said}");
}

#[test]
fn how_old_something_must_be_is_asked_of_registries() {
    let scene = home().file("greet/SKILL.md", manifest("greet", "1.0.0", ""));
    for age in ["7d", "0d"] {
        let said = scene.run(&format!("install ./greet --allow-experimental --min-age {age}"));
        assert!(said.starts_with("exit 0"), "{age}: {said}");
        let said = scene.run(&format!("update --all --min-age {age}"));
        assert!(said.starts_with("exit 0"), "{age}: {said}");
    }
    // What came out just now, or later by another clock, is not old enough, unless nothing is asked.
    let registry = TestRegistry::start();
    let new = Published { published: 9_000_000_000, ..release("part", "1.0.0", "") };
    registry.publish(new);
    let scene = home_with(&registry);
    let said = scene.run("install part --allow-experimental --min-age 7d");
    assert!(said.starts_with("exit 1"), "{said}");
    let said = scene.run("install part --allow-experimental --min-age 0d");
    assert!(said.starts_with("exit 0"), "{said}");
}

#[test]
fn a_damaged_lock_file_can_be_replaced() {
    let scene = three();
    let lock = format!("{STORE}/skill-lock.json");
    let scene = scene.file(&lock, "{ damaged");
    assert_snapshot!("lock_damaged", scene.run("update --all"));
    let later = scene.file(&lock, r#"{"version": 99}"#);
    assert_snapshot!("lock_later", later.run("update --all"));
    // What the hint says works.
    fs::rename(later.path().join(&lock), later.path().join(format!("{lock}.damaged")))
        .expect("it is there");
    let said = later.run("install ./one ./two ./three --allow-experimental");
    assert!(said.starts_with("exit 0"), "{said}");
    assert!(later.run("verify").starts_with("exit 0"));
}
