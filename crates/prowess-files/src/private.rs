//! Files and folders that are for nobody else's eyes.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io;
use std::path::Path;

/// Whether a file or folder is the user's and nobody else may read or change it.
#[cfg(unix)]
pub fn is_private(data: &fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    const OTHERS: u32 = 0o077;
    data.mode() & OTHERS == 0 && data.uid() == rustix::process::geteuid().as_raw()
}

/// Whether nobody else may read or change it: not told by the file there.
#[cfg(not(unix))]
pub fn is_private(_data: &fs::Metadata) -> bool {
    true
}

/// Whether a file is the user's and nobody else may change it. What root has written counts as well: root can do so anyway.
#[cfg(unix)]
pub fn is_own(data: &fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    const OTHERS_WRITE: u32 = 0o022;
    let owners = [0, rustix::process::geteuid().as_raw()];
    data.mode() & OTHERS_WRITE == 0 && owners.contains(&data.uid())
}

/// Whether nobody else may change a file: not told by the file there.
#[cfg(not(unix))]
pub fn is_own(_data: &fs::Metadata) -> bool {
    true
}

/// The text of a file that decides something; `None` when there is none. One that somebody else could have written is an
/// error, of the kind `PermissionDenied`.
pub fn read_own_text(path: &Path, most: u64) -> io::Result<Option<String>> {
    let Some(file) = crate::whole::open(path)? else { return Ok(None) };
    if !is_own(&file.metadata()?) {
        let reason = "others can change it, or it is not yours";
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, reason));
    }
    crate::whole::text(crate::whole::read_open(file, most)?).map(Some)
}

/// Makes a folder that only its owner can look into, and those on the way to it, where they are missing.
pub fn private_folder(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// Opens a file for writing as it is. One that is made here is its owner's alone.
pub(crate) fn private_file(path: &Path) -> io::Result<fs::File> {
    let mut options = OpenOptions::new();
    options.create(true).truncate(false).write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}
