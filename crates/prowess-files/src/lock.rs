//! Locks between processes. They end with the process, however that ends, and bind only those who ask for them.

use std::fs::File;
use std::io;
use std::path::Path;

use crate::private::{private_file, private_folder};
use crate::whole::folder_of;

/// Opens a file that is there to be locked, and makes it where it is missing. It stays empty.
pub fn lock_file(path: &Path) -> io::Result<File> {
    private_file(path)
}

/// Holds the lock of a file while something is done. Whoever comes second waits.
///
/// The lock is a file beside it that ends with `.lock`, because the file itself is replaced by each writer. The folder is
/// made where it is missing.
pub fn with_lock<T, E: From<io::Error>>(
    path: &Path,
    work: impl FnOnce() -> Result<T, E>,
) -> Result<T, E> {
    private_folder(folder_of(path))?;
    let lock = lock_file(&path.with_extension("lock"))?;
    lock.lock()?;
    work()
}
