//! Skills that are being prepared: a folder inside the store that nobody looks into, on the same file system.

use std::io::{self, Read, Seek};
use std::sync::atomic::{AtomicU64, Ordering};

use prowess_files::folder::Folder;
use prowess_package::digest::{FileHashes, Sha256Digest, content_digest};
use prowess_package::name::SkillName;
use prowess_package::tree::Tree;
use prowess_package::unpack::{UnpackError, UnpackOptions, unpack_to_folder};

use crate::store::{Folders, Store, StoreError};

/// How often a name for the folder is tried before something else must be wrong.
const MOST_TRIES: usize = 1_000;

/// A folder for one change. Thrown away when it is dropped without having been committed, and by the next writer when
/// its process is killed.
#[derive(Debug)]
pub struct Stage<'a> {
    store: &'a Store,
    folders: &'a Folders,
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
        let folders = self.folders()?;
        for _ in 0..MOST_TRIES {
            let number = NUMBER.fetch_add(1, Ordering::Relaxed);
            let name = format!("{process}-{number}");
            let folder = match folders.staging.make_folder(&name) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                // Made, and swept by another writer before it could be opened.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                made => made.map_err(access)?,
            };
            // Another writer may take the new folder for that of a dead process until it is owned.
            if folder.try_lock().map_err(access)?
                && folder.is_entry_of(&folders.staging, &name).map_err(access)?
            {
                return Ok(Stage { store: self, folders, folder, name, slots: 0, keep: false });
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
        let slots = &mut self.slots;
        let (unpacked, slot) =
            unpack_to_folder(archive, &self.folder, || next_slot(slots), options)?;
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
        let slot = next_slot(&mut self.slots);
        let written = self.folder.make_folder(&slot).and_then(|folder| tree.write_into(folder));
        match written {
            Ok(()) => Ok(StagedSkill { name, version, hashes: tree.hashes(), slot }),
            Err(source) => {
                let _ = self.folder.remove_tree(slot.as_bytes());
                Err(self.store.access("write below", "staging", source))
            }
        }
    }

    /// Whether this still is a folder of that store.
    pub(crate) fn belongs_to(&self, store: &Folders) -> io::Result<bool> {
        self.folder.is_entry_of(&store.staging, &self.name)
    }
}

/// Looks like a name, as the journal wants it.
fn next_slot(slots: &mut usize) -> String {
    *slots += 1;
    format!("skill-{slots}")
}

impl Drop for Stage<'_> {
    fn drop(&mut self) {
        if !self.keep {
            // Whatever stays is swept by the next writer.
            let _ = self.folders.staging.remove_tree(self.name.as_bytes());
        }
    }
}
