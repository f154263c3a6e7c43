//! Installed skills, compared with the lock file and read from their files.

use std::collections::BTreeSet;

use prowess_package::digest::{FileHashes, content_digest};
use prowess_package::limits::PackageLimits;
use prowess_package::name::SkillName;
use prowess_package::tree::Tree;

use super::InstallError;
use crate::agreement::ConsentItem;
use crate::capabilities::{Capability, capabilities_of, lines};
use crate::lock::LockEntry;
use crate::metadata::{SkillMetadata, parse_installed_metadata, parse_metadata};
use crate::review::InstallRefusal;
use crate::store::Store;

impl Store {
    /// Whether the files of an installed skill match its lock file entry. All of them are hashed.
    pub fn is_unchanged(&self, name: &SkillName, entry: &LockEntry) -> bool {
        matches!(self.hash(name), Ok(Some(hashes))
            if content_digest(&hashes).integrity() == entry.integrity)
    }

    /// Whether this user has approved an installed skill, and not only the author of the lock file.
    pub fn has_agreed(&self, name: &SkillName, entry: &LockEntry) -> bool {
        self.project().is_none_or(|project| {
            project.agreements.cover(&[ConsentItem::to_be_there(name, &entry.integrity)])
        })
    }

    /// The lines of capabilities that this user has approved for an installed skill. `integrity` and `now` belong to
    /// the version that would replace it.
    ///
    /// The user's own lock file records them. The lock file of a project may come from someone else, so there the
    /// installed files are read, and the user must have approved exactly what these can do.
    pub(super) fn accepted(
        &self,
        name: &SkillName,
        entry: &LockEntry,
        integrity: &str,
        now: &[Capability],
    ) -> BTreeSet<String> {
        let Some(project) = self.project() else {
            if entry.integrity == integrity {
                return lines(now);
            }
            if !entry.capabilities.is_empty() {
                return entry.capabilities.clone();
            }
            // Older versions recorded no lines: installing the skill approved all of its capabilities.
            return self.installed_lines(name, entry).unwrap_or_default();
        };
        let Some(lines) = self.installed_lines(name, entry) else { return BTreeSet::new() };
        let item = ConsentItem::to_have_capabilities(name, &entry.integrity, &lines);
        if project.agreements.cover(&[item]) { lines } else { BTreeSet::new() }
    }

    /// The capabilities of the installed files, if these match the lock file entry.
    pub(super) fn installed_lines(
        &self,
        name: &SkillName,
        entry: &LockEntry,
    ) -> Option<BTreeSet<String>> {
        let tree = Tree::read(&self.skill_path(name), &PackageLimits::PACKAGE).ok()?.tree;
        let is_same = content_digest(&tree.hashes()).integrity() == entry.integrity;
        is_same.then(|| lines(&capabilities_of(&tree)))
    }

    /// The file hashes of a lock file entry, if they agree with its digest.
    pub(super) fn agreed_files(&self, name: &SkillName, entry: &LockEntry) -> FileHashes {
        if content_digest(&entry.files).integrity() == entry.integrity {
            return entry.files.clone();
        }
        let installed = self.hash(name).ok().flatten().unwrap_or_default();
        let is_same = content_digest(&installed).integrity() == entry.integrity;
        if is_same { installed } else { FileHashes::new() }
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

    /// Refuses to replace a folder that is not in the lock file: it may contain the user's own work. Identical files
    /// may be installed over it, for example after the lock file was lost.
    pub(super) fn occupied(
        &self,
        name: &SkillName,
        integrity: &str,
    ) -> Result<Option<InstallRefusal>, InstallError> {
        let Some(occupant) = self.occupant(name)? else { return Ok(None) };
        let is_same = matches!(self.hash(name), Ok(Some(hashes))
            if content_digest(&hashes).integrity() == integrity);
        Ok((!is_same).then_some(InstallRefusal::Occupied(occupant)))
    }
}
