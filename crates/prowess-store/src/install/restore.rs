//! Restores the skills of the lock file: the same bytes, or nothing (GAIA §7.3).

use std::collections::BTreeSet;

use prowess_core::Remedy;
use prowess_package::digest::content_digest;
use prowess_package::limits::PackageLimits;
use prowess_package::name::SkillName;
use prowess_package::tree::Tree;
use prowess_policy::{Origin, Trust};
use prowess_trust::{Attestation, Evidence};
use semver::Version;

use super::{InstallError, InstallPlan, InstallStep, Installer};
use crate::capabilities::{Capability, capabilities_of};
use crate::lock::{LockEntry, LockFile};
use crate::metadata::{SkillMetadata, read_metadata};
use crate::review::{Candidate, InstallPermissions, LowerClaim, Review, review};
use crate::source::{self, Pinned, SourceError, SourceErrorKind};
use crate::suspicion::Suspicions;

/// The result of restoring the skills of the lock file.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct RestoreReport {
    /// Skills that were fetched.
    pub installed: Vec<(SkillName, Version)>,
    /// Skills that were already installed, byte for byte.
    pub unchanged: Vec<(SkillName, Version)>,
    /// Installed skills that are not in the lock file; they are left alone.
    pub unknown: Vec<SkillName>,
    /// Notes for the user: revoked versions (attack registry-C22), files that were left out.
    pub notes: Vec<String>,
}

/// A plan for restoring the skills of the lock file.
#[derive(Debug)]
pub struct RestorePlan {
    /// The plan for the skills that can be restored.
    pub plan: InstallPlan,
    /// Skills that can't be restored, each with its error. They stay as they are.
    pub failures: Vec<(SkillName, InstallError)>,
    /// Installed skills that are not in the lock file; they are left alone.
    pub unknown: Vec<SkillName>,
}

