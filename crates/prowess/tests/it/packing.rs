//! `prowess pack`: where the archive goes, and what is not packed.

use insta::assert_snapshot;

use crate::packages::{home, manifest, sign, steady};

fn skill() -> prowess_testkit::Scene {
    home().file("greet/SKILL.md", manifest("greet", "1.0.0", ""))
}

#[test]
fn a_signature_that_does_not_hold_is_not_packed() {
    let scene = skill();
    sign(&scene, "greet", "release");
    assert!(scene.run("pack greet").starts_with("exit 0"));
    let scene = scene.file("greet/notes.txt", "new\n");
    assert_snapshot!(steady(&scene.run("pack greet --force")), @"
    exit 1
    --- stderr
    error: `greet` can't be packed: the signature `SIGNATURE.json` is invalid: files changed after signing: `notes.txt` was not signed
    hint: sign it again with `prowess sign`, or remove the signature
    ");
}

#[test]
fn what_ends_like_a_folder_is_one() {
    let scene = skill();
    assert_snapshot!(scene.run("pack greet --output dist/new/"), @"
    exit 0
    --- stderr
    packed greet 1.0.0 to `dist/new/greet-1.0.0.tar.gz` (1 file, sha256-FkmhgwJgqoE6IDxvzzlQ+86ugR18quZVs3OSfVLLy9s=)
    ");
    assert!(scene.path().join("dist/new/greet-1.0.0.tar.gz").is_file());
    assert_snapshot!(scene.run("pack greet --output nowhere/greet.tar.gz"), @"
    exit 3
    --- stderr
    error: the folder `nowhere` does not exist
    hint: create it with `mkdir -p nowhere`
    ");
}

#[test]
fn a_hyphen_is_standard_output() {
    let scene = skill();
    assert!(scene.run("pack greet").starts_with("exit 0"));
    let output = scene.output(&["pack", "greet", "--output", "-"], "");
    assert_eq!(output.stdout, scene.bytes("greet-1.0.0.tar.gz"));
    assert!(!scene.path().join("-").exists());
}

#[cfg(unix)]
#[test]
fn links_stay_links_and_pipes_stay_pipes() {
    use std::os::unix::fs::{FileTypeExt as _, symlink};
    let scene = skill();
    let path = |name: &str| scene.path().join(name);
    symlink("real.tar.gz", path("link")).expect("it is new");
    assert!(scene.run("pack greet --output link").starts_with("exit 0"));
    assert!(path("link").is_symlink());
    let archive = scene.bytes("real.tar.gz");
    // A second time the file is there, and only `--force` writes over it.
    assert!(scene.run("pack greet --output link").starts_with("exit 1"));
    assert!(scene.run("pack greet --output link --force").starts_with("exit 0"));
    assert!(path("link").is_symlink());

    let made = std::process::Command::new("mkfifo").arg(path("pipe")).status();
    assert!(made.expect("mkfifo is there").success());
    let pipe = path("pipe");
    let reader = std::thread::spawn(move || std::fs::read(pipe).expect("somebody writes"));
    let said = scene.run("pack greet --output pipe --force");
    assert!(said.starts_with("exit 0"), "{said}");
    assert!(path("pipe").metadata().expect("it is there").file_type().is_fifo());
    assert_eq!(reader.join().expect("it ends"), archive);
}
