//! Where skills come from: what a source offers, and the exact place that a lock records.

mod find;
mod local;

use std::fmt;

use prowess_core::{Problem, ProblemKind, Remedy};
use prowess_package::name::SkillName;
use prowess_package::path::PackagePath;
use prowess_package::tree::Tree;
use prowess_resolve::{Package, Release};

use crate::reference::{NamedReference, Reference};

pub use find::{FoundFolder, MOST_MANIFEST_BYTES, declared_name, distinct, skill_folders};
pub use local::{Local, covered_note, tree_of_file, withheld};

/// The exact place a skill was taken from. Taken from there again, it is the same bytes, or an error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pinned {
    /// A folder of this machine.
    Folder {
        /// Its absolute path.
        path: String,
    },
    /// An archive or a lone `SKILL.md`, on this machine or at an address.
    File {
        /// An absolute path or an address.
        location: String,
        /// The hash of its bytes, `sha256:` and hexadecimal digits.
        sha256: String,
    },
    /// A commit of a repository.
    Git {
        /// What git was given, without names and passwords.
        url: String,
        /// The full name of the commit.
        commit: String,
        /// The branch or tag that was asked for, which an update follows.
        revision: Option<String>,
        /// The folder of the skill; the root otherwise.
        folder: Option<PackagePath>,
    },
    /// A skill that a domain publishes (R23).
    WellKnown {
        /// The domain as it was asked for.
        base: String,
        /// Where the skill lies.
        url: String,
        /// The digest that the index promises; the older shapes have none.
        digest: Option<String>,
    },
    /// A version in a registry.
    Registry {
        /// The registry's address. It belongs to the skill's identity (attack registry-A9).
        registry: String,
        /// Who publishes it.
        namespace: Option<SkillName>,
        /// Which version.
        version: semver::Version,
        /// The hash of the archive, `sha256:` and hexadecimal digits.
        sha256: String,
    },
}

/// A skill that a source has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offer {
    /// What it is called there. The name in its `SKILL.md` counts in the end (R2, R4).
    pub name: String,
    /// Where exactly.
    pub pinned: Pinned,
    /// What the registry says about who owns it: an identifier that outlives a change of names (attack registry-A5).
    pub owner: Option<String>,
    /// When it was published, where the source knows.
    pub published: Option<std::time::SystemTime>,
}

/// What a source has to offer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Offers {
    /// The skills, in the order of their names.
    pub skills: Vec<Offer>,
    /// What the user should know: entries that were skipped, and why.
    pub notes: Vec<String>,
}

/// The files of a skill, as they came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FetchedFiles {
    /// The files.
    pub tree: Tree,
    /// What the user should know: files that were left out, and why.
    pub notes: Vec<String>,
}

/// Who fetches skills. Implemented where there is a network.
pub trait Source {
    /// The skills that a reference names; there is at least one. A repository may hold several. Nothing is written anywhere
    /// but in temporary folders and caches, and nothing of a skill is ever run.
    fn offers(&self, reference: &Reference) -> Result<Offers, SourceError>;

    /// The files of an offer, or of what a lock has recorded. Digests that the place promises have been compared.
    fn fetch(&self, name: &str, pinned: &Pinned) -> Result<FetchedFiles, SourceError>;
}

/// Who knows what registries have. Implemented where there is a network.
pub trait Catalogue {
    /// Which skill of which registry a name means. A bare name that several publishers use is an error that lists them
    /// (attack registry-A7), and a namespace that belongs to one registry is never looked for in another (attack registry-A9).
    fn package(&self, named: &NamedReference) -> Result<Package, SourceError>;

    /// Every release of a skill.
    fn releases(&self, package: &Package) -> Result<Vec<Release>, SourceError>;

    /// The place of one release.
    fn offer(&self, package: &Package, version: &semver::Version) -> Result<Offer, SourceError>;

    /// Why an installed version was revoked, if its registry says so (attack registry-C22). Offline, the last known index
    /// counts.
    fn revoked(&self, name: &SkillName, pinned: &Pinned) -> Result<Option<String>, SourceError>;
}

