//! Which commit was seen, and whether there is a later one.

use std::io;
use std::path::PathBuf;

/// The engine's list of what is committed. Every commit puts a new file in its place by renaming.
pub(crate) struct Mark {
    path: PathBuf,
    /// Its device and number.
    #[cfg(unix)]
    number: (u64, u64),
    /// As long as it is open, no other file can have its number.
    #[cfg(unix)]
    _file: std::fs::File,
    #[cfg(not(unix))]
    bytes: Vec<u8>,
}

#[cfg(unix)]
impl Mark {
    /// The list that is there now.
    pub(crate) fn of(path: PathBuf) -> io::Result<Self> {
        let file = std::fs::File::open(&path)?;
        Ok(Self { path, number: number(&file.metadata()?), _file: file })
    }

    /// Whether it is still the same. Searches ask each time, and reading the list takes ten times as long.
    pub(crate) fn is_latest(&self) -> io::Result<bool> {
        Ok(number(&std::fs::metadata(&self.path)?) == self.number)
    }
}

#[cfg(unix)]
fn number(metadata: &std::fs::Metadata) -> (u64, u64) {
    use std::os::unix::fs::MetadataExt as _;
    (metadata.dev(), metadata.ino())
}

/// Elsewhere files have no number that the standard library knows.
#[cfg(not(unix))]
impl Mark {
    /// The list that is there now.
    pub(crate) fn of(path: PathBuf) -> io::Result<Self> {
        let bytes = std::fs::read(&path)?;
        Ok(Self { path, bytes })
    }

    /// Whether it is still the same.
    pub(crate) fn is_latest(&self) -> io::Result<bool> {
        Ok(std::fs::read(&self.path)? == self.bytes)
    }
}
