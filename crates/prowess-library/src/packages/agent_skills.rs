//! The skills that an agent's manifest lists, installed beside it (GAIA §9).

use std::collections::BTreeSet;
use std::path::Path;

use prowess_core::{Problem, ProblemKind, Remedy};
use prowess_format::skill::SkillDependency;
use prowess_package::name::{SkillName, SkillNameError};
use prowess_policy::Tier;
use prowess_store::composition::{Fit, fit, installed_name};
use prowess_store::install::{
    InstallError, InstallPlan, InstallStep, Installer, RestorePlan, SkillRequirement, read_lock,
};
use prowess_store::lock::{LockEntry, LockFile};
use prowess_store::reference::{NamedReference, Reference};
use prowess_store::review::InstallRefusal;

use super::change::{PlanError, Planned};
use super::{ChangeNote, PackageManager, SkillFailure, SkillSources};

/// The skills of an agent, and where they may come from.
#[derive(Debug)]
pub struct AgentSkills {
    /// The agent's name.
    pub agent: String,
    /// The skills that its manifest lists.
    pub skills: Vec<SkillDependency>,
    /// Places with skills, asked before registries.
    pub places: Vec<SkillPlace>,
    /// Experimental skills that may be installed, by name: that a manifest lists them is not enough (GAIA §4.3).
    pub allowed: BTreeSet<SkillName>,
    /// Whether to install exactly what the lock file lists.
    pub is_frozen: bool,
}

/// A place with skills: a folder, an archive, a repository or a domain.
#[derive(Debug)]
pub struct SkillPlace {
    /// The place as the user typed it.
    text: String,
    reference: Reference,
    names: BTreeSet<String>,
}

impl PackageManager {
    /// Asks a place which skills it has. Only here a bare word is a folder, because no skill is named.
    pub fn skill_place(
        &self,
        text: &str,
        sources: &SkillSources<'_>,
    ) -> Result<SkillPlace, Problem> {
        let path = self.places.current.join(Path::new(text));
        let reference = if path.exists() {
            Reference::Path(path)
        } else {
            self.reference(text, sources.catalogue.is_some())?
        };
        if let Reference::Named(_) = reference {
            let message = format!("`{text}` is not a place with skills");
            return Err(Problem::new("not-a-place", ProblemKind::NotFound, message)
                .advice("name a folder, an archive, a repository or a domain"));
        }
        let offers = sources.source.offers(&reference).map_err(|error| error.problem())?;
        let names = offers.skills.into_iter().map(|offer| offer.name).collect();
        Ok(SkillPlace { text: text.to_owned(), reference, names })
    }
}

/// A listed skill that the store does not have.
struct WantedSkill<'m> {
    dependency: &'m SkillDependency,
    requirement: SkillRequirement,
}

/// An optional skill that is not in a plan, and why.
struct LeftOut {
    name: String,
    reason: String,
    remedies: Vec<Remedy>,
}

/// Plans the skills of an agent: what the lock file has in a fitting version is restored, the rest is installed.
pub(super) fn planned(
    installer: &Installer<'_>,
    agent: &AgentSkills,
    failed: impl Fn(&[(SkillName, InstallError)]) -> Vec<SkillFailure>,
) -> Result<Planned, PlanError> {
    let lock = read_lock(installer.store)?;
    let kept = if agent.is_frozen {
        require_fit(agent, &lock)?;
        lock.skills.keys().cloned().collect()
    } else {
        agent.kept(&lock)
    };
    let RestorePlan { plan: restored, failures, .. } = installer.plan_restore(Some(&kept))?;
    if agent.is_frozen {
        let plan = review_experimental(restored, agent, installer);
        return Ok(Planned { failures: failed(&failures), ..Planned::new(plan) });
    }
    let mut left_out = Vec::new();
    let wanted = agent.wanted(&kept, &failures, installer.catalogue.is_some(), &mut left_out)?;
    let plan = plan_with_optional(installer, &wanted, agent, &mut left_out)?;
    if let Some(obstacle @ Obstacle::OtherVersion { .. }) =
        obstacle(&plan, &wanted, agent, installer)
    {
        return Err(obstacle.problem(&agent.agent).into());
    }
    let notes = left_out.into_iter().map(|one| ChangeNote {
        message: format!("`{}` is optional and is left out: {}", one.name, one.reason),
        remedies: one.remedies,
    });
    let notes = notes.collect();
    let plan = review_experimental(plan.and(restored)?, agent, installer);
    Ok(Planned { notes, ..Planned::new(plan) })
}

