//! Small files, written atomically and read completely.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::Path;

use tempfile::NamedTempFile;

use crate::step;

/// Prefix of temporary files.
const PREFIX: &str = ".prowess-";

/// Maximum size of our own small files, in bytes: a larger one is damaged.
pub const MAX_SMALL_FILE_BYTES: u64 = 64 << 20;

/// Options for writing a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteOptions {
    /// Who may read it.
    pub mode: FileMode,
    /// Whether an existing file is replaced.
    pub existing: Existing,
    /// Whether it survives a power failure.
    pub durability: Durability,
}

impl WriteOptions {
    /// For private data that must not be lost: settings, approvals, keys.
    pub const PRIVATE: Self = Self {
        mode: FileMode::Private,
        existing: Existing::Replace,
        durability: Durability::OnDisk,
    };
    /// For caches.
    pub const CACHE: Self = Self { durability: Durability::Deferred, ..Self::PRIVATE };
}

/// Who may read a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileMode {
    /// Only its owner, whatever the mode of the existing file.
    Private,
    /// The mode of the existing file, or the default of the umask for a new one.
    Ordinary,
}

/// Whether an existing file is replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existing {
    /// It is kept, and writing fails with [`io::ErrorKind::AlreadyExists`].
    Keep,
    /// It is replaced atomically.
    Replace,
}

/// Whether a file survives a power failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// The file and its name are on disk when writing returns.
    OnDisk,
    /// The operating system writes it later: for data that can be recreated.
    Deferred,
}

/// Writes a file atomically: readers see the old or the new content.
pub fn write(path: &Path, bytes: &[u8], options: WriteOptions) -> io::Result<()> {
    let folder = folder_of(path);
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    step("create", &name)?;
    let mut file = temporary(folder, options.mode)?;
    if options.mode == FileMode::Ordinary
        && let Ok(before) = fs::metadata(path)
    {
        file.as_file().set_permissions(before.permissions())?;
    }
    step("write", &name)?;
    file.write_all(bytes)?;
    if options.durability == Durability::OnDisk {
        step("fsync", &name)?;
        file.as_file().sync_all()?;
    }
    step("rename", &name)?;
    match options.existing {
        Existing::Keep => file.persist_noclobber(path),
        Existing::Replace => file.persist(path),
    }
    .map_err(|error| error.error)?;
    match options.durability {
        Durability::OnDisk => sync_folder(folder),
        Durability::Deferred => Ok(()),
    }
}

/// Reads a file; `None` if it does not exist. A longer file than `max_bytes` is an error.
pub fn read(path: &Path, max_bytes: u64) -> io::Result<Option<Vec<u8>>> {
    open(path)?.map(|file| read_open(file, max_bytes)).transpose()
}

/// Opens a file; `None` if it does not exist.
pub(crate) fn open(path: &Path) -> io::Result<Option<File>> {
    match File::open(path) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Reads a text file; `None` if it does not exist. A longer file than `max_bytes` is an error,
/// and so is one that is not UTF-8.
pub fn read_text(path: &Path, max_bytes: u64) -> io::Result<Option<String>> {
    read(path, max_bytes)?.map(text).transpose()
}

/// Decodes the bytes of a file as text.
pub(crate) fn text(bytes: Vec<u8>) -> io::Result<String> {
    String::from_utf8(bytes)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8"))
}

/// The most memory that is reserved because a file says how large it is.
const MAX_RESERVED_BYTES: u64 = 1 << 20;

/// Reads an open file of at most `max_bytes`.
pub fn read_open(file: File, max_bytes: u64) -> io::Result<Vec<u8>> {
    // One byte more than the file has, so that its end is noticed without growing. The size is only a hint, so what is
    // reserved for it is bounded.
    let size = file.metadata().map_or(0, |data| data.len()).min(max_bytes).min(MAX_RESERVED_BYTES);
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0).saturating_add(1));
    file.take(max_bytes.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > max_bytes {
        return Err(io::Error::other(format!("it has more than {max_bytes} bytes")));
    }
    Ok(bytes)
}

/// Flushes a folder to disk: a new name only survives a power failure once its folder was written.
/// Only has an effect on Unix.
pub fn sync_folder(folder: &Path) -> io::Result<()> {
    step("fsync", &folder.file_name().unwrap_or_default().to_string_lossy())?;
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}

/// Checks that [`write()`] can create a file in a folder, without leaving one behind. For long
/// operations whose result should not be lost.
pub fn can_write_into(folder: &Path) -> io::Result<()> {
    temporary(folder, FileMode::Private).map(drop)
}

/// The folder of a file.
pub fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn temporary(folder: &Path, mode: FileMode) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(PREFIX);
    // The default mode is 0600.
    #[cfg(unix)]
    if mode == FileMode::Ordinary {
        use std::os::unix::fs::PermissionsExt as _;
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    #[cfg(not(unix))]
    let _ = mode;
    builder.tempfile_in(folder)
}
