//! The releases that a resolver chooses from.

use std::borrow::Cow;
use std::collections::HashMap;
use std::convert::Infallible;

use semver::Version;

use crate::package::Package;
use crate::range::Range;

/// A source of releases.
pub trait ReleaseIndex {
    /// The error of a lookup.
    type Error: std::error::Error + 'static;

    /// Lists every release of a package, in any order; an empty list means that the source has no
    /// such package.
    ///
    /// Called at most once per package and resolution. Each dependency in the result names its
    /// source: the index decides which registry a bare name refers to, not the highest version
    /// (attack registry-A9).
    fn releases(&self, package: &Package) -> Result<Cow<'_, [Release]>, Self::Error>;
}

/// One version of a skill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Release {
    /// Its version.
    pub version: Version,
    /// Its required dependencies.
    pub dependencies: Vec<Dependency>,
    /// Whether the publisher yanked it: it is only chosen if it is already locked.
    pub yanked: bool,
    /// Whether it is experimental (GAIA §4.3): it is only chosen if it is requested by name.
    pub experimental: bool,
    /// Publication time, in seconds since 1970.
    pub published: Option<u64>,
}

impl Release {
    /// An ordinary release without dependencies.
    pub fn new(version: Version) -> Self {
        Self {
            version,
            dependencies: Vec::new(),
            yanked: false,
            experimental: false,
            published: None,
        }
    }

    /// Adds a dependency.
    #[must_use]
    pub fn needs(mut self, dependency: Dependency) -> Self {
        self.dependencies.push(dependency);
        self
    }
}

/// A skill that a release depends on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dependency {
    /// The skill.
    pub package: Package,
    /// The accepted versions.
    pub range: Range,
}

/// An index in memory.
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

impl ReleaseIndex for MemoryIndex {
    type Error = Infallible;

    fn releases(&self, package: &Package) -> Result<Cow<'_, [Release]>, Infallible> {
        Ok(self.releases.get(package).map_or(Cow::Borrowed(&[]), |all| Cow::Borrowed(all)))
    }
}
