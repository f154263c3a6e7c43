//! What holds for every graph of skills, tried on small ones where every choice can be looked at.

use std::collections::BTreeMap;

use proptest::prelude::*;
use prowess_resolve::{
    Dependency, MemoryIndex, Package, Range, Release, Resolution, ResolveError, ResolveLimits,
    ResolveOptions, ResolveRequest, resolve,
};
use semver::Version;

const VERSIONS: [&str; 5] = ["1.0.0", "1.1.0", "2.0.0-a", "2.0.0", "3.0.0"];
const RANGES: [&str; 12] = [
    "",
    "^1",
    "^2",
    ">=1.1.0",
    "<2.0.0",
    "==1.0.0",
    "!=1.1.0",
    "~=1.0",
    ">=2.0.0-a",
    "<3",
    ">9",
    ">=1.1, !=3.0.0",
];
/// Those that name no pre-release; the wider rule for requests that do has tests of its own.
const PLAIN_RANGES: usize = 8;

#[derive(Clone, Debug)]
struct DrawnRelease {
    listed: bool,
    yanked: bool,
    experimental: bool,
    needs: Vec<(usize, usize)>,
}

#[derive(Clone, Debug)]
struct Graph {
    packages: Vec<Vec<DrawnRelease>>,
    requests: Vec<(usize, usize)>,
}

fn graphs() -> impl Strategy<Value = Graph> {
    let release = |packages: usize| {
        (
            prop::bool::weighted(0.8),
            prop::bool::weighted(0.1),
            prop::bool::weighted(0.1),
            prop::collection::vec((0..packages, 0..RANGES.len()), 0..3),
        )
            .prop_map(|(listed, yanked, experimental, needs)| DrawnRelease {
                listed,
                yanked,
                experimental,
                needs,
            })
    };
    (2_usize..5).prop_flat_map(move |packages| {
        (
            prop::collection::vec(
                prop::collection::vec(release(packages), VERSIONS.len()),
                packages,
            ),
            prop::collection::vec((0..packages, 0..PLAIN_RANGES), 1..4),
        )
            .prop_map(|(packages, requests)| Graph { packages, requests })
    })
}

fn package(number: usize) -> Package {
    Package::new("registry.example", format!("p{number}"))
}

fn range(number: usize) -> Range {
    let text = RANGES[number];
    if text.is_empty() { Range::any() } else { text.parse().expect("a range") }
}

