//! Locks between processes.

use std::fs::TryLockError;
use std::io;

use prowess_files::{lock_file, with_lock};
use prowess_testkit::{listing, temporary};

#[test]
fn one_writer_at_a_time() {
    let home = temporary();
    let path = home.path().join("a/b/state.json");
    let second = || lock_file(&path.with_extension("lock")).expect("opened").try_lock();
    let answer = with_lock(&path, || {
        assert!(matches!(second(), Err(TryLockError::WouldBlock)), "the first one holds the lock");
        io::Result::Ok(7)
    });
    assert_eq!(answer.expect("done"), 7);
    assert!(second().is_ok(), "it is free afterwards");
    // It is also released when the closure fails.
    let failed: io::Result<()> = with_lock(&path, || Err(io::ErrorKind::StorageFull.into()));
    assert_eq!(failed.expect_err("it failed").kind(), io::ErrorKind::StorageFull);
    assert!(second().is_ok());
    let prefix = format!("{}/", home.path().display());
    let found: Vec<String> =
        listing(home.path()).iter().map(|line| line.replace(&prefix, "")).collect();
    assert_eq!(found, ["a 700", "a/b 700", "a/b/state.lock 600 "]);
}
