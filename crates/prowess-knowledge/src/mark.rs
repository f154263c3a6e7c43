//! Detects whether there is a new commit.

use std::io;
use std::path::PathBuf;

/// Identifies tantivy's metadata file of a commit. Every commit replaces the file by renaming.
pub(crate) struct CommitMarker {
    path: PathBuf,
    /// Its device and inode number.
    #[cfg(unix)]
    number: (u64, u64),
    /// Kept open so that no other file can get its inode number.
    #[cfg(unix)]
    _file: std::fs::File,
    #[cfg(not(unix))]
    bytes: Vec<u8>,
}

#[cfg(unix)]
impl CommitMarker {
    /// The marker of the current commit.
    pub(crate) fn of(path: PathBuf) -> io::Result<Self> {
        let file = std::fs::File::open(&path)?;
        Ok(Self { path, number: number(&file.metadata()?), _file: file })
    }

    /// Whether the commit is still the latest. Every search checks it; reading the file would take ten times as long.
    pub(crate) fn is_latest(&self) -> io::Result<bool> {
        Ok(number(&std::fs::metadata(&self.path)?) == self.number)
    }
}

#[cfg(unix)]
fn number(metadata: &std::fs::Metadata) -> (u64, u64) {
    use std::os::unix::fs::MetadataExt as _;
    (metadata.dev(), metadata.ino())
}

/// Other systems: the standard library has no inode numbers there.
#[cfg(not(unix))]
impl CommitMarker {
    /// The marker of the current commit.
    pub(crate) fn of(path: PathBuf) -> io::Result<Self> {
        let bytes = std::fs::read(&path)?;
        Ok(Self { path, bytes })
    }

    /// Whether the commit is still the latest.
    pub(crate) fn is_latest(&self) -> io::Result<bool> {
        Ok(std::fs::read(&self.path)? == self.bytes)
    }
}
