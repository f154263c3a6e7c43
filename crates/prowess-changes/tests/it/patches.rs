//! Patches that `git apply` takes.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

use prowess_changes::patch::PatchOptions;
use prowess_changes::{Limits, RunFolder};

use crate::world::{World, apply, changes, set_mode, tree_of, write};

fn patch(run: &RunFolder, set: &prowess_changes::ChangeSet) -> Vec<u8> {
    let mut out = Vec::new();
    let options = PatchOptions { prefixes: &[], max_file_bytes: 16 << 20 };
    let report = run.write_patch(set, options, &mut out).expect("written");
    assert!(report.omitted.is_empty());
    out
}

/// A patch of everything that can be in one gives the same tree as applying.
#[test]
fn git_applies_what_the_patch_says() {
    let world = World::new();
    let long = (0..200).map(|number| format!("line {number}\n")).collect::<Vec<_>>().concat();
    world.file("long", &long);
    world.file("no-end", "a\nb");
    world.file("gone", "x\n");
    world.file("mode", "x\n");
    world.file("empty", "");
    world.file("kind", "x\n");
    world.file("na\"me with\tblank", "x\n");
    fs::write(world.target().join("binary"), [0, 1, 2, 255]).expect("written");
    symlink("long", world.target().join("link")).expect("made");
    let copy = world.path("elsewhere");
    assert!(
        Command::new("cp")
            .arg("-a")
            .arg(format!("{}/.", world.target().display()))
            .arg(&copy)
            .status()
            .expect("cp")
            .success()
    );
    let run = world.run(|mount| {
        let changed = long.replace("line 20\n", "line twenty\nmore\n").replace("line 150\n", "");
        write(&mount.join("long"), &changed);
        write(&mount.join("no-end"), "a\nb\nc");
        fs::remove_file(mount.join("gone")).expect("removed");
        set_mode(&mount.join("mode"), 0o755);
        write(&mount.join("empty"), "filled\n");
        write(&mount.join("new-empty"), "");
        write(&mount.join("new/file"), "x");
        fs::remove_file(mount.join("kind")).expect("removed");
        symlink("long", mount.join("kind")).expect("made");
        write(&mount.join("na\"me with\tblank"), "y\n");
        write(&mount.join("größe"), "y\n");
        let bytes: Vec<u8> =
            (0..200_000_u32).map(|number| u8::try_from(number * 7 % 256).expect("small")).collect();
        fs::write(mount.join("binary"), &bytes).expect("written");
        fs::write(mount.join("new-binary"), [0; 60]).expect("written");
        fs::remove_file(mount.join("link")).expect("removed");
        symlink("elsewhere", mount.join("link")).expect("made");
    });
    let set = changes(&run);
    let before = patch(&run, &set);
    let file = world.path("changes.patch");
    fs::write(&file, &before).expect("written");
    let git = |arguments: &[&str]| {
        let output = Command::new("git")
            .args(["-c", "core.autocrlf=false", "apply"])
            .args(arguments)
            .arg(&file)
            .current_dir(&copy)
            .env("GIT_CEILING_DIRECTORIES", world.path(""))
            .output()
            .expect("git starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    let original = tree_of(&copy);
    git(&[]);
    apply(&run);
    assert_eq!(tree_of(&copy), world.tree());
    // The old versions are kept, so the patch can still be written.
    let applied = run.read_applied(Limits::default()).expect("read");
    let sorted = |bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes).into_owned();
        let mut files: Vec<String> = text.split("diff --git ").map(str::to_owned).collect();
        files.sort();
        files
    };
    assert_eq!(sorted(&patch(&run, &applied)), sorted(&before));
    git(&["--reverse"]);
    assert_eq!(tree_of(&copy), original);
}

#[test]
fn files_that_are_too_large_are_named() {
    let world = World::new();
    let run = world.run(|mount| {
        write(&mount.join("large"), &"x".repeat(100));
        write(&mount.join("small"), "x");
    });
    let options = PatchOptions { prefixes: &["project".into()], max_file_bytes: 50 };
    let mut out = Vec::new();
    let report = run.write_patch(&changes(&run), options, &mut out).expect("written");
    assert_eq!(report.omitted, [std::path::PathBuf::from("project/large")]);
    assert!(
        String::from_utf8_lossy(&out).starts_with("diff --git a/project/small b/project/small\n")
    );
}
