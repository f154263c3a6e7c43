//! Why there is no resolution.

use std::fmt;

use semver::Version;

use crate::package::Package;

/// Why there is no resolution.
#[derive(Debug, thiserror::Error)]
pub enum ResolveError<E: std::error::Error + 'static> {
    /// The index could not say which releases there are.
    #[error("could not look up the releases of `{package}`")]
    Index {
        /// Of which skill.
        package: Package,
        /// What went wrong.
        source: E,
    },
    /// The wishes contradict each other, or nothing fulfils one (GAIA §10.3).
    #[error("{0}")]
    Conflict(Conflict),
    /// Each skill of the circle needs the next one (GAIA §10.3).
    #[error("skills need each other in a circle: {}", circle(.skills))]
    Cycle {
        /// The circle; the last one needs the first.
        skills: Vec<(Package, Version)>,
    },
    /// Two skills of one name from different sources would have to be installed (attack registry-A9).
    #[error(
        "`{}` would come from two sources: from `{}` for {}, and from `{}` for {}",
        first.0, first.0.source(), first.1, second.0.source(), second.1
    )]
    TwoSources {
        /// One of them, and who needs it.
        first: (Package, String),
        /// The other, and who needs it.
        second: (Package, String),
    },
    /// The search took too long. Whether there is a solution is not known.
    #[error("gave up looking for versions that go together after {most} steps")]
    OutOfWork {
        /// How much work may be done.
        most: u64,
    },
    /// There is no end of skills that need further ones.
    #[error("more than {most} skills would have to be looked at")]
    TooManyPackages {
        /// How many may be.
        most: u32,
    },
    /// A skill with an implausible number of releases.
    #[error("`{package}` has {count} releases, at most {most} are looked at")]
    TooManyReleases {
        /// Which skill.
        package: Package,
        /// How many it has.
        count: usize,
        /// How many it may have.
        most: u32,
    },
    /// A release with an implausible number of dependencies.
    #[error("`{package}` {version} needs {count} other skills, at most {most} are looked at")]
    TooManyDependencies {
        /// Which skill.
        package: Package,
        /// Which release.
        version: Version,
        /// How many it has.
        count: usize,
        /// How many it may have.
        most: u32,
    },
}

impl<E: std::error::Error + 'static> ResolveError<E> {
    /// What to do next.
    pub fn hint(&self) -> String {
        match self {
            Self::Index { package, .. } => {
                format!("see whether `{}` can be reached, and try again", package.source())
            }
            Self::Conflict(conflict) => conflict.hint.clone(),
            Self::Cycle { skills } => {
                let first = skills.first().map(|(package, _)| package.to_string());
                format!(
                    "ask for a version of `{}` that does without the others, or tell its author",
                    first.unwrap_or_default()
                )
            }
            Self::TwoSources { first, .. } => {
                format!("settle on one source for `{}`", first.0)
            }
            Self::OutOfWork { .. } => {
                "ask for narrower ranges, or for fewer skills at a time".to_owned()
            }
            Self::TooManyPackages { .. }
            | Self::TooManyReleases { .. }
            | Self::TooManyDependencies { .. } => {
                "do not trust this source before you know why".to_owned()
            }
        }
    }
}

/// Why no choice of versions suits everybody: who asks for what, and what there is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// The whole in one line.
    pub summary: String,
    /// Each constraint with its origin, and what there is instead.
    pub facts: Vec<String>,
    /// What to do next.
    pub hint: String,
}

impl Conflict {
    /// The most lines that a conflict takes. A proof can have tens of thousands, which nobody reads.
    pub const MOST_LINES: usize = 40;
}

impl fmt::Display for Conflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.summary)?;
        self.facts.iter().try_for_each(|fact| write!(f, "\n  {fact}"))
    }
}

fn circle(skills: &[(Package, Version)]) -> String {
    // A circle of hundreds would be true and unreadable.
    const MOST: usize = 12;
    let mut names: Vec<String> = skills
        .iter()
        .take(MOST)
        .map(|(package, version)| format!("`{package}` {version}"))
        .collect();
    if skills.len() > MOST {
        names.push(format!("{} more", skills.len() - MOST));
    }
    names.extend(skills.first().map(|(package, _)| format!("`{package}`")));
    names.join(" → ")
}