impl AgentSkills {
    /// The skills of the lock file that fit the manifest, with everything they need.
    fn kept(&self, lock: &LockFile) -> BTreeSet<SkillName> {
        let fitting = self.skills.iter().filter_map(|dependency| {
            let (name, entry) = locked(lock, dependency)?;
            (fit(dependency, declared(&entry.version).as_deref()) == Fit::Fits).then_some(name)
        });
        let mut next: Vec<SkillName> = fitting.collect();
        let mut kept = BTreeSet::new();
        while let Some(name) = next.pop() {
            if let Some(entry) = lock.skills.get(&name)
                && kept.insert(name)
            {
                next.extend(entry.dependencies.keys().cloned());
            }
        }
        kept
    }

    /// The listed skills that are not kept or can't be restored, each with its source.
    fn wanted(
        &self,
        kept: &BTreeSet<SkillName>,
        gone: &[(SkillName, InstallError)],
        has_registry: bool,
        left_out: &mut Vec<LeftOut>,
    ) -> Result<Vec<WantedSkill<'_>>, Problem> {
        let mut wanted = Vec::new();
        for dependency in &self.skills {
            let name = installed_name(dependency);
            let gone = gone.iter().find(|(gone, _)| gone.as_str() == name);
            let is_kept = kept.iter().any(|kept| kept.as_str() == name);
            if is_kept && gone.is_none() {
                continue;
            }
            let reference = match self.places.iter().find(|place| place.names.contains(name)) {
                Some(place) => place.reference.clone(),
                None if has_registry => registry_reference(dependency)?,
                None => {
                    let problem = self.no_source(dependency.name.as_str(), gone);
                    if dependency.required {
                        return Err(problem);
                    }
                    let name = dependency.name.value.clone();
                    let Problem { message: reason, remedies, .. } = problem;
                    left_out.push(LeftOut { name, reason, remedies });
                    continue;
                }
            };
            let only = match &reference {
                Reference::Named(_) => BTreeSet::new(),
                _ => [name.to_owned()].into(),
            };
            let origin = format!("`{}`", self.agent);
            let requirement = SkillRequirement { reference, only, chosen: None, origin };
            wanted.push(WantedSkill { dependency, requirement });
        }
        // A dependency of a listed skill is not listed itself, and its own failure says what is missing.
        let is_listed = |name: &SkillName| {
            self.skills.iter().any(|dependency| installed_name(dependency) == name.as_str())
        };
        if let Some(missing) = gone.iter().find(|(name, _)| !is_listed(name)) {
            return Err(self.no_source(missing.0.as_str(), Some(missing)));
        }
        Ok(wanted)
    }

    /// Reports that no source has a skill: neither the one in the lock file nor the named places.
    fn no_source(&self, name: &str, gone: Option<&(SkillName, InstallError)>) -> Problem {
        let listed = |place: &SkillPlace| {
            let names: Vec<String> = place.names.iter().map(|name| format!("`{name}`")).collect();
            format!("`{}` has no skill `{name}`, only {}", place.text, names.join(", "))
        };
        let mut reasons: Vec<String> = gone.iter().map(|(_, error)| error.to_string()).collect();
        reasons.extend(self.places.iter().map(listed));
        let why =
            if reasons.is_empty() { String::new() } else { format!(": {}", reasons.join("; ")) };
        let message = format!("no source has `{name}`{why}");
        Problem::new("no-source", ProblemKind::NotFound, message).remedy(Remedy::NameSource)
    }
}

fn registry_reference(dependency: &SkillDependency) -> Result<Reference, Problem> {
    let named: Result<NamedReference, SkillNameError> = dependency.name.as_str().parse();
    let named = named.map_err(|error| {
        Problem::new("invalid-name", ProblemKind::InvalidInput, error.to_string())
    })?;
    let range = Some(dependency.range.clone()).filter(|range| !range.trim().is_empty());
    Ok(Reference::Named(NamedReference { range, ..named }))
}

