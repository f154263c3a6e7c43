//! Removes trees that a program has made: deeply nested, or closed to their owner.

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::path::Path;

use rustix::fs::{AtFlags, RenameFlags};
use rustix::io::Errno;

use super::entry;

/// Maximum depth of recursion; what is deeper is moved up first.
const MAX_OPEN: usize = 32;
/// Maximum number of entries that are read of a folder at once.
const MAX_NAMES: u64 = u64::MAX;

/// Removes an entry and everything below it. A missing one is not an error.
pub(crate) fn remove_tree(folder: BorrowedFd<'_>, name: &OsStr) -> io::Result<()> {
    match rustix::fs::unlinkat(folder, name, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => return Ok(()),
        Err(Errno::ISDIR | Errno::PERM) => {}
        Err(errno) => return Err(errno.into()),
    }
    let top = open_for_good(folder, name)?;
    let mut number = 0;
    while empty(top.as_fd(), top.as_fd(), MAX_OPEN, &mut number)? {}
    Ok(rustix::fs::unlinkat(folder, name, AtFlags::REMOVEDIR)?)
}

/// Empties a folder; returns whether something was only moved up, so that another round is needed.
fn empty(
    top: BorrowedFd<'_>,
    folder: BorrowedFd<'_>,
    depth: usize,
    number: &mut u64,
) -> io::Result<bool> {
    let mut moved = false;
    for name in entry::names(folder, MAX_NAMES)?.unwrap_or_default() {
        match rustix::fs::unlinkat(folder, &name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => continue,
            Err(_) => {}
        }
        let inner = open_for_good(folder, &name)?;
        if depth == 0 {
            // A free name: other entries of the top may be called so.
            loop {
                *number += 1;
                let free = format!("prowess-removed-{number}");
                let flags = RenameFlags::NOREPLACE;
                match rustix::fs::renameat_with(folder, &name, top, &*free, flags) {
                    Ok(()) => break,
                    Err(Errno::EXIST) => {}
                    Err(errno) => return Err(errno.into()),
                }
            }
            moved = true;
            continue;
        }
        moved |= empty(top, inner.as_fd(), depth - 1, number)?;
        rustix::fs::unlinkat(folder, &name, AtFlags::REMOVEDIR)?;
    }
    Ok(moved)
}

/// Opens a folder, giving its owner access.
fn open_for_good(folder: BorrowedFd<'_>, name: &OsStr) -> io::Result<std::os::fd::OwnedFd> {
    let handle = entry::handle(folder, name)?;
    let state = entry::state_of(&handle)?;
    if state.is_closed() {
        entry::set_permissions(&handle, state.permissions() | 0o700)?;
    }
    Ok(entry::open_below(folder, Path::new(name))?)
}
