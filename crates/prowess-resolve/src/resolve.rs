//! From requests to a list of skills in the order in which they are installed.

use std::collections::{BTreeMap, HashMap};

use pubgrub::PubGrubError;
use semver::Version;

use crate::error::ResolveError;
use crate::index::Index;
use crate::order::{Order, in_order};
use crate::package::Package;
use crate::range::Range;
use crate::report;
use crate::solver::{NO_VERSION, Node, Solver, Stop};

/// A skill that somebody asks for by name.
#[derive(Clone, Debug)]
pub struct Request {
    /// Which.
    pub package: Package,
    /// In which versions.
    pub range: Range,
    /// Who asks, in words: `the command line`, `AGENT.yaml`. A conflict names them.
    pub origin: String,
    /// Whether an experimental version will do. It counts for this skill and for none that it needs (GAIA §4.3).
    pub allow_experimental: bool,
}

/// What else decides.
#[derive(Clone, Copy, Debug)]
pub struct Options<'a> {
    /// Versions that are installed already. They are kept wherever the ranges allow it, so that an update changes what was
    /// asked for and little else; and they may be yanked, experimental or young, because somebody has agreed to them before.
    pub locked: &'a [(Package, Version)],
    /// Releases after this time, in seconds since 1970, are too young; so are those that do not say when they were published.
    pub published_until: Option<u64>,
    /// How much work is done at most.
    pub limits: Limits,
}

/// Bounds for what a hostile index can cost. All of them count, and none measures time, so that a resolution ends alike on
/// every machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// How many comparisons of sets of versions are made, each weighed by the size of the sets.
    pub work: u64,
    /// How many packages are looked at.
    pub packages: u32,
    /// How many releases a package may have.
    pub releases: u32,
    /// How many dependencies a release may have.
    pub dependencies: u32,
}

impl Limits {
    /// `docs/design` has the measurements.
    pub const USUAL: Self =
        Self { work: 10_000_000, packages: 200_000, releases: 10_000, dependencies: 1_000 };
}

/// What is to be installed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolution {
    /// The skills, each behind all that it needs (GAIA §10.3).
    pub skills: Vec<Resolved>,
    /// How much of [`Limits::work`] it took.
    pub work: u64,
}

/// One skill of a resolution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolved {
    /// Which.
    pub package: Package,
    /// The chosen version, as the index has it.
    pub version: Version,
    /// What it needs itself, by name.
    pub dependencies: Vec<Package>,
    /// Whether somebody asked for it by name.
    pub requested: bool,
}

/// Chooses a version of each skill that is asked for and of all that they need.
///
/// The skills that are asked for get the highest versions that are possible at all, the earlier requests first; those they
/// need get the highest that are left. `docs/design` has the rules about pre-releases, yanked, experimental and young
/// releases.
pub fn resolve<I: Index>(
    index: &I,
    requests: &[Request],
    options: &Options<'_>,
) -> Result<Resolution, ResolveError<I::Error>> {
    let solver = Solver::new(index, requests, options);
    let solution = match pubgrub::resolve(&solver, Node::Root, NO_VERSION) {
        Ok(solution) => solution,
        Err(PubGrubError::NoSolution(proof)) => {
            return Err(ResolveError::Conflict(report::explain(&solver, proof)));
        }
        Err(
            PubGrubError::ErrorRetrievingDependencies { source: stop, .. }
            | PubGrubError::ErrorChoosingVersion { source: stop, .. }
            | PubGrubError::ErrorInShouldCancel(stop),
        ) => return Err(stopped(stop, &options.limits)),
    };
    let chosen: HashMap<u32, Version> = solution
        .into_iter()
        .filter_map(|(node, version)| match node {
            Node::Skill(id) => Some((id, version)),
            Node::Root | Node::Request(_) => None,
        })
        .collect();
    let resolution = listed(&solver, requests, &chosen)?;
    one_source_each(requests, &resolution)?;
    Ok(resolution)
}

fn stopped<E: std::error::Error + 'static>(stop: Stop<E>, limits: &Limits) -> ResolveError<E> {
    match stop {
        Stop::Index { package, source } => ResolveError::Index { package, source },
        Stop::Packages => ResolveError::TooManyPackages { most: limits.packages },
        Stop::Releases { package, count } => {
            ResolveError::TooManyReleases { package, count, most: limits.releases }
        }
        Stop::Dependencies { package, version, count } => {
            ResolveError::TooManyDependencies { package, version, count, most: limits.dependencies }
        }
        Stop::Work => ResolveError::OutOfWork { most: limits.work },
    }
}

fn listed<I: Index>(
    solver: &Solver<'_, I>,
    requests: &[Request],
    chosen: &HashMap<u32, Version>,
) -> Result<Resolution, ResolveError<I::Error>> {
    let mut skills: Vec<Resolved> = chosen
        .iter()
        .map(|(&id, version)| {
            let entry = solver.entry(id);
            let release = entry.release(version).expect("only releases are chosen");
            let mut dependencies: Vec<Package> =
                release.dependencies.iter().map(|needed| needed.package.clone()).collect();
            dependencies.sort();
            dependencies.dedup();
            Resolved {
                requested: entry.first_request.is_some(),
                package: entry.package.clone(),
                version: release.version.clone(),
                dependencies,
            }
        })
        .collect();
    skills.sort_by(|one, other| one.package.cmp(&other.package));
    let places: HashMap<&Package, usize> =
        skills.iter().enumerate().map(|(at, skill)| (&skill.package, at)).collect();
    let needs: Vec<Vec<usize>> = skills
        .iter()
        .map(|skill| skill.dependencies.iter().map(|package| places[package]).collect())
        .collect();
    debug_assert!(requests.iter().all(|request| places.contains_key(&request.package)));
    match in_order(&needs) {
        Order::Of(order) => {
            let mut skills: Vec<Option<Resolved>> = skills.into_iter().map(Some).collect();
            let skills = order.into_iter().filter_map(|at| skills[at].take()).collect();
            Ok(Resolution { skills, work: solver.work() })
        }
        Order::Cycle(cycle) => Err(ResolveError::Cycle {
            skills: cycle
                .into_iter()
                .map(|at| (skills[at].package.clone(), skills[at].version.clone()))
                .collect(),
        }),
    }
}

/// A skill is installed under its name, so two of one name are one too many, whoever they are from (attack registry-A9).
fn one_source_each<E: std::error::Error + 'static>(
    requests: &[Request],
    resolution: &Resolution,
) -> Result<(), ResolveError<E>> {
    let mut by_name: BTreeMap<&str, &Package> = BTreeMap::new();
    for skill in &resolution.skills {
        let Some(other) = by_name.insert(skill.package.name(), &skill.package) else { continue };
        let needed_by = |package: &Package| {
            let request = requests.iter().find(|request| request.package == *package);
            request.map(|request| request.origin.clone()).or_else(|| {
                let owner =
                    resolution.skills.iter().find(|skill| skill.dependencies.contains(package));
                owner.map(|owner| format!("`{}` {}", owner.package, owner.version))
            })
        };
        let named = |package: &Package| {
            (package.clone(), needed_by(package).expect("each package is needed by somebody"))
        };
        return Err(ResolveError::TwoSources {
            first: named(other),
            second: named(&skill.package),
        });
    }
    Ok(())
}
