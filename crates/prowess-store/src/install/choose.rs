//! Plans an installation: the requested skills and their dependencies, each with a version.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use prowess_core::Remedy;
use prowess_package::name::SkillName;
use prowess_resolve::{
    Dependency, Package, Range, Release, ReleaseIndex, ResolveError, ResolveLimits, ResolveOptions,
    ResolveRequest, Resolved, resolve,
};
use semver::Version;

use super::{
    FetchedSkill, InstallError, InstallPlan, InstallStep, Installer, MissingSkills, Needed,
    NewerVersion, SkillRequirement, UnavailableSkill, listed,
};
use crate::lock::{LockEntry, LockFile};
use crate::reference::{DomainReference, GitReference, NamedReference, Reference, ServerReference};
use crate::source::{Offer, Offers, Pinned, SourceError, SourceErrorKind};

/// The source of skills whose files were passed in: folders, repositories, domains.
const GIVEN: &str = "given";
/// The source of installed skills that don't come from a registry.
const INSTALLED: &str = "installed";
/// Maximum number of rounds in which installed skills add requirements to the resolution.
const MOST_ROUNDS: usize = 32;

/// The requirement for updating a skill. Skills without a source are not updated.
pub(super) fn follow(name: &SkillName, entry: &LockEntry) -> Option<SkillRequirement> {
    let reference = match entry.source.as_ref()? {
        Pinned::Folder { path } | Pinned::File { location: path, .. } if !path.contains("://") => {
            Reference::Path(path.into())
        }
        Pinned::Folder { path } => Reference::Path(path.into()),
        Pinned::File { location, .. } => Reference::Address(location.clone()),
        Pinned::Git { url, revision, folder, .. } => Reference::Git(GitReference {
            url: url.clone(),
            revision: revision.clone(),
            folder: folder.clone(),
        }),
        Pinned::WellKnown { base, .. } => {
            let there = entry.source_name.as_deref().map_or(Ok(name.clone()), str::parse);
            Reference::Domain(DomainReference { base: base.clone(), skill: there.ok() })
        }
        Pinned::Mcp { server, .. } => {
            let there = entry.source_name.as_deref().map_or(Ok(name.clone()), str::parse);
            Reference::Server(ServerReference { server: server.clone(), skill: there.ok() })
        }
        Pinned::Registry { namespace, .. } => Reference::Named(NamedReference {
            namespace: namespace.clone(),
            name: name.clone(),
            range: entry.requested.clone(),
        }),
    };
    let only = match reference {
        Reference::Named(_) => BTreeSet::new(),
        _ => [entry.source_name.clone().unwrap_or_else(|| name.to_string())].into(),
    };
    let chosen = entry.chosen(name).cloned();
    Some(SkillRequirement { reference, only, chosen, origin: "the update".to_owned() })
}

/// The goal of a plan.
pub(super) struct PlanGoal<'a> {
    /// The requested skills.
    pub(super) requirements: &'a [SkillRequirement],
    /// Skills whose versions may change although nothing requires it.
    pub(super) moving: &'a BTreeSet<SkillName>,
    /// Whether this is an installation or an update.
    pub(super) kind: Kind,
    /// What happens to a requirement that can't be fulfilled.
    pub(super) on_failure: OnFailure,
    /// Whether a requirement for several skills may be fulfilled partly.
    pub(super) missing: MissingSkills,
}

/// Whether skills are requested by name, or newer versions of installed ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Install,
    /// No skill becomes newly requested: a dependency remains one.
    Update,
}

/// What happens to a requirement that can't be fulfilled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OnFailure {
    /// There is no plan: either all requested skills are installed, or none.
    Stop,
    /// It is left out with its reason, together with its dependents; the others are independent.
    Skip,
}

/// Why there is no plan, and the requirement that caused it, if known.
struct PlanFailure {
    error: InstallError,
    requirement: Option<usize>,
}

impl From<InstallError> for PlanFailure {
    fn from(error: InstallError) -> Self {
        Self { error, requirement: None }
    }
}

