//! Entries of folders by descriptor: their state, opening them without following links, closed folders.

use std::ffi::OsStr;
use std::fs::Permissions;
use std::io;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, CWD, Dir, FileType, Mode, OFlags, ResolveFlags, Stat, Timespec, Timestamps,
};
use rustix::io::Errno;

use crate::change::{EntryKind, EntryVersion};

/// Seconds and nanoseconds.
pub(crate) type Time = (i64, i64);

/// The permission bits that are kept; set-user and set-group bits of files are not.
const KEPT_OF_FILES: u32 = 0o1777;
const KEPT_OF_FOLDERS: u32 = 0o3777;

/// The state of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct State {
    pub(crate) device: u64,
    pub(crate) inode: u64,
    pub(crate) size: u64,
    pub(crate) modified: Time,
    pub(crate) changed: Time,
    /// Type and permissions.
    pub(crate) mode: u32,
    pub(crate) links: u64,
}

impl State {
    pub(crate) fn of(stat: &Stat) -> Self {
        #[expect(clippy::cast_possible_wrap, reason = "nanoseconds are below 2^30")]
        let nanoseconds = |value: u64| value as i64;
        Self {
            device: stat.st_dev,
            inode: stat.st_ino,
            size: stat.st_size.cast_unsigned(),
            modified: (stat.st_mtime, nanoseconds(stat.st_mtime_nsec)),
            changed: (stat.st_ctime, nanoseconds(stat.st_ctime_nsec)),
            mode: stat.st_mode,
            links: stat.st_nlink,
        }
    }

    pub(crate) fn kind(&self) -> FileType {
        FileType::from_raw_mode(self.mode)
    }

    pub(crate) fn is_folder(&self) -> bool {
        self.kind() == FileType::Directory
    }

    pub(crate) fn permissions(&self) -> u32 {
        self.mode & 0o7777
    }

    /// The permissions that an applied entry has.
    pub(crate) fn kept_permissions(&self) -> u32 {
        self.mode & if self.is_folder() { KEPT_OF_FOLDERS } else { KEPT_OF_FILES }
    }

    /// What an entry in place of `old` will be: set-id bits that were there before stay, new ones don't.
    pub(crate) fn settled(self, old: &Self) -> Self {
        if self.permissions() == old.permissions() {
            return self;
        }
        Self { mode: (self.mode & !0o7777) | self.kept_permissions(), ..self }
    }

    /// Whether it is the same entry.
    pub(crate) fn is_same_entry(&self, other: &Self) -> bool {
        (self.device, self.inode, self.kind()) == (other.device, other.inode, other.kind())
    }

    /// Whether it is the same entry with the same content, as far as size and time say.
    pub(crate) fn is_unchanged(&self, other: &Self) -> bool {
        self.is_same_entry(other)
            && (self.is_folder() || (self.size, self.modified) == (other.size, other.modified))
    }

    /// Whether its owner lacks access to a folder that is to be moved.
    pub(crate) fn is_closed(&self) -> bool {
        self.is_folder() && self.mode & 0o700 != 0o700
    }

    /// The deletion mark of an overlay.
    pub(crate) fn is_whiteout(&self, stat: &Stat) -> bool {
        self.kind() == FileType::CharacterDevice && stat.st_rdev == 0
    }

    pub(crate) fn version(&self, target: Option<PathBuf>) -> EntryVersion {
        let entry = match self.kind() {
            FileType::RegularFile => EntryKind::File,
            FileType::Directory => EntryKind::Folder,
            FileType::Symlink => EntryKind::Link,
            _ => EntryKind::Special,
        };
        let bytes = if entry == EntryKind::Folder { 0 } else { self.size };
        EntryVersion { entry, bytes, mode: self.permissions(), target }
    }
}

/// The state of an entry by name; `None` if it does not exist.
pub(crate) fn state_at(folder: BorrowedFd<'_>, name: &OsStr) -> Result<Option<State>, Errno> {
    Ok(stat_at(folder, name)?.map(|stat| State::of(&stat)))
}

pub(crate) fn stat_at(folder: BorrowedFd<'_>, name: &OsStr) -> Result<Option<Stat>, Errno> {
    match rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(Some(stat)),
        Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
        Err(errno) => Err(errno),
    }
}

pub(crate) fn state_of(file: impl AsFd) -> Result<State, Errno> {
    Ok(State::of(&rustix::fs::fstat(file)?))
}

