//! Open folders, through which entries and files are opened, as with `openat`.
//!
//! A walk of ten thousand skills spends most of its time in system calls, so on Linux it makes only those it needs: open,
//! list and close for a folder; open, read and close for a file.

use crate::skill::skill_ref::Buffer;

/// The type of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A file with content.
    File,
    /// A folder.
    Folder,
    /// A link, a pipe, a device.
    Other,
}

pub(super) use system::{Folder, Scratch};

#[cfg(target_os = "linux")]
mod system {
    use std::ffi::OsStr;
    use std::fs::File;
    use std::io;
    use std::mem::MaybeUninit;
    use std::os::fd::OwnedFd;
    use std::os::unix::ffi::OsStrExt as _;
    use std::path::Path;

    use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, RawDir, openat, statat};

    use super::{Buffer, Kind};

    /// An open folder.
    pub(in crate::walk) struct Folder {
        descriptor: OwnedFd,
    }

    /// A buffer for lists of entries, which is reused.
    pub(in crate::walk) struct Scratch {
        bytes: Vec<MaybeUninit<u8>>,
    }

    impl Scratch {
        pub(in crate::walk) fn new() -> Self {
            // The size that glibc uses; far more than the longest name.
            Self { bytes: vec![MaybeUninit::uninit(); 32 << 10] }
        }
    }

    impl Folder {
        pub(in crate::walk) fn open(path: &Path) -> io::Result<Self> {
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
            Ok(Self { descriptor: openat(CWD, path, flags, Mode::empty())? })
        }

        /// Opens a folder in this one, and refuses a link.
        pub(in crate::walk) fn child(&self, path: &Path) -> io::Result<Self> {
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
            let name = path.file_name().unwrap_or_default();
            Ok(Self { descriptor: openat(&self.descriptor, name, flags, Mode::empty())? })
        }

        /// Calls `visit` for every entry.
        pub(in crate::walk) fn list(
            &self,
            _path: &Path,
            scratch: &mut Scratch,
            mut visit: impl FnMut(&OsStr, Kind),
        ) -> io::Result<()> {
            let mut entries = RawDir::new(&self.descriptor, &mut scratch.bytes);
            while let Some(entry) = entries.next() {
                let entry = entry?;
                let name = entry.file_name().to_bytes();
                if name == b"." || name == b".." {
                    continue;
                }
                let kind = match entry.file_type() {
                    // Some file systems don't list the type.
                    FileType::Unknown => statat(&self.descriptor, name, AtFlags::SYMLINK_NOFOLLOW)
                        .map_or(FileType::Unknown, |data| FileType::from_raw_mode(data.st_mode)),
                    known => known,
                };
                let kind = match kind {
                    FileType::RegularFile => Kind::File,
                    FileType::Directory => Kind::Folder,
                    _ => Kind::Other,
                };
                visit(OsStr::from_bytes(name), kind);
            }
            Ok(())
        }

        /// Reads a file of this folder.
        pub(in crate::walk) fn read<'b>(
            &self,
            path: &Path,
            buffer: &'b mut Buffer,
        ) -> io::Result<&'b [u8]> {
            let name = path.file_name().unwrap_or_default();
            let flags = OFlags::RDONLY | OFlags::CLOEXEC;
            let descriptor = openat(&self.descriptor, name, flags, Mode::empty())?;
            buffer.read_from(&mut File::from(descriptor))
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use std::ffi::OsStr;
    use std::fs;
    use std::io;
    use std::path::Path;

    use super::{Buffer, Kind};

    /// On other systems, folders are addressed by path.
    pub(in crate::walk) struct Folder;

    pub(in crate::walk) struct Scratch;

    impl Scratch {
        pub(in crate::walk) fn new() -> Self {
            Self
        }
    }

    impl Folder {
        pub(in crate::walk) fn open(_path: &Path) -> io::Result<Self> {
            Ok(Self)
        }

        pub(in crate::walk) fn child(&self, _path: &Path) -> io::Result<Self> {
            Ok(Self)
        }

        pub(in crate::walk) fn list(
            &self,
            path: &Path,
            _scratch: &mut Scratch,
            mut visit: impl FnMut(&OsStr, Kind),
        ) -> io::Result<()> {
            for entry in fs::read_dir(path)? {
                let entry = entry?;
                let kind = match entry.file_type()? {
                    kind if kind.is_file() => Kind::File,
                    kind if kind.is_dir() => Kind::Folder,
                    _ => Kind::Other,
                };
                visit(&entry.file_name(), kind);
            }
            Ok(())
        }

        pub(in crate::walk) fn read<'b>(
            &self,
            path: &Path,
            buffer: &'b mut Buffer,
        ) -> io::Result<&'b [u8]> {
            buffer.read(path)
        }
    }
}
