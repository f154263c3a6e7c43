//! Applies install plans, and uninstalls skills.

use std::collections::{BTreeMap, BTreeSet};

use prowess_package::name::SkillName;
use semver::Version;

use super::{InstallError, InstallPlan, InstallStep, parse_lock, read_lock_file};
use crate::commit::StoreChanges;
use crate::lock::{LockEntry, LockFile, MOST_BYTES};
use crate::review::{InstallQuestion, LowerClaim};
use crate::stage::Stage;
use crate::store::Store;

/// The changes that were made.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct AppliedChanges {
    /// Skills that were installed, with the versions they replace.
    pub installed: Vec<(SkillName, Version, Option<Version>)>,
    /// Skills that were uninstalled.
    pub removed: Vec<(SkillName, Version)>,
    /// Notes for the user.
    pub notes: Vec<String>,
}

/// A planned uninstallation.
struct Removal {
    removed: Vec<(SkillName, Version)>,
    /// The bytes of the lock file as it was read.
    before: Option<Vec<u8>>,
    /// The lock file after the change.
    lock: LockFile,
}

impl Store {
    /// Applies a plan completely or not at all. The user has agreed to every question of every step.
    ///
    /// A plan that contains a refusal is never applied: the user can't override a refusal.
    pub fn apply(&self, plan: &InstallPlan) -> Result<AppliedChanges, InstallError> {
        if let Some(refused) = plan.steps.iter().find_map(InstallStep::refused) {
            return Err(refused);
        }
        if !plan.unavailable.is_empty() {
            return Err(InstallError::Unavailable(plan.unavailable.clone()));
        }
        if plan.steps.is_empty() {
            return Ok(AppliedChanges::default());
        }
        let InstallPlan { steps, before, lock, .. } = plan;
        let mut lock = lock.clone();
        let mut stage = self.stage()?;
        let mut install = Vec::with_capacity(steps.len());
        let mut applied = AppliedChanges::default();
        let mut agreed = Vec::new();
        // Restoring files must leave the lock file byte for byte as it is.
        let is_kept = steps.iter().all(|step| step.is_restored);
        for step in steps {
            let (name, mut entry) = (step.name().clone(), step.entry.clone());
            if !step.is_restored {
                entry.approved = approved(&entry, &step.review.questions);
            }
            agreed.extend(step.demands.iter().cloned());
            install.push(stage.copy(&step.tree, name.clone(), Some(entry.version.to_string()))?);
            let replaced = step.replaces.clone();
            applied.installed.push((name.clone(), entry.version.clone(), replaced));
            lock.skills.insert(name, entry);
        }
        let text = match before {
            Some(before) if is_kept => before.clone(),
            _ => {
                self.settle_dependencies(&mut lock);
                settle_owners(&mut lock);
                self.lock_text(&lock).into_bytes()
            }
        };
        self.commit(stage, before.as_deref(), text, install, Vec::new())?;
        if let Some(shared) = self.project()
            && let Err(error) = shared.agreements.add(&agreed)
        {
            applied.notes.push(format!("could not save what you agreed to: {error}"));
        }
        Ok(applied)
    }

    /// Uninstalls skills, and the dependencies that no other skill requires.
    pub fn remove(&self, names: &BTreeSet<SkillName>) -> Result<AppliedChanges, InstallError> {
        let Removal { removed, before, lock } = self.plan_remove(names)?;
        let remove = removed.iter().map(|(name, _)| name.clone()).collect();
        let stage = self.stage()?;
        let text = self.lock_text(&lock).into_bytes();
        self.commit(stage, before.as_deref(), text, Vec::new(), remove)?;
        Ok(AppliedChanges { removed, ..AppliedChanges::default() })
    }

    /// The skills that [`Self::remove`] would uninstall. Nothing is written.
    pub fn removed_by(
        &self,
        names: &BTreeSet<SkillName>,
    ) -> Result<Vec<(SkillName, Version)>, InstallError> {
        self.plan_remove(names).map(|removal| removal.removed)
    }

    /// Skills together with all their installed dependents, and the dependents of those.
    pub fn with_dependents(
        &self,
        names: &BTreeSet<SkillName>,
    ) -> Result<BTreeSet<SkillName>, InstallError> {
        let (_, lock) = read_lock_file(self)?;
        let mut all = names.clone();
        loop {
            let needs =
                |entry: &LockEntry| entry.dependencies.keys().any(|name| all.contains(name));
            let more: Vec<SkillName> = lock
                .skills
                .iter()
                .filter(|(name, entry)| !all.contains(*name) && needs(entry))
                .map(|(name, _)| name.clone())
                .collect();
            if more.is_empty() {
                return Ok(all);
            }
            all.extend(more);
        }
    }

