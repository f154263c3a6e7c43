//! Which skills in which versions: what was named, and all that it needs.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use prowess_core::Remedy;
use prowess_package::name::SkillName;
use prowess_resolve::{
    Dependency, Index, Limits, Options, Package, Range, Release, Request, ResolveError, Resolved,
    resolve,
};
use semver::Version;

use super::{
    Fetched, Gaps, InstallError, Installer, LeftOut, Needed, Newer, Plan, Step, Wish, listed,
};
use crate::described::describe_manifest;
use crate::lock::{Lock, Locked};
use crate::reference::{DomainReference, GitReference, Named, Reference};
use crate::source::{Offer, Offers, Pinned, SourceError, SourceErrorKind};

/// The source of skills whose files were handed in: folders, repositories, domains.
const GIVEN: &str = "given";
/// The source of skills that are installed and come from no registry.
const INSTALLED: &str = "installed";
/// How often installed skills are asked whether they can live with the choice.
const MOST_ROUNDS: usize = 32;

/// What an update of a skill looks at. What is from nowhere stays as it is.
pub(super) fn follow(name: &SkillName, entry: &Locked) -> Option<Wish> {
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
        Pinned::Registry { namespace, .. } => Reference::Named(Named {
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
    Some(Wish { reference, only, chosen, origin: "the update".to_owned() })
}

/// What a plan is made for.
pub(super) struct Aim<'a> {
    /// What somebody wants.
    pub(super) wishes: &'a [Wish],
    /// Skills that may get other versions although nothing asks for it.
    pub(super) moving: &'a BTreeSet<SkillName>,
    /// Whether skills are installed or followed.
    pub(super) kind: Kind,
    /// What happens to a wish that can't be fulfilled.
    pub(super) hopeless: Hopeless,
    /// Whether a wish for several skills is fulfilled with some of them.
    pub(super) gaps: Gaps,
}

/// Whether somebody asks for skills by name, or for newer versions of what is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Install,
    /// Nobody newly asks for a skill: what came along with another one still does.
    Update,
}

/// What happens to a wish that can't be fulfilled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hopeless {
    /// There is no plan: all of what was named is installed, or nothing.
    Stops,
    /// It is left out with its reason, and with all that needs it; the others know nothing of each other.
    IsLeftOut,
}

/// Why there is no plan, and which wish is to blame where that is known.
struct Stuck {
    error: InstallError,
    wish: Option<usize>,
}

impl From<InstallError> for Stuck {
    fn from(error: InstallError) -> Self {
        Self { error, wish: None }
    }
}

/// The wishes that are still hoped for, by their numbers.
type Open = BTreeMap<usize, Vec<Request>>;

/// What a resolution comes to.
struct Laid {
    steps: Vec<Step>,
    unchanged: Vec<(SkillName, Version)>,
    notes: Vec<String>,
    newer: Vec<Newer>,
}

/// Finds out what would change.
pub(super) fn plan(
    installer: &Installer<'_>,
    aim: &Aim<'_>,
    before: Option<Vec<u8>>,
    lock: Lock,
) -> Result<Plan, InstallError> {
    let mut choice = Choice {
        installer,
        lock: &lock,
        aim,
        given: BTreeMap::new(),
        neighbours: BTreeMap::new(),
        left_out: Vec::new(),
        releases: RefCell::default(),
        fetched: BTreeMap::new(),
        notes: Vec::new(),
    };
    let mut failures: Vec<(usize, InstallError)> = Vec::new();
    let mut open = Open::new();
    for (number, wish) in aim.wishes.iter().enumerate() {
        match (choice.take(wish), aim.hopeless) {
            (Ok(requests), _) => drop(open.insert(number, requests)),
            (Err(error), Hopeless::Stops) => return Err(error),
            (Err(error), Hopeless::IsLeftOut) => failures.push((number, error)),
        }
    }
    if aim.gaps == Gaps::Collected {
        choice.leave_out_dependents(&mut open)?;
    }
    let left_out = std::mem::take(&mut choice.left_out);
    let laid = loop {
        let Stuck { error, wish } = match choice.lay_out(&open) {
            Ok(laid) => break laid,
            Err(stuck) if aim.hopeless == Hopeless::Stops => return Err(stuck.error),
            Err(stuck) => stuck,
        };
        let (wish, error) = match wish {
            Some(wish) => (wish, error),
            None => choice.first_hopeless(&open, error)?,
        };
        open.remove(&wish);
        failures.push((wish, error));
    };
    failures.sort_by_key(|(wish, _)| *wish);
    let Laid { steps, unchanged, notes, newer } = laid;
    Ok(Plan {
        steps,
        unchanged,
        left_out,
        gone_without: Vec::new(),
        notes,
        failures,
        newer,
        before,
        lock,
    })
}

