//! Unpacks the files of a skill to disk, below an open folder.

use std::io::{self, Read, Seek};

use prowess_files::folder::Folder;

use super::{UnpackError, UnpackOptions, UnpackSink, Unpacked, unpack};
use crate::path::PackagePath;
use crate::tree::Tree;

/// Unpacks into a new folder below `parent`, whose name is returned. A rejected archive leaves
/// nothing behind.
///
/// `free_name` returns unused names in `parent`. It is called twice for an archive with a top-level
/// folder.
pub fn unpack_to_folder(
    archive: impl Read + Seek,
    parent: &Folder,
    mut free_name: impl FnMut() -> String,
    options: &UnpackOptions<'_>,
) -> Result<(Unpacked, String), UnpackError> {
    let name = free_name();
    let write = |source| UnpackError::Write { path: name.clone(), source };
    let mut sink = FolderSink::new(parent.make_folder(&name).map_err(write)?);
    let unpacked = match unpack(archive, &mut sink, options) {
        Ok(unpacked) => unpacked,
        Err(error) => {
            // What can't be removed is left to the owner of `parent`, which reports the first
            // error.
            let _ = parent.remove_tree(name.as_bytes());
            return Err(error);
        }
    };
    let Some(inner) = sink.inner else { return Ok((unpacked, name)) };
    let moved = free_name();
    sink.root.rename(&inner, parent, &moved).map_err(write)?;
    parent.remove_tree(name.as_bytes()).map_err(write)?;
    Ok((unpacked, moved))
}

impl Tree {
    /// Writes all files into an empty folder.
    pub fn write_into(&self, folder: Folder) -> io::Result<()> {
        let mut sink = FolderSink::new(folder);
        self.files().try_for_each(|(path, file)| {
            sink.file(path, file.executable, &mut file.bytes.as_slice())
        })
    }
}

/// Writes files below an open folder.
struct FolderSink {
    root: Folder,
    /// The folder of the last file: entries come folder by folder.
    last: Option<(String, Folder)>,
    inner: Option<String>,
}

impl FolderSink {
    fn new(root: Folder) -> Self {
        Self { root, last: None, inner: None }
    }
}

impl UnpackSink for FolderSink {
    fn file(
        &mut self,
        path: &PackagePath,
        executable: bool,
        content: &mut dyn Read,
    ) -> io::Result<()> {
        let mode = if executable { 0o755 } else { 0o644 };
        let Some((parent, name)) = path.as_str().rsplit_once('/') else {
            return self.root.make_file(path.as_str(), mode, content);
        };
        if self.last.as_ref().is_none_or(|(last, _)| last != parent) {
            let mut parts = parent.split('/');
            let first = parts.next().unwrap_or(parent);
            let mut folder = self.root.folder_or_make(first)?;
            for part in parts {
                folder = folder.folder_or_make(part)?;
            }
            self.last = Some((parent.to_owned(), folder));
        }
        let (_, folder) = self.last.as_ref().expect("set above");
        folder.make_file(name, mode, content)
    }

    fn strip(&mut self, folder: &str) -> io::Result<()> {
        self.inner = Some(folder.to_owned());
        Ok(())
    }
}