/// Why a source has nothing to give.
#[derive(Debug, thiserror::Error)]
#[error("{what}")]
pub struct SourceError {
    /// What is wrong, and where.
    pub what: String,
    /// What would help.
    pub remedies: Vec<Remedy>,
    /// What kind it is.
    pub kind: SourceErrorKind,
}

/// What a caller does differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SourceErrorKind {
    /// There is no such thing.
    NotFound,
    /// It may be there, and whoever asks may not have it.
    Denied,
    /// It was found to do harm, and nobody may have it any more (attack registry-C22).
    Revoked,
    /// Several are meant by the same words (attack registry-A7).
    Ambiguous,
    /// The bytes are not the ones that were promised (attack registry-C1).
    Mismatch,
    /// What was found can't be installed.
    Unusable,
    /// The network or the disk.
    Unreachable,
}

impl SourceError {
    /// An error without remedies.
    pub fn new(kind: SourceErrorKind, what: impl Into<String>) -> Self {
        Self { what: what.into(), remedies: Vec::new(), kind }
    }

    /// Adds advice that reads the same in every interface.
    #[must_use]
    pub fn advice(self, text: impl Into<String>) -> Self {
        self.remedy(Remedy::Advice(text.into()))
    }

    /// Adds a remedy.
    #[must_use]
    pub fn remedy(mut self, remedy: Remedy) -> Self {
        self.remedies.push(remedy);
        self
    }

    /// The failure as every interface reports it.
    pub fn problem(&self) -> Problem {
        let (code, kind) = match self.kind {
            SourceErrorKind::NotFound => ("source-not-found", ProblemKind::NotFound),
            SourceErrorKind::Denied => ("source-denied", ProblemKind::Unauthorized),
            SourceErrorKind::Revoked => ("skill-revoked", ProblemKind::Refused),
            SourceErrorKind::Ambiguous => ("ambiguous-name", ProblemKind::InvalidInput),
            SourceErrorKind::Mismatch => ("digest-mismatch", ProblemKind::Refused),
            SourceErrorKind::Unusable => ("source-unusable", ProblemKind::Failed),
            SourceErrorKind::Unreachable => ("source-unreachable", ProblemKind::Unavailable),
        };
        Problem { code, kind, message: self.what.clone(), remedies: self.remedies.clone() }
    }
}

impl Pinned {
    /// Whether it came from another machine.
    pub fn is_remote(&self) -> bool {
        match self {
            Self::Folder { .. } => false,
            Self::File { location, .. } => location.contains("://"),
            Self::Git { url, .. } => !(url.starts_with('/') || url.starts_with("file://")),
            Self::WellKnown { .. } | Self::Registry { .. } => true,
        }
    }

    /// Who publishes it, where places have publishers.
    pub fn namespace(&self) -> Option<&SkillName> {
        match self {
            Self::Registry { namespace, .. } => namespace.as_ref(),
            _ => None,
        }
    }

    /// The place with its kind, for sentences: a domain's archive and the same archive by its address are two places.
    pub fn in_words(&self) -> String {
        match self {
            Self::Folder { .. } => format!("the folder {self}"),
            Self::File { .. } => format!("the file {self}"),
            Self::Git { .. } => format!("the repository {self}"),
            Self::WellKnown { base, .. } => format!("the domain {base}"),
            Self::Registry { .. } => format!("the registry {self}"),
        }
    }

    /// The word for its kind, as a lock writes it.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Folder { .. } => "folder",
            Self::File { .. } => "file",
            Self::Git { .. } => "git",
            Self::WellKnown { .. } => "well-known",
            Self::Registry { .. } => "registry",
        }
    }
}

impl fmt::Display for Pinned {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Folder { path } => path.fmt(formatter),
            Self::File { location, .. } => location.fmt(formatter),
            Self::Git { url, commit, folder, .. } => {
                let short = commit.get(..12).unwrap_or(commit);
                match folder {
                    Some(folder) => write!(formatter, "{url}#{short}:{}", folder.as_str()),
                    None => write!(formatter, "{url}#{short}"),
                }
            }
            Self::WellKnown { url, .. } => url.fmt(formatter),
            Self::Registry { registry, namespace, .. } => match namespace {
                Some(namespace) => write!(formatter, "{registry} ({namespace})"),
                None => registry.fmt(formatter),
            },
        }
    }
}