fn notes_about(fetched: &Fetched) -> Vec<String> {
    let name = &fetched.described.name;
    let warnings = fetched.described.warnings.iter().chain(&fetched.attestation.warnings);
    let warnings = warnings.map(|warning| format!("`{name}`: {warning}"));
    warnings.chain(fetched.notes.iter().cloned()).collect()
}

/// Whether an error is about one skill, so that others could be installed without it.
fn is_of_one_skill(error: &InstallError) -> bool {
    match error {
        InstallError::Described { .. }
        | InstallError::Files { .. }
        | InstallError::BadSignature { .. }
        | InstallError::Refused { .. } => true,
        // The network and the disk are the same for all.
        InstallError::Source(error) => error.kind == SourceErrorKind::Unusable,
        _ => false,
    }
}

/// What is refused whatever anybody answers is known as soon as a skill is here.
fn usable(fetched: Fetched, gaps: Gaps) -> Result<Fetched, InstallError> {
    let refusals: Vec<String> =
        fetched.described.grants.refusals().iter().map(ToString::to_string).collect();
    if gaps == Gaps::Never || refusals.is_empty() {
        return Ok(fetched);
    }
    let reason = refusals.join("; ");
    Err(InstallError::Refused { name: fetched.described.name, reason, remedies: Vec::new() })
}

