//! Installs by name and range, and lists installed skills, for programs that embed Prowess (GAIA §6.2).

use std::collections::BTreeSet;
use std::path::PathBuf;

use prowess_package::name::SkillName;
use prowess_policy::Tier;
use semver::Version;

use super::{AppliedChanges, InstallError, InstallPlan, Installer, SkillRequirement};
use crate::reference::{NamedReference, Reference};

/// An installed skill, according to the lock file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstalledSkill {
    /// The name.
    pub name: SkillName,
    /// The version; `0.0.0` if it declares none (R5).
    pub version: Version,
    /// The effective tier.
    pub tier: Tier,
    /// The folder.
    pub directory: PathBuf,
}

impl Installer<'_> {
    /// Installs a skill from a registry, `name` or `namespace/name`, with its dependencies: the highest version in a
    /// range. An empty range matches any version.
    ///
    /// `agree` is called when the user should review the installation first: dangerous permissions, or additional
    /// ones in an update. It can't override a refusal.
    pub fn install(
        &self,
        name: &str,
        range: &str,
        agree: impl FnOnce(&InstallPlan) -> bool,
    ) -> Result<AppliedChanges, InstallError> {
        let named: NamedReference =
            name.parse().map_err(|error: prowess_package::name::SkillNameError| {
                InstallError::Range(error.to_string())
            })?;
        let range = Some(range.trim().to_owned()).filter(|range| !range.is_empty());
        let requirement = SkillRequirement {
            reference: Reference::Named(NamedReference { range, ..named.clone() }),
            only: BTreeSet::new(),
            chosen: None,
            origin: "the program".to_owned(),
        };
        let plan = self.plan(&[requirement])?;
        let is_refused = plan.steps.iter().any(|step| !step.review.refusals.is_empty());
        if !is_refused && !plan.is_clear() && !agree(&plan) {
            let reason = "the plan was not approved".to_owned();
            return Err(InstallError::Refused { name: named.name, reason, remedies: Vec::new() });
        }
        self.store.apply(&plan)
    }

    /// Lists the installed skills by name.
    pub fn list_installed(&self) -> Result<Vec<InstalledSkill>, InstallError> {
        let (_, lock) = self.read_lock()?;
        let skill = |(name, entry): (&SkillName, &crate::lock::LockEntry)| InstalledSkill {
            directory: self.store.skill_path(name),
            name: name.clone(),
            version: entry.version.clone(),
            tier: entry.tier,
        };
        Ok(lock.skills.iter().map(skill).collect())
    }
}
