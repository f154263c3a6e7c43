//! Small files of the user's own: written whole, one writer at a time, and for nobody else's eyes where that matters.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::Path;

/// What is read of such a file.
const MOST_BYTES: u64 = 16 << 20;

/// Whether a file may be replaced.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Existing {
    Keep,
    Replace,
}

/// The bytes of a file; `None` when there is none.
pub(crate) fn read(path: &Path) -> io::Result<Option<Vec<u8>>> {
    match File::open(path) {
        Ok(file) => read_open(file).map(Some),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// The bytes of an open file.
pub(crate) fn read_open(file: File) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(MOST_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(io::Error::other(format!("it has more than {MOST_BYTES} bytes")));
    }
    Ok(bytes)
}

/// Holds the lock of a file while something is done. Whoever comes second waits.
pub(crate) fn locked<T, E: From<io::Error>>(
    path: &Path,
    work: impl FnOnce() -> Result<T, E>,
) -> Result<T, E> {
    private_folder(folder_of(path))?;
    // A file beside it, because the file itself is replaced by each writer.
    let lock = private_options().open(path.with_extension("lock"))?;
    lock.lock()?;
    work()
}

/// Writes a file with mode 0600, so that every reader sees all of it or nothing, also after a power cut.
pub(crate) fn write(path: &Path, bytes: &[u8], existing: Existing) -> io::Result<()> {
    let folder = folder_of(path);
    // A temporary file is made with mode 0600.
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    match existing {
        Existing::Keep => file.persist_noclobber(path),
        Existing::Replace => file.persist(path),
    }
    .map_err(|error| error.error)?;
    sync_folder(folder)
}

/// Makes a folder that only the user may look into, if it isn't there.
pub(crate) fn private_folder(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::DirBuilderExt as _;
        builder.mode(0o700);
    }
    builder.create(path)
}

/// Whether a file or folder is the user's and nobody else may read or change it.
#[cfg(unix)]
pub(crate) fn is_private(data: &fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    const OTHERS: u32 = 0o077;
    data.mode() & OTHERS == 0 && data.uid() == rustix::process::geteuid().as_raw()
}

/// Whether nobody else may read or change it: not told by the file there.
#[cfg(not(unix))]
pub(crate) fn is_private(_data: &fs::Metadata) -> bool {
    true
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn private_options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.create(true).truncate(false).write(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(0o600);
    }
    options
}

/// A new name in a folder outlasts a power cut only once the folder itself was written.
#[cfg(unix)]
fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

#[cfg(not(unix))]
fn sync_folder(_folder: &Path) -> io::Result<()> {
    Ok(())
}
