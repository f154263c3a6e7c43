//! Prepares what a program has made for its new place: no marks of the overlay, no set-id bits, no capabilities, no pipes,
//! sockets or devices.

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd};

use rustix::fs::{AtFlags, FileType};

use super::entry::{self, OpenFolder, State};
use super::{TreeSize, step};

/// Prepares an entry of the upper layer that is applied as a whole. Marks of the entry itself stay, because they tell what
/// it replaces; [`strip_marks`] removes them in the end.
pub(crate) fn prepare(folder: BorrowedFd<'_>, name: &OsStr) -> io::Result<Option<TreeSize>> {
    let state = required(folder, name)?;
    if !state.is_folder() {
        prepare_file(folder, name, &state)?;
        return Ok(None);
    }
    let mut size = TreeSize::default();
    prepare_folder(folder, name, &state, &mut size)?;
    Ok(Some(size))
}

fn required(folder: BorrowedFd<'_>, name: &OsStr) -> io::Result<State> {
    entry::state_at(folder, name)?.ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))
}

fn prepare_folder(
    folder: BorrowedFd<'_>,
    name: &OsStr,
    state: &State,
    size: &mut TreeSize,
) -> io::Result<()> {
    let open = OpenFolder::open(folder, name)?;
    for inner in entry::names(open.fd(), u64::MAX)?.unwrap_or_default() {
        let Some(inside) = entry::state_at(open.fd(), &inner)? else { continue };
        match inside.kind() {
            FileType::Directory => {
                // What is closed to its owner can't be counted later, and nobody changes it without opening it.
                let mut ignored = TreeSize::default();
                let size = if inside.is_closed() { &mut ignored } else { &mut *size };
                prepare_folder(open.fd(), &inner, &inside, size)?;
                strip_marks(open.fd(), &inner)?;
            }
            FileType::RegularFile => {
                prepare_file(open.fd(), &inner, &inside)?;
                strip_marks(open.fd(), &inner)?;
            }
            FileType::Symlink => {}
            // A deletion mark, or something that is never applied.
            _ => {
                step("unlink");
                rustix::fs::unlinkat(open.fd(), &inner, AtFlags::empty())?;
                continue;
            }
        }
        count(&required(open.fd(), &inner)?, size);
    }
    drop(open);
    keep_permissions(folder, name, state)
}

fn count(state: &State, size: &mut TreeSize) {
    size.entries += 1;
    if !state.is_folder() {
        size.bytes = size.bytes.saturating_add(state.size);
    }
    size.latest = size.latest.max(state.changed);
}

fn prepare_file(folder: BorrowedFd<'_>, name: &OsStr, state: &State) -> io::Result<()> {
    if state.kind() != FileType::RegularFile {
        return Ok(());
    }
    keep_permissions(folder, name, state)?;
    let capability: &[u8] = b"security.capability";
    if entry::attributes(folder, name).iter().any(|attribute| attribute == capability) {
        entry::remove_attribute(folder, name, capability)?;
    }
    Ok(())
}

fn keep_permissions(folder: BorrowedFd<'_>, name: &OsStr, state: &State) -> io::Result<()> {
    if state.permissions() == state.kept_permissions() {
        return Ok(());
    }
    step("chmod");
    entry::set_permissions(entry::handle(folder, name)?, state.kept_permissions())
}

/// Removes the overlay's marks of one entry.
pub(crate) fn strip_marks(folder: BorrowedFd<'_>, name: &OsStr) -> io::Result<()> {
    for attribute in entry::attributes(folder, name) {
        if entry::is_mark(&attribute) {
            step("removexattr");
            entry::remove_attribute(folder, name, &attribute)?;
        }
    }
    Ok(())
}

/// The size of a folder as it is now.
pub(crate) fn tree_size(folder: BorrowedFd<'_>, name: &OsStr, most: u64) -> io::Result<TreeSize> {
    let mut size = TreeSize::default();
    measure(folder, name, most, &mut size)?;
    Ok(size)
}

fn measure(folder: BorrowedFd<'_>, name: &OsStr, most: u64, size: &mut TreeSize) -> io::Result<()> {
    let open = entry::open_below(folder, std::path::Path::new(name))?;
    let too_many = || io::Error::other("there are more entries than before");
    let left = most.saturating_sub(size.entries);
    for inner in entry::names(open.as_fd(), left)?.ok_or_else(too_many)? {
        let Some(inside) = entry::state_at(open.as_fd(), &inner)? else { continue };
        count(&inside, size);
        if inside.is_folder() && !inside.is_closed() {
            measure(open.as_fd(), &inner, most, size)?;
        }
    }
    Ok(())
}
