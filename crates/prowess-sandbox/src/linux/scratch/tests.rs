use std::fs;
use std::mem;
use std::os::fd::AsFd as _;
use std::path::Path;

use rustix::fs::{FlockOperation, Mode};

use super::Scratch;
use crate::linux::walk;

#[test]
fn it_is_private_and_is_removed_with_its_content() {
    use std::os::unix::fs::PermissionsExt as _;
    let scratch = Scratch::new().expect("a folder");
    let path = scratch.path.clone();
    let mode = fs::metadata(&path).expect("it is there").permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    let (folder, inside) = scratch.folder("0").expect("a folder");
    fs::write(inside.join("file"), "text").expect("a file");
    fs::create_dir_all(inside.join("closed/inner")).expect("folders");
    fs::write(inside.join("closed/inner/file"), "text").expect("a file");
    std::os::unix::fs::symlink("/etc", inside.join("link")).expect("a link");
    fs::set_permissions(inside.join("closed"), fs::Permissions::from_mode(0o000)).expect("ours");
    // Nested more deeply than folders are kept open, so it is removed in layers.
    let mut deep = folder.as_fd().try_clone_to_owned().expect("a descriptor");
    for _ in 0..200 {
        rustix::fs::mkdirat(&deep, "d", Mode::RWXU).expect("a folder");
        deep = walk::open_below(deep.as_fd(), Path::new("d")).expect("it is there");
    }
    drop((folder, deep, scratch));
    assert!(fs::symlink_metadata(&path).is_err(), "{} is left", path.display());
    assert!(Path::new("/etc/passwd").exists());
}

#[test]
fn folders_of_killed_processes_are_removed() {
    let alive = Scratch::new().expect("a folder");
    let killed = Scratch::new().expect("a folder");
    let left = killed.path.clone();
    fs::write(left.join("file"), "text").expect("a file");
    // The kernel unlocks the folder when a process ends.
    rustix::fs::flock(&killed.folder, FlockOperation::Unlock).expect("it was locked");
    mem::forget(killed);
    let _next = Scratch::new().expect("a folder");
    assert!(!left.exists());
    assert!(alive.path.exists());
}
