//! Verifying that installed skills are what was installed and signed.

use prowess_core::{Problem, ProblemKind};
use prowess_package::name::SkillName;
use prowess_store::drift::{self, Drift, VerifiedSkill};
use prowess_store::places::Scope;
use prowess_store::source::{Catalogue, Pinned};

use super::PackageManager;

/// How revoked versions become known.
#[derive(Clone, Copy)]
pub enum Revocations<'c> {
    /// From what a registry said last. A registry that can't be asked is no problem.
    Known(Option<&'c dyn Catalogue>),
    /// From the registry. One that can't be asked is a problem.
    Asked(Option<&'c dyn Catalogue>),
}

/// Installed skills, compared with the lock file and the trusted keys.
#[derive(Debug)]
pub struct VerifyReport {
    /// Every skill that was looked at.
    pub skills: Vec<VerifiedSkill>,
}

impl VerifyReport {
    /// Whether everything is as it was installed.
    pub fn is_ok(&self) -> bool {
        self.skills.iter().all(|skill| skill.drifts.is_empty())
    }

    /// Whether a registry may have revoked one of the skills.
    pub fn concerns_registry(&self) -> bool {
        self.skills.iter().any(is_from_registry)
    }
}

fn is_from_registry(skill: &VerifiedSkill) -> bool {
    matches!(source_of(skill), Some(Pinned::Registry { .. }))
}

fn source_of(skill: &VerifiedSkill) -> Option<&Pinned> {
    skill.entry.as_ref().and_then(|entry| entry.source.as_ref())
}

impl PackageManager {
    /// Whether a skill is installed in a store: in the lock file, or at least as a folder.
    pub fn is_installed(&self, name: &SkillName, scope: Scope) -> Result<bool, Problem> {
        if !self.lock_path(scope).exists() && !self.store_path(scope).join("skills").exists() {
            return Ok(false);
        }
        if self.lock_file(scope)?.skills.contains_key(name) {
            return Ok(true);
        }
        self.store(scope)?
            .is_installed(name)
            .map_err(|error| Problem::new("store-unusable", ProblemKind::Failed, error.to_string()))
    }

    /// Compares installed skills with the lock file, and their signatures with the trusted keys: the named ones, or all.
    pub fn verify(&self, names: &[SkillName], scope: Scope) -> Result<VerifyReport, Problem> {
        let store = self.store(scope)?;
        let trust = self.trust_store()?;
        let skills = drift::verify(&store, names, &trust, self.now());
        Ok(VerifyReport { skills: skills.map_err(|error| error.problem())? })
    }
}

impl VerifyReport {
    /// Adds the versions that registries have revoked.
    pub fn add_revocations(&mut self, revocations: Revocations<'_>) -> Result<(), Problem> {
        let (Revocations::Known(catalogue) | Revocations::Asked(catalogue)) = revocations;
        let Some(catalogue) = catalogue else { return Ok(()) };
        for skill in self.skills.iter_mut().filter(|skill| is_from_registry(skill)) {
            let Some(source) = source_of(skill) else { continue };
            match catalogue.revoked(&skill.name, source) {
                Ok(why) => skill.drifts.extend(why.map(Drift::Revoked)),
                Err(error) if matches!(revocations, Revocations::Asked(_)) => {
                    return Err(error.problem());
                }
                Err(_) => {}
            }
        }
        Ok(())
    }
}
