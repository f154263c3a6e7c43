//! Advisory locks between processes. They end with the process.

use std::fs::File;
use std::io;
use std::path::Path;

use crate::atomic::folder_of;
use crate::private::{private_file, private_folder};

/// Opens a lock file, creating it if it does not exist. It stays empty.
pub fn lock_file(path: &Path) -> io::Result<File> {
    private_file(path)
}

/// Runs a closure while holding the lock of a file. Other processes wait.
///
/// The lock is a separate file that ends with `.lock`, because each writer replaces the file
/// itself. The folder is created if it does not exist.
pub fn with_lock<T, E: From<io::Error>>(
    path: &Path,
    work: impl FnOnce() -> Result<T, E>,
) -> Result<T, E> {
    private_folder(folder_of(path))?;
    let lock = lock_file(&path.with_extension("lock"))?;
    lock.lock()?;
    work()
}
