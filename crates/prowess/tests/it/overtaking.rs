//! A verb that another process overtakes looks again instead of failing, and nothing of either is lost.

use std::fs;
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

use prowess_testkit::Scene;

use crate::packages::{STORE, home, manifest};

/// A `git` that stops before its first fetch, says so through one pipe, and waits for a word through another.
const HALTING_GIT: &str = r#"#!/bin/sh
for word in "$@"; do
    if [ "$word" = fetch ] && mkdir "$SCENE/halted" 2>/dev/null; then
        echo reached > "$SCENE/reached"
        read -r _ < "$SCENE/go"
    fi
done
exec "$REAL_GIT" "$@"
"#;

fn git(folder: &Path, words: &[&str]) {
    let status = Command::new("git")
        .args(["-c", "user.name=Ada", "-c", "user.email=ada@host.example"])
        .args(["-c", "commit.gpgsign=false", "-c", "init.defaultBranch=main"])
        .args(words)
        .current_dir(folder)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .status();
    assert!(status.expect("git runs").success(), "{words:?}");
}

fn commit(scene: &Scene) {
    let folder = scene.path().join("repository");
    git(&folder, &["add", "--all"]);
    git(&folder, &["commit", "--quiet", "--message=x"]);
}

/// A home with `greet` 1.0.0 from a repository that has 1.1.0 by now.
fn scene() -> Scene {
    let scene = home()
        .file("repository/SKILL.md", manifest("greet", "1.0.0", ""))
        .file("other/SKILL.md", manifest("other", "1.0.0", ""));
    git(&scene.path().join("repository"), &["init", "--quiet"]);
    commit(&scene);
    let url = format!("file://{}/repository", scene.path().display());
    let said = scene.run(&format!("install {url} --allow-experimental"));
    assert!(said.starts_with("exit 0"), "{said}");
    let scene = scene.file("repository/SKILL.md", manifest("greet", "1.1.0", ""));
    commit(&scene);
    let scene = scene.script("bin/git", HALTING_GIT);
    for pipe in ["reached", "go"] {
        let status = Command::new("mkfifo").arg(scene.path().join(pipe)).status();
        assert!(status.expect("mkfifo runs").success());
    }
    scene
}

/// Runs a verb that halts in the middle of fetching, after it has read the lock file, and something else meanwhile.
fn overtaken(scene: &Scene, words: &[&str], meanwhile: impl FnOnce()) -> String {
    let real = String::from_utf8(Command::new("which").arg("git").output().expect("which").stdout);
    let path = format!("{}/bin:{}", scene.path().display(), std::env::var("PATH").expect("a PATH"));
    let child = scene
        .command(words)
        .env("PATH", path)
        .env("SCENE", scene.path())
        .env("REAL_GIT", real.expect("a path").trim())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut word = String::new();
    let mut reached = fs::File::open(scene.path().join("reached")).expect("a pipe");
    reached.read_to_string(&mut word).expect("it is read");
    assert_eq!(word, "reached\n");
    meanwhile();
    let mut go = fs::OpenOptions::new().write(true).open(scene.path().join("go")).expect("a pipe");
    go.write_all(b"go\n").expect("somebody waits for it");
    drop(go);
    let output = child.wait_with_output().expect("it ends");
    format!("{:?} {}", output.status.code(), String::from_utf8_lossy(&output.stderr))
}

#[test]
fn an_update_that_is_overtaken_is_planned_anew() {
    let scene = scene();
    let said = overtaken(&scene, &["update", "greet"], || {
        let said = scene.run("install ./other --allow-experimental");
        assert!(said.starts_with("exit 0"), "{said}");
    });
    assert!(said.starts_with("Some(0)"), "{said}");
    assert!(said.contains("installed greet 1.1.0 instead of 1.0.0"), "{said}");
    // Both are there, in the store and in its lock file.
    let lock = scene.text(&format!("{STORE}/skill-lock.json"));
    assert!(lock.contains("\"greet\"") && lock.contains("\"other\""), "{lock}");
    let verified = scene.run("verify");
    assert!(verified.starts_with("exit 0"), "{verified}");
}

#[test]
fn what_was_removed_meanwhile_is_not_brought_back() {
    let scene = scene();
    let said = overtaken(&scene, &["update", "greet"], || {
        let said = scene.run("remove greet");
        assert!(said.starts_with("exit 0"), "{said}");
    });
    assert!(said.starts_with("Some(3)") && said.contains("`greet` is not installed"), "{said}");
    assert!(!scene.path().join(STORE).join("skills/greet").exists());
}
