//! Installed skills in the folders of agents.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use prowess_core::{Problem, ProblemKind};
use prowess_package::name::SkillName;
use prowess_store::agents::{self, Agent};
use prowess_store::placement::{
    self, Placement, PlacementChange, PlacementDestination, PlacementError, PlacementForm,
    PlacementMode, PlacementOwners, PlacementRequest, RemovedPlacement,
};
use prowess_store::places::{Places, Scope};
use prowess_store::store::Store;
use serde_json::{Value, json};

/// The agents that get installed skills.
#[derive(Clone, Debug)]
pub enum AgentTargets {
    /// The agents that have each skill already. A copy has to be renewed after an update.
    Existing,
    /// These agents as well.
    Also(Vec<&'static Agent>, PlacementMode),
}

/// What was put into the folders of agents.
#[derive(Debug, Default)]
pub struct PlacementReport {
    /// Every place that was asked for or renewed.
    pub placements: Vec<Placement>,
    /// Places whose content was changed since it was placed. It was left alone.
    pub left_alone: Vec<PathBuf>,
    /// Why skills could not be placed.
    pub failures: Vec<Problem>,
}

impl PlacementReport {
    /// The placements as JSON.
    pub fn to_json(&self) -> Vec<Value> {
        self.placements.iter().map(placement_json).collect()
    }
}

/// Whether a placement is there now and was not before.
pub(super) fn is_new(change: PlacementChange) -> bool {
    match change {
        PlacementChange::Make | PlacementChange::Replace => true,
        PlacementChange::Keep | PlacementChange::Theirs => false,
    }
}

fn placement_json(placement: &Placement) -> Value {
    json!({
        "name": placement.skill.as_str(),
        "path": placement.path.display().to_string(),
        "agents": placement.owners,
        "form": match &placement.form {
            PlacementForm::Link(_) => "link",
            PlacementForm::Copy(_) => "copy",
        },
        "change": match placement.change {
            PlacementChange::Make => "made",
            PlacementChange::Replace => "replaced",
            PlacementChange::Keep => "kept",
            PlacementChange::Theirs => "theirs",
        },
    })
}

/// The skills of a store that are put into folders of agents.
pub(super) struct Placing<'p> {
    pub(super) places: &'p Places,
    pub(super) store: &'p Store,
    pub(super) scope: Scope,
    pub(super) targets: &'p AgentTargets,
}