    fn plan_remove(&self, names: &BTreeSet<SkillName>) -> Result<Removal, InstallError> {
        let (before, mut lock) = read_lock_file(self)?;
        for name in names {
            if !lock.skills.contains_key(name) && !self.is_installed(name)? {
                return Err(InstallError::NotInstalled(name.clone()));
            }
            let by = needed_by(&lock, name, names);
            if !by.is_empty() {
                return Err(InstallError::Needed { name: name.clone(), by });
            }
        }
        let mut removed = Vec::new();
        for name in names {
            let version = lock.skills.remove(name).map(|entry| entry.version);
            removed.push((name.clone(), version.unwrap_or(Version::new(0, 0, 0))));
        }
        // Dependencies that no remaining skill requires are removed as well, repeatedly.
        loop {
            settle_owners(&mut lock);
            let unwanted = |(_, entry): &(&SkillName, &LockEntry)| {
                !entry.explicit && entry.required_by.is_empty()
            };
            let Some((name, _)) = lock.skills.iter().find(unwanted) else { break };
            let name = name.clone();
            if let Some(entry) = lock.skills.remove(&name) {
                removed.push((name, entry.version));
            }
        }
        Ok(Removal { removed, before, lock })
    }

    /// Makes the change, unless another process has changed the store since the plan was made.
    pub(super) fn commit(
        &self,
        stage: Stage<'_>,
        before: Option<&[u8]>,
        lock_file: Vec<u8>,
        install: Vec<crate::stage::StagedSkill>,
        remove: Vec<SkillName>,
    ) -> Result<(), InstallError> {
        let store = self.lock()?;
        let current = store.lock_file(MOST_BYTES)?;
        if current.as_deref() != before {
            // Parsing reports a damaged lock file, as opposed to a changed one.
            parse_lock(self, current.as_deref())?;
            return Err(InstallError::StoreChanged);
        }
        // Checked again with the writer lock held: something may have appeared there since the plan was made.
        let known = parse_lock(self, before)?;
        for skill in install.iter().filter(|skill| !known.skills.contains_key(&skill.name)) {
            let integrity = skill.content_digest().integrity();
            if let Some(refusal) = self.occupied(&skill.name, &integrity)? {
                return Err(InstallError::Refused {
                    name: skill.name.clone(),
                    reason: refusal.to_string(),
                    remedies: refusal.remedies(),
                });
            }
        }
        let changes = StoreChanges { install, remove, lock_file: Some(lock_file) };
        store
            .commit(stage, &changes)
            .map_err(|source| InstallError::Commit { store: self.path().to_owned(), source })?;
        Ok(())
    }

    /// Records the installed versions of dependencies in the entries of their dependents.
    fn settle_dependencies(&self, lock: &mut LockFile) {
        let versions: BTreeMap<SkillName, Version> =
            lock.skills.iter().map(|(name, entry)| (name.clone(), entry.version.clone())).collect();
        for (name, entry) in &mut lock.skills {
            let mut is_stale = false;
            for (needed, version) in &mut entry.dependencies {
                if let Some(now) = versions.get(needed).filter(|now| *now != version) {
                    version.clone_from(now);
                    is_stale = true;
                }
            }
            if let Some(metadata) = is_stale.then(|| self.installed_metadata(name, entry)).flatten()
            {
                entry.dependencies_hash = super::dependencies_hash(&metadata, &entry.dependencies);
            }
        }
    }
}

/// The installed skills that depend on another one, except those that are removed as well.
fn needed_by(lock: &LockFile, name: &SkillName, going: &BTreeSet<SkillName>) -> Vec<String> {
    let needs = |(other, entry): &(&SkillName, &LockEntry)| {
        entry.dependencies.contains_key(name) && !going.contains(*other)
    };
    lock.skills.iter().filter(needs).map(|(other, _)| other.to_string()).collect()
}

/// Computes `required_by` from the dependencies of all entries.
fn settle_owners(lock: &mut LockFile) {
    let mut owners: BTreeMap<SkillName, BTreeSet<SkillName>> = BTreeMap::new();
    for (name, entry) in &lock.skills {
        for needed in entry.dependencies.keys() {
            owners.entry(needed.clone()).or_default().insert(name.clone());
        }
    }
    for (name, entry) in &mut lock.skills {
        entry.required_by = owners.remove(name).unwrap_or_default();
    }
}

/// The digest of what the user approved, including the files that it was about (attack registry-C24).
fn approved(entry: &LockEntry, questions: &[InstallQuestion]) -> Option<String> {
    if questions.is_empty() {
        return None;
    }
    let mut text = format!("{}\n", entry.integrity);
    for question in questions {
        text.push_str(&question.to_string());
        text.push('\n');
    }
    Some(prowess_package::digest::Sha256Digest::of(text.as_bytes()).integrity())
}

impl InstallStep {
    /// The claimed tier, if it is lower than what the signatures prove.
    pub fn lower_claim(&self) -> Option<LowerClaim> {
        LowerClaim::of(&self.metadata.skill, self.attestation.tier, self.tree.manifest())
    }

    /// Whether the entry in the lock file changes although the files stay the same.
    pub(super) fn changes_entry(&self, lock: &LockFile) -> bool {
        let Some(installed) = lock.skills.get(self.name()) else { return true };
        let mut same = self.entry.clone();
        same.installed_at.clone_from(&installed.installed_at);
        same.approved.clone_from(&installed.approved);
        same.capabilities.clone_from(&installed.capabilities);
        same.allow_unsigned = installed.allow_unsigned;
        same.allow_blocked.clone_from(&installed.allow_blocked);
        same != *installed
    }
}
