//! Sets of versions that count what is done with them.
//!
//! A solver spends its time comparing sets. To count these comparisons is to measure its work without a clock, so that a
//! hostile graph is given up at the same place on every machine. Decisions would be the simpler count, but one can cost a
//! thousand times what another does.

use std::cell::Cell;
use std::fmt;

use pubgrub::{Ranges, VersionSet};
use semver::Version;

thread_local! {
    /// A set has no way to the solver that uses it, and a resolution stays on its thread.
    static WORK: Cell<u64> = const { Cell::new(0) };
}

/// What was done on this thread so far.
pub(crate) fn done() -> u64 {
    WORK.get()
}

/// A set of versions that counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Versions(pub(crate) Ranges<Version>);

impl Versions {
    /// An operation costs as much as the sets have pieces.
    fn count(&self, other: &Self) {
        let pieces = |set: &Self| set.0.iter().size_hint().0 as u64;
        WORK.set(WORK.get() + 1 + pieces(self) + pieces(other));
    }
}

/// For the log of the solver; people read what was written.
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
