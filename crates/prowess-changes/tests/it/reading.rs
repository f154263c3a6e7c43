//! What the upper layer says.

use std::fs;
use std::os::unix::fs::symlink;

use prowess_changes::{Limits, ReadError};

use crate::world::{World, changes, set_mode, shown, write};

#[test]
fn every_kind_of_change_is_listed() {
    let world = World::new();
    for name in [
        "changed",
        "deleted",
        "mode",
        "same",
        "touched",
        "folder/a",
        "folder/b",
        "gone/x",
        "to-folder",
    ] {
        world.file(name, name);
    }
    symlink("changed", world.target().join("link")).expect("made");
    symlink("changed", world.target().join("kept-link")).expect("made");
    let run = world.run(|mount| {
        write(&mount.join("changed"), "new content");
        write(&mount.join("added"), "x");
        write(&mount.join("new/deep/file"), "x");
        fs::remove_file(mount.join("deleted")).expect("removed");
        set_mode(&mount.join("mode"), 0o755);
        write(&mount.join("same"), "same");
        let old =
            fs::metadata(world.target().join("same")).expect("there").modified().expect("known");
        fs::File::options()
            .write(true)
            .open(mount.join("same"))
            .and_then(|file| file.set_modified(old))
            .expect("set");
        let file = fs::File::options().write(true).open(mount.join("touched")).expect("there");
        file.set_modified(std::time::SystemTime::UNIX_EPOCH).expect("set");
        fs::remove_dir_all(mount.join("gone")).expect("removed");
        fs::remove_dir_all(mount.join("folder")).expect("removed");
        write(&mount.join("folder/b"), "folder/b");
        write(&mount.join("folder/c"), "c");
        fs::remove_file(mount.join("to-folder")).expect("removed");
        write(&mount.join("to-folder/file"), "x");
        fs::remove_file(mount.join("link")).expect("removed");
        symlink("/etc", mount.join("link")).expect("made");
        fs::rename(mount.join("mode"), mount.join("renamed")).expect("renamed");
    });
    let set = changes(&run);
    assert_eq!(
        shown(&set.changes),
        [
            "added added",
            "changed changed",
            "deleted deleted",
            "added folder/c",
            "deleted folder/a",
            "deleted gone",
            "deleted gone/x",
            "link link -> /etc",
            "deleted mode",
            "added new",
            "added new/deep",
            "added new/deep/file",
            "added renamed",
            "deleted to-folder",
            "added to-folder",
            "added to-folder/file",
        ]
    );
    assert_eq!((set.touched, set.conflicts.as_slice()), (1, &[][..]));
}

#[test]
fn a_run_that_writes_nothing_has_no_changes() {
    let world = World::new();
    world.file("a/b", "x");
    let run = world.run(|mount| assert_eq!(fs::read(mount.join("a/b")).expect("read"), b"x"));
    assert!(changes(&run).is_empty());
}

#[test]
fn limits_are_exact() {
    let world = World::new();
    world.file("old/a", "x");
    let run = world.run(|mount| {
        for number in 0..5 {
            write(&mount.join(format!("new/{number}")), "x");
        }
        fs::remove_dir_all(mount.join("old")).expect("removed");
    });
    // A folder with five files, the deletion mark, and the two deleted entries.
    let limits = |entries| Limits { entries, ..Limits::default() };
    assert!(run.read(limits(9)).is_ok());
    assert!(matches!(run.read(limits(8)), Err(ReadError::Entries(8))));
    let bytes = Limits { bytes: 4096, ..Limits::default() };
    assert!(matches!(run.read(bytes), Err(ReadError::Bytes(4096))));
}