impl Installer<'_> {
    /// Restores the lock file completely or not at all, if nothing remains to be confirmed.
    pub fn restore(&self) -> Result<RestoreReport, InstallError> {
        let RestorePlan { mut plan, failures, unknown } = self.plan_restore(None)?;
        if let Some((_, error)) = failures.into_iter().next() {
            return Err(error);
        }
        if let Some(step) = plan.steps.iter().find(|step| !step.review.questions.is_empty()) {
            let questions = step.review.questions.iter().map(ToString::to_string);
            return Err(InstallError::Refused {
                name: step.name().clone(),
                reason: questions.collect::<Vec<String>>().join("; "),
                remedies: vec![Remedy::Advice("confirm the installation first".to_owned())],
            });
        }
        let unchanged = std::mem::take(&mut plan.unchanged);
        let notes = std::mem::take(&mut plan.notes);
        let applied = self.store.apply(&plan)?;
        let installed = applied.installed.into_iter();
        let installed = installed.map(|(name, version, _)| (name, version)).collect();
        Ok(RestoreReport { installed, unchanged, unknown, notes })
    }

    /// Plans restoring the named skills of the lock file, or all of them. Nothing is written.
    ///
    /// The user has confirmed every entry of their own lock file. The lock file of a project may come from someone
    /// else: everything in it that this user has never approved is reviewed as if it were new.
    pub fn plan_restore(
        &self,
        only: Option<&BTreeSet<SkillName>>,
    ) -> Result<RestorePlan, InstallError> {
        let (before, lock) = self.read_lock()?;
        let unknown = self.unknown(&lock)?;
        let (mut steps, mut unchanged) = (Vec::new(), Vec::new());
        let (mut notes, mut failures) = (Vec::new(), Vec::new());
        for name in in_order(&lock) {
            let entry = &lock.skills[name];
            if only.is_some_and(|only| !only.contains(name)) {
                continue;
            }
            match self.put_back(name, entry, &mut notes) {
                Ok(Some(step)) => steps.push(step),
                Ok(None) => unchanged.push((name.clone(), entry.version.clone())),
                Err(error) => failures.push((name.clone(), error)),
            }
        }
        unchanged.sort();
        let (newer, none) = (Vec::new(), Vec::new());
        let plan = InstallPlan {
            steps,
            unchanged,
            unavailable: Vec::new(),
            skipped: Vec::new(),
            notes,
            failures: none,
            newer,
            before,
            lock,
        };
        Ok(RestorePlan { plan, failures, unknown })
    }

    /// The step for one skill; `None` if it is installed and approved.
    fn put_back(
        &self,
        name: &SkillName,
        entry: &LockEntry,
        notes: &mut Vec<String>,
    ) -> Result<Option<InstallStep>, InstallError> {
        let is_unchanged = self.store.is_unchanged(name, entry);
        if is_unchanged && self.store.has_agreed(name, entry) {
            return Ok(None);
        }
        let tree = if is_unchanged {
            let files = |source| InstallError::Files { name: name.to_string(), source };
            Tree::read(&self.store.skill_path(name), &PackageLimits::PACKAGE).map_err(files)?.tree
        } else {
            let Some(pinned) = &entry.source else {
                return Err(SourceError {
                    what: format!("the lock file does not say where `{name}` comes from"),
                    remedies: vec![Remedy::Advice(format!(
                        "install `{name}` again from its source"
                    ))],
                    kind: SourceErrorKind::NotFound,
                }
                .into());
            };
            let fetched: source::FetchedFiles = self.source.fetch(name.as_str(), pinned)?;
            notes.extend(fetched.notes);
            fetched.tree
        };
        let found = content_digest(&tree.hashes()).integrity();
        if found != entry.integrity {
            return Err(InstallError::NotLocked {
                name: name.clone(),
                expected: entry.integrity.clone(),
                found,
            });
        }
        let metadata =
            read_metadata(&tree, name.as_str(), entry.chosen(name)).map_err(|source| {
                InstallError::Metadata { name: name.to_string(), evident: None, source }
            })?;
        let attestation = self.still_vouched(name, entry, &metadata, &tree)?;
        let capabilities = capabilities_of(&tree);
        let (review, demands) =
            self.first_look(entry, &metadata, &attestation, &tree, &capabilities);
        if is_unchanged && review.is_clear() {
            return Ok(None);
        }
        Ok(Some(InstallStep {
            metadata,
            replaces: None,
            review,
            attestation,
            entry: entry.clone(),
            is_restored: true,
            capabilities,
            difference: None,
            demands,
            tree,
        }))
    }

    /// The review of a skill that this user has not approved yet. It names the skill as explicit, because the lock
    /// file lists every skill.
    fn first_look(
        &self,
        entry: &LockEntry,
        metadata: &SkillMetadata,
        attestation: &Attestation,
        tree: &Tree,
        capabilities: &[Capability],
    ) -> (Review, Vec<crate::agreement::ConsentItem>) {
        let (Some(shared), Some(source)) = (self.store.project(), &entry.source) else {
            return (Review::default(), Vec::new());
        };
        let tier = Trust::of(&metadata.skill, attestation.tier, None, Origin::Downloaded).tier();
        let evidence = Evidence { tier, ..attestation.to_evidence() };
        let candidate = Candidate {
            calls_itself: metadata.calls_itself.as_deref(),
            is_prose: metadata.is_prose,
            errors: &metadata.errors,
            version: &metadata.version,
            grants: &metadata.grants,
            evidence: &evidence,
            owner: entry.owner.as_deref(),
            source,
            is_explicit: true,
            signer_accepted: false,
            lower_claim: LowerClaim::of(&metadata.skill, attestation.tier, tree.manifest()),
            capabilities,
            accepted: &BTreeSet::new(),
            changed_scripts: &BTreeSet::new(),
            suspicions: &Suspicions::of(tree, self.known_bad),
        };
        let demands = self.demands(metadata, &tree.hashes(), &candidate);
        if !shared.agreements.cover(&demands) {
            return (review(&candidate, None, self.permissions), demands);
        }
        // Anything that can't be confirmed is refused here, too.
        let permissions = InstallPermissions { experimental: true, ..self.permissions };
        let refusals = review(&candidate, None, permissions).refusals;
        (Review { refusals, questions: Vec::new() }, demands)
    }

    /// Verifies the signatures again. A lock file can be changed together with the files that it lists, so the
    /// signers that it names must still be there and valid (attack registry-C2).
    fn still_vouched(
        &self,
        name: &SkillName,
        entry: &LockEntry,
        metadata: &SkillMetadata,
        tree: &Tree,
    ) -> Result<Attestation, InstallError> {
        let hashes = tree.hashes();
        let namespace = entry.source.as_ref().and_then(Pinned::namespace);
        let attestation = self.attest(metadata, tree, &hashes, namespace);
        if attestation.is_refused() {
            let refusals = attestation.refused.iter().map(ToString::to_string).collect();
            return Err(InstallError::BadSignature { name: name.clone(), refusals });
        }
        let now = attestation.to_evidence();
        let refused = |reason: String| InstallError::Refused {
            name: name.clone(),
            reason,
            remedies: vec![
                Remedy::Advice("ask the author of the lock file".to_owned()),
                Remedy::TrustPublisher,
            ],
        };
        for change in prowess_trust::compare(&entry.evidence(), &now) {
            match change {
                prowess_trust::EvidenceChange::SignatureLost { .. }
                | prowess_trust::EvidenceChange::SignerChanged { .. } => {
                    return Err(refused(change.to_string()));
                }
                _ => {}
            }
        }
        // The tier in the lock file is a record, not a proof.
        let trust = Trust::of(&metadata.skill, attestation.tier, None, Origin::Downloaded);
        if trust.tier() < entry.tier {
            return Err(refused(format!(
                "the lock file says `{}`, but its signatures prove `{}` here",
                entry.tier,
                trust.tier()
            )));
        }
        Ok(attestation)
    }

    fn unknown(&self, lock: &LockFile) -> Result<Vec<SkillName>, InstallError> {
        let installed = self.store.installed()?;
        Ok(installed.into_iter().filter(|name| !lock.skills.contains_key(name)).collect())
    }
}

/// The skills of the lock file, each after its dependencies (GAIA §10.3). A cycle, which resolution never produces,
/// is broken.
fn in_order(lock: &LockFile) -> Vec<&SkillName> {
    let mut order: Vec<&SkillName> = Vec::new();
    let mut seen: BTreeSet<&SkillName> = BTreeSet::new();
    for first in lock.skills.keys() {
        let mut path = vec![(first, false)];
        while let Some((name, is_done)) = path.pop() {
            if is_done {
                order.push(name);
                continue;
            }
            let Some((name, entry)) = lock.skills.get_key_value(name) else { continue };
            if seen.insert(name) {
                path.push((name, true));
                path.extend(entry.dependencies.keys().map(|needed| (needed, false)));
            }
        }
    }
    order
}