const FOLDER: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Opens a folder by an absolute path without links.
pub(crate) fn open_absolute(path: &Path) -> Result<OwnedFd, Errno> {
    let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    rustix::fs::openat2(CWD, path, FOLDER, Mode::empty(), resolve)
}

/// Opens a folder below another one, without following links or entering mounts.
pub(crate) fn open_below(folder: BorrowedFd<'_>, path: &Path) -> Result<OwnedFd, Errno> {
    open_beneath(folder, path, FOLDER)
}

/// Opens something below a folder, without following links or entering mounts. Does not block on a pipe.
pub(crate) fn open_beneath(
    folder: BorrowedFd<'_>,
    path: &Path,
    flags: OFlags,
) -> Result<OwnedFd, Errno> {
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    let resolve = ResolveFlags::NO_SYMLINKS
        | ResolveFlags::NO_MAGICLINKS
        | ResolveFlags::BENEATH
        | ResolveFlags::NO_XDEV;
    // A handle takes no other flags.
    let waits = if flags.contains(OFlags::PATH) { OFlags::empty() } else { OFlags::NONBLOCK };
    let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC | waits;
    rustix::fs::openat2(folder, path, flags, Mode::empty(), resolve)
}

/// A handle that neither reads nor writes.
pub(crate) fn handle(folder: BorrowedFd<'_>, name: &OsStr) -> Result<OwnedFd, Errno> {
    open_beneath(folder, Path::new(name), OFlags::PATH)
}

/// The path of a handle in /proc, for calls that take no descriptor of that kind.
pub(crate) fn by_handle(handle: &impl AsFd) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", handle.as_fd().as_raw_fd()))
}

/// Sets permissions through a handle, so that the name can't be replaced with a link.
pub(crate) fn set_permissions(handle: impl AsFd, mode: u32) -> io::Result<()> {
    std::fs::set_permissions(by_handle(&handle), Permissions::from_mode(mode))
}

/// Sets the modification time through a handle.
pub(crate) fn set_modified(handle: impl AsFd, (seconds, nanoseconds): Time) -> io::Result<()> {
    let times = Timestamps {
        last_access: Timespec { tv_sec: 0, tv_nsec: rustix::fs::UTIME_OMIT },
        last_modification: Timespec { tv_sec: seconds, tv_nsec: nanoseconds },
    };
    Ok(rustix::fs::utimensat(CWD, by_handle(&handle), &times, AtFlags::empty())?)
}

/// An open folder that gets its permissions back when dropped, if they had to be changed.
#[derive(Debug)]
pub(crate) struct OpenFolder {
    folder: OwnedFd,
    mode: Option<u32>,
}

impl OpenFolder {
    /// Opens a folder of the upper layer that a program may have closed to its owner.
    pub(crate) fn open(above: BorrowedFd<'_>, name: &OsStr) -> io::Result<Self> {
        let handle = handle(above, name)?;
        let state = state_of(&handle)?;
        if !state.is_closed() {
            return Ok(Self { folder: open_below(above, Path::new(name))?, mode: None });
        }
        set_permissions(&handle, state.permissions() | 0o700)?;
        let mode = Some(state.permissions());
        match open_below(above, Path::new(name)) {
            Ok(folder) => Ok(Self { folder, mode }),
            Err(errno) => {
                let _ = set_permissions(&handle, state.permissions());
                Err(errno.into())
            }
        }
    }

    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.folder.as_fd()
    }

    /// Its state, with the permissions that it has when it is not open.
    pub(crate) fn state(&self) -> Result<State, Errno> {
        let state = state_of(&self.folder)?;
        let mode = self.mode.map_or(state.mode, |mode| (state.mode & !0o7777) | mode);
        Ok(State { mode, ..state })
    }
}

impl Drop for OpenFolder {
    fn drop(&mut self) {
        if let Some(mode) = self.mode {
            let _ = set_permissions(&self.folder, mode);
        }
    }
}

/// The names in a folder, sorted; an error if there are more than `most`.
pub(crate) fn names(
    folder: BorrowedFd<'_>,
    most: u64,
) -> io::Result<Option<Vec<std::ffi::OsString>>> {
    let mut names = Vec::new();
    for entry in Dir::read_from(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if name == b"." || name == b".." {
            continue;
        }
        if names.len() as u64 >= most {
            return Ok(None);
        }
        names.push(std::ffi::OsString::from_vec(name.to_owned()));
    }
    names.sort();
    Ok(Some(names))
}