/// The requirements that may still be fulfilled, by index.
type Open = BTreeMap<usize, Vec<ResolveRequest>>;

/// The result of a resolution.
struct PlannedSteps {
    steps: Vec<InstallStep>,
    unchanged: Vec<(SkillName, Version)>,
    notes: Vec<String>,
    newer: Vec<NewerVersion>,
}

/// Plans the changes.
pub(super) fn plan(
    installer: &Installer<'_>,
    goal: &PlanGoal<'_>,
    before: Option<Vec<u8>>,
    lock: LockFile,
) -> Result<InstallPlan, InstallError> {
    let mut choice = Planner {
        installer,
        lock: &lock,
        goal,
        given: BTreeMap::new(),
        neighbours: BTreeMap::new(),
        unavailable: Vec::new(),
        releases: RefCell::default(),
        fetched: BTreeMap::new(),
        notes: Vec::new(),
    };
    let mut failures: Vec<(usize, InstallError)> = Vec::new();
    let mut open = Open::new();
    for (number, requirement) in goal.requirements.iter().enumerate() {
        match (choice.take(requirement), goal.on_failure) {
            (Ok(requests), _) => drop(open.insert(number, requests)),
            (Err(error), OnFailure::Stop) => return Err(error),
            (Err(error), OnFailure::Skip) => failures.push((number, error)),
        }
    }
    if goal.missing == MissingSkills::Collect {
        choice.leave_out_dependents(&mut open)?;
    }
    let unavailable = std::mem::take(&mut choice.unavailable);
    let planned = loop {
        let PlanFailure { error, requirement } = match choice.plan_steps(&open) {
            Ok(planned) => break planned,
            Err(failure) if goal.on_failure == OnFailure::Stop => return Err(failure.error),
            Err(failure) => failure,
        };
        let (requirement, error) = match requirement {
            Some(requirement) => (requirement, error),
            None => choice.first_failure(&open, error)?,
        };
        open.remove(&requirement);
        failures.push((requirement, error));
    };
    failures.sort_by_key(|(requirement, _)| *requirement);
    let PlannedSteps { steps, unchanged, notes, newer } = planned;
    Ok(InstallPlan {
        steps,
        unchanged,
        unavailable,
        skipped: Vec::new(),
        notes,
        failures,
        newer,
        before,
        lock,
    })
}

fn notes_about(fetched: &FetchedSkill) -> Vec<String> {
    let name = &fetched.metadata.name;
    let warnings = fetched.metadata.warnings.iter().chain(&fetched.attestation.warnings);
    let warnings = warnings.map(|warning| format!("`{name}`: {warning}"));
    warnings.chain(fetched.notes.iter().cloned()).collect()
}

/// Whether an error concerns one skill, so that the others could be installed without it.
fn is_of_one_skill(error: &InstallError) -> bool {
    match error {
        InstallError::Metadata { .. }
        | InstallError::Files { .. }
        | InstallError::BadSignature { .. }
        | InstallError::Refused { .. } => true,
        // The network and the disk affect all skills.
        InstallError::Source(error) => error.kind == SourceErrorKind::Unusable,
        _ => false,
    }
}

/// Checks a fetched skill for reasons to refuse it that no confirmation can override.
fn usable(fetched: FetchedSkill, missing: MissingSkills) -> Result<FetchedSkill, InstallError> {
    let refusals: Vec<String> =
        fetched.metadata.grants.refusals().iter().map(ToString::to_string).collect();
    if missing == MissingSkills::Fail || refusals.is_empty() {
        return Ok(fetched);
    }
    let reason = refusals.join("; ");
    Err(InstallError::Refused { name: fetched.metadata.name, reason, remedies: Vec::new() })
}

