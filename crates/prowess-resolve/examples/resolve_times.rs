//! How long resolving takes, beside the bare solver on the same graph, and how much work hostile graphs cause. Prints a name and
//! a figure per line; `cargo xtask bench resolve` makes ratios of them.

#![expect(clippy::disallowed_methods, reason = "a measurement needs a clock")]
#![expect(clippy::disallowed_macros, clippy::print_stdout, reason = "it is a program that prints")]
#![expect(clippy::result_large_err, reason = "the error is the solver's own")]
#![expect(clippy::cast_precision_loss, reason = "figures are shown with three digits")]

#[path = "../tests/it/tangle.rs"]
mod tangle;

use std::cmp::Reverse;
use std::convert::Infallible;
use std::time::Instant;

use prowess_resolve::{
    Dependency, MemoryIndex, Range, Release, ResolveError, ResolveLimits, ResolveOptions,
    ResolveRequest, resolve,
};
use pubgrub::{
    Dependencies, DependencyProvider, OfflineDependencyProvider, PackageResolutionStatistics,
    Ranges,
};
use semver::Version;
use tangle::{Numbers, Tangle, package};

const PACKAGES: u64 = 10_000;
const ROOTS: u64 = 40;
const RUNS: usize = 15;
/// The node of the bare graph that asks for the roots.
const BARE_ROOT: u64 = u64::MAX;

fn request(number: u64) -> ResolveRequest {
    ResolveRequest {
        package: package(number),
        range: Range::any(),
        origin: "the bench".to_owned(),
        allow_experimental: false,
    }
}

const OPTIONS: ResolveOptions<'_> =
    ResolveOptions { locked: &[], published_until: None, limits: ResolveLimits::USUAL };

/// Other skills by their numbers, in ranges.
type Needs = Vec<(u64, Range)>;

/// A registry in which skills need later ones, in ranges that usually leave several versions and sometimes rule out the newest.
struct Registry {
    releases: Vec<(u64, Version, Needs)>,
}

fn registry() -> Registry {
    let mut numbers = Numbers(1);
    let mut releases = Vec::new();
    for owner in 0..PACKAGES {
        for minor in 0..5 + numbers.below(11) {
            let later = PACKAGES - owner - 1;
            let mut needs: Needs = Vec::new();
            for _ in 0..if later == 0 { 0 } else { numbers.below(7) } {
                let needed = owner + 1 + numbers.below(later);
                let low = numbers.below(3);
                let text = match numbers.below(10) {
                    0 => format!(">=1.{low}.0, <1.4.0"),
                    1..4 => format!(">=1.{low}.0"),
                    _ => format!("^1.{low}.0"),
                };
                if needs.iter().all(|(other, _)| *other != needed) {
                    needs.push((needed, text.parse().expect("a range")));
                }
            }
            releases.push((owner, Version::new(1, minor, 0), needs));
        }
    }
    Registry { releases }
}

fn ours(registry: &Registry) -> MemoryIndex {
    let mut index = MemoryIndex::default();
    for (owner, version, needs) in &registry.releases {
        let mut release = Release::new(version.clone());
        for (needed, range) in needs {
            release = release.needs(Dependency { package: package(*needed), range: range.clone() });
        }
        index.add(package(*owner), release);
    }
    index
}

type Offline = OfflineDependencyProvider<u64, Ranges<Version>>;

/// The bare solver with its own provider, but for the promise that what was asked for comes first: without it, it would decide in
/// another order and so do another work.
struct Bare(Offline);

impl DependencyProvider for Bare {
    type P = u64;
    type V = Version;
    type VS = Ranges<Version>;
    type Priority = (bool, Reverse<u64>, (u32, Reverse<usize>));
    type M = String;
    type Err = Infallible;

    fn prioritize(
        &self,
        package: &u64,
        range: &Ranges<Version>,
        statistics: &PackageResolutionStatistics,
    ) -> Self::Priority {
        let asked = *package < ROOTS;
        let order = if asked { *package } else { 0 };
        (asked, Reverse(order), self.0.prioritize(package, range, statistics))
    }

    fn choose_version(
        &self,
        package: &u64,
        range: &Ranges<Version>,
    ) -> Result<Option<Version>, Infallible> {
        self.0.choose_version(package, range)
    }

