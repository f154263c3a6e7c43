//! Programs that leave what is hard to read.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use prowess_changes::{Limits, ReadError, RunFolder};

use crate::world::{World, apply, changes, is_root, set_mode, shown, write};

#[test]
fn deep_trees_are_refused_and_removed() {
    let world = World::new();
    let run = world.run(|mount| {
        std::env::set_current_dir(mount).expect("entered");
        for _ in 0..1000 {
            fs::create_dir("deep-folder").expect("made");
            std::env::set_current_dir("deep-folder").expect("entered");
        }
    });
    assert!(matches!(run.read(Limits::default()), Err(ReadError::Depth { most: 128, .. })));
    run.remove().expect("removed");
    assert_eq!(fs::read_dir(world.home()).expect("there").count(), 0);
    assert!(world.tree().is_empty());
}

#[test]
fn many_entries_are_bounded() {
    let world = World::new();
    // As an ordinary user once more, with fewer.
    let count = if is_root() { 20_000 } else { 5_000 };
    let run = world.run(|mount| {
        for number in 0..count {
            fs::File::create(mount.join(number.to_string())).expect("made");
        }
    });
    let few = Limits { entries: count / 2, ..Limits::default() };
    assert!(matches!(run.read(few), Err(ReadError::Entries(most)) if most == count / 2));
    let set = changes(&run);
    assert_eq!(set.changes.len() as u64, count);
    apply(&run);
    assert_eq!(fs::read_dir(world.target()).expect("there").count() as u64, count);
    run.undo().expect("undone");
    assert_eq!(fs::read_dir(world.target()).expect("there").count(), 0);
}

#[test]
fn unusual_names_are_kept() {
    let world = World::new();
    let long = "n".repeat(255);
    let names: [&[u8]; 7] = [
        b"line\nbreak",
        b"\xff\xfe",
        b" blank ",
        b"%41",
        b"-rf",
        long.as_bytes(),
        "\u{202e}txt".as_bytes(),
    ];
    let run = world.run(|mount| {
        for name in names {
            fs::write(mount.join(OsStr::from_bytes(name)), "x").expect("written");
            fs::create_dir(mount.join("d")).ok();
            fs::write(mount.join("d").join(OsStr::from_bytes(name)), "x").expect("written");
        }
    });
    apply(&run);
    for name in names {
        assert!(world.target().join(OsStr::from_bytes(name)).is_file());
        assert!(world.target().join("d").join(OsStr::from_bytes(name)).is_file());
    }
    run.undo().expect("undone");
    assert!(world.tree().is_empty());
}

#[test]
fn links_are_never_followed() {
    let world = World::new();
    fs::write(world.path("elsewhere/secret"), "secret").expect("written");
    let elsewhere = world.path("elsewhere");
    let run = world.run(|mount| {
        symlink(&elsewhere, mount.join("out")).expect("made");
        fs::create_dir(mount.join("d")).expect("made");
        symlink("/etc/passwd", mount.join("d/file")).expect("made");
    });
    let set = changes(&run);
    let out = format!("link out -> {}", world.path("elsewhere").display());
    assert_eq!(shown(&set.changes), ["added d", "link d/file -> /etc/passwd", &*out]);
    apply(&run);
    assert!(world.target().join("out").is_symlink());
    run.undo().expect("undone");
    assert_eq!(fs::read_to_string(world.path("elsewhere/secret")).expect("there"), "secret");
}

#[test]
fn special_files_and_set_id_bits_are_dropped() {
    let world = World::new();
    world.file("was-file", "x");
    let run = world.run(|mount| {
        let fifo = |name: &str| {
            let status = std::process::Command::new("mkfifo").arg(mount.join(name)).status();
            assert!(status.expect("it starts").success());
        };
        fifo("pipe");
        fs::create_dir(mount.join("d")).expect("made");
        fifo("d/pipe");
        drop(std::os::unix::net::UnixListener::bind(mount.join("d/socket")).expect("bound"));
        write(&mount.join("d/tool"), "x");
        set_mode(&mount.join("d/tool"), 0o6755);
        write(&mount.join("tool"), "x");
        set_mode(&mount.join("tool"), 0o4755);
        fs::remove_file(mount.join("was-file")).expect("removed");
        fifo("was-file");
    });
    let set = changes(&run);
    let dropped: Vec<String> =
        set.dropped.iter().map(|it| format!("{} {}", it.path.display(), it.what)).collect();
    assert_eq!(dropped, ["d/pipe a pipe", "d/socket a socket", "pipe a pipe", "was-file a pipe"]);
    apply(&run);
    let found: Vec<String> =
        world.tree().iter().map(|(path, text)| format!("{} {text}", path.display())).collect();
    assert_eq!(found, ["d folder 755", "d/tool file 755  x", "tool file 755  x"]);
}

#[test]
fn closed_trees_are_removed() {
    let world = World::new();
    let run = world.run(|mount| {
        write(&mount.join("a/b/c"), "x");
        set_mode(&mount.join("a/b"), 0);
        set_mode(&mount.join("a"), 0);
        set_mode(mount, 0o555);
    });
    assert_eq!(shown(&changes(&run).changes), ["added a", "added a/b", "added a/b/c", "mode "]);
    run.remove().expect("removed");
    assert_eq!(fs::read_dir(world.home()).expect("there").count(), 0);
}

#[test]
fn a_journal_of_others_is_not_followed() {
    let world = World::new();
    world.file("a", "old");
    let run = world.run(|mount| write(&mount.join("a"), "new"));
    let (home, id, path) = (world.home(), run.id().to_owned(), run.path());
    drop(run);
    write(&path.join("journal"), "prowess-changes 1\napply\nend 0\n");
    set_mode(&path.join("journal"), 0o666);
    assert!(RunFolder::open(&home, &id).is_err());
    assert_eq!(prowess_changes::recover(&home).len(), 1);
    set_mode(&path.join("journal"), 0o600);
    write(&path.join("journal"), "prowess-changes 2\n");
    assert!(RunFolder::open(&home, &id).is_err(), "another format");
    assert_eq!(world.read("a"), "old");
}

#[test]
fn hard_links_of_a_program_stay_its_own() {
    let world = World::new();
    world.file("old", "old");
    fs::hard_link(world.target().join("old"), world.path("elsewhere/store")).expect("linked");
    let run = world.run(|mount| {
        write(&mount.join("old"), "new");
        write(&mount.join("one"), "x");
        fs::hard_link(mount.join("one"), mount.join("two")).expect("linked");
    });
    apply(&run);
    // Another name of the old file keeps its content.
    assert_eq!(fs::read_to_string(world.path("elsewhere/store")).expect("there"), "old");
    assert_eq!(world.read("two"), "x");
    run.undo().expect("undone");
    assert_eq!(world.tree().keys().collect::<Vec<_>>(), [&PathBuf::from("old")]);
}
