//! What a resolver has to know about the skills there are.

use std::borrow::Cow;
use std::collections::HashMap;
use std::convert::Infallible;

use semver::Version;

use crate::package::Package;
use crate::range::Range;

/// Where releases are looked up.
pub trait Index {
    /// What goes wrong when looking.
    type Error: std::error::Error + 'static;

    /// Every release of a package, in any order; none means that the source has no such package.
    ///
    /// It is asked at most once for each package in a resolution. The answer names the package of each dependency with its
    /// source: which registry a bare name is from is settled there, once, and not by whoever has the higher version
    /// (attack registry-A9).
    fn releases(&self, package: &Package) -> Result<Cow<'_, [Release]>, Self::Error>;
}

/// One version of a skill, as far as it matters for choosing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Release {
    /// Its version.
    pub version: Version,
    /// What it cannot do without.
    pub dependencies: Vec<Dependency>,
    /// Taken back by its publisher: chosen only where it is locked already.
    pub yanked: bool,
    /// Nobody stands up for it (GAIA §4.3): chosen only where somebody has asked for it by name.
    pub experimental: bool,
    /// When it was published, in seconds since 1970.
    pub published: Option<u64>,
}

impl Release {
    /// A release that needs nothing and that nothing is wrong with.
    pub fn new(version: Version) -> Self {
        Self {
            version,
            dependencies: Vec::new(),
            yanked: false,
            experimental: false,
            published: None,
        }
    }

    /// The same with one dependency more.
    #[must_use]
    pub fn needs(mut self, dependency: Dependency) -> Self {
        self.dependencies.push(dependency);
        self
    }
}

/// A skill that a release needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dependency {
    /// Which.
    pub package: Package,
    /// In which versions.
    pub range: Range,
}

/// Releases that are known already.
#[derive(Clone, Debug, Default)]
pub struct MemoryIndex {
    releases: HashMap<Package, Vec<Release>>,
}

impl MemoryIndex {
    /// Adds one release.
    pub fn add(&mut self, package: Package, release: Release) {
        self.releases.entry(package).or_default().push(release);
    }
}

impl Index for MemoryIndex {
    type Error = Infallible;

    fn releases(&self, package: &Package) -> Result<Cow<'_, [Release]>, Infallible> {
        Ok(self.releases.get(package).map_or(Cow::Borrowed(&[]), |all| Cow::Borrowed(all)))
    }
}
