//! Small files of our own: read and written whole, one writer at a time, never half.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::path::Path;

use crate::platform;

/// What is read of such a file.
const MOST_BYTES: u64 = 64 << 20;

/// The text of a file; `None` when there is none.
pub(crate) fn read(path: &Path) -> io::Result<Option<String>> {
    open(path)?.map(text).transpose()
}

/// The same of a file that decides something: one that somebody else could have written is an error.
pub(crate) fn read_own(path: &Path) -> io::Result<Option<String>> {
    let Some(file) = open(path)? else { return Ok(None) };
    if !platform::is_own(&file.metadata()?) {
        let reason = "others can change it, or it is not yours";
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, reason));
    }
    text(file).map(Some)
}

fn open(path: &Path) -> io::Result<Option<File>> {
    match File::open(path) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn text(file: File) -> io::Result<String> {
    let mut text = String::new();
    file.take(MOST_BYTES).read_to_string(&mut text)?;
    Ok(text)
}

/// Holds the lock of a file while something is done. Whoever comes second waits.
pub(crate) fn locked<T, E: From<io::Error>>(
    path: &Path,
    work: impl FnOnce() -> Result<T, E>,
) -> Result<T, E> {
    platform::private_folder(path.parent().unwrap_or(Path::new("/")))?;
    // A file beside it, because the file itself is replaced by each writer.
    let beside = path.with_extension("lock");
    let lock = platform::private_file(&beside)?;
    lock.lock()?;
    work()
}

/// Writes a file so that every reader sees the old text or the new one, also after a power cut.
pub(crate) fn replace(path: &Path, text: &str) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("/"));
    // A temporary file is made with mode 0600.
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(text.as_bytes())?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    File::open(folder)?.sync_all()
}
