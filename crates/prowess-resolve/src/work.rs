//! Version sets that count their operations.
//!
//! A solver spends its time comparing sets. Counting the comparisons measures its work without a
//! clock, so that a hostile graph is rejected at the same point on every machine. Counting
//! decisions would be simpler, but one can cost a thousand times as much as another.

use std::cell::Cell;
use std::fmt;

use pubgrub::{Ranges, VersionSet};
use semver::Version;

thread_local! {
    /// Thread-local, because a set has no reference to its solver and a resolution stays on its
    /// thread.
    static WORK: Cell<u64> = const { Cell::new(0) };
}

/// The work done on this thread so far.
pub(crate) fn done() -> u64 {
    WORK.get()
}

/// A version set that counts its operations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Versions(pub(crate) Ranges<Version>);

impl Versions {
    /// The cost of an operation is the number of pieces of both sets.
    fn count(&self, other: &Self) {
        let pieces = |set: &Self| set.0.iter().size_hint().0 as u64;
        WORK.set(WORK.get() + 1 + pieces(self) + pieces(other));
    }
}

/// For the log of the solver.
impl fmt::Display for Versions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl VersionSet for Versions {
    type V = Version;

    fn empty() -> Self {
        Self(Ranges::empty())
    }

    fn singleton(version: Version) -> Self {
        Self(Ranges::singleton(version))
    }

    fn complement(&self) -> Self {
        self.count(self);
        Self(self.0.complement())
    }

    fn intersection(&self, other: &Self) -> Self {
        self.count(other);
        Self(self.0.intersection(&other.0))
    }

    fn contains(&self, version: &Version) -> bool {
        self.0.contains(version)
    }

    fn full() -> Self {
        Self(Ranges::full())
    }

    fn union(&self, other: &Self) -> Self {
        self.count(other);
        Self(self.0.union(&other.0))
    }

    fn is_disjoint(&self, other: &Self) -> bool {
        self.count(other);
        self.0.is_disjoint(&other.0)
    }

    fn subset_of(&self, other: &Self) -> bool {
        self.count(other);
        self.0.subset_of(&other.0)
    }
}