    fn get_dependencies(
        &self,
        package: &u64,
        version: &Version,
    ) -> Result<Dependencies<u64, Ranges<Version>, String>, Infallible> {
        self.0.get_dependencies(package, version)
    }
}

fn bare(registry: &Registry) -> Bare {
    let mut provider = Offline::new();
    let roots = (0..ROOTS).map(|root| (root, Ranges::full()));
    provider.add_dependencies(BARE_ROOT, Version::new(0, 0, 0), roots);
    for (owner, version, needs) in &registry.releases {
        let needs = needs.iter().map(|(needed, range)| (*needed, range.versions().clone()));
        provider.add_dependencies(*owner, version.clone(), needs);
    }
    Bare(provider)
}

/// Milliseconds of this thread on a processor where the system tells, because a ratio of two times on a busy machine says little;
/// elsewhere those that have passed.
fn milliseconds(since: Instant) -> f64 {
    let on_processor = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanoseconds = on_processor.and_then(|text| text.split(' ').next()?.parse::<f64>().ok());
    nanoseconds.map_or_else(|| since.elapsed().as_secs_f64() * 1e3, |time| time / 1e6)
}

fn timed<T>(beginning: Instant, run: impl FnOnce() -> T) -> (T, f64) {
    let start = milliseconds(beginning);
    let result = run();
    let time = milliseconds(beginning) - start;
    (result, time)
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

fn large() {
    let registry = registry();
    let beginning = Instant::now();
    let texts: Vec<&str> = registry
        .releases
        .iter()
        .flat_map(|(_, _, needs)| needs)
        .map(|(_, range)| range.as_str())
        .collect();
    let (parsed, time) =
        timed(beginning, || texts.iter().filter(|text| Range::parse(text).is_ok()).count());
    println!("parse-ns {:.0}", time * 1e6 / parsed as f64);

    let index = ours(&registry);
    let bare = bare(&registry);
    let requests: Vec<ResolveRequest> = (0..ROOTS).map(request).collect();
    let (mut our_times, mut bare_times, mut free_times) = (Vec::new(), Vec::new(), Vec::new());
    let mut sizes = (0, 0, 0);
    for _ in 0..RUNS {
        let (solution, time) =
            timed(beginning, || pubgrub::resolve(&bare, BARE_ROOT, Version::new(0, 0, 0)));
        bare_times.push(time);
        let (_, time) =
            timed(beginning, || pubgrub::resolve(&bare.0, BARE_ROOT, Version::new(0, 0, 0)));
        free_times.push(time);
        sizes.0 = solution.map_or(0, |solution| solution.into_iter().count() - 1);

        let (resolution, time) = timed(beginning, || resolve(&index, &requests, &OPTIONS));
        our_times.push(time);
        (sizes.1, sizes.2) =
            resolution.map_or((0, 0), |resolution| (resolution.skills.len(), resolution.work));
    }
    let ratios = our_times.iter().zip(&bare_times).map(|(ours, bare)| ours / bare).collect();
    println!("bare-size {}", sizes.0);
    println!("size {}", sizes.1);
    println!("work {}", sizes.2);
    println!("ratio {:.3}", median(ratios));
    println!("free-ms {:.3}", median(free_times));
    println!("bare-ms {:.3}", median(bare_times));
    println!("ms {:.3}", median(our_times));
}

fn hostile(name: &str, shape: Tangle) {
    let (mut longest, mut given_up) = (0.0_f64, 0);
    for seed in 0..10 {
        let index = shape.index(seed);
        let (answer, time) = timed(Instant::now(), || resolve(&index, &[request(0)], &OPTIONS));
        longest = longest.max(time);
        let out: Result<(), ResolveError<Infallible>> = answer.map(|_| ());
        given_up += u32::from(matches!(out, Err(ResolveError::OutOfWork { .. })));
    }
    println!("{name}-ms {longest:.3}");
    println!("{name}-given-up {given_up}");
}

fn main() {
    large();
    hostile("hostile", Tangle { packages: 100, versions: 10, needs: 4, width: 3 });
    hostile("larger-hostile", Tangle { packages: 1000, versions: 5, needs: 3, width: 2 });
}
