//! Installed skills that have newer versions.

use std::collections::BTreeSet;

use prowess_core::Problem;
use prowess_package::name::SkillName;
use prowess_store::install::InstallPlan;
use prowess_store::places::Scope;
use prowess_store::review::InstallPermissions;
use prowess_store::suspicion::AllowedRules;
use semver::Version;
use serde_json::{Value, json};

use super::{AgentTargets, ChangeGoal, ChangeRequest, PackageManager, SkillFailure, SkillSources};

/// Which installed skills have newer versions.
#[derive(Debug)]
pub struct OutdatedReport {
    /// The outdated skills.
    pub skills: Vec<OutdatedSkill>,
    /// Skills whose source could not be asked.
    pub failures: Vec<SkillFailure>,
}

/// An installed skill that has a newer version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutdatedSkill {
    /// The skill.
    pub name: SkillName,
    /// The installed version.
    pub installed: Version,
    /// The version that an update installs; the installed one if only the files differ.
    pub update: Option<Version>,
    /// The newest version, which may be outside of the range.
    pub newest: Version,
    /// The range that was asked for.
    pub requested: Option<String>,
}

impl OutdatedSkill {
    /// The skill as JSON.
    pub fn to_json(&self) -> Value {
        json!({
            "name": self.name.as_str(),
            "version": self.installed.to_string(),
            "update": self.update.as_ref().map(ToString::to_string),
            "newest": self.newest.to_string(),
            "requested": self.requested,
        })
    }
}

impl PackageManager {
    /// Asks the source of each skill for newer versions. Nothing is written.
    pub fn outdated(
        &self,
        names: BTreeSet<SkillName>,
        scope: Scope,
        min_age: Option<u64>,
        sources: &SkillSources<'_>,
    ) -> Result<OutdatedReport, Problem> {
        // What may be installed is decided when it is installed.
        let permissions = InstallPermissions {
            experimental: true,
            unsigned: true,
            replace_owner: true,
            blocked: AllowedRules::ALL,
        };
        let goal = ChangeGoal::Update(names);
        let agents = AgentTargets::Existing;
        let request = ChangeRequest { goal, scope, permissions, min_age, agents };
        let change = self.prepare_as(&request, sources, "checked")?;
        Ok(OutdatedReport { skills: outdated(&change.plan), failures: change.failures })
    }
}

fn outdated(plan: &InstallPlan) -> Vec<OutdatedSkill> {
    let mut all = Vec::new();
    for (name, entry) in &plan.lock().skills {
        let step = plan.steps.iter().find(|step| step.name() == name);
        let newer = plan.newer.iter().find(|newer| newer.name == *name);
        // An update may also restore files that were changed on disk, which is nothing newer.
        let update = step
            .filter(|step| step.entry.integrity != entry.integrity)
            .map(|step| step.entry.version.clone());
        let newest = newer.map(|newer| newer.newest.clone()).or_else(|| update.clone());
        let Some(newest) = newest else { continue };
        all.push(OutdatedSkill {
            name: name.clone(),
            installed: entry.version.clone(),
            update,
            newest,
            requested: entry.requested.clone(),
        });
    }
    all
}
