//! Folder operations for placing skills: links, renames to unused names, recursive copies.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::AtFlags;

use super::{EntryKind, Folder};
use crate::step;

impl Folder {
    /// The target of a link, as stored.
    pub fn link(&self, name: &str) -> io::Result<PathBuf> {
        let target = rustix::fs::readlinkat(&self.descriptor, name, Vec::new())?;
        Ok(PathBuf::from(OsStr::from_bytes(target.to_bytes())))
    }

    /// Creates a link, whose name must not exist.
    pub fn make_link(&self, target: &Path, name: &str) -> io::Result<()> {
        step("symlink", name)?;
        Ok(rustix::fs::symlinkat(target, &self.descriptor, name)?)
    }

    /// Renames an entry; the new name must not exist.
    pub fn rename_new(&self, name: &str, new_name: &str) -> io::Result<()> {
        step("rename", &format!("{name} {new_name}"))?;
        #[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
        {
            use rustix::fs::RenameFlags;
            use rustix::io::Errno;
            let here = &self.descriptor;
            match rustix::fs::renameat_with(here, name, here, new_name, RenameFlags::NOREPLACE) {
                // Not supported by the file system: check the name first.
                Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {}
                done => return Ok(done?),
            }
        }
        if self.kind(new_name.as_bytes())?.is_some() {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        Ok(rustix::fs::renameat(&self.descriptor, name, &self.descriptor, new_name)?)
    }

    /// Removes an empty folder; returns `false` if it is not empty.
    pub fn remove_empty(&self, name: &str) -> io::Result<bool> {
        use rustix::io::Errno;
        step("rmdir", name)?;
        match rustix::fs::unlinkat(&self.descriptor, name, AtFlags::REMOVEDIR) {
            Ok(()) => Ok(true),
            Err(Errno::NOTEMPTY | Errno::EXIST | Errno::NOTDIR) => Ok(false),
            Err(Errno::NOENT) => Ok(true),
            Err(error) => Err(error.into()),
        }
    }

    /// Copies the files and folders whose paths are `wanted` into an empty folder. Anything else is
    /// an error.
    pub fn copy_into(&self, to: &Self, wanted: &dyn Fn(&str) -> bool) -> io::Result<()> {
        self.copy_below(to, "", wanted)
    }

    fn copy_below(&self, to: &Self, prefix: &str, wanted: &dyn Fn(&str) -> bool) -> io::Result<()> {
        for entry in self.entries()? {
            let name = std::str::from_utf8(&entry.name).map_err(io::Error::other)?;
            let path = format!("{prefix}{name}");
            if !wanted(&path) {
                continue;
            }
            match entry.kind {
                EntryKind::Folder => {
                    let inside = to.make_folder(name)?;
                    self.folder(name)?.copy_below(&inside, &format!("{path}/"), wanted)?;
                }
                EntryKind::File => {
                    let mut file = self.file(&entry.name)?;
                    let executable = file.metadata()?.permissions().mode() & 0o100 != 0;
                    to.make_file(name, if executable { 0o755 } else { 0o644 }, &mut file)?;
                }
                EntryKind::Link | EntryKind::Other => {
                    return Err(io::Error::other(format!(
                        "`{path}` is neither a file nor a folder"
                    )));
                }
            }
        }
        Ok(())
    }
}
