//! Installed skills, compared with the lock file and read from their files.

use prowess_package::digest::content_digest;
use prowess_package::name::SkillName;

use super::InstallError;
use crate::agreement::ConsentItem;
use crate::lock::LockEntry;
use crate::metadata::{SkillMetadata, parse_installed_metadata, parse_metadata};
use crate::review::Refusal;
use crate::store::Store;

impl Store {
    /// Whether the files of an installed skill are those of its lock entry. All of them are hashed.
    pub fn is_unchanged(&self, name: &SkillName, entry: &LockEntry) -> bool {
        matches!(self.hash(name), Ok(Some(hashes))
            if content_digest(&hashes).integrity() == entry.integrity)
    }

    /// Whether this user has agreed to a skill of the lock file, or only its author has.
    pub fn has_agreed(&self, name: &SkillName, entry: &LockEntry) -> bool {
        self.project().is_none_or(|project| {
            project.agreements.cover(&[ConsentItem::to_be_there(name, &entry.integrity)])
        })
    }

    /// Reads the metadata of an installed skill; `None` if its files can't be read. No rule runs.
    pub(super) fn installed_metadata(
        &self,
        name: &SkillName,
        entry: &LockEntry,
    ) -> Option<SkillMetadata> {
        let bytes = self.manifest(name).ok()?;
        parse_installed_metadata(&bytes, name.as_str(), entry.chosen(name)).ok()
    }

    /// Reads and checks an installed skill, to compare it with the version that replaces it.
    pub(super) fn checked_metadata(
        &self,
        name: &SkillName,
        entry: &LockEntry,
    ) -> Option<SkillMetadata> {
        let bytes = self.manifest(name).ok()?;
        parse_metadata(&bytes, name.as_str(), entry.chosen(name)).ok()
    }

    /// Refuses to replace a folder that the lock file does not list: it may be the user's own work. The same files may be
    /// installed over it, as after a lost lock file.
    pub(super) fn occupied(
        &self,
        name: &SkillName,
        integrity: &str,
    ) -> Result<Option<Refusal>, InstallError> {
        let Some(occupant) = self.occupant(name)? else { return Ok(None) };
        let is_same = matches!(self.hash(name), Ok(Some(hashes))
            if content_digest(&hashes).integrity() == integrity);
        Ok((!is_same).then_some(Refusal::Occupied(occupant)))
    }
}
