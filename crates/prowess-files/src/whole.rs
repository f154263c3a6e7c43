//! Small files, written and read whole.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::Path;

use tempfile::NamedTempFile;

use crate::step;

/// What a file is called until it is whole.
const PREFIX: &str = ".prowess-";

/// What a small file of our own has at most: a larger one is damaged.
pub const MOST_SMALL_BYTES: u64 = 64 << 20;

/// How a file is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteOptions {
    /// Who may read it.
    pub access: Access,
    /// Whether a file that is there is replaced.
    pub existing: Existing,
    /// Whether it outlasts a power cut.
    pub durability: Durability,
}

impl WriteOptions {
    /// For what is the user's own and must not be lost: settings, answers, keys.
    pub const PRIVATE: Self = Self {
        access: Access::Private,
        existing: Existing::Replace,
        durability: Durability::OnDisk,
    };
    /// For what is only remembered.
    pub const CACHE: Self = Self { durability: Durability::Whenever, ..Self::PRIVATE };
}

/// Who may read a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Its owner and nobody else, whoever could read the one before.
    Private,
    /// Those who could read the one before, and for a new one those whom the umask leaves.
    Ordinary,
}

/// Whether a file that is there is replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existing {
    /// It stays, and writing fails with [`io::ErrorKind::AlreadyExists`].
    Keep,
    /// It is replaced in one step.
    Replace,
}

/// Whether a file outlasts a power cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// When writing returns, the file and its name are on the disk.
    OnDisk,
    /// The system writes it when it likes: for what can be made again.
    Whenever,
}

/// Writes a file so that every reader sees all of it, or what was there before.
pub fn write(path: &Path, bytes: &[u8], options: WriteOptions) -> io::Result<()> {
    let folder = folder_of(path);
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    step("create", &name)?;
    let mut file = temporary(folder, options.access)?;
    if options.access == Access::Ordinary
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
        Durability::Whenever => Ok(()),
    }
}

/// The bytes of a file; `None` when there is none. A file of more than `most` bytes is an error.
pub fn read(path: &Path, most: u64) -> io::Result<Option<Vec<u8>>> {
    open(path)?.map(|file| read_open(file, most)).transpose()
}

/// A file; `None` when there is none.
pub(crate) fn open(path: &Path) -> io::Result<Option<File>> {
    match File::open(path) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// The text of a file; `None` when there is none. A file of more than `most` bytes is an error, and so is one that is not
/// UTF-8.
pub fn read_text(path: &Path, most: u64) -> io::Result<Option<String>> {
    read(path, most)?.map(text).transpose()
}

/// The bytes of a file as text.
pub(crate) fn text(bytes: Vec<u8>) -> io::Result<String> {
    String::from_utf8(bytes)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8"))
}

/// The bytes of an open file, of which there may be at most `most`.
pub fn read_open(file: File, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(io::Error::other(format!("it has more than {most} bytes")));
    }
    Ok(bytes)
}

/// Puts the names in a folder on the disk: a new name outlasts a power cut only once its folder was written. Only Unix can
/// open one.
pub fn sync_folder(folder: &Path) -> io::Result<()> {
    step("fsync", &folder.file_name().unwrap_or_default().to_string_lossy())?;
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}

/// Fails where [`write()`] would fail to make a file in a folder, and leaves nothing behind. For work that takes long and should
/// not be lost at its end.
pub fn can_write_into(folder: &Path) -> io::Result<()> {
    temporary(folder, Access::Private).map(drop)
}

/// The folder in which a file lies.
pub fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn temporary(folder: &Path, access: Access) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(PREFIX);
    // Without a word of ours the mode is 0600.
    #[cfg(unix)]
    if access == Access::Ordinary {
        use std::os::unix::fs::PermissionsExt as _;
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    #[cfg(not(unix))]
    let _ = access;
    builder.tempfile_in(folder)
}
