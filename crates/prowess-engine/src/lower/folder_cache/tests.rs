use std::fs;
use std::path::{Path, PathBuf};

use super::{FolderCache, FolderListing, MAGIC, encode, parse};
use crate::platform::Identity;

fn is_env(name: &str) -> bool {
    name == ".env"
}

/// A folder of the machine that has not changed in the last seconds.
const SETTLED: &str = "/usr/share";

fn with_known(cache: &Path, folder: &Path, identity: Identity, listing: &FolderListing) {
    let known = [(folder.to_owned(), identity, listing.clone())];
    let path = FolderCache::load(cache, Path::new("/project")).path;
    fs::create_dir_all(path.parent().expect("it is in a folder")).expect("it can be created");
    fs::write(path, encode(&known)).expect("it can be written");
}

fn marked() -> FolderListing {
    FolderListing { folders: vec!["remembered".into()], files: vec![".env".into()] }
}

#[test]
fn an_unchanged_folder_comes_from_the_cache() {
    let home = tempfile::tempdir().expect("a temporary folder");
    let folder = Path::new(SETTLED);
    let data = fs::symlink_metadata(folder).expect("it is there");
    let identity = crate::platform::identity_of(&data).expect("it is settled");
    with_known(home.path(), folder, identity, &marked());
    let mut cache = FolderCache::load(home.path(), Path::new("/project"));
    assert_eq!(cache.listing(folder, is_env), marked());
    assert_eq!(cache.listed, 0);
}

#[test]
fn a_folder_with_another_identity_is_listed() {
    let home = tempfile::tempdir().expect("a temporary folder");
    let folder = Path::new(SETTLED);
    let data = fs::symlink_metadata(folder).expect("it is there");
    let identity = crate::platform::identity_of(&data).expect("it is settled");
    for changed in 0..Identity::NUMBERS {
        let mut numbers = identity.to_numbers();
        numbers[changed] += 1;
        with_known(home.path(), folder, Identity::from_numbers(numbers), &marked());
        let mut cache = FolderCache::load(home.path(), Path::new("/project"));
        assert_ne!(cache.listing(folder, is_env), marked(), "number {changed} differs");
        assert_eq!(cache.listed, 1);
    }
}

#[test]
fn a_folder_that_changed_just_now_is_never_remembered() {
    let home = tempfile::tempdir().expect("a temporary folder");
    let project = tempfile::tempdir().expect("a temporary folder");
    let mut cache = FolderCache::load(home.path(), project.path());
    assert_eq!(cache.listing(project.path(), is_env), FolderListing::default());
    assert!(cache.seen.is_empty());
    fs::write(project.path().join(".env"), "KEY=1").expect("it can be written");
    assert_eq!(cache.listing(project.path(), is_env).files, [".env"]);
}

#[test]
fn a_link_to_a_folder_is_not_a_folder() {
    let home = tempfile::tempdir().expect("a temporary folder");
    let link = home.path().join("link");
    std::os::unix::fs::symlink(SETTLED, &link).expect("it can be created");
    let mut cache = FolderCache::load(home.path(), home.path());
    assert_eq!(cache.listing(&link, is_env), FolderListing::default());
}

#[test]
fn a_damaged_cache_is_empty() {
    let folders: [(PathBuf, Identity, FolderListing); 2] = [
        ("/a".into(), Identity::from_numbers([1; Identity::NUMBERS]), marked()),
        ("/a/remembered".into(), Identity::from_numbers([0; Identity::NUMBERS]), marked()),
    ];
    let whole = encode(&folders);
    assert_eq!(parse(&whole).map(|known| known.len()), Some(2));
    let ends: Vec<usize> = [&folders[..0], &folders[..1], &folders[..2]]
        .iter()
        .map(|part| encode(part).len())
        .collect();
    for length in 0..whole.len() {
        assert_eq!(parse(&whole[..length]).is_some(), ends.contains(&length), "{length} bytes");
    }
    assert_eq!(parse(b"prowess folders 0\0"), None);
    assert_eq!(parse(MAGIC).map(|known| known.len()), Some(0));
}