fn left_out(name: String, error: InstallError) -> LeftOut {
    let remedies = match &error {
        InstallError::Described { evident: Some(evident), .. } => {
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
        InstallError::Described { source, .. } => source.to_string(),
        InstallError::Files { source, .. } => source.to_string(),
        InstallError::BadSignature { refusals, .. } => refusals.join("; "),
        InstallError::Refused { reason, .. } => reason,
        other => other.to_string(),
    };
    LeftOut { name, reason, remedies }
}

/// The name of a skill without its namespace: what it is installed as.
fn short(name: &str) -> &str {
    name.rsplit_once('/').map_or(name, |(_, name)| name)
}

struct Choice<'i, 'a> {
    installer: &'i Installer<'a>,
    lock: &'i Lock,
    aim: &'i Aim<'i>,
    given: BTreeMap<String, Fetched>,
    /// Skills that lie where others were taken from and were not asked for, each with its place.
    neighbours: BTreeMap<String, String>,
    left_out: Vec<LeftOut>,
    /// What registries have said: they are not asked again when a wish is left out.
    releases: RefCell<BTreeMap<Package, Vec<Release>>>,
    /// Releases whose files are here, for the same reason.
    fetched: BTreeMap<(Package, Version), Fetched>,
    notes: Vec<String>,
}

impl Choice<'_, '_> {
    /// Resolves the wishes and looks at what comes of it.
    fn lay_out(&mut self, open: &Open) -> Result<Laid, Stuck> {
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
                _ => self
                    .release_files(skill)
                    .map_err(|error| Stuck { error, wish: wish_behind(&resolved, open, skill) })?,
            };
            let Some(fetched) = fetched else {
                if let Ok(name) = name.parse() {
                    unchanged.push((name, skill.version.clone()));
                }
                continue;
            };
            let mut needed = graph.remove(name).unwrap_or_default();
            if let Some(installed) = self.lock.skills.get(&fetched.described.name) {
                needed.by.extend(installed.required_by.iter().cloned());
            }
            notes.extend(notes_about(&fetched));
            let step = self
                .installer
                .step(fetched, self.lock, needed)
                .map_err(|error| Stuck { error, wish: wish_behind(&resolved, open, skill) })?;
            // Reinstalling heals what somebody has changed on disk, so the disk is asked too.
            if step.is_reinstall(self.lock)
                && self.installer.is_whole(step.name(), &step.entry)
                && !step.changes_entry(self.lock)
                && self.installer.has_agreed(step.name(), &step.entry)
            {
                unchanged.push((step.name().clone(), step.entry.version.clone()));
                continue;
            }
            // One that is refused does not keep the others from what they want. The last one is shown as it is.
            if self.aim.hopeless == Hopeless::IsLeftOut
                && open.len() > 1
                && let Some(error) = step.refused()
            {
                return Err(Stuck { error, wish: wish_behind(&resolved, open, skill) });
            }
            notes.extend(self.outside_note(&step));
            steps.push(step);
        }
        let newer = self.newer(&resolved, open);
        Ok(Laid { steps, unchanged, notes, newer })
    }

    /// The first wish that can't be fulfilled together with those before it, for an error that is nobody's alone.
    fn first_hopeless(
        &self,
        open: &Open,
        error: InstallError,
    ) -> Result<(usize, InstallError), InstallError> {
        let mut requests = Vec::new();
        for (wish, more) in open {
            requests.extend(more.iter().cloned());
            if let Err(error) = self.resolve(requests.clone()) {
                return Ok((*wish, error));
            }
        }
        Err(error)
    }

    fn given_files(&mut self, name: &str) -> Option<Fetched> {
        match self.aim.hopeless {
            Hopeless::Stops => self.given.remove(name),
            Hopeless::IsLeftOut => self.given.get(name).cloned(),
        }
    }

    fn release_files(&mut self, skill: &Resolved) -> Result<Option<Fetched>, InstallError> {
        if self.aim.hopeless == Hopeless::Stops {
            return self.installer.fetch_release(skill, self.lock, self.aim);
        }
        let key = (skill.package.clone(), skill.version.clone());
        if let Some(fetched) = self.fetched.get(&key) {
            return Ok(Some(fetched.clone()));
        }
        let fetched = self.installer.fetch_release(skill, self.lock, self.aim)?;
        if let Some(fetched) = &fetched {
            self.fetched.insert(key, fetched.clone());
        }
        Ok(fetched)
    }

    /// Others can't install from a path that only this machine has.
    fn outside_note(&self, step: &Step) -> Option<String> {
        let ground = &self.installer.store.as_shared()?.ground;
        let source = step.entry.source.as_ref().filter(|source| ground.lies_outside(source))?;
        let name = step.name();
        Some(format!(
            "`{name}` comes from `{source}`, outside of the project: others can't restore `{name}` from this lock file"
        ))
    }

    /// Newer versions than those that were chosen, outside of the ranges that were asked for.
    fn newer(&self, resolved: &[Resolved], open: &Open) -> Vec<Newer> {
        if self.aim.kind != Kind::Update {
            return Vec::new();
        }
        let mut newer = Vec::new();
        let releases = self.releases.borrow();
        for wish in open.keys() {
            let Reference::Named(named) = &self.aim.wishes[*wish].reference else { continue };
            let chosen =
                resolved.iter().find(|one| short(one.package.name()) == named.name.as_str());
            let Some(chosen) = chosen else { continue };
            let known = releases.get(&chosen.package).into_iter().flatten();
            let usable = known.filter(|release| !release.yanked && release.version.pre.is_empty());
            let newest = usable.map(|release| &release.version).max();
            if let Some(newest) = newest.filter(|newest| **newest > chosen.version) {
                newer.push(Newer {
                    name: named.name.clone(),
                    chosen: chosen.version.clone(),
                    newest: newest.clone(),
                    requested: named.range.clone(),
                });
            }
        }
        newer
    }

    /// What a wish asks of the resolution. Files that are handed in are fetched here.
    fn take(&mut self, wish: &Wish) -> Result<Vec<Request>, InstallError> {
        if let Reference::Named(named) = &wish.reference {
            let catalogue = self
                .installer
                .catalogue
                .ok_or_else(|| InstallError::NoRegistry(named.name.to_string()))?;
            return Ok(vec![Request {
                package: catalogue.package(named)?,
                range: range_of(named)?,
                origin: wish.origin.clone(),
                allow_experimental: self.installer.leave.experimental,
            }]);
        }
        let mut requests = Vec::new();
        let offers = self.offers(wish)?;
        // Nothing is left of a single one without it.
        let is_alone = self.aim.wishes.len() == 1 && offers.len() == 1;
        let gaps = if is_alone { Gaps::Never } else { self.aim.gaps };
        for offer in offers {
            let called = offer.name.clone();
            let fetched = self.installer.fetch(offer, wish.chosen.as_ref());
            let mut fetched = match fetched.and_then(|fetched| usable(fetched, gaps)) {
                Err(error) if gaps == Gaps::Collected && is_of_one_skill(&error) => {
                    self.left_out.push(left_out(called, error));
                    continue;
                }
                fetched => fetched?,
            };
            fetched.is_explicit = self.aim.is_asked_for(&fetched.described.name, self.lock);
            let name = fetched.described.name.to_string();
            requests.push(Request {
                package: Package::new(GIVEN, name.as_str()),
                range: Range::exactly(&fetched.described.version),
                origin: wish.origin.clone(),
                // Judged when its signatures have been looked at.
                allow_experimental: true,
            });
            self.given.insert(name, fetched);
        }
        Ok(requests)
    }

    fn offers(&mut self, wish: &Wish) -> Result<Vec<Offer>, InstallError> {
        let Offers { skills: offers, notes } = self.installer.source.offers(&wish.reference)?;
        self.notes.extend(notes);
        let names = || offers.iter().map(|offer| offer.name.clone()).collect::<Vec<String>>();
        for wanted in &wish.only {
            if wanted != "*" && !offers.iter().any(|offer| offer.name == *wanted) {
                return Err(InstallError::NoneOfThem {
                    reference: wish.reference.to_string(),
                    wanted: wanted.clone(),
                    names: names(),
                });
            }
        }
        if wish.only.is_empty() && offers.len() > 1 {
            return Err(InstallError::Several {
                reference: wish.reference.to_string(),
                names: names(),
            });
        }
        let is_wanted = |offer: &Offer| {
            wish.only.is_empty() || wish.only.contains("*") || wish.only.contains(&offer.name)
        };
        let (wanted, others): (Vec<Offer>, Vec<Offer>) = offers.into_iter().partition(is_wanted);
        let place = wish.reference.to_string();
        self.neighbours.extend(others.into_iter().map(|other| (other.name, place.clone())));
        Ok(wanted)
    }

    /// What needs a skill that can't be had can't be had either.
    fn leave_out_dependents(&mut self, open: &mut Open) -> Result<(), InstallError> {
        loop {
            let lacks = self.given.iter().find_map(|(name, fetched)| {
                let needed = fetched.described.dependencies().iter().filter(|one| one.required);
                let error = needed
                    .filter_map(|one| one.name.value.parse().ok())
                    .find_map(|named: Named| self.package(&named, name).err())?;
                Some((name.clone(), error))
            });
            let Some((name, error)) = lacks else { return Ok(()) };
            let is_only_one = self.given.len() == 1 && self.left_out.is_empty();
            if is_only_one || error.kind != SourceErrorKind::NotFound {
                return Err(error.into());
            }
            self.given.remove(&name);
            for requests in open.values_mut() {
                requests.retain(|request| {
                    request.package.source() != GIVEN || request.package.name() != name
                });
            }
            self.left_out.push(LeftOut { name, reason: error.what, remedies: error.remedies });
        }
    }

    /// Skills that would be nice to have are named and never installed by themselves.
    fn optional_notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        for fetched in self.given.values() {
            let optional = fetched.described.dependencies().iter().filter(|one| !one.required);
            let names: Vec<String> = optional.map(|one| one.name.value.clone()).collect();
            if !names.is_empty() {
                notes.push(format!("`{}` can also use {}", fetched.described.name, listed(&names)));
            }
        }
        notes
    }

    /// Resolves, and asks the installed skills that are not part of it whether they can live with the result.
    fn resolve(&self, mut requests: Vec<Request>) -> Result<Vec<Resolved>, InstallError> {
        let locked: Vec<(Package, Version)> = self
            .lock
            .skills
            .iter()
            .filter(|(name, _)| !self.aim.moving.contains(*name))
            .map(|(name, entry)| (package_of(name, entry), entry.version.clone()))
            .collect();
        let until =
            self.installer.min_age.filter(|age| *age > 0).map(|age| {
                u64::try_from(self.installer.now.unix()).unwrap_or(0).saturating_sub(age)
            });
        let options = Options { locked: &locked, published_until: until, limits: Limits::USUAL };
        let bystanders = self.bystanders();
        for _ in 0..MOST_ROUNDS {
            let resolution = resolve(self, &requests, &options).map_err(|error| match error {
                // A source says best itself what it has not.
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
                requests.push(Request {
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

    /// What installed skills need, as their own files say.
    fn bystanders(&self) -> Vec<(SkillName, Dependency)> {
        let mut needs = Vec::new();
        for (name, entry) in &self.lock.skills {
            if entry.dependencies.is_empty() {
                continue;
            }
            let Some(described) = self.installer.installed(name, Some(entry)) else { continue };
            for dependency in described.dependencies().iter().filter(|one| one.required) {
                let Ok(range) = Range::declared(dependency) else { continue };
                let package = Package::new(INSTALLED, dependency.name.value.as_str());
                needs.push((name.clone(), Dependency { package, range }));
            }
        }
        needs
    }

    /// Where a dependency comes from: what was handed in beside it, what is installed, and only then a registry. The
    /// order does not depend on versions, so that nobody gets in by a higher one (attack registry-A9).
    fn package(&self, named: &Named, owner: &str) -> Result<Package, SourceError> {
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
        if let Some(left_out) = self.left_out.iter().find(|one| one.name == name) {
            return Err(SourceError {
                what: format!("`{owner}` needs `{named}`, which can't be installed"),
                remedies: left_out.remedies.clone(),
                kind: SourceErrorKind::NotFound,
            });
        }
        // Not taken along by itself: what is installed is what somebody named, or what a registry attests.
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

    fn release(&self, fetched: &Fetched) -> Result<Release, SourceError> {
        let described = &fetched.described;
        self.release_of(described.name.as_str(), &described.version, described.dependencies())
    }

    fn release_of(
        &self,
        owner: &str,
        version: &Version,
        dependencies: &[prowess_format::skill::SkillDependency],
    ) -> Result<Release, SourceError> {
        let mut release = Release::new(version.clone());
        // How old something must be is asked of registries. What the user hands in or has was never published.
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
            let named: Named = dependency
                .name
                .value
                .parse()
                .map_err(|error: prowess_package::name::NameError| wrong(error.to_string()))?;
            let range = Range::declared(dependency).map_err(|error| wrong(error.to_string()))?;
            release = release.needs(Dependency { package: self.package(&named, owner)?, range });
        }
        Ok(release)
    }
}

impl Index for Choice<'_, '_> {
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
                let described = self.installer.installed(&name, Some(entry));
                let needs =
                    described.as_ref().map_or(&[][..], |described| described.dependencies());
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

impl Aim<'_> {
    /// Whether the user asks for a skill by name. An update asks for nothing new.
    fn is_asked_for(&self, name: &SkillName, lock: &Lock) -> bool {
        match self.kind {
            Kind::Install => true,
            Kind::Update => lock.skills.get(name).is_none_or(|entry| entry.explicit),
        }
    }
}

/// Who needs whom.
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

/// A wish that leads to a skill, by itself or through what it needs.
fn wish_behind(resolved: &[Resolved], open: &Open, skill: &Resolved) -> Option<usize> {
    let leads_there = |requests: &Vec<Request>| {
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
    open.iter().find(|(_, requests)| leads_there(requests)).map(|(wish, _)| *wish)
}

/// An installed skill as a package.
fn package_of(name: &SkillName, entry: &Locked) -> Package {
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

fn range_of(named: &Named) -> Result<Range, InstallError> {
    match &named.range {
        None => Ok(Range::any()),
        Some(text) => Range::parse(text)
            .map_err(|error| InstallError::Range(format!("`{named}` names no versions: {error}"))),
    }
}

impl Installer<'_> {
    /// An installed skill, read from its files; nothing when they can't be read.
    pub(super) fn installed(
        &self,
        name: &SkillName,
        entry: Option<&Locked>,
    ) -> Option<crate::described::Described> {
        let bytes = self.store.manifest(name).ok()?;
        let chosen = entry.and_then(|entry| entry.chosen(name));
        describe_manifest(&bytes, name.as_str(), chosen).ok()
    }

    /// The release of a registry that was chosen; nothing when it is installed already.
    fn fetch_release(
        &self,
        skill: &Resolved,
        lock: &Lock,
        aim: &Aim<'_>,
    ) -> Result<Option<Fetched>, InstallError> {
        let full = skill.package.name();
        let is_wished = |wish: &&Wish| match &wish.reference {
            Reference::Named(named) => named.name.as_str() == short(full),
            _ => false,
        };
        let wish = aim.wishes.iter().find(is_wished);
        let range = wish.and_then(|wish| match &wish.reference {
            Reference::Named(named) => named.range.clone(),
            _ => None,
        });
        let installed = short(full).parse::<SkillName>().ok().and_then(|name| {
            let entry = lock.skills.get(&name)?;
            Some((name, entry))
        });
        let is_asked_for = match &installed {
            Some((name, _)) => wish.is_some() && aim.is_asked_for(name, lock),
            None => wish.is_some(),
        };
        if let Some((name, entry)) = &installed
            && entry.version == skill.version
            && package_of(name, entry) == skill.package
            && self.is_whole(name, entry)
            && self.has_agreed(name, entry)
            && (entry.explicit || !is_asked_for)
            && (range.is_none() || range == entry.requested)
        {
            return Ok(None);
        }
        let Some(catalogue) = self.catalogue else { return Ok(None) };
        let offer = catalogue.offer(&skill.package, &skill.version)?;
        let mut fetched = self.fetch(offer, None)?;
        if fetched.described.name.as_str() != short(full) {
            return Err(InstallError::OtherName {
                wanted: full.to_owned(),
                found: fetched.described.name,
            });
        }
        if prowess_resolve::comparable(&fetched.described.version)
            != prowess_resolve::comparable(&skill.version)
        {
            return Err(InstallError::OtherVersion {
                name: full.to_owned(),
                wanted: skill.version.clone(),
                found: fetched.described.version,
            });
        }
        fetched.is_explicit = is_asked_for;
        // Who names no range changes none.
        let kept = installed.and_then(|(_, entry)| entry.requested.clone());
        fetched.requested = range.or(kept);
        Ok(Some(fetched))
    }
}