fn unavailable(name: String, error: InstallError) -> UnavailableSkill {
    let remedies = match &error {
        InstallError::Metadata { evident: Some(evident), .. } => {
            let alone = "install it by itself".to_owned();
            vec![
                Remedy::Advice(alone),
                Remedy::ChooseSkill(name.clone()),
                Remedy::InstallAs(evident.to_string()),
            ]
        }
        error => error.remedies(),
    };
    let reason = match error {
        InstallError::Metadata { source, .. } => source.to_string(),
        InstallError::Files { source, .. } => source.to_string(),
        InstallError::BadSignature { refusals, .. } => refusals.join("; "),
        InstallError::Refused { reason, .. } => reason,
        other => other.to_string(),
    };
    UnavailableSkill { name, reason, remedies }
}

/// The name of a skill without its namespace, under which it is installed.
fn short(name: &str) -> &str {
    name.rsplit_once('/').map_or(name, |(_, name)| name)
}

struct Planner<'i, 'a> {
    installer: &'i Installer<'a>,
    lock: &'i LockFile,
    goal: &'i PlanGoal<'i>,
    given: BTreeMap<String, FetchedSkill>,
    /// Skills that are next to the requested ones and were not requested, each with its location.
    neighbours: BTreeMap<String, String>,
    unavailable: Vec<UnavailableSkill>,
    /// Cached releases: registries are not queried again when a requirement is left out.
    releases: RefCell<BTreeMap<Package, Vec<Release>>>,
    /// Cached files of releases, for the same reason.
    fetched: BTreeMap<(Package, Version), FetchedSkill>,
    notes: Vec<String>,
}

impl Planner<'_, '_> {
    /// Resolves the requirements and reviews the result.
    fn plan_steps(&mut self, open: &Open) -> Result<PlannedSteps, PlanFailure> {
        let mut notes = self.notes.clone();
        notes.extend(self.optional_notes());
        let resolved = self.resolve(open.values().flatten().cloned().collect())?;
        let mut graph = graph_of(&resolved);
        let (mut steps, mut unchanged) = (Vec::new(), Vec::new());
        for skill in &resolved {
            let name = short(skill.package.name());
            let fetched = match skill.package.source() {
                GIVEN => self.given_files(name),
                INSTALLED => None,
                _ => self.release_files(skill).map_err(|error| PlanFailure {
                    error,
                    requirement: requirement_behind(&resolved, open, skill),
                })?,
            };
            let Some(fetched) = fetched else {
                if let Ok(name) = name.parse() {
                    unchanged.push((name, skill.version.clone()));
                }
                continue;
            };
            let mut needed = graph.remove(name).unwrap_or_default();
            if let Some(installed) = self.lock.skills.get(&fetched.metadata.name) {
                needed.by.extend(installed.required_by.iter().cloned());
            }
            notes.extend(notes_about(&fetched));
            let step = self.installer.step(fetched, self.lock, needed).map_err(|error| {
                PlanFailure { error, requirement: requirement_behind(&resolved, open, skill) }
            })?;
            // Reinstalling repairs changed files, so the files on disk are checked too.
            if step.is_reinstall(self.lock)
                && self.installer.store.is_unchanged(step.name(), &step.entry)
                && !step.changes_entry(self.lock)
                && self.installer.store.has_agreed(step.name(), &step.entry)
            {
                unchanged.push((step.name().clone(), step.entry.version.clone()));
                continue;
            }
            // A refused skill doesn't stop the others. If it is the last one, it is shown with its refusal.
            if self.goal.on_failure == OnFailure::Skip
                && open.len() > 1
                && let Some(error) = step.refused()
            {
                return Err(PlanFailure {
                    error,
                    requirement: requirement_behind(&resolved, open, skill),
                });
            }
            notes.extend(self.outside_note(&step));
            steps.push(step);
        }
        let newer = self.newer(&resolved, open);
        Ok(PlannedSteps { steps, unchanged, notes, newer })
    }

