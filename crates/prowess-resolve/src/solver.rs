//! Provides the `PubGrub` solver with nodes, candidate releases and their dependencies.

use std::borrow::Cow;
use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::HashMap;
use std::convert::Infallible;
use std::fmt;
use std::ops::Bound;
use std::rc::Rc;

use pubgrub::{Dependencies, DependencyProvider, PackageResolutionStatistics, Ranges};
use semver::{BuildMetadata, Prerelease, Version};

use crate::index::{Release, ReleaseIndex};
use crate::package::Package;
use crate::range::{Range, comparable};
use crate::resolve::{ResolveOptions, ResolveRequest};
use crate::work::{self, Versions};

/// The version of nodes that are not skills.
pub(crate) const NO_VERSION: Version =
    Version { major: 0, minor: 0, patch: 0, pre: Prerelease::EMPTY, build: BuildMetadata::EMPTY };

/// A node of the solver. Each request is its own node, so that a proof shows the origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Node {
    /// Depends on every request.
    Root,
    /// A request, by its index.
    Request(u32),
    /// A skill, by the index of its entry.
    Skill(u32),
}

/// For the log of the solver.
impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}

/// Why a release is excluded, whatever the ranges say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exclusion {
    Yanked,
    Experimental,
    TooYoung,
    NoTime,
}

/// A release as a candidate.
pub(crate) struct Candidate {
    /// Without build metadata.
    pub(crate) version: Version,
    release: usize,
    pub(crate) barred: Option<Exclusion>,
}

/// A skill that was looked up.
pub(crate) struct SkillEntry<'a> {
    pub(crate) package: Package,
    releases: Cow<'a, [Release]>,
    /// Candidates in ascending order, without duplicates.
    pub(crate) candidates: Vec<Candidate>,
    locked: Option<Version>,
    /// Whether some of the candidates are pre-releases that not every range accepts.
    has_trials: bool,
    /// The index of the first request for it.
    pub(crate) first_request: Option<u32>,
    /// Ranges of requests that name pre-releases of it.
    trial_requests: Vec<Range>,
}

/// Why solving was aborted.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SolverError<E: std::error::Error + 'static> {
    #[error("the index failed")]
    Index { package: Package, source: E },
    #[error("too many packages")]
    Packages,
    #[error("too many releases")]
    Releases { package: Package, count: usize },
    #[error("too many dependencies")]
    Dependencies { package: Package, version: Version, count: usize },
    #[error("too much work")]
    Work,
}

/// The releases of the nodes, looked up on demand.
pub(crate) struct Solver<'a, I: ReleaseIndex> {
    index: &'a I,
    pub(crate) requests: &'a [ResolveRequest],
    options: &'a ResolveOptions<'a>,
    locked: HashMap<&'a Package, &'a Version>,
    /// The requests for each package, by index.
    asked: HashMap<&'a Package, Vec<u32>>,
    ids: RefCell<HashMap<Package, u32>>,
    entries: RefCell<Vec<Rc<SkillEntry<'a>>>>,
    /// The work counter at the start.
    start: u64,
}

impl<'a, I: ReleaseIndex> Solver<'a, I> {
    pub(crate) fn new(
        index: &'a I,
        requests: &'a [ResolveRequest],
        options: &'a ResolveOptions<'a>,
    ) -> Self {
        let mut asked: HashMap<&Package, Vec<u32>> = HashMap::new();
        for (at, request) in (0_u32..).zip(requests) {
            asked.entry(&request.package).or_default().push(at);
        }
        Self {
            index,
            requests,
            asked,
            options,
            locked: options.locked.iter().map(|(package, version)| (package, version)).collect(),
            ids: RefCell::default(),
            entries: RefCell::default(),
            start: work::done(),
        }
    }

    /// The work so far.
    pub(crate) fn work(&self) -> u64 {
        work::done() - self.start
    }

