//! Changes to a store: prepared, shown, agreed to and applied.

use std::collections::BTreeSet;

use prowess_core::{Problem, ProblemKind, Remedy};
use prowess_package::name::SkillName;
use prowess_policy::Tier;
use prowess_store::install::{
    AppliedChanges, InstallError, InstallPlan, InstallStep, Installer, RestorePlan,
    SkillDifference, SkillRequirement, UpdatePlan,
};
use prowess_store::placement::PlacementDestination;
use prowess_store::places::{Places, Scope};
use prowess_store::review::{InstallPermissions, InstallRefusal};
use prowess_store::source::{SourceError, SourceErrorKind};
use prowess_store::store::{ChangePhase, Store};
use semver::Version;
use serde_json::{Value, json};

use crate::capabilities::capabilities_json;

use super::placement::Placing;
use super::{AgentSkills, AgentTargets, ImportedSkills, PackageManager, PlacementReport};
use super::{SkillSources, agent_skills};

/// How often a change is prepared again because other processes changed the store in between.
pub(super) const MOST_TRIES: usize = 4;

/// A change to a store that somebody asks for.
#[derive(Debug)]
pub struct ChangeRequest {
    /// The change.
    pub goal: ChangeGoal,
    /// The store.
    pub scope: Scope,
    /// What the user has allowed in advance.
    pub permissions: InstallPermissions,
    /// The least age of a release in seconds.
    pub min_age: Option<u64>,
    /// The agents that get the skills.
    pub agents: AgentTargets,
}

/// What a change is meant to achieve.
#[derive(Debug)]
pub enum ChangeGoal {
    /// Install skills with everything they need.
    Install(Vec<SkillRequirement>),
    /// Install the skills that another tool's lock file lists.
    Import(ImportedSkills),
    /// Restore what the lock file lists.
    Restore,
    /// Update some skills, or all if none is named.
    Update(BTreeSet<SkillName>),
    /// Install the skills of an agent.
    Agent(AgentSkills),
}

impl ChangeGoal {
    /// What was not done with a skill that failed, as a participle.
    fn participle(&self) -> &'static str {
        match self {
            Self::Install(_) => "installed",
            Self::Import(_) => "imported",
            Self::Restore | Self::Agent(_) => "restored",
            Self::Update(_) => "updated",
        }
    }
}

/// A skill that failed while others did not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkillFailure {
    /// The skill.
    pub name: String,
    /// What was not done, and why.
    pub problem: Problem,
    /// The reason by itself.
    pub cause: Problem,
}

impl SkillFailure {
    /// Reports a failed skill by its name; `participle` is what was not done with it, such as "updated".
    pub(super) fn new(name: &str, participle: &str, error: &InstallError) -> Self {
        let cause = error.problem();
        let problem = cause.clone();
        let is_named = problem.message.starts_with(&format!("`{name}` "));
        let message = match error {
            InstallError::Refused { reason, .. } => {
                format!("`{name}` was not {participle}: {reason}")
            }
            _ if is_named => problem.message,
            _ => format!("`{name}` was not {participle}: {}", problem.message),
        };
        let kind = match problem.kind {
            ProblemKind::Refused => ProblemKind::Refused,
            _ => ProblemKind::Failed,
        };
        let remedies = match error {
            // What helps against a typing error does not help here: nobody has typed this place.
            InstallError::Source(SourceError {
                kind: SourceErrorKind::NotFound | SourceErrorKind::Unreachable,
                ..
            }) => vec![if participle == "imported" {
                Remedy::Advice("install it by hand, from where it is published".to_owned())
            } else {
                Remedy::UninstallOrReplace(name.to_owned())
            }],
            _ => problem.remedies,
        };
        let problem = Problem { code: problem.code, kind, message, remedies };
        Self { name: name.to_owned(), problem, cause }
    }
}

/// What the caller of [`PackageManager::change`] decides about a prepared change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Change nothing.
    Stop,
    /// Apply it. If another process changes the store first, it is prepared and decided again.
    Apply,
    /// Apply exactly this: a person has agreed to what was shown.
    ApplyAsShown,
}

/// A change that was worked out and not applied yet. It owns everything it needs.
#[derive(Debug)]
pub struct PreparedChange {
    /// What would change, with the review of every skill.
    pub plan: InstallPlan,
    /// Skills that failed while others did not. Nothing of them changes.
    pub failures: Vec<SkillFailure>,
    /// Installed skills that the lock file does not list, if the goal was to restore. They are left alone.
    pub unlisted: Vec<SkillName>,
    /// What the user should know before deciding, beside the notes of the plan.
    pub notes: Vec<ChangeNote>,
    /// Whether experimental skills have to be named one by one.
    names_experimental: bool,
    scope: Scope,
    agents: AgentTargets,
    places: Places,
    store: Store,
    on_phase: Option<fn(&std::path::Path, ChangePhase)>,
}