    /// The first requirement that can't be fulfilled together with the previous ones, for an error that concerns
    /// several.
    fn first_failure(
        &self,
        open: &Open,
        error: InstallError,
    ) -> Result<(usize, InstallError), InstallError> {
        let mut requests = Vec::new();
        for (requirement, more) in open {
            requests.extend(more.iter().cloned());
            if let Err(error) = self.resolve(requests.clone()) {
                return Ok((*requirement, error));
            }
        }
        Err(error)
    }

    fn given_files(&mut self, name: &str) -> Option<FetchedSkill> {
        match self.goal.on_failure {
            OnFailure::Stop => self.given.remove(name),
            OnFailure::Skip => self.given.get(name).cloned(),
        }
    }

    fn release_files(&mut self, skill: &Resolved) -> Result<Option<FetchedSkill>, InstallError> {
        if self.goal.on_failure == OnFailure::Stop {
            return self.installer.fetch_release(skill, self.lock, self.goal);
        }
        let key = (skill.package.clone(), skill.version.clone());
        if let Some(fetched) = self.fetched.get(&key) {
            return Ok(Some(fetched.clone()));
        }
        let fetched = self.installer.fetch_release(skill, self.lock, self.goal)?;
        if let Some(fetched) = &fetched {
            self.fetched.insert(key, fetched.clone());
        }
        Ok(fetched)
    }

    /// Warns about a source outside the project, from which others can't install.
    fn outside_note(&self, step: &InstallStep) -> Option<String> {
        let ground = &self.installer.store.project()?.ground;
        let source = step.entry.source.as_ref().filter(|source| ground.lies_outside(source))?;
        let name = step.name();
        Some(format!(
            "`{name}` comes from `{source}`, outside of the project: others can't restore `{name}` from this lock file"
        ))
    }

    /// Newer versions than the selected ones, outside of the requested ranges.
    fn newer(&self, resolved: &[Resolved], open: &Open) -> Vec<NewerVersion> {
        if self.goal.kind != Kind::Update {
            return Vec::new();
        }
        let mut newer = Vec::new();
        let releases = self.releases.borrow();
        for requirement in open.keys() {
            let Reference::Named(named) = &self.goal.requirements[*requirement].reference else {
                continue;
            };
            let chosen =
                resolved.iter().find(|one| short(one.package.name()) == named.name.as_str());
            let Some(chosen) = chosen else { continue };
            let known = releases.get(&chosen.package).into_iter().flatten();
            let usable = known.filter(|release| !release.yanked && release.version.pre.is_empty());
            let newest = usable.map(|release| &release.version).max();
            if let Some(newest) = newest.filter(|newest| **newest > chosen.version) {
                newer.push(NewerVersion {
                    name: named.name.clone(),
                    chosen: chosen.version.clone(),
                    newest: newest.clone(),
                    requested: named.range.clone(),
                });
            }
        }
        newer
    }

    /// Converts a requirement to requests for the resolver. Skills from other sources than registries are fetched here.
    fn take(
        &mut self,
        requirement: &SkillRequirement,
    ) -> Result<Vec<ResolveRequest>, InstallError> {
        if let Reference::Named(named) = &requirement.reference {
            let catalogue = self
                .installer
                .catalogue
                .ok_or_else(|| InstallError::NoRegistry(named.name.to_string()))?;
            return Ok(vec![ResolveRequest {
                package: catalogue.package(named)?,
                range: range_of(named)?,
                origin: requirement.origin.clone(),
                allow_experimental: self.installer.permissions.experimental,
            }]);
        }
        let mut requests = Vec::new();
        let offers = self.offers(requirement)?;
        // A single requirement can't be left out.
        let is_alone = self.goal.requirements.len() == 1 && offers.len() == 1;
        let missing = if is_alone { MissingSkills::Fail } else { self.goal.missing };
        for offer in offers {
            let called = offer.name.clone();
            let fetched = self.installer.fetch(offer, requirement.chosen.as_ref());
            let mut fetched = match fetched.and_then(|fetched| usable(fetched, missing)) {
                Err(error) if missing == MissingSkills::Collect && is_of_one_skill(&error) => {
                    self.unavailable.push(unavailable(called, error));
                    continue;
                }
                fetched => fetched?,
            };
            fetched.is_explicit = self.goal.is_asked_for(&fetched.metadata.name, self.lock);
            let name = fetched.metadata.name.to_string();
            requests.push(ResolveRequest {
                package: Package::new(GIVEN, name.as_str()),
                range: Range::exactly(&fetched.metadata.version),
                origin: requirement.origin.clone(),
                // Decided after its signatures are verified.
                allow_experimental: true,
            });
            self.given.insert(name, fetched);
        }
        Ok(requests)
    }

