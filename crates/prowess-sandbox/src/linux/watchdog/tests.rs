use std::fs;
use std::time::Duration;

use super::*;

fn folder() -> (tempfile::TempDir, Folder) {
    let home = tempfile::tempdir().expect("a temporary folder");
    let path = home.path().canonicalize().expect("it is there");
    (home, Folder { path, protected: BTreeSet::new(), before: None })
}

fn added(watched: &mut WatchedFolders, started: SystemTime) -> (u64, u64) {
    let usage = watched.added(started, &AtomicBool::new(false)).expect("nobody stops it");
    (usage.bytes, usage.entries)
}

#[test]
fn existing_files_do_not_count() {
    let (_home, folder) = folder();
    let path = folder.path.clone();
    fs::write(path.join("old"), vec![1; 1 << 20]).expect("a file");
    let mut watched = WatchedFolders::new(vec![folder]);
    // File times have a coarser resolution than the system clock.
    let started = SystemTime::now() + Duration::from_secs(1);
    assert_eq!(added(&mut watched, started), (0, 0));
    fs::create_dir(path.join("new")).expect("a folder");
    fs::write(path.join("new/file"), vec![1; 1 << 20]).expect("a file");
    let (bytes, entries) = added(&mut watched, started);
    assert_eq!(entries, 2);
    assert!((1 << 20..2 << 20).contains(&bytes), "{bytes}");
    // Neither a second hard link nor a hole uses space.
    fs::hard_link(path.join("new/file"), path.join("again")).expect("a second name");
    fs::File::create(path.join("hole")).and_then(|file| file.set_len(1 << 40)).expect("a hole");
    let (more, entries) = added(&mut watched, started);
    assert_eq!(entries, 4);
    assert!(more < 2 << 20, "{more}");
}

#[test]
fn protected_files_do_not_count() {
    let (_home, mut folder) = folder();
    let path = folder.path.clone();
    folder.protected.insert("kept".into());
    let mut watched = WatchedFolders::new(vec![folder]);
    fs::create_dir(path.join("kept")).expect("a folder");
    fs::write(path.join("kept/file"), "text").expect("a file");
    assert_eq!(added(&mut watched, SystemTime::UNIX_EPOCH), (0, 0));
}

#[test]
fn deeply_nested_files_count_by_free_space() {
    let (_home, folder) = folder();
    let deep = folder.path.join("d/".repeat(crate::pattern::MAX_DEPTH + 3));
    let mut watched = WatchedFolders::new(vec![folder]);
    fs::create_dir_all(&deep).expect("folders");
    fs::write(deep.join("file"), vec![1; 8 << 20]).expect("a file");
    // Other processes use the disk too, so the recorded free space is set to exactly this loss.
    let usage = watched.lost();
    watched.disks[0].bytes += (64 << 20) - usage.bytes.min(64 << 20);
    let (bytes, _) = added(&mut watched, SystemTime::UNIX_EPOCH);
    assert!(bytes > 32 << 20, "{bytes}");
}

#[test]
fn dropping_the_watchdog_ends_its_thread() {
    let (_home, folder) = folder();
    let limits = SandboxLimits::default();
    let watchdog = Watchdog::start(WatchedFolders::new(vec![folder]), &limits, SystemTime::now())
        .expect("a thread");
    assert_eq!(watchdog.alarm(), None);
    drop(watchdog);
}
