//! Graphs of skills that are made to waste time, for the tests and for the measurement in `examples/resolve_times.rs`.

use prowess_resolve::{Dependency, MemoryIndex, Package, Release};
use semver::Version;

/// Numbers that look random and are the same on every machine.
pub(crate) struct Numbers(pub(crate) u64);

impl Numbers {
    /// The next one.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        // SplitMix64
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % end
    }
}

/// A skill with a number.
pub(crate) fn package(number: u64) -> Package {
    Package::new("registry.example", format!("p{number}"))
}

/// Every release of every package needs others in a narrow range, so that nearly nothing goes together and nearly every
/// choice has to be tried to know.
#[derive(Clone, Copy)]
pub(crate) struct Tangle {
    pub(crate) packages: u64,
    /// Of each package.
    pub(crate) versions: u64,
    /// How many others a release needs.
    pub(crate) needs: u64,
    /// How many versions of each of them would do.
    pub(crate) width: u64,
}

impl Tangle {
    /// One of many graphs of this shape.
    pub(crate) fn index(self, seed: u64) -> MemoryIndex {
        let Self { packages, versions, needs, width } = self;
        let mut numbers = Numbers(seed);
        let mut index = MemoryIndex::default();
        for owner in 0..packages {
            for minor in 0..versions {
                let mut release = Release::new(Version::new(1, minor, 0));
                for _ in 0..needs {
                    let low = numbers.below(versions + 1 - width);
                    let range = format!(">=1.{low}.0, <1.{}.0", low + width);
                    release = release.needs(Dependency {
                        package: package(numbers.below(packages)),
                        range: range.parse().expect("a range"),
                    });
                }
                index.add(package(owner), release);
            }
        }
        index
    }
}