/// Something the user should know, and what would help.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangeNote {
    /// What.
    pub message: String,
    /// What would help.
    pub remedies: Vec<Remedy>,
}

/// A change that was applied.
#[derive(Debug)]
pub struct ChangeReport {
    /// The change.
    pub change: PreparedChange,
    /// What was installed.
    pub installed: Vec<InstalledChange>,
    /// What the user should know.
    pub notes: Vec<String>,
    /// What was put into the folders of agents.
    pub placed: PlacementReport,
}

/// A skill that was installed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstalledChange {
    /// The skill.
    pub name: SkillName,
    /// Its version; `0.0.0` if it declares none.
    pub version: Version,
    /// The version that it replaced.
    pub replaced: Option<Version>,
    /// Whether the replaced files were to be the same.
    pub is_reinstall: bool,
    /// Whether only texts for people and agents differ from the replaced version.
    pub is_wording_only: bool,
}

/// What a goal comes to in a store.
pub(super) struct Planned {
    pub(super) plan: InstallPlan,
    pub(super) failures: Vec<SkillFailure>,
    pub(super) unlisted: Vec<SkillName>,
    pub(super) notes: Vec<ChangeNote>,
}

impl Planned {
    pub(super) fn new(plan: InstallPlan) -> Self {
        Self { plan, failures: Vec::new(), unlisted: Vec::new(), notes: Vec::new() }
    }
}

/// Why there is no plan.
pub(super) enum PlanError {
    Install(InstallError),
    Problem(Problem),
}

impl From<InstallError> for PlanError {
    fn from(error: InstallError) -> Self {
        Self::Install(error)
    }
}

impl From<Problem> for PlanError {
    fn from(problem: Problem) -> Self {
        Self::Problem(problem)
    }
}

impl PackageManager {
    /// Works out a change. Nothing is written.
    pub fn prepare(
        &self,
        request: &ChangeRequest,
        sources: &SkillSources<'_>,
    ) -> Result<PreparedChange, Problem> {
        self.prepare_as(request, sources, request.goal.participle())
    }

    /// Works out a change. A failed skill was "not `participle`".
    pub(super) fn prepare_as(
        &self,
        request: &ChangeRequest,
        sources: &SkillSources<'_>,
        participle: &'static str,
    ) -> Result<PreparedChange, Problem> {
        let mut tries = 1;
        loop {
            match self.prepare_once(request, sources, participle) {
                Err(PlanError::Install(InstallError::StoreChanged)) if tries < MOST_TRIES => {
                    tries += 1;
                }
                Err(PlanError::Install(error)) => return Err(error.problem()),
                Err(PlanError::Problem(problem)) => return Err(problem),
                Ok(change) => return Ok(change),
            }
        }
    }

    /// Prepares a change, has it decided and applies it. While other processes change the store in between, it starts
    /// again, unless a person has agreed to what was shown.
    ///
    /// Returns `None` if the decision was to change nothing.
    pub fn change<E: From<Problem>>(
        &self,
        request: &ChangeRequest,
        sources: &SkillSources<'_>,
        mut decide: impl FnMut(&mut PreparedChange) -> Result<Decision, E>,
    ) -> Result<Option<ChangeReport>, E> {
        let mut tries = 1;
        loop {
            let mut change = self.prepare(request, sources)?;
            let decision = decide(&mut change)?;
            if decision == Decision::Stop {
                return Ok(None);
            }
            match change.apply_once() {
                Err(InstallError::StoreChanged)
                    if decision == Decision::Apply && tries < MOST_TRIES =>
                {
                    tries += 1;
                }
                Err(error) => return Err(error.problem().into()),
                Ok(applied) => return Ok(Some(change.finish(applied))),
            }
        }
    }

    pub(super) fn prepare_once(
        &self,
        request: &ChangeRequest,
        sources: &SkillSources<'_>,
        participle: &'static str,
    ) -> Result<PreparedChange, PlanError> {
        let store = self.store(request.scope)?;
        let trust = self.trust_store()?;
        let installer = Installer {
            store: &store,
            source: sources.source,
            catalogue: sources.catalogue,
            trust: &trust,
            now: self.now(),
            permissions: request.permissions,
            min_age: request.min_age,
            known_bad: &self.known_bad(&trust),
        };
        let Planned { plan, failures, unlisted, notes } =
            planned(&installer, &request.goal, participle)?;
        Ok(PreparedChange {
            plan,
            failures,
            unlisted,
            notes,
            names_experimental: matches!(request.goal, ChangeGoal::Agent(_)),
            scope: request.scope,
            agents: request.agents.clone(),
            places: self.places.clone(),
            store,
            on_phase: self.on_phase,
        })
    }
}

