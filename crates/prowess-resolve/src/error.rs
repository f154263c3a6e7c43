//! Errors of a resolution.

use std::fmt;

use semver::Version;

use crate::package::Package;

/// Why there is no resolution.
#[derive(Debug, thiserror::Error)]
pub enum ResolveError<E: std::error::Error + 'static> {
    /// The index could not list the releases.
    #[error("could not look up the releases of `{package}`")]
    Index {
        /// The skill.
        package: Package,
        /// The error of the index.
        source: E,
    },
    /// The requirements contradict each other, or one can't be satisfied (GAIA §10.3).
    #[error("{0}")]
    Conflict(Conflict),
    /// Each skill of the cycle depends on the next one (GAIA §10.3).
    #[error("dependency cycle: {}", cycle(.skills))]
    Cycle {
        /// The cycle; the last one depends on the first.
        skills: Vec<(Package, Version)>,
    },
    /// Two skills of the same name from different sources would have to be installed (attack
    /// registry-A9).
    #[error(
        "`{}` would come from two sources: from `{}` for {}, and from `{}` for {}",
        first.0, first.0.source(), first.1, second.0.source(), second.1
    )]
    TwoSources {
        /// One of them, and what requires it.
        first: (Package, String),
        /// The other, and what requires it.
        second: (Package, String),
    },
    /// The search took too long. There may be a solution.
    #[error("gave up searching for compatible versions after {most} steps")]
    OutOfWork {
        /// The limit.
        most: u64,
    },
    /// The dependency graph is too large.
    #[error("the dependency graph has more than {most} skills")]
    TooManyPackages {
        /// The limit.
        most: u32,
    },
    /// A skill with an implausible number of releases.
    #[error("`{package}` has {count} releases, the limit is {most}")]
    TooManyReleases {
        /// The skill.
        package: Package,
        /// The number.
        count: usize,
        /// The limit.
        most: u32,
    },
    /// A release with an implausible number of dependencies.
    #[error("`{package}` {version} depends on {count} skills, the limit is {most}")]
    TooManyDependencies {
        /// The skill.
        package: Package,
        /// The release.
        version: Version,
        /// The number.
        count: usize,
        /// The limit.
        most: u32,
    },
}

impl<E: std::error::Error + 'static> ResolveError<E> {
    /// What to do next.
    pub fn hint(&self) -> String {
        match self {
            Self::Index { package, .. } => {
                format!("check that `{}` is reachable, and try again", package.source())
            }
            Self::Conflict(conflict) => conflict.hint.clone(),
            Self::Cycle { skills } => {
                let first = skills.first().map(|(package, _)| package.to_string());
                format!(
                    "ask for a version of `{}` without this dependency, or contact its author",
                    first.unwrap_or_default()
                )
            }
            Self::TwoSources { first, .. } => {
                format!("use one source for `{}`", first.0)
            }
            Self::OutOfWork { .. } => {
                "request narrower ranges, or fewer skills at a time".to_owned()
            }
            Self::TooManyPackages { .. }
            | Self::TooManyReleases { .. }
            | Self::TooManyDependencies { .. } => {
                "don't trust this source until you know why".to_owned()
            }
        }
    }
}

/// Why no set of versions satisfies all requirements: the requirements and the available versions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// A one-line summary.
    pub summary: String,
    /// Each constraint with its origin, and the available versions.
    pub facts: Vec<String>,
    /// What to do next.
    pub hint: String,
}

impl Conflict {
    /// Maximum number of lines of a conflict. A proof can have tens of thousands.
    pub const MOST_LINES: usize = 40;
}

impl fmt::Display for Conflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.summary)?;
        self.facts.iter().try_for_each(|fact| write!(f, "\n  {fact}"))
    }
}

fn cycle(skills: &[(Package, Version)]) -> String {
    // A cycle of hundreds would be unreadable.
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
