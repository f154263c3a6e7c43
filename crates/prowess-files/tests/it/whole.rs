//! What is there after writing, who may read it, and what steps that fail leave.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use prowess_files::faults::{self, Exchange, Fault};
use prowess_files::folder::Folder;
use prowess_files::whole::{
    Access, Durability, Existing, WriteOptions, can_write_into, read, read_text, write,
};
use prowess_testkit::{listing, temporary};

/// The error of Linux and macOS for a disk that has no room.
const NO_SPACE: i32 = 28;
const ORDINARY: WriteOptions = WriteOptions { access: Access::Ordinary, ..WriteOptions::PRIVATE };

/// Everything in a folder, with modes and content.
fn shown(folder: &Path) -> String {
    let prefix = format!("{}/", folder.display());
    listing(folder).iter().map(|line| line.replace(&prefix, "")).collect::<Vec<_>>().join(", ")
}

/// Writes `new` to `file`, where there was `old` with a mode, and says what there is.
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
fn a_file_is_written_for_whom_it_is_meant() {
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
    // A new ordinary file is what the umask makes of any new file.
    let folder = temporary();
    fs::write(folder.path().join("any"), "new").expect("written");
    write(&folder.path().join("file"), b"new", ORDINARY).expect("written");
    let mode = |name: &str| fs::metadata(folder.path().join(name)).expect("there").permissions();
    assert_eq!(mode("file"), mode("any"));
}

/// A name may lead to a new name only when the file is on the disk, and the folder is written after that.
#[test]
fn the_disk_has_a_file_before_anybody_finds_it() {
    let folder = temporary();
    let inside = folder.path().join("state");
    fs::create_dir(&inside).expect("made");
    let steps = |options| {
        let write = || write(&inside.join("file"), b"new", options);
        let (written, steps) = faults::with(None, Exchange::Real, write);
        written.expect("nothing disturbs it");
        steps.join(", ")
    };
    assert_eq!(
        steps(WriteOptions::PRIVATE),
        "create file, write file, fsync file, rename file, fsync state"
    );
    let whenever = WriteOptions { durability: Durability::Whenever, ..ORDINARY };
    assert_eq!(steps(whenever), "create file, write file, rename file");
}

/// Lets every step of a write fail, once and from there on: old or new is there, whole, and nothing else.
fn failing_anywhere(work: &dyn Fn(&Path) -> io::Result<()>) {
    let (mut old, mut new) = (0, 0);
    for kind in [Fault::FailOnce, Fault::FailFrom] {
        for step in 0.. {
            let folder = temporary();
            fs::write(folder.path().join("file"), "old").expect("written");
            let (written, steps) =
                faults::with(Some((step, kind(NO_SPACE))), Exchange::Real, || work(folder.path()));
            if written.is_ok() {
                assert_eq!(steps.len(), step, "only what is beyond the end disturbs nothing");
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
    // Both happen: before the name is changed, and when only the folder is left to be written.
    assert!(old > 0 && new > 0, "{old} {new}");
}

#[test]
fn failing_anywhere_old_or_new_is_whole() {
    failing_anywhere(&|folder| {
        let written = write(&folder.join("file"), b"new", WriteOptions::PRIVATE);
        assert_eq!(fs::read_dir(folder).expect("listed").count(), 1, "nothing is left over");
        written
    });
    failing_anywhere(&|folder| {
        Folder::open(folder)?.replace_file("file", "file.new", 0o644, b"new")
    });
}

#[test]
fn what_a_killed_process_left_is_replaced() {
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
fn a_folder_can_be_tried_beforehand() {
    let folder = temporary();
    can_write_into(folder.path()).expect("it can");
    assert_eq!(shown(folder.path()), "", "nothing is left");
    let missing = can_write_into(&folder.path().join("missing")).expect_err("not there");
    assert_eq!(missing.kind(), io::ErrorKind::NotFound);
}