    fn offers(&mut self, requirement: &SkillRequirement) -> Result<Vec<Offer>, InstallError> {
        let Offers { skills: offers, notes } =
            self.installer.source.offers(&requirement.reference)?;
        self.notes.extend(notes);
        let names = || offers.iter().map(|offer| offer.name.clone()).collect::<Vec<String>>();
        for wanted in &requirement.only {
            if wanted != "*" && !offers.iter().any(|offer| offer.name == *wanted) {
                return Err(InstallError::NoneOfThem {
                    reference: requirement.reference.to_string(),
                    wanted: wanted.clone(),
                    names: names(),
                });
            }
        }
        if requirement.only.is_empty() && offers.len() > 1 {
            return Err(InstallError::Several {
                reference: requirement.reference.to_string(),
                names: names(),
            });
        }
        let is_wanted = |offer: &Offer| {
            requirement.only.is_empty()
                || requirement.only.contains("*")
                || requirement.only.contains(&offer.name)
        };
        let (wanted, others): (Vec<Offer>, Vec<Offer>) = offers.into_iter().partition(is_wanted);
        let place = requirement.reference.to_string();
        self.neighbours.extend(others.into_iter().map(|other| (other.name, place.clone())));
        Ok(wanted)
    }

    /// Leaves out the skills that depend on unavailable ones.
    fn leave_out_dependents(&mut self, open: &mut Open) -> Result<(), InstallError> {
        loop {
            let lacks = self.given.iter().find_map(|(name, fetched)| {
                let needed = fetched.metadata.dependencies().iter().filter(|one| one.required);
                let error = needed
                    .filter_map(|one| one.name.value.parse().ok())
                    .find_map(|named: NamedReference| self.package(&named, name).err())?;
                Some((name.clone(), error))
            });
            let Some((name, error)) = lacks else { return Ok(()) };
            let is_only_one = self.given.len() == 1 && self.unavailable.is_empty();
            if is_only_one || error.kind != SourceErrorKind::NotFound {
                return Err(error.into());
            }
            self.given.remove(&name);
            for requests in open.values_mut() {
                requests.retain(|request| {
                    request.package.source() != GIVEN || request.package.name() != name
                });
            }
            self.unavailable.push(UnavailableSkill {
                name,
                reason: error.what,
                remedies: error.remedies,
            });
        }
    }