/// The target of a link.
pub(crate) fn target_of(folder: BorrowedFd<'_>, name: &OsStr) -> Result<PathBuf, Errno> {
    let target = rustix::fs::readlinkat(folder, name, Vec::new())?;
    Ok(PathBuf::from(OsStr::from_bytes(target.as_bytes())))
}

/// A path of an entry that extended attributes can be read by, without following it.
fn entry_path(folder: BorrowedFd<'_>, name: &OsStr) -> PathBuf {
    by_handle(&folder).join(name)
}

/// The prefixes of an overlay's own marks.
const MARKS: [&str; 2] = ["user.overlay.", "trusted.overlay."];

/// Whether an entry of the upper layer has a mark of the overlay.
pub(crate) fn has_mark(folder: BorrowedFd<'_>, name: &OsStr, mark: &str) -> bool {
    mark_value(folder, name, mark).is_some()
}

/// The value of a mark.
pub(crate) fn mark_value(folder: BorrowedFd<'_>, name: &OsStr, mark: &str) -> Option<Vec<u8>> {
    let path = entry_path(folder, name);
    MARKS.iter().find_map(|prefix| {
        let mut value = [0; 256];
        match rustix::fs::lgetxattr(&path, format!("{prefix}{mark}"), &mut value[..]) {
            Ok(length) => value.get(..length).map(<[u8]>::to_vec),
            // Longer than any that matters here.
            Err(Errno::RANGE) => Some(Vec::new()),
            Err(_) => None,
        }
    })
}

/// Maximum size of the list of an entry's attributes, as in the kernel.
const MAX_ATTRIBUTES: usize = 64 << 10;

/// The names of an entry's extended attributes.
pub(crate) fn attributes(folder: BorrowedFd<'_>, name: &OsStr) -> Vec<Vec<u8>> {
    let path = entry_path(folder, name);
    // Most entries have none.
    match rustix::fs::llistxattr_query(&path) {
        Ok(0) | Err(_) => return Vec::new(),
        Ok(_) => {}
    }
    let mut list = vec![0; MAX_ATTRIBUTES];
    let Ok(length) = rustix::fs::llistxattr(&path, &mut list[..]) else { return Vec::new() };
    let all = list[..length].split(|byte| *byte == 0);
    all.filter(|name| !name.is_empty()).map(<[u8]>::to_vec).collect()
}

/// Whether an attribute is one of the overlay.
pub(crate) fn is_mark(attribute: &[u8]) -> bool {
    MARKS.iter().any(|prefix| attribute.starts_with(prefix.as_bytes()))
}

/// Removes an attribute, also of a file that its owner may not write.
pub(crate) fn remove_attribute(
    folder: BorrowedFd<'_>,
    name: &OsStr,
    attribute: &[u8],
) -> io::Result<()> {
    let path = entry_path(folder, name);
    match rustix::fs::lremovexattr(&path, attribute) {
        Ok(()) | Err(Errno::NODATA) => return Ok(()),
        Err(Errno::ACCESS | Errno::PERM) => {}
        Err(errno) => return Err(errno.into()),
    }
    let handle = handle(folder, name)?;
    let mode = state_of(&handle)?.permissions();
    set_permissions(&handle, mode | 0o200)?;
    let removed = rustix::fs::lremovexattr(&path, attribute);
    set_permissions(&handle, mode)?;
    match removed {
        Ok(()) | Err(Errno::NODATA) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}

/// Opens a file of the upper layer for reading, also one that its owner may not read.
pub(crate) fn open_own_file(folder: BorrowedFd<'_>, name: &OsStr) -> io::Result<std::fs::File> {
    match open_beneath(folder, Path::new(name), OFlags::RDONLY) {
        Ok(file) => return Ok(file.into()),
        Err(Errno::ACCESS) => {}
        Err(errno) => return Err(errno.into()),
    }
    let handle = handle(folder, name)?;
    let mode = state_of(&handle)?.permissions();
    set_permissions(&handle, mode | 0o400)?;
    let opened = open_beneath(folder, Path::new(name), OFlags::RDONLY);
    set_permissions(&handle, mode)?;
    Ok(opened?.into())
}
