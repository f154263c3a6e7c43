//! Resolving a merge conflict in a lock file: the skills of both sides stay, and where the sides differ somebody chooses.

use std::collections::BTreeMap;

use prowess_core::{Problem, ProblemKind, Remedy};
use prowess_package::name::SkillName;
use prowess_store::conflict::{ConflictedSkill, LockConflict, MergeSide, SkillConflict};
use prowess_store::lock::LockEntry;
use prowess_store::places::Scope;
use serde_json::{Value, json};

use super::PackageManager;

/// Which side is taken where nobody is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SidePreference {
    /// Always this one.
    Side(MergeSide),
    /// The higher version; of the same version the one that was installed later.
    Newer,
}

/// A conflict that was resolved.
#[derive(Debug)]
pub struct ResolvedLock {
    /// The conflict as it was.
    pub conflict: LockConflict,
    /// The side that was chosen for each skill in which the sides differ.
    pub chosen: BTreeMap<SkillName, MergeSide>,
    /// Skills that were resolved with another version of a dependency than the one that is locked now.
    pub mismatches: Vec<(SkillName, SkillName)>,
}

impl PackageManager {
    /// Resolves the merge conflict in a lock file. `ask` is called for every skill whose side nothing else decides; without
    /// an answer nothing is written. Returns `None` if there is no conflict.
    pub fn resolve_lock<E: From<Problem>>(
        &self,
        scope: Scope,
        preference: Option<SidePreference>,
        mut ask: impl FnMut(&LockConflict, &ConflictedSkill) -> Result<MergeSide, E>,
    ) -> Result<Option<ResolvedLock>, E> {
        let store = self.store(scope)?;
        let Some(conflict) = store.lock_conflict().map_err(|error| error.problem())? else {
            return Ok(None);
        };
        let mut chosen = BTreeMap::new();
        for skill in &conflict.skills {
            let SkillConflict::Differs { ours, theirs } = &skill.state else { continue };
            let side = match (ours, theirs) {
                (None, None) => return Err(mixed(&skill.name).into()),
                (Some(_), None) => MergeSide::Ours,
                (None, Some(_)) => MergeSide::Theirs,
                (Some(ours), Some(theirs)) => match preference {
                    Some(SidePreference::Side(side)) => side,
                    Some(SidePreference::Newer) => newer(ours, theirs),
                    None => ask(&conflict, skill)?,
                },
            };
            chosen.insert(skill.name.clone(), side);
        }
        let choose = |name: &SkillName| chosen.get(name).copied().unwrap_or(MergeSide::Ours);
        let mismatches = conflict.mismatches(choose);
        store.resolve_lock(&conflict, choose).map_err(|error| error.problem())?;
        Ok(Some(ResolvedLock { conflict, chosen, mismatches }))
    }
}

/// Reports that nobody has chosen a side. Nothing was written.
pub fn unchosen_side(skill: &SkillName) -> Problem {
    let message = format!("the two sides of the conflict differ about `{skill}`");
    Problem::new("side-not-chosen", ProblemKind::Refused, message).remedy(Remedy::ChooseSide)
}

fn newer(ours: &LockEntry, theirs: &LockEntry) -> MergeSide {
    // Times are written in UTC and in one form, so their texts sort as they do.
    let rank = |entry: &LockEntry| (entry.version.clone(), entry.installed_at.clone());
    if rank(theirs) > rank(ours) { MergeSide::Theirs } else { MergeSide::Ours }
}

fn mixed(skill: &SkillName) -> Problem {
    let message = format!(
        "the merge has mixed both entries of `{skill}`, so that its digest fits neither of them"
    );
    Problem::new("mixed-lock-entry", ProblemKind::Conflict, message).advice(format!(
        "take one side as a whole from version control, and install `{skill}` again if the other one is newer"
    ))
}

impl ResolvedLock {
    /// The report as JSON.
    pub fn to_json(&self) -> Value {
        let skills: Vec<Value> = self
            .conflict
            .skills
            .iter()
            .map(|skill| {
                let (state, side) = match &skill.state {
                    SkillConflict::Same => ("same", None),
                    SkillConflict::Only(side) => ("only", Some(*side)),
                    SkillConflict::Differs { .. } => {
                        ("differs", self.chosen.get(&skill.name).copied())
                    }
                };
                let side = side.map(|side| match side {
                    MergeSide::Ours => "ours",
                    MergeSide::Theirs => "theirs",
                });
                json!({ "name": skill.name.as_str(), "state": state, "side": side })
            })
            .collect();
        json!({
            "resolved": true,
            "line": self.conflict.line,
            "ours": self.conflict.our_label,
            "theirs": self.conflict.their_label,
            "skills": skills,
        })
    }
}