fn planned(
    installer: &Installer<'_>,
    goal: &ChangeGoal,
    participle: &'static str,
) -> Result<Planned, PlanError> {
    let failed = |failures: &[(SkillName, InstallError)]| -> Vec<SkillFailure> {
        failures
            .iter()
            .map(|(name, error)| SkillFailure::new(name.as_str(), participle, error))
            .collect()
    };
    Ok(match goal {
        ChangeGoal::Install(requirements) => {
            Planned::new(installer.plan_collecting_missing(requirements)?)
        }
        ChangeGoal::Import(imported) => {
            // The skills of another tool's list are independent of each other.
            let mut plan = installer.plan_each(&imported.requirements)?;
            let failures = plan
                .take_failures()
                .into_iter()
                .map(|(number, error)| {
                    let requirement = &imported.requirements[number];
                    let name = requirement.only.first().cloned();
                    let name = name.unwrap_or_else(|| requirement.reference.to_string());
                    SkillFailure::new(&name, participle, &error)
                })
                .collect();
            imported.compare_hashes(&mut plan);
            Planned { failures, ..Planned::new(plan) }
        }
        ChangeGoal::Restore => {
            let RestorePlan { plan, failures, unknown } = installer.plan_restore(None)?;
            Planned { failures: failed(&failures), unlisted: unknown, ..Planned::new(plan) }
        }
        ChangeGoal::Update(names) => {
            let UpdatePlan { plan, failures } = installer.plan_update(names)?;
            Planned { failures: failed(&failures), ..Planned::new(plan) }
        }
        ChangeGoal::Agent(agent) => agent_skills::planned(installer, agent, failed)?,
    })
}

impl PreparedChange {
    /// Whether nothing would be installed.
    pub fn is_empty(&self) -> bool {
        self.plan.steps.is_empty()
    }

    /// Whether somebody has to agree first.
    pub fn needs_consent(&self) -> bool {
        !self.plan.is_clear()
    }

    /// The skills that are installed afterwards, changed or not.
    pub fn names(&self) -> BTreeSet<SkillName> {
        let steps = self.plan.steps.iter().map(InstallStep::name);
        steps.chain(self.plan.unchanged.iter().map(|(name, _)| name)).cloned().collect()
    }

    /// Where the skills would be placed for agents, and what is in the way. Nothing is written.
    pub fn destinations(&self) -> Result<Vec<PlacementDestination>, Problem> {
        self.placing().destinations(&self.names())
    }

    /// Reports a place for agents that somebody else occupies.
    pub fn check_destinations(&self) -> Result<(), Problem> {
        self.placing().check(&self.names())
    }

    /// The text differences from the installed versions, by skill. A skill that is new is a difference from nothing.
    pub fn text_differences(&self) -> Vec<(SkillName, String)> {
        let text = |step: &InstallStep| (step.name().clone(), step.text_difference(&self.store));
        self.plan.steps.iter().map(text).collect()
    }

    /// Reports every skill that is refused, so that nobody finds them one at a time.
    pub fn refusal(&self) -> Option<Problem> {
        let is_refused = |step: &&InstallStep| !step.review.refusals.is_empty();
        let steps: Vec<&InstallStep> = self.plan.steps.iter().filter(is_refused).collect();
        let first = steps.first()?;
        let reasons = |step: &InstallStep| texts(&step.review.refusals).join("; ");
        let message = match steps.as_slice() {
            [step] => format!("`{}` was not installed: {}", step.name(), reasons(step)),
            steps => {
                let line = |step: &&InstallStep| format!("`{}`: {}", step.name(), reasons(step));
                let lines: Vec<String> = steps.iter().map(line).collect();
                format!("nothing was installed\n{}", lines.join("\n"))
            }
        };
        let is_experimental = |step: &&&InstallStep| step.entry.tier == Tier::Experimental;
        let experimental: Vec<&str> =
            steps.iter().filter(is_experimental).map(|step| step.name().as_str()).collect();
        let mut remedies: Vec<Remedy> = if self.names_experimental && !experimental.is_empty() {
            vec![Remedy::AllowExperimentalSkills(experimental.join(","))]
        } else {
            let refusals = steps.iter().flat_map(|step| &step.review.refusals);
            refusals.flat_map(InstallRefusal::remedies).collect()
        };
        if first.is_restored && !experimental.is_empty() {
            remedies.push(Remedy::Advice(
                "the lock file may come from somebody else, so skills that you never agreed to are reviewed as new ones"
                    .to_owned(),
            ));
        }
        let mut unique: Vec<Remedy> = Vec::new();
        remedies.retain(|remedy| {
            let is_new = !unique.contains(remedy);
            unique.push(remedy.clone());
            is_new
        });
        Some(Problem {
            code: "installation-refused",
            kind: ProblemKind::Refused,
            message,
            remedies,
        })
    }