    /// Notes about optional dependencies, which are never installed automatically.
    fn optional_notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        for fetched in self.given.values() {
            let optional = fetched.metadata.dependencies().iter().filter(|one| !one.required);
            let names: Vec<String> = optional.map(|one| one.name.value.clone()).collect();
            if !names.is_empty() {
                notes.push(format!("`{}` can also use {}", fetched.metadata.name, listed(&names)));
            }
        }
        notes
    }

    /// Resolves, and adds the requirements of installed skills that the result would break.
    fn resolve(&self, mut requests: Vec<ResolveRequest>) -> Result<Vec<Resolved>, InstallError> {
        let locked: Vec<(Package, Version)> = self
            .lock
            .skills
            .iter()
            .filter(|(name, _)| !self.goal.moving.contains(*name))
            .map(|(name, entry)| (package_of(name, entry), entry.version.clone()))
            .collect();
        let until =
            self.installer.min_age.filter(|age| *age > 0).map(|age| {
                u64::try_from(self.installer.now.unix()).unwrap_or(0).saturating_sub(age)
            });
        let options = ResolveOptions {
            locked: &locked,
            published_until: until,
            limits: ResolveLimits::USUAL,
        };
        let bystanders = self.bystanders();
        for _ in 0..MOST_ROUNDS {
            let resolution = resolve(self, &requests, &options).map_err(|error| match error {
                // The source's own error is more specific.
                ResolveError::Index { source, .. } => InstallError::Source(source),
                other => InstallError::Unresolved(Box::new(other)),
            })?;
            let mut is_settled = true;
            for (owner, dependency) in &bystanders {
                let name = dependency.package.name();
                let Some(chosen) =
                    resolution.skills.iter().find(|one| short(one.package.name()) == short(name))
                else {
                    continue;
                };
                let is_part =
                    resolution.skills.iter().any(|one| short(one.package.name()) == owner.as_str());
                if is_part || dependency.range.contains(&chosen.version) {
                    continue;
                }
                requests.push(ResolveRequest {
                    package: chosen.package.clone(),
                    range: dependency.range.clone(),
                    origin: format!("`{owner}`, which is installed"),
                    allow_experimental: true,
                });
                is_settled = false;
            }
            if is_settled {
                return Ok(resolution.skills);
            }
        }
        Err(InstallError::Range(
            "no set of versions satisfies both the installed and the requested skills".to_owned(),
        ))
    }

    /// The dependencies of the installed skills, according to their files.
    fn bystanders(&self) -> Vec<(SkillName, Dependency)> {
        let mut needs = Vec::new();
        for (name, entry) in &self.lock.skills {
            if entry.dependencies.is_empty() {
                continue;
            }
            let Some(metadata) = self.installer.store.installed_metadata(name, entry) else {
                continue;
            };
            for dependency in metadata.dependencies().iter().filter(|one| one.required) {
                let Ok(range) = Range::declared(dependency) else { continue };
                let package = Package::new(INSTALLED, dependency.name.value.as_str());
                needs.push((name.clone(), Dependency { package, range }));
            }
        }
        needs
    }

    /// The source of a dependency: the skills passed in with it, then the installed ones, and only then a registry. The
    /// order does not depend on versions, so that a higher version can't take over a name (attack registry-A9).
    fn package(&self, named: &NamedReference, owner: &str) -> Result<Package, SourceError> {
        let name = named.name.as_str();
        if named.namespace.is_none() && self.given.contains_key(name) {
            return Ok(Package::new(GIVEN, name));
        }
        if let Some(entry) = self.lock.skills.get(&named.name) {
            let package = package_of(&named.name, entry);
            let fits = match (&named.namespace, package.name().split_once('/')) {
                (Some(wanted), Some((namespace, _))) => wanted.as_str() == namespace,
                (Some(_), None) => false,
                (None, _) => true,
            };
            if fits {
                return Ok(package);
            }
        }
        if let Some(unavailable) = self.unavailable.iter().find(|one| one.name == name) {
            return Err(SourceError {
                what: format!("`{owner}` needs `{named}`, which can't be installed"),
                remedies: unavailable.remedies.clone(),
                kind: SourceErrorKind::NotFound,
            });
        }
        // Not installed automatically: only requested skills and those from a registry are.
        let remedies = match self.neighbours.get(name) {
            Some(place) => vec![
                Remedy::Advice(format!("`{place}` contains it as well")),
                Remedy::ChooseSkill(name.to_owned()),
            ],
            None => vec![Remedy::Advice(format!("install `{named}` first, or together with it"))],
        };
        match self.installer.catalogue {
            Some(catalogue) => catalogue.package(named).map_err(|error| SourceError {
                what: format!("`{owner}` needs `{named}`: {}", error.what),
                remedies: if self.neighbours.contains_key(name) {
                    remedies
                } else {
                    error.remedies
                },
                kind: error.kind,
            }),
            None => Err(SourceError {
                what: format!(
                    "`{owner}` needs `{named}`, which is neither installed nor among the skills that were given, and there is no registry to look it up in"
                ),
                remedies,
                kind: SourceErrorKind::NotFound,
            }),
        }
    }

    fn release(&self, fetched: &FetchedSkill) -> Result<Release, SourceError> {
        let metadata = &fetched.metadata;
        self.release_of(metadata.name.as_str(), &metadata.version, metadata.dependencies())
    }

    fn release_of(
        &self,
        owner: &str,
        version: &Version,
        dependencies: &[prowess_format::skill::SkillDependency],
    ) -> Result<Release, SourceError> {
        let mut release = Release::new(version.clone());
        // The minimum age applies to registries only. Local and installed skills were never published.
        release.published = Some(0);
        for dependency in dependencies.iter().filter(|one| one.required) {
            let wrong = |problem: String| SourceError {
                what: format!(
                    "`{owner}` needs `{}`, which can't be understood: {problem}",
                    dependency.name.value
                ),
                remedies: vec![Remedy::Advice("its author must write it differently".to_owned())],
                kind: SourceErrorKind::Unusable,
            };
            let named: NamedReference =
                dependency.name.value.parse().map_err(
                    |error: prowess_package::name::SkillNameError| wrong(error.to_string()),
                )?;
            let range = Range::declared(dependency).map_err(|error| wrong(error.to_string()))?;
            release = release.needs(Dependency { package: self.package(&named, owner)?, range });
        }
        Ok(release)
    }
}

