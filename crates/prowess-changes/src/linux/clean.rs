//! Prepares what a program has made for its new place: no marks of the overlay, no set-id bits, no capabilities, no second
//! names, no pipes, sockets or devices.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, SeekFrom, XattrFlags};
use rustix::io::Errno;

use super::entry::{self, OpenFolder, State};
use super::{TreeSize, step};

/// Maximum size of an extended attribute, as in the kernel.
const MAX_ATTRIBUTE_BYTES: usize = 64 << 10;

/// Prepares an entry of the upper layer that is applied as a whole. Marks of the entry itself stay, because they tell what
/// it replaces; [`strip_marks`] removes them in the end. `spare` is a folder on the same filesystem.
pub(crate) fn prepare(
    folder: BorrowedFd<'_>,
    name: &OsStr,
    spare: BorrowedFd<'_>,
) -> io::Result<Option<TreeSize>> {
    let state = required(folder, name)?;
    if !state.is_folder() {
        prepare_file(folder, name, &state, spare)?;
        return Ok(None);
    }
    let mut size = TreeSize::default();
    prepare_folder(folder, name, &state, spare, &mut size)?;
    Ok(Some(size))
}

fn required(folder: BorrowedFd<'_>, name: &OsStr) -> io::Result<State> {
    entry::state_at(folder, name)?.ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))
}

fn prepare_folder(
    folder: BorrowedFd<'_>,
    name: &OsStr,
    state: &State,
    spare: BorrowedFd<'_>,
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
                prepare_folder(open.fd(), &inner, &inside, spare, size)?;
                strip_marks(open.fd(), &inner)?;
            }
            FileType::RegularFile => {
                prepare_file(open.fd(), &inner, &inside, spare)?;
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

fn prepare_file(
    folder: BorrowedFd<'_>,
    name: &OsStr,
    state: &State,
    spare: BorrowedFd<'_>,
) -> io::Result<()> {
    if state.kind() != FileType::RegularFile {
        return Ok(());
    }
    if state.links > 1 {
        unshare(folder, name, state, spare)?;
    }
    keep_permissions(folder, name, state)?;
    let capability: &[u8] = b"security.capability";
    if entry::attributes(folder, name).iter().any(|attribute| attribute == capability) {
        entry::remove_attribute(folder, name, capability)?;
    }
    Ok(())
}

/// Replaces a name of a file with several names by a copy, so that writing to one of them later changes only that one. The
/// copy is made in another folder: a killed process leaves nothing beside the program's own files.
fn unshare(
    folder: BorrowedFd<'_>,
    name: &OsStr,
    state: &State,
    spare: BorrowedFd<'_>,
) -> io::Result<()> {
    const COPY: &str = "copy";
    let old = entry::open_own_file(folder, name)?;
    step("create");
    match rustix::fs::unlinkat(spare, COPY, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => {}
        Err(errno) => return Err(errno.into()),
    }
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let new = File::from(rustix::fs::openat(spare, COPY, flags, Mode::RWXU)?);
    fill(&old, &new, state, &entry::attributes(folder, name))?;
    step("rename");
    Ok(rustix::fs::renameat(spare, COPY, folder, name)?)
}

/// Copies content, attributes, permissions and times. Holes stay holes.
fn fill(old: &File, new: &File, state: &State, attributes: &[Vec<u8>]) -> io::Result<()> {
    rustix::fs::ftruncate(new, state.size)?;
    let mut at = 0;
    while at < state.size {
        let start = match rustix::fs::seek(old, SeekFrom::Data(at)) {
            Ok(start) => start,
            // Nothing but a hole is left.
            Err(Errno::NXIO) => break,
            Err(errno) => return Err(errno.into()),
        };
        let end = rustix::fs::seek(old, SeekFrom::Hole(start))?;
        copy_range(old, new, start, end)?;
        at = end;
    }
    let (from, to) = (entry::by_handle(old), entry::by_handle(new));
    let is_own =
        |attribute: &&Vec<u8>| attribute.starts_with(b"user.") && !entry::is_mark(attribute);
    for attribute in attributes.iter().filter(is_own) {
        let mut value = vec![0; MAX_ATTRIBUTE_BYTES];
        let length = rustix::fs::getxattr(&from, &attribute[..], &mut value[..])?;
        rustix::fs::setxattr(&to, &attribute[..], &value[..length], XattrFlags::empty())?;
    }
    entry::set_permissions(new, state.permissions())?;
    entry::set_modified(new, state.modified)
}

fn copy_range(old: &File, new: &File, start: u64, end: u64) -> io::Result<()> {
    use std::os::unix::fs::FileExt as _;
    const PIECE: usize = 64 << 10;
    let mut bytes = vec![0; PIECE];
    let mut at = start;
    while at < end {
        let wanted = usize::try_from(end - at).unwrap_or(PIECE).min(PIECE);
        let count = old.read_at(&mut bytes[..wanted], at)?;
        if count == 0 {
            break;
        }
        new.write_all_at(&bytes[..count], at)?;
        at += count as u64;
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