    /// Applies the change. The caller has shown every question and somebody has agreed.
    ///
    /// The problem `store-changed` says that another process was faster: prepare it again.
    pub fn apply(self) -> Result<ChangeReport, Problem> {
        match self.apply_once() {
            Ok(applied) => Ok(self.finish(applied)),
            Err(error) => Err(error.problem()),
        }
    }

    fn apply_once(&self) -> Result<AppliedChanges, InstallError> {
        self.store.apply(&self.plan)
    }

    fn finish(self, applied: AppliedChanges) -> ChangeReport {
        if let Some(call) = self.on_phase {
            call(self.store.path(), ChangePhase::Placing);
        }
        let placed = self.placing().place(&self.names());
        let is_reinstall = |name: &SkillName| {
            let step = self.plan.steps.iter().find(|step| step.name() == name);
            step.is_some_and(|step| self.plan.keeps_files(step))
        };
        let is_wording_only = |name: &SkillName| {
            let step = self.plan.steps.iter().find(|step| step.name() == name);
            step.and_then(|step| step.difference.as_ref()).is_some_and(|it| it.is_wording_only)
        };
        let installed = applied
            .installed
            .into_iter()
            .map(|(name, version, replaced)| InstalledChange {
                is_reinstall: is_reinstall(&name),
                is_wording_only: is_wording_only(&name),
                name,
                version,
                replaced,
            })
            .collect();
        ChangeReport { change: self, installed, notes: applied.notes, placed }
    }

    fn placing(&self) -> Placing<'_> {
        Placing {
            places: &self.places,
            store: &self.store,
            scope: self.scope,
            targets: &self.agents,
        }
    }

    /// The change as JSON; nothing of it is installed.
    pub fn to_json(&self) -> Value {
        plan_json(&self.plan, false)
    }
}

impl ChangeReport {
    /// The report as JSON.
    pub fn to_json(&self) -> Value {
        let mut report = plan_json(&self.change.plan, !self.installed.is_empty());
        report["placed"] = self.placed.to_json().into();
        let failures: Vec<&str> =
            self.placed.failures.iter().map(|failure| failure.message.as_str()).collect();
        report["not_placed"] = json!(failures);
        report
    }
}

fn plan_json(plan: &InstallPlan, is_done: bool) -> Value {
    let unchanged: Vec<Value> = plan
        .unchanged
        .iter()
        .map(|(name, version)| json!({"name": name.as_str(), "version": version.to_string()}))
        .collect();
    let newer: Vec<Value> = plan
        .newer
        .iter()
        .map(|newer| {
            json!({
                "name": newer.name.as_str(),
                "version": newer.newest.to_string(),
                "requested": newer.requested,
            })
        })
        .collect();
    let unavailable = plan.unavailable.iter().chain(plan.skipped());
    let unavailable: Vec<Value> =
        unavailable.map(|skill| json!({"name": skill.name, "reason": skill.reason})).collect();
    json!({
        "installed": is_done,
        "skills": plan.steps.iter().map(step_json).collect::<Vec<Value>>(),
        "unchanged": unchanged,
        "left_out": unavailable,
        "newer": newer,
        "placed": [],
    })
}

fn step_json(step: &InstallStep) -> Value {
    let entry = &step.entry;
    let signers: Vec<Value> = entry
        .signers
        .iter()
        .map(|signer| {
            json!({"scheme": signer.scheme, "key": signer.key_id, "identity": signer.identity})
        })
        .collect();
    let packages = &step.metadata.skill.requirements.python_packages;
    let packages: Vec<&str> = packages.iter().map(|package| package.as_str()).collect();
    json!({
        "name": step.name().as_str(),
        "version": entry.version.to_string(),
        "replaces": step.replaces.as_ref().map(ToString::to_string),
        "security_tier": entry.tier.as_str(),
        "source": entry.source.as_ref().map(ToString::to_string),
        "integrity": entry.integrity,
        "signers": signers,
        "permissions": entry.permissions,
        "capabilities": capabilities_json(&step.capabilities),
        "difference": step.difference.as_ref().map(difference_json),
        "python_packages": packages,
        "questions": texts(&step.review.questions),
        "refusals": texts(&step.review.refusals),
    })
}

fn difference_json(difference: &SkillDifference) -> Value {
    let SkillDifference { files, added, changed_scripts, removed, is_wording_only } = difference;
    json!({
        "files": {"added": files.added, "removed": files.removed, "changed": files.changed},
        "added": capabilities_json(added),
        "changed_scripts": capabilities_json(changed_scripts),
        "removed": removed,
        "wording_only": is_wording_only,
    })
}

fn texts<T: ToString>(items: &[T]) -> Vec<String> {
    items.iter().map(ToString::to_string).collect()
}
