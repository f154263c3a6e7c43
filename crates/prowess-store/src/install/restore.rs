//! Installing what a lock file says: the same bytes, or nothing (GAIA §7.3).

use prowess_package::digest::content_digest;
use prowess_package::name::SkillName;
use semver::Version;

use super::{InstallError, Installer};
use crate::lock::Lock;
use crate::source::{self, SourceError, SourceErrorKind};

/// What was done to get to what the lock file says.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Restored {
    /// Skills that were fetched.
    pub installed: Vec<(SkillName, Version)>,
    /// Skills that were there already, byte for byte.
    pub unchanged: Vec<(SkillName, Version)>,
    /// Skills that were there and that the lock file does not know; they are left alone.
    pub unknown: Vec<SkillName>,
    /// What somebody should know: versions that were taken back (attack C22), files that were left out.
    pub notes: Vec<String>,
}

impl Installer<'_> {
    /// Installs what the lock file says. Nobody is asked: whoever wrote the lock file was.
    pub fn restore(&self) -> Result<Restored, InstallError> {
        let (before, lock) = self.read_lock()?;
        let mut restored = Restored::default();
        let mut fetched = Vec::new();
        for (name, entry) in &lock.skills {
            let known = (name.clone(), entry.version.clone());
            if self.is_whole(name, entry) {
                restored.unchanged.push(known);
                continue;
            }
            let Some(pinned) = &entry.source else {
                return Err(SourceError {
                    what: format!("the lock file does not say where `{name}` comes from"),
                    hint: Some(format!("install `{name}` again from its source")),
                    kind: SourceErrorKind::NotFound,
                }
                .into());
            };
            let source::Fetched { tree, notes } = self.source.fetch(name.as_str(), pinned)?;
            restored.notes.extend(notes);
            let found = content_digest(&tree.hashes()).integrity();
            if found != entry.integrity {
                return Err(InstallError::NotLocked {
                    name: name.clone(),
                    expected: entry.integrity.clone(),
                    found,
                });
            }
            self.still_vouched(name, entry, &tree)?;
            fetched.push((known.clone(), tree));
            restored.installed.push(known);
        }
        restored.unknown = self.unknown(&lock)?;
        if fetched.is_empty() {
            return Ok(restored);
        }
        // Nothing is written before everything is here and may be installed.
        let mut stage = self.store.stage()?;
        let mut install = Vec::with_capacity(fetched.len());
        for ((name, version), tree) in fetched {
            install.push(stage.copy(&tree, name, Some(version.to_string()))?);
        }
        self.commit(stage, before.as_deref(), &lock, install, Vec::new())?;
        Ok(restored)
    }

    /// A lock file can be changed together with the files it speaks of: the signatures that it names must still be there
    /// and must still hold (attack C2).
    fn still_vouched(
        &self,
        name: &SkillName,
        entry: &crate::lock::Locked,
        tree: &prowess_package::tree::Tree,
    ) -> Result<(), InstallError> {
        let described =
            crate::described::describe(tree, name.as_str(), entry.chosen(name)).map_err(
                |source| InstallError::Described { name: name.to_string(), evident: None, source },
            )?;
        let hashes = tree.hashes();
        let Some(pinned) = &entry.source else { return Ok(()) };
        let attestation = self.attest(&described, tree, &hashes, pinned);
        if attestation.is_refused() {
            let refusals = attestation.refused.iter().map(ToString::to_string).collect();
            return Err(InstallError::BadSignature { name: name.clone(), refusals });
        }
        let now = attestation.to_evidence();
        let refused = |reason: String| InstallError::Refused { name: name.clone(), reason };
        for change in prowess_trust::compare(&entry.evidence(), &now) {
            match change {
                prowess_trust::Change::SignatureLost { .. }
                | prowess_trust::Change::SignerChanged { .. } => {
                    return Err(refused(change.to_string()));
                }
                _ => {}
            }
        }
        // A tier in a lock file is a memory and no proof.
        let trust = prowess_policy::Trust::of(
            &described.skill,
            attestation.tier,
            None,
            prowess_policy::Origin::Downloaded,
        );
        if trust.tier() < entry.tier {
            return Err(refused(format!(
                "the lock file says `{}`, and its signatures prove `{}` here",
                entry.tier,
                trust.tier()
            )));
        }
        Ok(())
    }

    fn unknown(&self, lock: &Lock) -> Result<Vec<SkillName>, InstallError> {
        let installed = self.store.installed()?;
        Ok(installed.into_iter().filter(|name| !lock.skills.contains_key(name)).collect())
    }
}
