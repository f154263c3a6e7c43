//! The result of a write: content, mode, and what remains after a failed step.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use prowess_files::atomic::{
    Durability, Existing, FileMode, WriteOptions, can_write_into, read, read_text, write,
};
use prowess_files::faults::{self, Exchange, Fault};
use prowess_files::folder::Folder;
use prowess_testkit::{listing, temporary};

/// ENOSPC on Linux and macOS.
const NO_SPACE: i32 = 28;
const ORDINARY: WriteOptions = WriteOptions { mode: FileMode::Ordinary, ..WriteOptions::PRIVATE };

/// Everything in a folder, with modes and content.
fn shown(folder: &Path) -> String {
    let prefix = format!("{}/", folder.display());
    listing(folder).iter().map(|line| line.replace(&prefix, "")).collect::<Vec<_>>().join(", ")
}

/// Writes `new` to `file`, which may exist with the content `old` and a mode, and lists the folder.
fn check(before: Option<u32>, options: WriteOptions) -> String {
    let folder = temporary();
    let path = folder.path().join("file");
    if let Some(mode) = before {
        fs::write(&path, "old").expect("written");
        fs::set_permissions(&path, Permissions::from_mode(mode)).expect("set");
    }
    let written = write(&path, b"new", options).map_err(|error| error.kind());
    format!("{written:?}: {}", shown(folder.path()))
}

#[test]
fn the_mode_of_a_written_file_follows_the_options() {
    let keep = WriteOptions { existing: Existing::Keep, ..WriteOptions::PRIVATE };
    for (before, options, expected) in [
        (None, WriteOptions::PRIVATE, "Ok(()): file 600 new"),
        (Some(0o644), WriteOptions::PRIVATE, "Ok(()): file 600 new"),
        (Some(0o644), WriteOptions::CACHE, "Ok(()): file 600 new"),
        (None, keep, "Ok(()): file 600 new"),
        (Some(0o644), keep, "Err(AlreadyExists): file 644 old"),
        (Some(0o640), ORDINARY, "Ok(()): file 640 new"),
        (Some(0o755), ORDINARY, "Ok(()): file 755 new"),
    ] {
        assert_eq!(check(before, options), expected, "{before:?} {options:?}");
    }
    // A new ordinary file gets the mode that the umask gives any new file.
    let folder = temporary();
    fs::write(folder.path().join("any"), "new").expect("written");
    write(&folder.path().join("file"), b"new", ORDINARY).expect("written");
    let mode = |name: &str| fs::metadata(folder.path().join(name)).expect("there").permissions();
    assert_eq!(mode("file"), mode("any"));
}

/// The file is flushed before it is renamed, and its folder after that.
#[test]
fn a_file_is_flushed_before_it_is_renamed() {
    let folder = temporary();
    let inside = folder.path().join("state");
    fs::create_dir(&inside).expect("made");
    let steps = |options| {
        let write = || write(&inside.join("file"), b"new", options);
        let (written, steps) = faults::with(None, Exchange::Real, write);
        written.expect("no fault is planned");
        steps.join(", ")
    };
    assert_eq!(
        steps(WriteOptions::PRIVATE),
        "create file, write file, fsync file, rename file, fsync state"
    );
    let deferred = WriteOptions { durability: Durability::Deferred, ..ORDINARY };
    assert_eq!(steps(deferred), "create file, write file, rename file");
}

/// Fails every step of a write, once or from there on: the old or the new content remains, and nothing else.
fn fail_each_step(work: &dyn Fn(&Path) -> io::Result<()>) {
    let (mut old, mut new) = (0, 0);
    for kind in [Fault::FailOnce, Fault::FailFrom] {
        for step in 0.. {
            let folder = temporary();
            fs::write(folder.path().join("file"), "old").expect("written");
            let (written, steps) =
                faults::with(Some((step, kind(NO_SPACE))), Exchange::Real, || work(folder.path()));
            if written.is_ok() {
                assert_eq!(steps.len(), step, "only a fault after the last step has no effect");
                break;
            }
            let found = fs::read(folder.path().join("file")).expect("it is there");
            match found.as_slice() {
                b"old" => old += 1,
                b"new" => new += 1,
                half => panic!("{steps:?}: {}", String::from_utf8_lossy(half)),
            }
        }
    }
    // Both happen: the old content before the rename, the new one if only flushing the folder fails.
    assert!(old > 0 && new > 0, "{old} {new}");
}

#[test]
fn a_failure_at_any_step_leaves_the_old_or_the_new_content() {
    fail_each_step(&|folder| {
        let written = write(&folder.join("file"), b"new", WriteOptions::PRIVATE);
        assert_eq!(fs::read_dir(folder).expect("listed").count(), 1, "nothing is left over");
        written
    });
    fail_each_step(&|folder| Folder::open(folder)?.replace_file("file", "file.new", 0o644, b"new"));
}

#[test]
fn leftovers_of_a_killed_process_are_replaced() {
    let folder = temporary();
    fs::create_dir(folder.path().join("file.new")).expect("made");
    fs::write(folder.path().join("file.new/half"), "ne").expect("written");
    let opened = Folder::open(folder.path()).expect("opened");
    opened.replace_file("file", "file.new", 0o644, b"new").expect("written");
    assert_eq!(shown(folder.path()), "file 644 new");
}

#[test]
fn reading_is_bounded() {
    let folder = temporary();
    let path = folder.path().join("file");
    assert_eq!(read(&path, 3).expect("nothing is fine"), None);
    fs::write(&path, "abc").expect("written");
    assert_eq!(read(&path, 3).expect("it fits").as_deref(), Some(&b"abc"[..]));
    assert_eq!(read(&path, 2).expect_err("too long").to_string(), "it has more than 2 bytes");
    assert_eq!(read_text(&path, u64::MAX).expect("text").as_deref(), Some("abc"));
    fs::write(&path, b"\xff").expect("written");
    assert_eq!(read_text(&path, 3).expect_err("no text").to_string(), "it is not UTF-8");
}

#[test]
fn a_folder_can_be_checked_for_write_access() {
    let folder = temporary();
    can_write_into(folder.path()).expect("it can");
    assert_eq!(shown(folder.path()), "", "nothing is left");
    let missing = can_write_into(&folder.path().join("missing")).expect_err("not there");
    assert_eq!(missing.kind(), io::ErrorKind::NotFound);
}