impl ReleaseIndex for Planner<'_, '_> {
    type Error = SourceError;

    fn releases(&self, package: &Package) -> Result<Cow<'_, [Release]>, SourceError> {
        match package.source() {
            GIVEN => {
                let fetched = self.given.get(package.name());
                fetched
                    .map(|fetched| self.release(fetched))
                    .into_iter()
                    .collect::<Result<Vec<_>, _>>()
                    .map(Cow::Owned)
            }
            INSTALLED => {
                let Ok(name) = package.name().parse::<SkillName>() else {
                    return Ok(Cow::Borrowed(&[]));
                };
                let Some(entry) = self.lock.skills.get(&name) else {
                    return Ok(Cow::Borrowed(&[]));
                };
                let metadata = self.installer.store.installed_metadata(&name, entry);
                let needs = metadata.as_ref().map_or(&[][..], |metadata| metadata.dependencies());
                self.release_of(name.as_str(), &entry.version, needs)
                    .map(|release| Cow::Owned(vec![release]))
            }
            _ => {
                let Some(catalogue) = self.installer.catalogue else {
                    return Ok(Cow::Borrowed(&[]));
                };
                if let Some(known) = self.releases.borrow().get(package) {
                    return Ok(Cow::Owned(known.clone()));
                }
                let releases = catalogue.releases(package)?;
                self.releases.borrow_mut().insert(package.clone(), releases.clone());
                Ok(Cow::Owned(releases))
            }
        }
    }
}

impl PlanGoal<'_> {
    /// Whether the user requests a skill by name. An update requests nothing new.
    fn is_asked_for(&self, name: &SkillName, lock: &LockFile) -> bool {
        match self.kind {
            Kind::Install => true,
            Kind::Update => lock.skills.get(name).is_none_or(|entry| entry.explicit),
        }
    }
}

/// The dependency graph.
fn graph_of(resolved: &[Resolved]) -> BTreeMap<String, Needed> {
    let mut graph: BTreeMap<String, Needed> = BTreeMap::new();
    for skill in resolved {
        let name = short(skill.package.name());
        for needs in &skill.dependencies {
            let needed = short(needs.name());
            let version =
                resolved.iter().find(|other| other.package == *needs).map(|other| &other.version);
            if let (Ok(by), Ok(needed_name), Some(version)) =
                (name.parse::<SkillName>(), needed.parse::<SkillName>(), version)
            {
                graph.entry(needed.to_owned()).or_default().by.insert(by);
                graph
                    .entry(name.to_owned())
                    .or_default()
                    .dependencies
                    .insert(needed_name, version.clone());
            }
        }
    }
    graph
}