/// Refuses experimental skills that were not named, also those that only another skill needs (GAIA §4.3).
fn review_experimental(
    mut plan: InstallPlan,
    agent: &AgentSkills,
    installer: &Installer<'_>,
) -> InstallPlan {
    for number in 0..plan.steps.len() {
        let is_new = is_new_experimental(&plan, &plan.steps[number], installer);
        let step = &mut plan.steps[number];
        let is_allowed = agent.allowed.contains(step.name());
        let refusals = &mut step.review.refusals;
        if is_allowed {
            refusals.retain(|refusal| *refusal != InstallRefusal::ExperimentalDependency);
        } else if is_new && refusals.is_empty() {
            refusals.push(InstallRefusal::Experimental);
        }
    }
    plan
}

/// Whether a skill is experimental and this user has never agreed to one of its name.
fn is_new_experimental(plan: &InstallPlan, step: &InstallStep, installer: &Installer<'_>) -> bool {
    let name = step.name();
    let is_known = plan.lock().skills.get(name).is_some_and(|entry| {
        entry.tier == Tier::Experimental && installer.store.has_agreed(name, entry)
    });
    step.entry.tier == Tier::Experimental && !is_known
}

/// The version of an installed skill as a manifest's range sees it: `0.0.0` stands for none (R5).
fn declared(version: &semver::Version) -> Option<String> {
    (*version != semver::Version::new(0, 0, 0)).then(|| version.to_string())
}

fn locked<'l>(
    lock: &'l LockFile,
    dependency: &SkillDependency,
) -> Option<(SkillName, &'l LockEntry)> {
    let name: SkillName = installed_name(dependency).parse().ok()?;
    lock.skills.get(&name).map(|entry| (name, entry))
}

/// Requires that a lock file has everything the agent requires, in fitting versions.
fn require_fit(agent: &AgentSkills, lock: &LockFile) -> Result<(), Problem> {
    for dependency in &agent.skills {
        let entry = locked(lock, dependency);
        let fit = match &entry {
            Some((_, entry)) => fit(dependency, declared(&entry.version).as_deref()),
            None if !dependency.required => continue,
            None => Fit::Missing,
        };
        if fit == Fit::Fits {
            continue;
        }
        let name = dependency.name.as_str();
        let has = entry.map_or("nothing".to_owned(), |(_, entry)| entry.version.to_string());
        let range = if dependency.range.is_empty() { "any version" } else { &dependency.range };
        let message = format!(
            "the lock file does not match the manifest: it has {has} for `{name}`, and the manifest requires `{range}`"
        );
        return Err(Problem::new("lock-file-outdated", ProblemKind::Refused, message)
            .remedy(Remedy::UpdateLockFile));
    }
    Ok(())
}

