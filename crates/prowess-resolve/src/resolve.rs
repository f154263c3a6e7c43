//! Resolves requests to a list of skills in the order in which they are installed.

use std::collections::{BTreeMap, HashMap};

use pubgrub::PubGrubError;
use semver::Version;

use crate::error::ResolveError;
use crate::index::ReleaseIndex;
use crate::order::{Order, in_order};
use crate::package::Package;
use crate::range::Range;
use crate::report;
use crate::solver::{NO_VERSION, Node, Solver, SolverError};

/// A skill that is requested by name.
#[derive(Clone, Debug)]
pub struct ResolveRequest {
    /// The skill.
    pub package: Package,
    /// The accepted versions.
    pub range: Range,
    /// The origin of the request for messages, such as `the command line` or `AGENT.yaml`.
    pub origin: String,
    /// Whether an experimental version is acceptable. It applies to this skill and not to its
    /// dependencies (GAIA §4.3).
    pub allow_experimental: bool,
}

/// The options of a resolution.
#[derive(Clone, Copy, Debug)]
pub struct ResolveOptions<'a> {
    /// Installed versions. They are kept if the ranges allow it, so that an update changes as
    /// little as possible; and they may be yanked, experimental or new, because the user has
    /// accepted them before.
    pub locked: &'a [(Package, Version)],
    /// Releases after this time, in seconds since 1970, are too new; so are those without a
    /// publication time.
    pub published_until: Option<u64>,
    /// The limits.
    pub limits: ResolveLimits,
}

/// Limits for a hostile index. None of them measures time, so that a resolution gives the same
/// result on every machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResolveLimits {
    /// Maximum number of comparisons of version sets, each weighted by the size of the sets.
    pub work: u64,
    /// Maximum number of packages.
    pub packages: u32,
    /// Maximum number of releases of a package.
    pub releases: u32,
    /// Maximum number of dependencies of a release.
    pub dependencies: u32,
}

impl ResolveLimits {
    /// The usual limits; `docs/design` has the measurements.
    pub const USUAL: Self =
        Self { work: 10_000_000, packages: 200_000, releases: 10_000, dependencies: 1_000 };
}

/// The result of a resolution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolution {
    /// The skills, each after its dependencies (GAIA §10.3).
    pub skills: Vec<Resolved>,
    /// The part of [`ResolveLimits::work`] that was used.
    pub work: u64,
}

/// One skill of a resolution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolved {
    /// The skill.
    pub package: Package,
    /// The chosen version, as the index has it.
    pub version: Version,
    /// Its direct dependencies, by name.
    pub dependencies: Vec<Package>,
    /// Whether it was requested by name.
    pub requested: bool,
}

/// Chooses a version of each requested skill and of all its dependencies.
///
/// The requested skills get the highest possible versions, earlier requests first; their
/// dependencies get the highest of the remaining versions. `docs/design` has the rules about
/// pre-releases, yanked, experimental and new releases.
pub fn resolve<I: ReleaseIndex>(
    index: &I,
    requests: &[ResolveRequest],
    options: &ResolveOptions<'_>,
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

fn stopped<E: std::error::Error + 'static>(
    stop: SolverError<E>,
    limits: &ResolveLimits,
) -> ResolveError<E> {
    match stop {
        SolverError::Index { package, source } => ResolveError::Index { package, source },
        SolverError::Packages => ResolveError::TooManyPackages { most: limits.packages },
        SolverError::Releases { package, count } => {
            ResolveError::TooManyReleases { package, count, most: limits.releases }
        }
        SolverError::Dependencies { package, version, count } => {
            ResolveError::TooManyDependencies { package, version, count, most: limits.dependencies }
        }
        SolverError::Work => ResolveError::OutOfWork { most: limits.work },
    }
}

fn listed<I: ReleaseIndex>(
    solver: &Solver<'_, I>,
    requests: &[ResolveRequest],
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

/// Rejects two skills of the same name from different sources: a skill is installed under its name
/// (attack registry-A9).
fn one_source_each<E: std::error::Error + 'static>(
    requests: &[ResolveRequest],
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
