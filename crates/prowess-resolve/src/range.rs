//! Version ranges as sets of versions.

use std::fmt;
use std::str::FromStr;

use prowess_format::range::{self, Comparator, Operator, PartialVersion, RangeError};
use prowess_format::skill::SkillDependency;
use pubgrub::Ranges;
use semver::{BuildMetadata, Prerelease, Version};

/// A version range (GAIA §10.2), with its original text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Range {
    text: Box<str>,
    versions: Ranges<Version>,
    /// The pre-releases that the text names.
    named: Vec<[u64; 3]>,
}

impl Range {
    /// Any version, which is the meaning of an absent range.
    pub fn any() -> Self {
        Self { text: "".into(), versions: Ranges::full(), named: Vec::new() }
    }

    /// Parses a range. An invalid text is an error and never means any version (GAIA §10.2).
    pub fn parse(text: &str) -> Result<Self, RangeError> {
        let comparators = range::parse(text)?;
        let versions = comparators
            .iter()
            .fold(Ranges::full(), |set, comparator| set.intersection(&selected(comparator)));
        let named = comparators
            .iter()
            // Excluding a pre-release does not request pre-releases.
            .filter(|comparator| comparator.operator != Operator::Not)
            .map(|comparator| &comparator.version)
            .filter(|version| !version.pre.is_empty())
            .map(|version| first(version).numbers())
            .collect();
        Ok(Self { text: text.trim().into(), versions, named })
    }

    /// The range of a declared dependency; no range means any version.
    pub fn declared(dependency: &SkillDependency) -> Result<Self, RangeError> {
        if dependency.range.is_empty() { Ok(Self::any()) } else { Self::parse(&dependency.range) }
    }

    /// Exactly one version.
    pub fn exactly(version: &Version) -> Self {
        let version = comparable(version);
        Self {
            text: format!("=={version}").into(),
            named: if version.pre.is_empty() { Vec::new() } else { vec![version.numbers()] },
            versions: Ranges::singleton(version),
        }
    }

    /// Whether a version is in the range.
    ///
    /// A pre-release only matches if the range names a pre-release of the same three numbers:
    /// `>=1.0.0` does not match 2.0.0-rc.1. A resolution may accept more; see `docs/design`.
    pub fn contains(&self, version: &Version) -> bool {
        let version = comparable(version);
        (version.pre.is_empty() || self.names(&version)) && self.versions.contains(&version)
    }

    /// The original text; empty for any version.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Every version between the bounds, including pre-releases.
    pub fn versions(&self) -> &Ranges<Version> {
        &self.versions
    }

    pub(crate) fn names_any(&self) -> bool {
        !self.named.is_empty()
    }

    /// Whether a pre-release of the same three numbers is named.
    pub(crate) fn names(&self, prerelease: &Version) -> bool {
        self.named.contains(&prerelease.numbers())
    }
}

impl FromStr for Range {
    type Err = RangeError;

    fn from_str(text: &str) -> Result<Self, RangeError> {
        Self::parse(text)
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A parsed range has no deceptive characters.
        f.write_str(if self.text.is_empty() { "any version" } else { &self.text })
    }
}

/// The version without build metadata. SemVer §10 ignores it when comparing, but the `semver` crate
/// does not.
pub fn comparable(version: &Version) -> Version {
    let mut version = version.clone();
    version.build = BuildMetadata::EMPTY;
    version
}

trait Numbers {
    fn numbers(&self) -> [u64; 3];
}

impl Numbers for Version {
    fn numbers(&self) -> [u64; 3] {
        [self.major, self.minor, self.patch]
    }
}

/// The versions that a comparator selects. A partial version means all versions that begin with it.
fn selected(comparator: &Comparator) -> Ranges<Version> {
    let version = &comparator.version;
    let from = || Ranges::higher_than(first(version));
    match comparator.operator {
        Operator::Exact => exact(version),
        Operator::Not => match version.patch {
            Some(_) => exact(version).complement(),
            // Including the pre-releases before the first of them.
            None => Ranges::strictly_lower_than(before(first(version))).union(&above_all(version)),
        },
        Operator::AtLeast => from(),
        Operator::AtMost => match version.patch {
            Some(_) => Ranges::lower_than(first(version)),
            None => above_all(version).complement(),
        },
        Operator::Above => match version.patch {
            Some(_) => Ranges::strictly_higher_than(first(version)),
            None => above_all(version),
        },
        // PEP 440: `<2.0.0` excludes pre-releases of 2.0.0, unless the bound is a pre-release.
        Operator::Below if version.pre.is_empty() => {
            Ranges::strictly_lower_than(before(first(version)))
        }
        Operator::Below => Ranges::strictly_lower_than(first(version)),
        // The leftmost number that is not zero must not change.
        Operator::Caret => {
            let end = match (version.major, version.minor, version.patch) {
                (0, Some(0), Some(patch)) => next([0, 0, patch], 2),
                (0, Some(minor), _) => next([0, minor, 0], 1),
                (major, _, _) => next([major, 0, 0], 0),
            };
            from().intersection(&up_to(end))
        }
        Operator::Tilde => {
            let end = match version.minor {
                Some(minor) => next([version.major, minor, 0], 1),
                None => next([version.major, 0, 0], 0),
            };
            from().intersection(&up_to(end))
        }
        // PEP 440: `~=1.4.2` is `>=1.4.2, ==1.4.*`, and `~=1.4` is `>=1.4, ==1.*`.
        Operator::Compatible => {
            let end = match (version.minor, version.patch) {
                (Some(minor), Some(_)) => next([version.major, minor, 0], 1),
                _ => next([version.major, 0, 0], 0),
            };
            from().intersection(&up_to(end))
        }
    }
}

fn exact(version: &PartialVersion) -> Ranges<Version> {
    match version.patch {
        Some(_) => Ranges::singleton(first(version)),
        None => Ranges::higher_than(first(version)).intersection(&above_all(version).complement()),
    }
}

/// The lowest version that begins with these numbers, not counting pre-releases.
fn first(version: &PartialVersion) -> Version {
    Version {
        major: version.major,
        minor: version.minor.unwrap_or_default(),
        patch: version.patch.unwrap_or_default(),
        pre: version.pre.clone(),
        build: BuildMetadata::EMPTY,
    }
}

/// Every version above those that begin with these one or two numbers.
fn above_all(version: &PartialVersion) -> Ranges<Version> {
    let end = match version.minor {
        Some(minor) => next([version.major, minor, 0], 1),
        None => next([version.major, 0, 0], 0),
    };
    up_to(end).complement()
}

/// Every version below `end`; all versions without an end.
fn up_to(end: Option<Version>) -> Ranges<Version> {
    end.map_or_else(Ranges::full, Ranges::strictly_lower_than)
}

/// Increments the number at `place` and resets those after it, as the lowest pre-release: the
/// interval up to it contains no pre-release of an incompatible version. `None` if no version is
/// higher.
fn next(mut numbers: [u64; 3], place: usize) -> Option<Version> {
    match numbers[place].checked_add(1) {
        Some(grown) => {
            numbers[place] = grown;
            numbers[place + 1..].fill(0);
            Some(before(Version::new(numbers[0], numbers[1], numbers[2])))
        }
        None => next(numbers, place.checked_sub(1)?),
    }
}

/// The lowest pre-release of a version (SemVer §11).
fn before(mut version: Version) -> Version {
    version.pre = Prerelease::new("0").expect("a number is an identifier");
    version
}
