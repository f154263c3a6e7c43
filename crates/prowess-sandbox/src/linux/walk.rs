//! Walks a folder of the host by file descriptors, without following links, and bounded.

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

use crate::pattern::MAX_DEPTH;

/// An entry of a folder.
pub(super) struct Found<'f> {
    /// Its parent folder.
    pub(super) folder: BorrowedFd<'f>,
    /// Its name.
    pub(super) name: &'f OsStr,
    /// Its path, relative to the start of the walk.
    pub(super) relative: &'f Path,
    /// Its type; links are not followed.
    pub(super) kind: FileType,
}

/// Whether to enter a folder.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// Enter it, if it is a folder.
    Enter,
    /// Skip it.
    Pass,
}

/// Why a walk ended early.
#[derive(Debug)]
pub(super) enum Stopped {
    /// Too many entries, or folders nested too deeply.
    TooLarge,
    /// An I/O error.
    Failed(io::Error),
}

impl From<Errno> for Stopped {
    fn from(errno: Errno) -> Self {
        Stopped::Failed(errno.into())
    }
}

impl From<io::Error> for Stopped {
    fn from(error: io::Error) -> Self {
        Stopped::Failed(error)
    }
}

/// Opens a folder of the host. No part of its path may be a link.
pub(super) fn open_folder(path: &Path) -> Result<OwnedFd, Errno> {
    rustix::fs::openat2(
        CWD,
        path,
        OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW,
        Mode::empty(),
        ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS,
    )
}

/// Opens a folder below another one, by a path without links.
pub(super) fn open_below(folder: BorrowedFd<'_>, relative: &Path) -> Result<OwnedFd, Errno> {
    let relative = if relative.as_os_str().is_empty() { Path::new(".") } else { relative };
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    open_at(folder, relative, flags)
}

/// Opens something below a folder, by a path without links.
pub(super) fn open_at(
    folder: BorrowedFd<'_>,
    relative: &Path,
    flags: OFlags,
) -> Result<OwnedFd, Errno> {
    let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS | ResolveFlags::BENEATH;
    rustix::fs::openat2(folder, relative, flags, Mode::empty(), resolve)
}

/// Calls `visit` for everything below a folder, before a folder is entered. `entries` is the
/// remaining budget, which several walks may share.
pub(super) fn walk(
    folder: BorrowedFd<'_>,
    entries: &mut usize,
    visit: &mut dyn FnMut(&Found<'_>) -> Result<Next, Stopped>,
) -> Result<(), Stopped> {
    let top = open_below(folder, Path::new(""))?;
    enter(top, Path::new(""), MAX_DEPTH, entries, visit)
}

fn enter(
    folder: OwnedFd,
    above: &Path,
    depth: usize,
    entries: &mut usize,
    visit: &mut dyn FnMut(&Found<'_>) -> Result<Next, Stopped>,
) -> Result<(), Stopped> {
    let mut listing = Dir::new(folder)?;
    while let Some(entry) = listing.next() {
        let entry = entry?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if name == "." || name == ".." {
            continue;
        }
        *entries = entries.checked_sub(1).ok_or(Stopped::TooLarge)?;
        let relative: PathBuf = above.join(name);
        let holder = listing.fd()?;
        let kind = match entry.file_type() {
            // Some filesystems don't report the type in listings.
            FileType::Unknown => {
                match rustix::fs::statat(holder, name, AtFlags::SYMLINK_NOFOLLOW) {
                    Ok(stat) => FileType::from_raw_mode(stat.st_mode),
                    Err(Errno::NOENT) => continue,
                    Err(errno) => return Err(errno.into()),
                }
            }
            kind => kind,
        };
        let found = Found { folder: holder, name, relative: &relative, kind };
        if visit(&found)? == Next::Pass || kind != FileType::Directory {
            continue;
        }
        match open_below(holder.as_fd(), Path::new(name)) {
            Ok(_) if depth == 0 => return Err(Stopped::TooLarge),
            Ok(inner) => enter(inner, &relative, depth - 1, entries, visit)?,
            // What we can't access the program can't either; entries that were removed or replaced
            // with a link are ignored.
            Err(Errno::ACCESS | Errno::NOENT | Errno::LOOP | Errno::NOTDIR | Errno::PERM) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
    Ok(())
}
