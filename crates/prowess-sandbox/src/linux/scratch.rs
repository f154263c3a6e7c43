//! A private folder on the host for the duration of a run.
//!
//! It is in the system's temporary folder and is locked while its owner runs. A killed process
//! leaves it behind; the next process of the same user that needs such a folder removes those that
//! are not locked.

use std::ffi::{OsStr, OsString};
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Dir, FileType, FlockOperation, Mode, OFlags};
use rustix::io::Errno;

use super::{sys, walk};

const PREFIX: &str = "prowess-stage-";
/// Maximum number of entries of the temporary folder that are checked for abandoned ones.
const MAX_INSPECTED: usize = 10_000;
/// Maximum number of open folders while a tree is removed; deeper ones are moved up first.
const MAX_OPEN: usize = 32;

/// A private folder, removed with everything in it when dropped.
#[derive(Debug)]
pub(super) struct Scratch {
    parent: OwnedFd,
    name: OsString,
    path: PathBuf,
    /// Open and locked while this process runs.
    folder: OwnedFd,
}

impl Scratch {
    pub(super) fn new() -> io::Result<Self> {
        // The path of the temporary folder may contain links, but a mount source may not.
        let temporary = std::env::temp_dir().canonicalize()?;
        let parent = walk::open_folder(&temporary)?;
        let prefix = format!("{PREFIX}{}-", sys::identity_of_process().0);
        remove_abandoned(&parent, &prefix);
        for _ in 0..16 {
            let name = OsString::from(format!("{prefix}{:016x}", random()));
            match rustix::fs::mkdirat(&parent, &name, Mode::RWXU) {
                Ok(()) => {}
                Err(Errno::EXIST) => continue,
                Err(errno) => return Err(errno.into()),
            }
            // Another process may have removed it as abandoned.
            if let Ok(folder) = walk::open_below(parent.as_fd(), Path::new(&name))
                && rustix::fs::flock(&folder, FlockOperation::NonBlockingLockExclusive).is_ok()
                && is_named(&parent, &name, &folder)
            {
                let path = temporary.join(&name);
                return Ok(Self { parent, name, path, folder });
            }
        }
        Err(io::Error::other("no temporary folder could be created"))
    }

    /// Creates a folder in it; returns it open, and its path.
    pub(super) fn folder(&self, name: &str) -> io::Result<(OwnedFd, PathBuf)> {
        rustix::fs::mkdirat(&self.folder, name, Mode::RWXU)?;
        let folder = walk::open_below(self.folder.as_fd(), Path::new(name))?;
        Ok((folder, self.path.join(name)))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        remove(self.parent.as_fd(), &self.name, self.folder.as_fd());
    }
}

/// An unpredictable number.
pub(super) fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}

fn is_named(parent: &OwnedFd, name: &OsStr, folder: &OwnedFd) -> bool {
    let by_name = rustix::fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW);
    let open = rustix::fs::fstat(folder);
    matches!((by_name, open), (Ok(a), Ok(b)) if (a.st_dev, a.st_ino) == (b.st_dev, b.st_ino))
}

/// Removes folders of this user whose owners have exited. Errors are ignored: the next start tries
/// again.
fn remove_abandoned(parent: &OwnedFd, prefix: &str) {
    let Ok(listing) = Dir::read_from(parent) else { return };
    for entry in listing.take(MAX_INSPECTED).flatten() {
        let name = entry.file_name().to_bytes();
        if !name.starts_with(prefix.as_bytes()) {
            continue;
        }
        let name = OsStr::from_bytes(name);
        let Ok(folder) = walk::open_below(parent.as_fd(), Path::new(name)) else { continue };
        let is_ours = rustix::fs::fstat(&folder)
            .is_ok_and(|stat| stat.st_uid == sys::identity_of_process().0);
        if is_ours
            && rustix::fs::flock(&folder, FlockOperation::NonBlockingLockExclusive).is_ok()
            && is_named(parent, name, &folder)
        {
            remove(parent.as_fd(), name, folder.as_fd());
        }
    }
}

fn remove(parent: BorrowedFd<'_>, name: &OsStr, folder: BorrowedFd<'_>) {
    // The files of a program may be nested deeply, so a tree is removed in layers.
    while let Ok(moved) = empty(folder) {
        if !moved {
            break;
        }
    }
    let _ = rustix::fs::unlinkat(parent, name, AtFlags::REMOVEDIR);
}

/// Removes the content of a folder; returns true if something was only moved up and another round
/// is needed.
fn empty(top: BorrowedFd<'_>) -> io::Result<bool> {
    let mut moved = false;
    empty_level(top, walk::open_below(top, Path::new(""))?, MAX_OPEN, &mut moved)?;
    Ok(moved)
}

fn empty_level(
    top: BorrowedFd<'_>,
    folder: OwnedFd,
    depth: usize,
    moved: &mut bool,
) -> io::Result<()> {
    let mut listing = Dir::new(folder)?;
    while let Some(entry) = listing.next() {
        let entry = entry?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if name == "." || name == ".." {
            continue;
        }
        let holder = listing.fd()?;
        if rustix::fs::unlinkat(holder, name, AtFlags::empty()).is_ok() {
            continue;
        }
        open_up(holder, name);
        if depth == 0 {
            let free = format!("{:016x}", random());
            rustix::fs::renameat(holder, name, top, free)?;
            *moved = true;
            continue;
        }
        empty_level(top, walk::open_below(holder, Path::new(name))?, depth - 1, moved)?;
        rustix::fs::unlinkat(holder, name, AtFlags::REMOVEDIR)?;
    }
    Ok(())
}

/// Restores the owner's access to a folder.
pub(super) fn open_up(holder: BorrowedFd<'_>, name: &OsStr) {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let Ok(handle) = rustix::fs::openat(holder, name, flags, Mode::empty()) else { return };
    let Ok(stat) = rustix::fs::fstat(&handle) else { return };
    let is_closed = FileType::from_raw_mode(stat.st_mode) == FileType::Directory
        && stat.st_mode & 0o700 != 0o700;
    if is_closed {
        // By the handle, so that the name can't be replaced with a link.
        let by_handle = format!("/proc/self/fd/{}", handle.as_raw_fd());
        let _ = std::fs::set_permissions(by_handle, std::fs::Permissions::from_mode(0o700));
    }
}

#[cfg(test)]
mod tests;
