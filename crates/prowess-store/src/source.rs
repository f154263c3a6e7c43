//! Sources of skills: their offers, and the exact origin that a lock file records.

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

/// The exact origin of a skill. Fetching it again gives the same bytes, or an error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pinned {
    /// A folder on this machine.
    Folder {
        /// Its absolute path.
        path: String,
    },
    /// An archive or a single `SKILL.md`, on this machine or at a URL.
    File {
        /// An absolute path or a URL.
        location: String,
        /// The hash of its bytes, `sha256:` and hexadecimal digits.
        sha256: String,
    },
    /// A commit of a repository.
    Git {
        /// The URL for git, without user names and passwords.
        url: String,
        /// The full commit id.
        commit: String,
        /// The requested branch or tag, which an update follows.
        revision: Option<String>,
        /// The folder of the skill; `None` for the root.
        folder: Option<PackagePath>,
    },
    /// A skill that a domain publishes (R23).
    WellKnown {
        /// The domain as requested.
        base: String,
        /// The URL of the skill.
        url: String,
        /// The digest in the index; the older formats have none.
        digest: Option<String>,
    },
    /// A skill that an MCP server publishes (SEP-2640).
    Mcp {
        /// The name of the server in the settings of an agent.
        server: String,
        /// The address of its main file there.
        uri: String,
        /// The digest of the list of its files with their digests.
        digest: String,
    },
    /// A version in a registry.
    Registry {
        /// The registry's URL, which is part of the skill's identity (attack registry-A9).
        registry: String,
        /// The namespace of the publisher.
        namespace: Option<SkillName>,
        /// The version.
        version: semver::Version,
        /// The hash of the archive, `sha256:` and hexadecimal digits.
        sha256: String,
    },
}

/// A skill that a source offers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offer {
    /// Its name at the source. The name in its `SKILL.md` is the effective one (R2, R4).
    pub name: String,
    /// Its exact origin.
    pub pinned: Pinned,
    /// The owner according to the registry: an identifier that is independent of names (attack registry-A5).
    pub owner: Option<String>,
    /// The time of publication, if known.
    pub published: Option<std::time::SystemTime>,
}

/// The offers of a source.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Offers {
    /// The skills, sorted by name.
    pub skills: Vec<Offer>,
    /// Notes for the user: skipped entries, and why.
    pub notes: Vec<String>,
}

/// The fetched files of a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FetchedFiles {
    /// The files.
    pub tree: Tree,
    /// Notes for the user: omitted files, and why.
    pub notes: Vec<String>,
}

/// Fetches skills. Implemented by crates with network access.
pub trait Source {
    /// The skills that a reference names, at least one. A repository may contain several. Nothing is written except to
    /// temporary folders and caches, and nothing of a skill is ever run.
    fn offers(&self, reference: &Reference) -> Result<Offers, SourceError>;

    /// Fetches the files of an offer, or of a recorded origin. Promised digests are verified.
    fn fetch(&self, name: &str, pinned: &Pinned) -> Result<FetchedFiles, SourceError>;
}

/// Queries registries. Implemented by crates with network access.
pub trait Catalogue {
    /// Resolves a name to a skill of a registry. A bare name that several publishers use is an error that lists them
    /// (attack registry-A7), and a namespace that belongs to one registry is never looked up in another (attack
    /// registry-A9).
    fn package(&self, named: &NamedReference) -> Result<Package, SourceError>;

    /// Every release of a skill.
    fn releases(&self, package: &Package) -> Result<Vec<Release>, SourceError>;

    /// The offer of one release.
    fn offer(&self, package: &Package, version: &semver::Version) -> Result<Offer, SourceError>;

    /// The reason why an installed version was revoked, if its registry says so (attack registry-C22). Offline, the
    /// last known index is used.
    fn revoked(&self, name: &SkillName, pinned: &Pinned) -> Result<Option<String>, SourceError>;
}

/// A failure of a source.
#[derive(Debug, thiserror::Error)]
#[error("{what}")]
pub struct SourceError {
    /// The message.
    pub what: String,
    /// Remedies.
    pub remedies: Vec<Remedy>,
    /// The kind of failure.
    pub kind: SourceErrorKind,
}

/// The kinds of failures, as callers distinguish them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SourceErrorKind {
    /// It does not exist.
    NotFound,
    /// Access was denied.
    Denied,
    /// It was revoked as harmful (attack registry-C22).
    Revoked,
    /// The name is ambiguous (attack registry-A7).
    Ambiguous,
    /// The bytes do not match the promised digest (attack registry-C1).
    Mismatch,
    /// It can't be installed.
    Unusable,
    /// The network or the disk failed.
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
            Self::WellKnown { .. } | Self::Registry { .. } | Self::Mcp { .. } => true,
        }
    }

    /// The namespace of the publisher, if there is one.
    pub fn namespace(&self) -> Option<&SkillName> {
        match self {
            Self::Registry { namespace, .. } => namespace.as_ref(),
            _ => None,
        }
    }

    /// The origin with its kind, for messages: an archive of a domain and the same archive by its URL are different
    /// origins.
    pub fn in_words(&self) -> String {
        match self {
            Self::Folder { .. } => format!("the folder {self}"),
            Self::File { .. } => format!("the file {self}"),
            Self::Git { .. } => format!("the repository {self}"),
            Self::WellKnown { base, .. } => format!("the domain {base}"),
            Self::Mcp { server, .. } => format!("the MCP server {server}"),
            Self::Registry { .. } => format!("the registry {self}"),
        }
    }

    /// The name of its kind in a lock file.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Folder { .. } => "folder",
            Self::File { .. } => "file",
            Self::Git { .. } => "git",
            Self::WellKnown { .. } => "well-known",
            Self::Mcp { .. } => "mcp",
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
            Self::Mcp { server, uri, .. } => write!(formatter, "mcp:{server} ({uri})"),
            Self::Registry { registry, namespace, .. } => match namespace {
                Some(namespace) => write!(formatter, "{registry} ({namespace})"),
                None => registry.fmt(formatter),
            },
        }
    }
}
