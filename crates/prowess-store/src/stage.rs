//! Staging: prepares skills in a hidden folder inside the store, on the same file system.

use std::io::{self, Read, Seek};
use std::sync::atomic::{AtomicU64, Ordering};

use prowess_files::folder::Folder;
use prowess_package::digest::{FileHashes, Sha256Digest, content_digest};
use prowess_package::name::SkillName;
use prowess_package::tree::Tree;
use prowess_package::unpack::{UnpackError, UnpackOptions, unpack_to_folder};

use crate::store::{Folders, Store, StoreError};

/// Maximum number of attempts to find an unused name.
const MOST_TRIES: usize = 1_000;

/// A staging folder for one change. Deleted on drop unless committed, and by the next writer if its process was killed.
#[derive(Debug)]
pub struct Stage<'a> {
    store: &'a Store,
    folders: &'a Folders,
    pub(crate) folder: Folder,
    name: String,
    slots: usize,
    pub(crate) keep: bool,
}

/// A skill that is ready in a [`Stage`].
#[derive(Debug)]
pub struct StagedSkill {
    /// The name under which it will be installed.
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
    /// Starts a change. The store is not locked: downloads and unpacking happen here.
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
                // Another writer deleted it before it could be opened.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                made => made.map_err(access)?,
            };
            // Another writer may consider the new folder abandoned until it is locked.
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
    /// Unpacks an archive. A rejected one leaves no files.
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

    /// Writes files from memory.
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

    /// Whether the folder still belongs to that store.
    pub(crate) fn belongs_to(&self, store: &Folders) -> io::Result<bool> {
        self.folder.is_entry_of(&store.staging, &self.name)
    }
}

/// The next slot name, in the form of a skill name, which the journal requires.
fn next_slot(slots: &mut usize) -> String {
    *slots += 1;
    format!("skill-{slots}")
}

impl Drop for Stage<'_> {
    fn drop(&mut self) {
        if !self.keep {
            // The next writer deletes what remains.
            let _ = self.folders.staging.remove_tree(self.name.as_bytes());
        }
    }
}