    pub(crate) fn entry(&self, id: u32) -> Rc<SkillEntry<'a>> {
        Rc::clone(&self.entries.borrow()[id as usize])
    }

    /// The id of a package that was looked up.
    pub(crate) fn known(&self, package: &Package) -> Option<u32> {
        self.ids.borrow().get(package).copied()
    }

    /// The id of a package, which is looked up the first time.
    fn id(&self, package: &Package) -> Result<u32, SolverError<I::Error>> {
        if let Some(id) = self.known(package) {
            return Ok(id);
        }
        let id = u32::try_from(self.entries.borrow().len()).map_err(|_| SolverError::Packages)?;
        if id >= self.options.limits.packages {
            return Err(SolverError::Packages);
        }
        let entry = Rc::new(self.look_up(package)?);
        self.entries.borrow_mut().push(entry);
        self.ids.borrow_mut().insert(package.clone(), id);
        Ok(id)
    }

    fn look_up(&self, package: &Package) -> Result<SkillEntry<'a>, SolverError<I::Error>> {
        let releases = self
            .index
            .releases(package)
            .map_err(|source| SolverError::Index { package: package.clone(), source })?;
        if releases.len() > self.options.limits.releases as usize {
            return Err(SolverError::Releases { package: package.clone(), count: releases.len() });
        }
        let locked = self.locked.get(package).copied();
        let locked_version = locked.map(comparable);
        let asked = self.asked.get(package).map_or(&[][..], Vec::as_slice);
        let requests = || asked.iter().map(|&at| &self.requests[at as usize]);
        let allow_experimental = requests().any(|request| request.allow_experimental);
        let trial_requests: Vec<Range> = requests()
            .map(|request| &request.range)
            .filter(|range| range.names_any())
            .cloned()
            .collect();
        let barred = |release: &Release, version: &Version| {
            if locked_version.as_ref() == Some(version) {
                return None;
            }
            if release.yanked {
                return Some(Exclusion::Yanked);
            }
            // GAIA §4.3: it must be requested explicitly; being a dependency of an agent is not
            // enough.
            if release.experimental && !allow_experimental {
                return Some(Exclusion::Experimental);
            }
            let until = self.options.published_until?;
            match release.published {
                Some(published) if published <= until => None,
                Some(_) => Some(Exclusion::TooYoung),
                None => Some(Exclusion::NoTime),
            }
        };
        let mut candidates: Vec<Candidate> = releases
            .iter()
            .enumerate()
            .map(|(release, listed)| {
                let version = comparable(&listed.version);
                Candidate { barred: barred(listed, &version), version, release }
            })
            .collect();
        // Of releases that differ only in build metadata, the locked one or else the last in the
        // order of the `semver` crate is used, so that the order of the index does not matter.
        candidates.sort_by(|one, other| {
            let key = |candidate: &Candidate| {
                let listed = &releases[candidate.release].version;
                (locked == Some(listed), listed.build.clone())
            };
            one.version.cmp(&other.version).then_with(|| key(other).cmp(&key(one)))
        });
        candidates.dedup_by(|later, earlier| later.version == earlier.version);
        let only_trials = candidates.iter().all(|candidate| {
            !candidate.version.pre.is_empty() || candidate.barred == Some(Exclusion::Yanked)
        });
        let has_trials = !only_trials && candidates.iter().any(|one| !one.version.pre.is_empty());
        Ok(SkillEntry {
            locked: locked_version.filter(|version| {
                candidates.binary_search_by(|one| one.version.cmp(version)).is_ok()
            }),
            package: package.clone(),
            releases,
            candidates,
            has_trials,
            first_request: asked.first().copied(),
            trial_requests,
        })
    }

    /// The dependencies of a release, each package once.
    fn needs(
        &self,
        entry: &SkillEntry<'a>,
        version: &Version,
    ) -> Result<Needs, SolverError<I::Error>> {
        let release = entry.release(version).expect("only releases are chosen");
        let count = release.dependencies.len();
        if count > self.options.limits.dependencies as usize {
            return Err(SolverError::Dependencies {
                package: entry.package.clone(),
                version: version.clone(),
                count,
            });
        }
        let mut needed: Vec<_> = release.dependencies.iter().collect();
        // The result must not depend on the order in which an author lists them.
        needed.sort_by(|one, other| one.package.cmp(&other.package));
        let mut needs: Needs = Vec::with_capacity(count);
        for dependency in needed {
            // A skill that depends on itself is a cycle, which is detected afterwards.
            if dependency.package == entry.package {
                continue;
            }
            let id = self.id(&dependency.package)?;
            let accepted = self.entry(id).accepted(&dependency.range);
            match needs.last_mut() {
                Some((Node::Skill(last), set)) if *last == id => {
                    set.0 = set.0.intersection(&accepted);
                }
                _ => needs.push((Node::Skill(id), Versions(accepted))),
            }
        }
        Ok(needs)
    }
}

type Needs = Vec<(Node, Versions)>;