impl Placing<'_> {
    /// Checks whether skills can be placed before they are installed, so that a place that somebody else occupies is
    /// reported while nothing has changed.
    pub(super) fn check(&self, names: &BTreeSet<SkillName>) -> Result<(), Problem> {
        let folders = self.folders(names);
        let requests = self.requests(&folders);
        if requests.is_empty() {
            return Ok(());
        }
        placement::check(self.places, self.scope, &requests)
            .map_err(|error| placement_problem(&error).advice("nothing was installed or placed"))
    }

    /// Where skills would be placed, and what is in the way. Nothing is written.
    pub(super) fn destinations(
        &self,
        names: &BTreeSet<SkillName>,
    ) -> Result<Vec<PlacementDestination>, Problem> {
        let folders = self.folders(names);
        let mut all = Vec::new();
        for request in self.requests(&folders) {
            let found = placement::destinations(self.places, &request);
            all.extend(found.map_err(|error| placement_problem(&error))?);
        }
        Ok(all)
    }

    /// Places installed skills. One that can't be placed doesn't stop the others.
    pub(super) fn place(&self, names: &BTreeSet<SkillName>) -> PlacementReport {
        let mut report = PlacementReport::default();
        let existing = self.existing(names).unwrap_or_else(|error| {
            report.failures.push(placement_problem(&error));
            BTreeMap::new()
        });
        let folders = self.folders(names);
        // One request for each place: a place that was changed doesn't stop the others from being renewed.
        let (scope, mode) = (self.scope, PlacementMode::AsSeen);
        let mut renewals = Vec::new();
        for (skill, directory) in &folders {
            for agents in existing.get(*skill).into_iter().flatten() {
                renewals.push(PlacementRequest { skill, directory, agents, scope, mode });
            }
        }
        for outcome in self.apply(&renewals, &mut report) {
            match outcome {
                Ok(placements) => {
                    let new = placements.into_iter().filter(|it| is_new(it.change));
                    report.placements.extend(new);
                }
                Err(PlacementError::Occupied { path, .. }) => report.left_alone.push(path),
                Err(error) => report.failures.push(placement_problem(&error)),
            }
        }
        for outcome in self.apply(&self.requests(&folders), &mut report) {
            match outcome {
                Ok(placements) => report.placements.extend(placements),
                Err(error) => report.failures.push(placement_problem(&error)),
            }
        }
        report
    }

    fn folders<'n>(&self, names: &'n BTreeSet<SkillName>) -> Vec<(&'n SkillName, PathBuf)> {
        names.iter().map(|name| (name, self.store.skill_path(name))).collect()
    }

    /// What was asked for, beside what is renewed anyway.
    fn requests<'r>(&'r self, folders: &'r [(&SkillName, PathBuf)]) -> Vec<PlacementRequest<'r>> {
        let AgentTargets::Also(agents, mode) = self.targets else { return Vec::new() };
        let (scope, mode) = (self.scope, *mode);
        folders
            .iter()
            .map(|(skill, directory)| PlacementRequest { skill, directory, agents, scope, mode })
            .collect()
    }

    /// Places all at once: the record of placements is written once for all of them.
    fn apply(
        &self,
        requests: &[PlacementRequest<'_>],
        report: &mut PlacementReport,
    ) -> Vec<Result<Vec<Placement>, PlacementError>> {
        if requests.is_empty() {
            return Vec::new();
        }
        placement::apply_all(self.places, requests).unwrap_or_else(|error| {
            report.failures.push(placement_problem(&error));
            Vec::new()
        })
    }

    /// The agents that have each skill already, place by place.
    fn existing(
        &self,
        names: &BTreeSet<SkillName>,
    ) -> Result<BTreeMap<SkillName, Vec<Vec<&'static Agent>>>, PlacementError> {
        let mut owners: BTreeMap<SkillName, Vec<Vec<&'static Agent>>> = BTreeMap::new();
        let recorded = match placement::placed(self.places, self.scope) {
            Err(PlacementError::NoProject) => return Ok(owners),
            recorded => recorded?,
        };
        for known in recorded.into_iter().filter(|known| names.contains(&known.skill)) {
            let agents = known.owners.iter().filter_map(|id| agents::by_id(id));
            owners.entry(known.skill).or_default().push(agents.collect());
        }
        Ok(owners)
    }
}

/// Removes skills from the folders of agents, before they are removed from the store: a dangling link would stay.
pub(super) fn remove_placements(
    places: &Places,
    scope: Scope,
    names: &BTreeSet<&SkillName>,
) -> Result<Vec<RemovedPlacement>, Problem> {
    match placement::undo_all(places, scope, names, PlacementOwners::All) {
        Err(PlacementError::NoProject) => Ok(Vec::new()),
        removed => removed.map_err(|error| placement_problem(&error)),
    }
}

/// A failed placement as every interface reports it.
fn placement_problem(error: &PlacementError) -> Problem {
    let kind = match error {
        PlacementError::Occupied { .. }
        | PlacementError::Leaves { .. }
        | PlacementError::Record { .. } => ProblemKind::Refused,
        PlacementError::NoProject | PlacementError::NoFolder { .. } => ProblemKind::InvalidInput,
        PlacementError::Copy { .. } | PlacementError::Disk { .. } => ProblemKind::Failed,
    };
    Problem::new("skill-not-placed", kind, error.to_string())
}