fn version(number: usize) -> Version {
    VERSIONS[number].parse().expect("a version")
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Listing {
    Forwards,
    Backwards,
}

fn answer(
    graph: &Graph,
    listing: Listing,
) -> Result<Resolution, ResolveError<std::convert::Infallible>> {
    let mut index = MemoryIndex::default();
    for (owner, releases) in graph.packages.iter().enumerate() {
        let mut listed: Vec<Release> = Vec::new();
        for (at, drawn) in releases.iter().enumerate().filter(|(_, drawn)| drawn.listed) {
            let mut dependencies: Vec<Dependency> = drawn
                .needs
                .iter()
                .map(|&(needed, wanted)| Dependency {
                    package: package(needed),
                    range: range(wanted),
                })
                .collect();
            if listing == Listing::Backwards {
                dependencies.reverse();
            }
            listed.push(Release {
                dependencies,
                yanked: drawn.yanked,
                experimental: drawn.experimental,
                ..Release::new(version(at))
            });
        }
        if listing == Listing::Backwards {
            listed.reverse();
        }
        for release in listed {
            index.add(package(owner), release);
        }
    }
    let requests: Vec<ResolveRequest> = graph
        .requests
        .iter()
        .map(|&(wanted, number)| ResolveRequest {
            package: package(wanted),
            range: range(number),
            origin: "a test".to_owned(),
            allow_experimental: false,
        })
        .collect();
    let options =
        ResolveOptions { locked: &[], published_until: None, limits: ResolveLimits::USUAL };
    resolve(&index, &requests, &options)
}

/// Every choice that keeps all the rules, found by trying all.
fn all_choices(graph: &Graph) -> Vec<Vec<Option<usize>>> {
    let count = graph.packages.len();
    let base = VERSIONS.len() + 1;
    let exponent = u32::try_from(count).expect("a few packages");
    (0..base.pow(exponent))
        .map(|number| {
            (0..exponent)
                .map(|place| (number / base.pow(place)) % base)
                .map(|digit| digit.checked_sub(1))
                .collect::<Vec<Option<usize>>>()
        })
        .filter(|choice| keeps_the_rules(graph, choice))
        .collect()
}

fn keeps_the_rules(graph: &Graph, choice: &[Option<usize>]) -> bool {
    let accepted = |owner: Option<usize>, &(needed, wanted): &(usize, usize)| {
        owner == Some(needed) || choice[needed].is_some_and(|at| accepts(graph, needed, wanted, at))
    };
    graph.requests.iter().all(|request| accepted(None, request))
        && choice.iter().enumerate().all(|(owner, at)| {
            let Some(at) = *at else { return true };
            let release = &graph.packages[owner][at];
            release.listed
                && !release.yanked
                && !release.experimental
                && release.needs.iter().all(|need| accepted(Some(owner), need))
        })
}

fn accepts(graph: &Graph, package: usize, wanted: usize, at: usize) -> bool {
    let only_trials = graph.packages[package]
        .iter()
        .enumerate()
        .filter(|(_, release)| release.listed && !release.yanked)
        .all(|(at, _)| VERSIONS[at].contains('-'));
    let range = range(wanted);
    range.contains(&version(at)) || (only_trials && range.versions().contains(&version(at)))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn an_answer_keeps_every_rule_and_is_found_when_there_is_one(graph in graphs()) {
        let possible = all_choices(&graph);
        match answer(&graph, Listing::Forwards) {
            Ok(resolution) => {
                let chosen: BTreeMap<Package, Version> = resolution
                    .skills
                    .iter()
                    .map(|skill| (skill.package.clone(), skill.version.clone()))
                    .collect();
                let choice: Vec<Option<usize>> = (0..graph.packages.len())
                    .map(|number| {
                        let chosen = chosen.get(&package(number))?;
                        (0..VERSIONS.len()).find(|&at| version(at) == *chosen)
                    })
                    .collect();
                prop_assert!(keeps_the_rules(&graph, &choice), "{choice:?}");
                // What was asked for is as high as it can be, the first request first.
                let asked = |choice: &[Option<usize>]| {
                    graph.requests.iter().map(|&(wanted, _)| choice[wanted]).collect::<Vec<_>>()
                };
                let best = possible.iter().map(|choice| asked(choice)).max();
                prop_assert_eq!(Some(asked(&choice)), best);
                for (place, skill) in resolution.skills.iter().enumerate() {
                    for needed in &skill.dependencies {
                        let earlier = resolution.skills[..place].iter();
                        prop_assert!(
                            earlier.map(|skill| &skill.package).any(|earlier| earlier == needed),
                            "{needed:?} comes before {:?}", skill.package
                        );
                    }
                }
            }
            Err(ResolveError::Conflict(conflict)) => {
                prop_assert!(possible.is_empty(), "{conflict}\n{possible:?}");
                prop_assert!(conflict.to_string().lines().count() <= 40);
            }
            Err(ResolveError::Cycle { skills }) => {
                prop_assert!(!possible.is_empty());
                for (at, (owner, chosen)) in skills.iter().enumerate() {
                    let (next, _) = &skills[(at + 1) % skills.len()];
                    let releases = (0..graph.packages.len()).find(|&one| package(one) == *owner);
                    let release = (0..VERSIONS.len()).find(|&at| version(at) == *chosen);
                    let release = &graph.packages[releases.expect("a package")][release.expect("a release")];
                    prop_assert!(release.needs.iter().any(|(needed, _)| package(*needed) == *next));
                }
            }
            Err(other) => prop_assert!(false, "{other}"),
        }
    }

    #[test]
    fn the_order_of_a_listing_does_not_matter(graph in graphs()) {
        let shown = |listing| match answer(&graph, listing) {
            Ok(resolution) => format!("{resolution:?}"),
            Err(error) => format!("{error}\n{}", error.hint()),
        };
        prop_assert_eq!(shown(Listing::Forwards), shown(Listing::Backwards));
    }
}
