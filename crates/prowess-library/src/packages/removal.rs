//! Removing installed skills, with those that only they needed.

use std::collections::BTreeSet;
use std::path::Path;

use prowess_core::Problem;
use prowess_package::name::SkillName;
use prowess_store::install::InstallError;
use prowess_store::placement::RemovedPlacement;
use prowess_store::places::{Places, Scope};
use prowess_store::store::{ChangePhase, Store};
use semver::Version;
use serde_json::{Value, json};

use super::change::MOST_TRIES;
use super::placement::remove_placements;
use super::{Decision, PackageManager};

/// The code of the problem that another process was faster.
const STORE_CHANGED: &str = "store-changed";

/// A removal that was worked out and not applied yet.
#[derive(Debug)]
pub struct PreparedRemoval {
    /// The skills that would be removed.
    pub skills: Vec<RemovedSkill>,
    /// The named skills with all that need them.
    names: BTreeSet<SkillName>,
    scope: Scope,
    places: Places,
    store: Store,
    on_phase: Option<fn(&Path, ChangePhase)>,
}

/// A removal that was applied.
#[derive(Debug)]
pub struct RemovalReport {
    /// The skills that were removed.
    pub skills: Vec<RemovedSkill>,
    /// What was removed from the folders of agents, and what was left there.
    pub placements: Vec<RemovedPlacement>,
}

/// A skill that is removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemovedSkill {
    /// The skill.
    pub name: SkillName,
    /// Its version; `0.0.0` if it declares none.
    pub version: Version,
    /// Why it is removed.
    pub reason: RemovalReason,
}

/// Why a skill is removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RemovalReason {
    /// The user named it.
    Named,
    /// It needs a skill that is removed.
    Dependent,
    /// Only removed skills needed it.
    Orphan,
}

impl RemovalReason {
    /// The reason in words; `None` for a skill that was named.
    pub fn as_str(self) -> Option<&'static str> {
        match self {
            Self::Named => None,
            Self::Dependent => Some("which needs one of these"),
            Self::Orphan => Some("which nothing needs any more"),
        }
    }
}

impl RemovedSkill {
    /// The skill as JSON.
    pub fn to_json(&self) -> Value {
        json!({
            "name": self.name.as_str(),
            "version": self.version.to_string(),
            "why": self.reason.as_str(),
        })
    }
}

impl PackageManager {
    /// Works out which skills go with the named ones. A skill that others need is a problem, unless `with_dependents` says
    /// that those are removed as well.
    pub fn prepare_removal(
        &self,
        named: &BTreeSet<SkillName>,
        scope: Scope,
        with_dependents: bool,
    ) -> Result<PreparedRemoval, Problem> {
        let store = self.store(scope)?;
        let (going, removed) = match store.removed_by(named) {
            Err(InstallError::Needed { .. }) if with_dependents => {
                let going = store.with_dependents(named).map_err(|error| error.problem())?;
                let removed = store.removed_by(&going);
                (going, removed)
            }
            removed => (named.clone(), removed),
        };
        let reason = |name: &SkillName| match (named.contains(name), going.contains(name)) {
            (true, _) => RemovalReason::Named,
            (false, true) => RemovalReason::Dependent,
            (false, false) => RemovalReason::Orphan,
        };
        let skills = removed.map_err(|error| error.problem())?.into_iter();
        let skills =
            skills.map(|(name, version)| RemovedSkill { reason: reason(&name), name, version });
        Ok(PreparedRemoval {
            skills: skills.collect(),
            names: going,
            scope,
            places: self.places.clone(),
            store,
            on_phase: self.on_phase,
        })
    }
}

impl PackageManager {
    /// Prepares a removal, has it decided and applies it; again while other processes change the store in between.
    ///
    /// Returns `None` if the decision was to change nothing.
    pub fn remove<E: From<Problem>>(
        &self,
        named: &BTreeSet<SkillName>,
        scope: Scope,
        with_dependents: bool,
        mut decide: impl FnMut(&PreparedRemoval) -> Result<Decision, E>,
    ) -> Result<Option<RemovalReport>, E> {
        let mut tries = 1;
        loop {
            let removal = self.prepare_removal(named, scope, with_dependents)?;
            if decide(&removal)? == Decision::Stop {
                return Ok(None);
            }
            match removal.apply() {
                Err(problem) if problem.code == STORE_CHANGED && tries < MOST_TRIES => tries += 1,
                report => return Ok(Some(report?)),
            }
        }
    }
}

impl PreparedRemoval {
    /// Whether skills are removed that nobody named.
    pub fn has_more_than_named(&self) -> bool {
        self.skills.iter().any(|skill| skill.reason != RemovalReason::Named)
    }

    /// Removes the skills from the folders of agents and from the store.
    ///
    /// The problem `store-changed` says that another process was faster: prepare it again.
    pub fn apply(self) -> Result<RemovalReport, Problem> {
        if let Some(call) = self.on_phase {
            call(self.store.path(), ChangePhase::Placing);
        }
        let removed: BTreeSet<&SkillName> = self.skills.iter().map(|skill| &skill.name).collect();
        let placements = remove_placements(&self.places, self.scope, &removed)?;
        self.store.remove(&self.names).map_err(|error| error.problem())?;
        Ok(RemovalReport { skills: self.skills, placements })
    }
}
