//! An open folder and operations below it: one path component at a time, without following links.
//!
//! Paths are walked component by component from a file descriptor, so that replacing a folder with
//! a link between check and write causes an error (attack registry-B14).

mod links;

use std::fs::File;
use std::io::{self, Read, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Dir, FileType, FlockOperation, Mode, OFlags, RawMode};

use crate::step;

/// Maximum depth of folders to remove: unpacking never creates deeper ones.
const MAX_DEPTH: usize = 128;

/// An open folder, which stays the same if it is renamed.
#[derive(Debug)]
pub struct Folder {
    descriptor: OwnedFd,
}

/// An entry of a folder.
#[derive(Debug)]
pub struct FolderEntry {
    /// Its name as bytes, which need not be Unicode.
    pub name: Vec<u8>,
    /// Its kind.
    pub kind: EntryKind,
}

/// The kind of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    /// A folder.
    Folder,
    /// A file.
    File,
    /// A symbolic link.
    Link,
    /// A pipe, a device or a socket.
    Other,
}

/// The result of an exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Swap {
    /// Both names were exchanged in one step.
    Done,
    /// The file system does not support it.
    Unsupported,
}

const FOLDER: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

impl Folder {
    /// Opens a folder by a path that the user chose, following links in it.
    pub fn open(path: &Path) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Self { descriptor: rustix::fs::openat(CWD, path, flags, Mode::empty())? })
    }

    /// Opens a folder inside this one.
    pub fn folder(&self, name: &str) -> io::Result<Self> {
        self.folder_bytes(name.as_bytes())
    }

    /// Opens a folder inside this one, by a name that need not be Unicode.
    pub fn folder_bytes(&self, name: &[u8]) -> io::Result<Self> {
        Ok(Self { descriptor: rustix::fs::openat(&self.descriptor, name, FOLDER, Mode::empty())? })
    }

    /// Creates a folder, which must not exist.
    pub fn make_folder(&self, name: &str) -> io::Result<Self> {
        step("mkdir", name)?;
        rustix::fs::mkdirat(&self.descriptor, name, Mode::from_raw_mode(0o755))?;
        let folder = self.folder(name)?;
        // The umask removed bits, but the modes of a package must not depend on it (attack
        // registry-B11).
        rustix::fs::fchmod(&folder.descriptor, Mode::from_raw_mode(0o755))?;
        Ok(folder)
    }

    /// Opens a folder, creating it if it does not exist.
    pub fn folder_or_make(&self, name: &str) -> io::Result<Self> {
        match self.folder(name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => match self.make_folder(name) {
                // Another process was faster.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => self.folder(name),
                made => made,
            },
            opened => opened,
        }
    }

    /// Opens a file for reading. Does not block on pipes and devices.
    pub fn file(&self, name: &[u8]) -> io::Result<File> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        Ok(rustix::fs::openat(&self.descriptor, name, flags, Mode::empty())?.into())
    }

    /// Creates a file, which must not exist, from a reader.
    pub fn make_file(&self, name: &str, mode: RawMode, content: &mut dyn Read) -> io::Result<()> {
        step("create", name)?;
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut file: File =
            rustix::fs::openat(&self.descriptor, name, flags, Mode::from_raw_mode(mode))?.into();
        let mut buffer = vec![0; 64 << 10];
        loop {
            let count = match content.read(&mut buffer) {
                Ok(0) => break,
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            step("write", name)?;
            file.write_all(&buffer[..count])?;
        }
        // Independent of the umask, and never setuid (attack registry-B11).
        rustix::fs::fchmod(&file, Mode::from_raw_mode(mode))?;
        Ok(())
    }

    /// Opens a lock file.
    pub fn lock_file(&self, name: &str) -> io::Result<OwnedFd> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(rustix::fs::openat(&self.descriptor, name, flags, Mode::from_raw_mode(0o644))?)
    }

    /// Locks this folder for this process, unless another process holds the lock. The lock ends
    /// with the process.
    pub fn try_lock(&self) -> io::Result<bool> {
        try_flock(&self.descriptor)
    }

    /// Whether this folder is still the entry `name` of its parent.
    pub fn is_entry_of(&self, parent: &Self, name: &str) -> io::Result<bool> {
        let own = rustix::fs::fstat(&self.descriptor)?;
        match rustix::fs::statat(&parent.descriptor, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(named) => Ok(named.st_ino == own.st_ino && named.st_dev == own.st_dev),
            Err(rustix::io::Errno::NOENT) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// The entries, sorted by name.
    pub fn entries(&self) -> io::Result<Vec<FolderEntry>> {
        let mut entries = Vec::new();
        for entry in Dir::read_from(&self.descriptor)? {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if name == b"." || name == b".." {
                continue;
            }
            let kind = match entry.file_type() {
                // Some file systems don't report the kind when listing.
                FileType::Unknown => self.kind(name)?.unwrap_or(EntryKind::Other),
                known => kind_of(known),
            };
            entries.push(FolderEntry { name: name.to_owned(), kind });
        }
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(entries)
    }

    /// The kind of an entry, if it exists.
    pub fn kind(&self, name: &[u8]) -> io::Result<Option<EntryKind>> {
        match rustix::fs::statat(&self.descriptor, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(found) => Ok(Some(kind_of(FileType::from_raw_mode(found.st_mode)))),
            Err(rustix::io::Errno::NOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Flushes the folder itself to disk.
    pub fn sync(&self, what: &str) -> io::Result<()> {
        step("fsync", what)?;
        Ok(rustix::fs::fsync(&self.descriptor)?)
    }

    /// Flushes everything below to disk, files before their folders.
    pub fn sync_tree(&self, what: &str) -> io::Result<()> {
        for entry in self.entries()? {
            match entry.kind {
                EntryKind::Folder => {
                    let name = String::from_utf8_lossy(&entry.name).into_owned();
                    self.folder_bytes(&entry.name)?.sync_tree(&name)?;
                }
                EntryKind::File => {
                    step("fsync", &String::from_utf8_lossy(&entry.name))?;
                    rustix::fs::fsync(self.file(&entry.name)?)?;
                }
                EntryKind::Link | EntryKind::Other => {}
            }
        }
        self.sync(what)
    }

    /// Flushes the whole file system to disk, if supported: much faster for many files. Returns
    /// whether it is supported.
    pub fn sync_file_system(&self, what: &str) -> io::Result<bool> {
        #[cfg(any(target_os = "linux", target_os = "android"))]
        {
            step("syncfs", what)?;
            rustix::fs::syncfs(&self.descriptor)?;
            Ok(true)
        }
        #[cfg(not(any(target_os = "linux", target_os = "android")))]
        {
            let _ = what;
            Ok(false)
        }
    }

    /// Flushes one file to disk.
    pub fn sync_file(&self, name: &str) -> io::Result<()> {
        step("fsync", name)?;
        Ok(rustix::fs::fsync(self.file(name.as_bytes())?)?)
    }

    /// Renames an entry, atomically replacing an existing file.
    pub fn rename(&self, name: &str, to: &Self, new_name: &str) -> io::Result<()> {
        step("rename", &format!("{name} {new_name}"))?;
        Ok(rustix::fs::renameat(&self.descriptor, name, &to.descriptor, new_name)?)
    }

    /// Replaces a file atomically, even across a power failure: readers see the old or the new
    /// content. `new_name` is its temporary name; an existing file of that name was left by a
    /// killed process.
    pub fn replace_file(
        &self,
        name: &str,
        new_name: &str,
        mode: RawMode,
        bytes: &[u8],
    ) -> io::Result<()> {
        self.remove_tree(new_name.as_bytes())?;
        self.make_file(new_name, mode, &mut &bytes[..])?;
        self.sync_file(new_name)?;
        self.rename(new_name, self, name)?;
        self.sync(name)
    }

    /// Exchanges two entries atomically.
    pub fn exchange(&self, name: &str, with: &Self, other: &str) -> io::Result<Swap> {
        #[cfg(feature = "faults")]
        if crate::faults::exchange_is_missing() {
            return Ok(Swap::Unsupported);
        }
        step("exchange", &format!("{name} {other}"))?;
        #[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
        {
            use rustix::fs::RenameFlags;
            use rustix::io::Errno;
            match rustix::fs::renameat_with(
                &self.descriptor,
                name,
                &with.descriptor,
                other,
                RenameFlags::EXCHANGE,
            ) {
                Ok(()) => Ok(Swap::Done),
                Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => Ok(Swap::Unsupported),
                Err(error) => Err(error.into()),
            }
        }
        #[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
        {
            let _ = (with, other);
            Ok(Swap::Unsupported)
        }
    }

    /// Removes a file or link.
    pub fn remove_file(&self, name: &str) -> io::Result<()> {
        step("unlink", name)?;
        Ok(rustix::fs::unlinkat(&self.descriptor, name, AtFlags::empty())?)
    }

    /// Removes an entry recursively. Links are removed and not followed. A missing entry is not an
    /// error.
    pub fn remove_tree(&self, name: &[u8]) -> io::Result<()> {
        self.remove_below(name, 0)
    }

    fn remove_below(&self, name: &[u8], depth: usize) -> io::Result<()> {
        let shown = String::from_utf8_lossy(name).into_owned();
        match self.kind(name)? {
            None => return Ok(()),
            Some(EntryKind::Folder) => {}
            Some(EntryKind::File | EntryKind::Link | EntryKind::Other) => {
                step("unlink", &shown)?;
                return Ok(rustix::fs::unlinkat(&self.descriptor, name, AtFlags::empty())?);
            }
        }
        if depth == MAX_DEPTH {
            return Err(io::Error::other(format!(
                "folders are nested more than {MAX_DEPTH} deep, remove them by hand"
            )));
        }
        let folder = self.folder_bytes(name)?;
        for entry in folder.entries()? {
            folder.remove_below(&entry.name, depth + 1)?;
        }
        step("rmdir", &shown)?;
        Ok(rustix::fs::unlinkat(&self.descriptor, name, AtFlags::REMOVEDIR)?)
    }
}

/// Waits for a lock, which ends with the process.
pub fn flock(file: &OwnedFd) -> io::Result<()> {
    loop {
        match rustix::fs::flock(file.as_fd(), FlockOperation::LockExclusive) {
            Err(rustix::io::Errno::INTR) => {}
            result => return Ok(result?),
        }
    }
}

/// Takes a lock unless it is held.
pub fn try_flock(file: &OwnedFd) -> io::Result<bool> {
    match rustix::fs::flock(file.as_fd(), FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(true),
        Err(rustix::io::Errno::WOULDBLOCK) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

fn kind_of(kind: FileType) -> EntryKind {
    match kind {
        FileType::Directory => EntryKind::Folder,
        FileType::RegularFile => EntryKind::File,
        FileType::Symlink => EntryKind::Link,
        _ => EntryKind::Other,
    }
}
