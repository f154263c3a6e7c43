//! Skills that are being prepared: a folder inside the store that nobody looks into, on the same file system.

use std::io::{self, Read, Seek};
use std::sync::atomic::{AtomicU64, Ordering};

use prowess_files::folder::Folder;

use crate::digest::{FileHashes, Sha256Digest, content_digest};
use crate::name::SkillName;
use crate::path::PackagePath;
use crate::store::{Store, StoreError};
use crate::tree::Tree;
use crate::unpack::{Sink, UnpackError, UnpackOptions, unpack};

/// How often a name for the folder is tried before something else must be wrong.
const MOST_TRIES: usize = 1_000;

/// A folder for one change. Thrown away when it is dropped without having been committed, and by the next writer when
/// its process is killed.
#[derive(Debug)]
pub struct Stage<'a> {
    pub(crate) store: &'a Store,
    pub(crate) folder: Folder,
    name: String,
    slots: usize,
    pub(crate) keep: bool,
}

/// A skill that lies ready in a [`Stage`].
#[derive(Debug)]
pub struct StagedSkill {
    /// What it will be installed as.
    pub name: SkillName,
    /// The declared version, as written.
    pub version: Option<String>,
    /// The hash of every file.
    pub hashes: FileHashes,
    pub(crate) slot: String,
}

impl StagedSkill {
    /// The digest over all files.
    pub fn content_digest(&self) -> Sha256Digest {
        content_digest(&self.hashes)
    }
}

impl Store {
    /// Begins a change. The store is not locked for it: downloads and unpacking happen here.
    pub fn stage(&self) -> Result<Stage<'_>, StoreError> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let process = std::process::id();
        let access = |source| self.access("prepare a change in", "staging", source);
        for _ in 0..MOST_TRIES {
            let number = NUMBER.fetch_add(1, Ordering::Relaxed);
            let name = format!("{process}-{number}");
            let folder = match self.staging.make_folder(&name) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                // Made, and swept by another writer before it could be opened.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                made => made.map_err(access)?,
            };
            // Another writer may take the new folder for that of a dead process until it is owned.
            if folder.try_own().map_err(access)?
                && folder.is(&self.staging, &name).map_err(access)?
            {
                return Ok(Stage { store: self, folder, name, slots: 0, keep: false });
            }
        }
        Err(access(io::ErrorKind::AlreadyExists.into()))
    }
}

impl Stage<'_> {
    /// Unpacks an archive. What was refused leaves nothing behind.
    pub fn unpack(
        &mut self,
        archive: impl Read + Seek,
        options: &UnpackOptions<'_>,
    ) -> Result<StagedSkill, UnpackError> {
        let slot = self.next_slot();
        let write = |source| UnpackError::Write { path: slot.clone(), source };
        let mut sink = FolderSink::new(self.folder.make_folder(&slot).map_err(write)?);
        let unpacked = match unpack(archive, &mut sink, options) {
            Ok(unpacked) => unpacked,
            Err(error) => {
                // What can't be removed now is removed with the whole stage.
                let _ = self.folder.remove_tree(slot.as_bytes());
                return Err(error);
            }
        };
        let slot = match sink.inner {
            None => slot,
            Some(inner) => {
                let moved = self.next_slot();
                sink.root.rename(&inner, &self.folder, &moved).map_err(write)?;
                self.folder.remove_tree(slot.as_bytes()).map_err(write)?;
                moved
            }
        };
        Ok(StagedSkill {
            name: unpacked.name,
            version: unpacked.version,
            hashes: unpacked.hashes,
            slot,
        })
    }

    /// Copies files that are in memory.
    pub fn copy(
        &mut self,
        tree: &Tree,
        name: SkillName,
        version: Option<String>,
    ) -> Result<StagedSkill, StoreError> {
        let slot = self.next_slot();
        let written = self.folder.make_folder(&slot).and_then(|folder| {
            let mut sink = FolderSink::new(folder);
            tree.files().try_for_each(|(path, file)| {
                sink.file(path, file.executable, &mut file.bytes.as_slice())
            })
        });
        match written {
            Ok(()) => Ok(StagedSkill { name, version, hashes: tree.hashes(), slot }),
            Err(source) => {
                let _ = self.folder.remove_tree(slot.as_bytes());
                Err(self.store.access("write below", "staging", source))
            }
        }
    }

    /// Whether this still is a folder of that store.
    pub(crate) fn belongs_to(&self, store: &Store) -> io::Result<bool> {
        self.folder.is(&store.staging, &self.name)
    }

    /// Looks like a name, as the journal wants it.
    fn next_slot(&mut self) -> String {
        self.slots += 1;
        format!("skill-{}", self.slots)
    }
}

impl Drop for Stage<'_> {
    fn drop(&mut self) {
        if !self.keep {
            // Whatever stays is swept by the next writer.
            let _ = self.store.staging.remove_tree(self.name.as_bytes());
        }
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

impl Sink for FolderSink {
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
