//! Private files and folders.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io;
use std::path::Path;

/// Whether a file or folder belongs to the user and is not accessible to others.
#[cfg(unix)]
pub fn is_private(data: &fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    const OTHERS: u32 = 0o077;
    data.mode() & OTHERS == 0 && data.uid() == rustix::process::geteuid().as_raw()
}

/// Always true: the metadata does not show it on this system.
#[cfg(not(unix))]
pub fn is_private(_data: &fs::Metadata) -> bool {
    true
}

/// Whether a file belongs to the user or root and is not writable by others.
#[cfg(unix)]
pub fn is_own(data: &fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    const OTHERS_WRITE: u32 = 0o022;
    let owners = [0, rustix::process::geteuid().as_raw()];
    data.mode() & OTHERS_WRITE == 0 && owners.contains(&data.uid())
}

/// Always true: the metadata does not show it on this system.
#[cfg(not(unix))]
pub fn is_own(_data: &fs::Metadata) -> bool {
    true
}

/// Reads a security-relevant text file; `None` if it does not exist. A file that others can write
/// is a `PermissionDenied` error.
pub fn read_own_text(path: &Path, max_bytes: u64) -> io::Result<Option<String>> {
    let Some(file) = crate::atomic::open(path)? else { return Ok(None) };
    if !is_own(&file.metadata()?) {
        let reason = "it is writable by others, or belongs to another user";
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, reason));
    }
    crate::atomic::text(crate::atomic::read_open(file, max_bytes)?).map(Some)
}

/// Creates a folder that is only accessible to its owner, and its parents, if they don't exist.
pub fn private_folder(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// Opens a file for writing without truncating it. A new file is only accessible to its owner.
pub(crate) fn private_file(path: &Path) -> io::Result<fs::File> {
    let mut options = OpenOptions::new();
    options.create(true).truncate(false).write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}