impl SkillEntry<'_> {
    /// The release of a version.
    pub(crate) fn release(&self, version: &Version) -> Option<&Release> {
        let at = self.candidates.binary_search_by(|one| one.version.cmp(version)).ok()?;
        Some(&self.releases[self.candidates[at].release])
    }

    /// Whether a range accepts a pre-release. A pre-release is also accepted if there is no other
    /// release, if a request names one of the same numbers, or if it is locked.
    pub(crate) fn admits(&self, range: &Range, version: &Version) -> bool {
        !self.has_trials
            || version.pre.is_empty()
            || range.names(version)
            || self.trial_requests.iter().any(|range| range.names(version))
            || self.locked.as_ref() == Some(version)
    }

    /// The set of versions of this package that a range accepts. Pre-releases that it does not
    /// accept are removed, adjacent ones in one piece.
    pub(crate) fn accepted(&self, range: &Range) -> Ranges<Version> {
        if !self.has_trials {
            return range.versions().clone();
        }
        let mut cut: Vec<(Bound<Version>, Bound<Version>)> = Vec::new();
        let mut adjacent = false;
        for Candidate { version, .. } in &self.candidates {
            let admitted = self.admits(range, version);
            match cut.last_mut() {
                _ if admitted => {}
                Some((_, end)) if adjacent => *end = Bound::Included(version.clone()),
                _ => cut.push((Bound::Included(version.clone()), Bound::Included(version.clone()))),
            }
            adjacent = !admitted;
        }
        let cut: Ranges<Version> = cut.into_iter().collect();
        range.versions().intersection(&cut.complement())
    }

    /// The versions that are not excluded, in ascending order.
    fn usable(&self) -> impl DoubleEndedIterator<Item = &Version> {
        let usable = self.candidates.iter().filter(|candidate| candidate.barred.is_none());
        usable.map(|candidate| &candidate.version)
    }

    /// The number of versions that could be chosen.
    fn count_in(&self, range: &Ranges<Version>) -> usize {
        range.contains_many(self.usable()).filter(|contained| *contained).count()
    }

    pub(crate) fn usable_in(&self, range: &Ranges<Version>) -> bool {
        self.usable().any(|version| range.contains(version))
    }
}

/// The order of decisions: unsatisfiable nodes first; then the requested skills, in the order of
/// the requests, so that they get the highest versions; then those with the most conflicts and the
/// fewest choices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Priority {
    Needed { conflicts: u32, choices: Reverse<usize> },
    Asked(Reverse<u32>),
    Impossible,
    Certain,
}

impl<I: ReleaseIndex> DependencyProvider for Solver<'_, I> {
    type P = Node;
    type V = Version;
    type VS = Versions;
    type Priority = Priority;
    type M = Infallible;
    type Err = SolverError<I::Error>;

    fn prioritize(
        &self,
        node: &Node,
        range: &Versions,
        statistics: &PackageResolutionStatistics,
    ) -> Priority {
        let id = match node {
            Node::Root | Node::Request(_) => return Priority::Certain,
            Node::Skill(id) => *id,
        };
        let entries = self.entries.borrow();
        let entry = &entries[id as usize];
        let choices = entry.count_in(&range.0);
        match entry.first_request {
            _ if choices == 0 => Priority::Impossible,
            Some(at) => Priority::Asked(Reverse(at)),
            None => Priority::Needed {
                conflicts: statistics.conflict_count(),
                choices: Reverse(choices),
            },
        }
    }

    fn choose_version(
        &self,
        node: &Node,
        range: &Versions,
    ) -> Result<Option<Version>, SolverError<I::Error>> {
        let id = match node {
            Node::Root | Node::Request(_) => return Ok(Some(NO_VERSION)),
            Node::Skill(id) => *id,
        };
        let entries = self.entries.borrow();
        let entry = &entries[id as usize];
        let locked = entry.locked.as_ref().filter(|version| range.0.contains(version));
        let highest = || entry.usable().rev().find(|version| range.0.contains(version));
        Ok(locked.or_else(highest).cloned())
    }

    fn get_dependencies(
        &self,
        node: &Node,
        version: &Version,
    ) -> Result<Dependencies<Node, Versions, Infallible>, SolverError<I::Error>> {
        let needs: Needs = match node {
            Node::Root => (0_u32..)
                .zip(self.requests)
                .map(|(at, _)| (Node::Request(at), Versions(Ranges::singleton(NO_VERSION))))
                .collect(),
            Node::Request(at) => {
                let request = &self.requests[*at as usize];
                let id = self.id(&request.package)?;
                vec![(Node::Skill(id), Versions(self.entry(id).accepted(&request.range)))]
            }
            Node::Skill(id) => self.needs(&self.entry(*id), version)?,
        };
        Ok(Dependencies::Available(needs.into_iter().collect()))
    }

    fn should_cancel(&self) -> Result<(), SolverError<I::Error>> {
        if self.work() > self.options.limits.work { Err(SolverError::Work) } else { Ok(()) }
    }
}
