//! Indexes that are made to waste time.

use std::borrow::Cow;
use std::convert::Infallible;

use prowess_resolve::{
    Conflict, Dependency, Package, Range, Release, ReleaseIndex, ResolveError, ResolveLimits,
    ResolveOptions, ResolveRequest, resolve,
};
use semver::Version;

use crate::tangle::{Tangle, package};

fn ask<I: ReleaseIndex>(index: &I, limits: ResolveLimits) -> Result<u64, ResolveError<I::Error>> {
    let request = ResolveRequest {
        package: package(0),
        range: Range::any(),
        origin: "a test".to_owned(),
        allow_experimental: false,
    };
    let options = ResolveOptions { locked: &[], published_until: None, limits };
    resolve(index, &[request], &options).map(|resolution| resolution.work)
}

#[test]
fn a_tangle_is_given_up_after_a_number_of_steps() {
    let mut given_up = 0;
    for seed in 0..10 {
        let tangle = Tangle { packages: 100, versions: 5, needs: 3, width: 2 }.index(seed);
        match ask(&tangle, ResolveLimits { work: 200_000, ..ResolveLimits::USUAL }) {
            Err(ResolveError::OutOfWork { most }) => {
                assert_eq!(most, 200_000);
                given_up += 1;
            }
            Err(ResolveError::Conflict(conflict)) => {
                assert!(conflict.to_string().lines().count() <= Conflict::MOST_LINES);
            }
            other => panic!("{other:?}"),
        }
    }
    assert!(given_up > 0, "the tangles are too easy to say anything");
}

#[test]
fn a_long_proof_is_told_in_few_lines() {
    for seed in 0..5 {
        let tangle = Tangle { packages: 30, versions: 5, needs: 3, width: 2 }.index(seed);
        match ask(&tangle, ResolveLimits { work: u64::MAX, ..ResolveLimits::USUAL }) {
            Err(ResolveError::Conflict(conflict)) => {
                let lines = conflict.to_string().lines().count();
                assert!((2..=Conflict::MOST_LINES).contains(&lines), "{conflict}");
            }
            other => panic!("{other:?}"),
        }
    }
}

/// There is always one skill more to look at.
struct Endless;

impl ReleaseIndex for Endless {
    type Error = Infallible;

    fn releases(&self, package_: &Package) -> Result<Cow<'_, [Release]>, Infallible> {
        let number: u64 = package_.name()[1..].parse().expect("a number");
        let next = Dependency { package: package(number + 1), range: Range::any() };
        Ok(Cow::Owned(vec![Release::new(Version::new(1, 0, 0)).needs(next)]))
    }
}

#[test]
fn an_endless_chain_ends() {
    let error =
        ask(&Endless, ResolveLimits { packages: 500, ..ResolveLimits::USUAL }).expect_err("no end");
    assert_eq!(error.to_string(), "the dependency graph has more than 500 skills");
}

/// One skill with whatever there is of it.
struct Listed(Vec<Release>);

impl ReleaseIndex for Listed {
    type Error = Infallible;

    fn releases(&self, _: &Package) -> Result<Cow<'_, [Release]>, Infallible> {
        Ok(Cow::Borrowed(&self.0))
    }
}

#[test]
fn implausible_numbers_are_refused() {
    let releases = (0..11).map(|patch| Release::new(Version::new(1, 0, patch))).collect();
    let error = ask(&Listed(releases), ResolveLimits { releases: 10, ..ResolveLimits::USUAL })
        .expect_err("11");
    assert_eq!(error.to_string(), "`p0` has 11 releases, the limit is 10");

    let needs = (0..11).map(|_| Dependency { package: package(1), range: Range::any() });
    let release = Release { dependencies: needs.collect(), ..Release::new(Version::new(1, 0, 0)) };
    let limits = ResolveLimits { dependencies: 10, ..ResolveLimits::USUAL };
    let error = ask(&Listed(vec![release]), limits).expect_err("11");
    assert_eq!(error.to_string(), "`p0` 1.0.0 depends on 11 skills, the limit is 10");
}

#[test]
fn a_deep_graph_does_not_exhaust_the_stack() {
    /// A chain of skills; the last one is missing.
    struct Chain(u64);
    impl ReleaseIndex for Chain {
        type Error = Infallible;
        fn releases(&self, package_: &Package) -> Result<Cow<'_, [Release]>, Infallible> {
            let number: u64 = package_.name()[1..].parse().expect("a number");
            if number == self.0 {
                return Ok(Cow::Borrowed(&[]));
            }
            let next = Dependency { package: package(number + 1), range: Range::any() };
            Ok(Cow::Owned(vec![Release::new(Version::new(1, 0, 0)).needs(next)]))
        }
    }
    let error = ask(&Chain(1_000), ResolveLimits::USUAL).expect_err("the last is missing");
    let shown = error.to_string();
    assert!(shown.starts_with("`registry.example` has no skill `p1000`\n"), "{shown}");
    assert_eq!(shown.lines().count(), Conflict::MOST_LINES);
}

/// An index that cannot answer.
struct Broken;

impl ReleaseIndex for Broken {
    type Error = std::fmt::Error;

    fn releases(&self, _: &Package) -> Result<Cow<'_, [Release]>, std::fmt::Error> {
        Err(std::fmt::Error)
    }
}

#[test]
fn a_failing_index_is_named() {
    let error = ask(&Broken, ResolveLimits::USUAL).expect_err("it fails");
    assert_eq!(error.to_string(), "could not look up the releases of `p0`");
    assert!(std::error::Error::source(&error).is_some());
    assert_eq!(error.hint(), "check that `registry.example` is reachable, and try again");
}
