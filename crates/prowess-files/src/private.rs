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