/// Plans everything that is required, and as many optional skills as fit together with it.
fn plan_with_optional(
    installer: &Installer<'_>,
    wanted: &[WantedSkill<'_>],
    agent: &AgentSkills,
    left_out: &mut Vec<LeftOut>,
) -> Result<InstallPlan, InstallError> {
    let plan_of = |chosen: &[&WantedSkill<'_>]| -> Result<InstallPlan, InstallError> {
        let requirements: Vec<SkillRequirement> =
            chosen.iter().map(|wanted| wanted.requirement.clone()).collect();
        let mut plan = installer.plan(&requirements)?;
        // A skill that is named is known, also when only another skill needs it (GAIA §4.3).
        for step in plan.steps.iter_mut().filter(|step| agent.allowed.contains(step.name())) {
            step.review
                .refusals
                .retain(|refusal| *refusal != InstallRefusal::ExperimentalDependency);
        }
        Ok(plan)
    };
    let mut chosen: Vec<&WantedSkill<'_>> = wanted.iter().collect();
    let all = plan_of(&chosen);
    let is_fine = all.as_ref().is_ok_and(|plan| obstacle(plan, wanted, agent, installer).is_none());
    if is_fine || wanted.iter().all(|wanted| wanted.dependency.required) {
        return all;
    }
    // One after the other, so that the obstacle is the one that is left out.
    chosen.retain(|wanted| wanted.dependency.required);
    let mut best = plan_of(&chosen)?;
    if obstacle(&best, wanted, agent, installer).is_some() {
        return Ok(best);
    }
    for one in wanted.iter().filter(|wanted| !wanted.dependency.required) {
        chosen.push(one);
        let reason = match plan_of(&chosen) {
            Ok(plan) => match obstacle(&plan, wanted, agent, installer) {
                None => {
                    best = plan;
                    continue;
                }
                Some(obstacle) => (obstacle.what(), obstacle.remedies()),
            },
            Err(error) => (error.to_string(), error.remedies()),
        };
        chosen.pop();
        let name = one.dependency.name.value.clone();
        let (reason, remedies) = reason;
        left_out.push(LeftOut { name, reason, remedies });
    }
    Ok(best)
}

/// Why a plan does not suit an agent.
enum Obstacle {
    /// Never installed because a manifest lists it (GAIA §4.3).
    Experimental(SkillName),
    /// The source has another version than the manifest requires.
    OtherVersion { name: SkillName, version: String, range: String },
    /// Refused for another reason.
    Refused { name: SkillName, reasons: Vec<String>, remedies: Vec<Remedy> },
}

fn obstacle(
    plan: &InstallPlan,
    wanted: &[WantedSkill<'_>],
    agent: &AgentSkills,
    installer: &Installer<'_>,
) -> Option<Obstacle> {
    let steps = plan.steps.iter().map(|step| (step.name(), &step.entry.version));
    let unchanged = plan.unchanged.iter().map(|(name, version)| (name, version));
    for (name, version) in steps.chain(unchanged) {
        let mut dependencies = wanted.iter().map(|wanted| wanted.dependency);
        let version = declared(version);
        if let Some(dependency) = dependencies.find(|it| installed_name(it) == name.as_str())
            && fit(dependency, version.as_deref()) != Fit::Fits
        {
            let (name, range) = (name.clone(), dependency.range.clone());
            let version = version.unwrap_or_else(|| "without a version".to_owned());
            return Some(Obstacle::OtherVersion { name, version, range });
        }
    }
    for step in &plan.steps {
        let name = step.name().clone();
        let is_allowed = agent.allowed.contains(&name);
        if is_new_experimental(plan, step, installer) && !is_allowed {
            return Some(Obstacle::Experimental(name));
        }
        let counts = |refusal: &&InstallRefusal| {
            !(is_allowed && **refusal == InstallRefusal::ExperimentalDependency)
        };
        let refusals: Vec<&InstallRefusal> = step.review.refusals.iter().filter(counts).collect();
        if !refusals.is_empty() {
            let reasons = refusals.iter().map(ToString::to_string).collect();
            let remedies = refusals.iter().flat_map(|refusal| refusal.remedies()).collect();
            return Some(Obstacle::Refused { name, reasons, remedies });
        }
    }
    None
}

impl Obstacle {
    fn what(&self) -> String {
        match self {
            Self::Experimental(name) => {
                format!(
                    "`{name}` is experimental, and being listed in a manifest or needed by a skill is not enough to install it"
                )
            }
            Self::OtherVersion { name, version, range } => {
                format!("the available version of `{name}` is {version}, which is not in `{range}`")
            }
            Self::Refused { name, reasons, .. } => {
                format!("`{name}` is refused: {}", reasons.join("; "))
            }
        }
    }

    fn remedies(&self) -> Vec<Remedy> {
        match self {
            Self::Experimental(name) => vec![Remedy::AllowExperimentalSkills(name.to_string())],
            Self::OtherVersion { .. } => {
                vec![Remedy::Advice("change the range, or name another place".to_owned())]
            }
            Self::Refused { remedies, .. } => remedies.clone(),
        }
    }

    fn problem(&self, agent: &str) -> Problem {
        let remedies = self.remedies();
        let message = format!("nothing was installed for `{agent}`: {}", self.what());
        let kind = ProblemKind::Refused;
        Problem { code: "agent-skills-refused", kind, message, remedies }
    }
}