/// A requirement that leads to a skill, directly or through dependencies.
fn requirement_behind(resolved: &[Resolved], open: &Open, skill: &Resolved) -> Option<usize> {
    let leads_there = |requests: &Vec<ResolveRequest>| {
        let mut reached: BTreeSet<&Package> = BTreeSet::new();
        let mut next: Vec<&Package> = requests.iter().map(|request| &request.package).collect();
        while let Some(package) = next.pop() {
            if reached.insert(package) {
                let found = resolved.iter().find(|one| one.package == *package);
                next.extend(found.into_iter().flat_map(|one| &one.dependencies));
            }
        }
        reached.contains(&skill.package)
    };
    open.iter().find(|(_, requests)| leads_there(requests)).map(|(requirement, _)| *requirement)
}

/// The package of an installed skill.
fn package_of(name: &SkillName, entry: &LockEntry) -> Package {
    match &entry.source {
        Some(Pinned::Registry { registry, namespace, .. }) => {
            let full = match namespace {
                Some(namespace) => format!("{namespace}/{name}"),
                None => name.to_string(),
            };
            Package::new(registry.as_str(), full)
        }
        _ => Package::new(INSTALLED, name.as_str()),
    }
}

fn range_of(named: &NamedReference) -> Result<Range, InstallError> {
    match &named.range {
        None => Ok(Range::any()),
        Some(text) => Range::parse(text)
            .map_err(|error| InstallError::Range(format!("`{named}` names no versions: {error}"))),
    }
}

impl Installer<'_> {
    /// The selected release of a registry; `None` if it is already installed.
    fn fetch_release(
        &self,
        skill: &Resolved,
        lock: &LockFile,
        goal: &PlanGoal<'_>,
    ) -> Result<Option<FetchedSkill>, InstallError> {
        let full = skill.package.name();
        let is_wished = |requirement: &&SkillRequirement| match &requirement.reference {
            Reference::Named(named) => named.name.as_str() == short(full),
            _ => false,
        };
        let requirement = goal.requirements.iter().find(is_wished);
        let range = requirement.and_then(|requirement| match &requirement.reference {
            Reference::Named(named) => named.range.clone(),
            _ => None,
        });
        let installed = short(full).parse::<SkillName>().ok().and_then(|name| {
            let entry = lock.skills.get(&name)?;
            Some((name, entry))
        });
        let is_asked_for = match &installed {
            Some((name, _)) => requirement.is_some() && goal.is_asked_for(name, lock),
            None => requirement.is_some(),
        };
        if let Some((name, entry)) = &installed
            && entry.version == skill.version
            && package_of(name, entry) == skill.package
            && self.store.is_unchanged(name, entry)
            && self.store.has_agreed(name, entry)
            && (entry.explicit || !is_asked_for)
            && (range.is_none() || range == entry.requested)
        {
            return Ok(None);
        }
        let Some(catalogue) = self.catalogue else { return Ok(None) };
        let offer = catalogue.offer(&skill.package, &skill.version)?;
        let mut fetched = self.fetch(offer, None)?;
        if fetched.metadata.name.as_str() != short(full) {
            return Err(InstallError::OtherName {
                wanted: full.to_owned(),
                found: fetched.metadata.name,
            });
        }
        if prowess_resolve::comparable(&fetched.metadata.version)
            != prowess_resolve::comparable(&skill.version)
        {
            return Err(InstallError::OtherVersion {
                name: full.to_owned(),
                wanted: skill.version.clone(),
                found: fetched.metadata.version,
            });
        }
        fetched.is_explicit = is_asked_for;
        // Without a range in the request, the previous one is kept.
        let kept = installed.and_then(|(_, entry)| entry.requested.clone());
        fetched.requested = range.or(kept);
        Ok(Some(fetched))
    }
}
