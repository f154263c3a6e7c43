//! Installing: what would change is found out first, looked at, and then done at once or not at all.
//!
//! ```text
//! references ──► offers ──► files ──► description, signatures ──► resolution ──► review ──► Plan ──► apply
//! ```
//!
//! A [`Plan`] has written nothing. It holds every file that it would write, so that between looking and doing nothing is
//! fetched again.

mod apply;
mod choose;
mod library;
mod restore;

use std::collections::{BTreeMap, BTreeSet};

use prowess_package::digest::{FileHashes, Sha256Digest, content_digest};
use prowess_package::name::SkillName;
use prowess_package::tree::{Tree, TreeError};
use prowess_policy::{Origin, Trust};
use prowess_resolve::ResolveError;
use prowess_trust::{Attestation, Contents, Evidence, SignedBy, Timestamp, TrustStore, attest};
use semver::Version;

use crate::described::{DescribeError, Described, describe};
use crate::lock::{Lock, LockError, Locked, MOST_BYTES};
use crate::reference::Reference;
use crate::review::{Candidate, Leave, Modesty, Review, review};
use crate::source::{self, Catalogue, Offer, Pinned, Source, SourceError};
use crate::store::{Store, StoreError};
use crate::switch::CommitError;

pub use apply::Applied;
pub use library::{InstalledSkill, LoadedSkill};
pub use restore::Restored;

/// Everything that installing needs.
pub struct Installer<'a> {
    /// Where skills are installed.
    pub store: &'a Store,
    /// Where files come from.
    pub source: &'a dyn Source,
    /// What registries have; `None` where none is configured.
    pub catalogue: Option<&'a dyn Catalogue>,
    /// Whose signatures count.
    pub trust: &'a TrustStore,
    /// Now.
    pub now: Timestamp,
    /// What the user has allowed beforehand.
    pub leave: Leave,
    /// Releases must be this old, in seconds.
    pub min_age: Option<u64>,
}

/// What somebody wants installed.
#[derive(Debug, Clone)]
pub struct Wish {
    /// Where it is.
    pub reference: Reference,
    /// Which ones, where there are several; all of them when empty.
    pub only: BTreeSet<String>,
    /// Who wants it, in words. A conflict names them.
    pub origin: String,
}

/// What would change.
#[derive(Debug)]
pub struct Plan {
    /// The skills, each behind all that it needs (GAIA §10.3).
    pub steps: Vec<Step>,
    /// Skills that are there already, as they should be.
    pub unchanged: Vec<(SkillName, Version)>,
    /// What somebody should know.
    pub notes: Vec<String>,
    /// The lock file that was looked at.
    before: Option<Vec<u8>>,
    lock: Lock,
}

/// One skill that would be installed.
#[derive(Debug)]
pub struct Step {
    /// What its files say.
    pub described: Described,
    /// What it replaces.
    pub replaces: Option<Version>,
    /// What is to be looked at before.
    pub review: Review,
    /// What its signatures prove.
    pub attestation: Attestation,
    /// What the lock will say.
    pub entry: Locked,
    tree: Tree,
}

/// Why nothing can be installed. Nothing has changed.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    /// A source has nothing to give.
    #[error("{0}")]
    Source(#[from] SourceError),
    /// There are several skills, and none was named.
    #[error("`{reference}` holds {} skills: {}", .names.len(), listed(.names))]
    Several {
        /// Where.
        reference: String,
        /// Their names.
        names: Vec<String>,
    },
    /// None of the skills there has that name.
    #[error("`{reference}` holds no skill `{wanted}`, only: {}", listed(.names))]
    NoneOfThem {
        /// Where.
        reference: String,
        /// What was asked for.
        wanted: String,
        /// Their names.
        names: Vec<String>,
    },
    /// A skill can't be installed, whoever vouches for it.
    #[error("`{name}` can't be installed: {source}")]
    Described {
        /// What it is called.
        name: String,
        /// Why.
        source: DescribeError,
    },
    /// The files are none that can be installed.
    #[error("`{name}` can't be installed: {source}")]
    Files {
        /// What it is called.
        name: String,
        /// Why.
        source: TreeError,
    },
    /// The name inside is another one than the name it was asked for by (attack C5).
    #[error("`{wanted}` was asked for, and what came calls itself `{found}`")]
    OtherName {
        /// What was asked for.
        wanted: String,
        /// What came.
        found: SkillName,
    },
    /// The version inside is another one than the registry's.
    #[error("version {wanted} of `{name}` was asked for, and what came calls itself {found}")]
    OtherVersion {
        /// Which skill.
        name: String,
        /// What was asked for.
        wanted: Version,
        /// What came.
        found: Version,
    },
    /// The bytes are not those of the lock (GAIA §7.3, attacks C1, C2).
    #[error(
        "`{name}` is not what the lock file says: it has the digest {found}, and {expected} was installed"
    )]
    NotLocked {
        /// Which skill.
        name: SkillName,
        /// What the lock file says.
        expected: String,
        /// What came.
        found: String,
    },
    /// A signature is there and wrong. Worse than none.
    #[error("`{name}` can't be installed: {}", .refusals.join("; "))]
    BadSignature {
        /// Which skill.
        name: SkillName,
        /// What is wrong with each.
        refusals: Vec<String>,
    },
    /// No versions go together.
    #[error("{0}")]
    Unresolved(Box<ResolveError<SourceError>>),
    /// A range that is none.
    #[error("{0}")]
    Range(String),
    /// A name was given, and there is no registry to look it up in.
    #[error("there is no registry to look up `{0}`")]
    NoRegistry(String),
    /// The lock file.
    #[error("the lock file `{path}` can't be used: {source}")]
    Lock {
        /// Where it lies.
        path: String,
        /// Why.
        source: LockError,
    },
    /// The store.
    #[error("{0}")]
    Store(#[from] StoreError),
    /// The change itself.
    #[error("{0}")]
    Commit(#[from] CommitError),
    /// Somebody else has changed the store between looking and doing.
    #[error("the store was changed meanwhile, so nothing was done")]
    Overtaken,
    /// A skill is not installed.
    #[error("`{0}` is not installed")]
    NotInstalled(SkillName),
    /// A skill that others need.
    #[error("`{name}` is needed by {}", listed(.by))]
    Needed {
        /// Which.
        name: SkillName,
        /// By whom.
        by: Vec<String>,
    },
    /// A plan that was not looked at, or that is refused.
    #[error("`{name}` can't be installed: {reason}")]
    Refused {
        /// Which skill.
        name: SkillName,
        /// Why.
        reason: String,
    },
}

impl InstallError {
    /// What to do next.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Source(error) => error.hint.clone(),
            Self::Several { .. } => {
                Some("name the ones you want with `--skill NAME`, or give `--all`".to_owned())
            }
            Self::NoRegistry(name) => Some(format!(
                "name a folder (`./{name}`), a repository or a domain, or set PROWESS_REGISTRY to the address of a registry"
            )),
            Self::NotLocked { .. } => Some(
                "find out who changed it; `prowess update` installs what is there now, after a look at it".to_owned(),
            ),
            Self::Lock { .. } => Some("restore it from version control or a backup".to_owned()),
            Self::Overtaken => Some("run it again".to_owned()),
            Self::NotInstalled(_) => Some("`prowess list` shows what is installed".to_owned()),
            Self::Needed { .. } => Some("remove those as well".to_owned()),
            Self::Unresolved(error) => Some(error.hint()).filter(|hint| !hint.is_empty()),
            Self::BadSignature { .. } => {
                Some("do not use it; ask its author for one whose signature holds".to_owned())
            }
            Self::Described { source: DescribeError::NewerClient { .. }, .. } => Some(
                "install a newer version of this program, or an older one of the skill".to_owned(),
            ),
            _ => None,
        }
    }
}

fn listed(names: &[String]) -> String {
    const MOST: usize = 20;
    let shown: Vec<String> = names.iter().take(MOST).map(|name| format!("`{name}`")).collect();
    match names.len().saturating_sub(MOST) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// A skill whose files are here.
#[derive(Debug)]
struct Fetched {
    described: Described,
    tree: Tree,
    hashes: FileHashes,
    offer: Offer,
    attestation: Attestation,
    requested: Option<String>,
    is_explicit: bool,
    notes: Vec<String>,
}

impl Installer<'_> {
    /// Finds out what would change. Nothing is written.
    pub fn plan(&self, wishes: &[Wish]) -> Result<Plan, InstallError> {
        let (before, lock) = self.read_lock()?;
        choose::plan(self, wishes, before, lock, &BTreeSet::new())
    }

    /// Finds out what an update would change: of some skills, or of all when none is named.
    pub fn plan_update(&self, names: &BTreeSet<SkillName>) -> Result<Plan, InstallError> {
        let (before, lock) = self.read_lock()?;
        for name in names {
            if !lock.skills.contains_key(name) {
                return Err(InstallError::NotInstalled(name.clone()));
            }
        }
        let mut wishes = Vec::new();
        let mut moving = BTreeSet::new();
        for (name, entry) in &lock.skills {
            if !names.is_empty() && !names.contains(name) {
                continue;
            }
            moving.insert(name.clone());
            // What nobody asked for moves with what needs it.
            if entry.explicit || names.contains(name) {
                wishes.extend(choose::follow(name, entry));
            }
        }
        choose::plan(self, &wishes, before, lock, &moving)
    }

    fn read_lock(&self) -> Result<(Option<Vec<u8>>, Lock), InstallError> {
        read_lock_file(self.store)
    }

    /// Fetches the files of an offer and looks at them.
    fn fetch(&self, offer: Offer) -> Result<Fetched, InstallError> {
        let source::Fetched { tree, notes } = self.source.fetch(&offer.name, &offer.pinned)?;
        let described = describe(&tree, &offer.name)
            .map_err(|source| InstallError::Described { name: offer.name.clone(), source })?;
        let hashes = tree.hashes();
        let attestation = self.attest(&described, &tree, &hashes, &offer.pinned);
        if !attestation.refused.is_empty() {
            let refusals = attestation.refused.iter().map(ToString::to_string).collect();
            return Err(InstallError::BadSignature { name: described.name, refusals });
        }
        Ok(Fetched {
            described,
            tree,
            hashes,
            offer,
            attestation,
            requested: None,
            is_explicit: false,
            notes,
        })
    }

    fn attest(
        &self,
        described: &Described,
        tree: &Tree,
        hashes: &FileHashes,
        pinned: &Pinned,
    ) -> Attestation {
        let contents = contents_of(described, hashes, pinned.namespace());
        attest(&contents, &signatures_of(tree), self.trust, self.now)
    }

    /// Compares a skill with what is installed under its name.
    fn step(&self, fetched: Fetched, lock: &Lock, needed: Needed) -> Step {
        let Fetched { described, tree, hashes, offer, attestation, requested, is_explicit, .. } =
            fetched;
        let installed = lock.skills.get(&described.name);
        let trust = Trust::of(&described.skill, attestation.tier, None, Origin::Downloaded);
        let evidence = Evidence { tier: trust.tier(), ..attestation.to_evidence() };
        let accepted =
            |signer: &SignedBy| self.trust.accepts(described.name.as_str(), &signer.key_id);
        let signer_accepted = evidence.signers.iter().any(accepted);
        let candidate = Candidate {
            version: &described.version,
            grants: &described.grants,
            evidence: &evidence,
            owner: offer.owner.as_deref(),
            source: &offer.pinned,
            is_explicit,
            signer_accepted,
            modesty: Modesty::of(&described.skill, attestation.tier, tree.manifest()),
        };
        let review = review(&candidate, installed, self.leave);
        let mut entry = Locked::new(
            described.version.clone(),
            content_digest(&hashes).integrity(),
            evidence.tier,
            self.now.to_string(),
        );
        entry.files = hashes.iter().map(|(path, hash)| (path.clone(), *hash)).collect();
        entry.signers = evidence.signers;
        entry.owner = offer.owner;
        entry.source = Some(offer.pinned);
        entry.allow_unsigned = self.leave.unsigned && entry.signers.is_empty();
        entry.requested = requested;
        entry.explicit = is_explicit || installed.is_some_and(|installed| installed.explicit);
        entry.required_by = needed.by;
        entry.dependencies_hash = dependencies_hash(&described, &needed.dependencies);
        entry.dependencies = needed.dependencies;
        entry.permissions = described.grants.grants().iter().map(ToString::to_string).collect();
        if let Some(installed) = installed {
            entry.keep_extra_of(installed);
        }
        let replaces = installed.map(|installed| installed.version.clone());
        Step { described, replaces, review, attestation, entry, tree }
    }
}

/// How a skill stands to the others.
#[derive(Debug, Default)]
struct Needed {
    by: BTreeSet<SkillName>,
    dependencies: BTreeMap<SkillName, Version>,
}

/// The files at the root of a skill, any of which may be a signature.
pub fn signatures_of(tree: &Tree) -> Vec<prowess_trust::Signature> {
    let at_root = tree.files().filter(|(path, _)| path.parts().count() == 1);
    let as_signature =
        |(path, file): (&prowess_package::path::PackagePath, &prowess_package::tree::TreeFile)| {
            prowess_trust::Signature::detached(path.as_str(), file.bytes.clone())
        };
    at_root.map(as_signature).collect()
}

/// A skill as signatures see it.
pub fn contents_of(
    described: &Described,
    hashes: &FileHashes,
    namespace: Option<&SkillName>,
) -> Contents {
    let mut contents = Contents::new(described.name.as_str(), &described.version.to_string());
    contents.namespace = namespace.map(ToString::to_string);
    contents.files =
        hashes.iter().map(|(path, hash)| (path.as_str().to_owned(), *hash.as_bytes())).collect();
    contents
}

/// One hash over everything a skill was resolved with: skills and Python packages (GAIA §7.3).
fn dependencies_hash(described: &Described, skills: &BTreeMap<SkillName, Version>) -> String {
    let mut lines: Vec<String> =
        skills.iter().map(|(name, version)| format!("skill {name} {version}\n")).collect();
    let packages = &described.skill.requirements.python_packages;
    let mut packages: Vec<String> =
        packages.iter().map(|package| format!("python {}\n", package.as_str())).collect();
    packages.sort();
    lines.extend(packages);
    Sha256Digest::of(lines.concat().as_bytes()).integrity()
}

/// What is installed in a store, as its lock file has it.
pub fn read_lock(store: &Store) -> Result<Lock, InstallError> {
    read_lock_file(store).map(|(_, lock)| lock)
}

/// The lock file and what it says, after what others left undone was finished. Nobody is locked out: a change is made only
/// if the lock file is still this one.
pub(crate) fn read_lock_file(store: &Store) -> Result<(Option<Vec<u8>>, Lock), InstallError> {
    store.settle()?;
    let bytes = store.lock_file(MOST_BYTES)?;
    let lock = parse_lock(store, bytes.as_deref())?;
    Ok((bytes, lock))
}

fn parse_lock(store: &Store, bytes: Option<&[u8]>) -> Result<Lock, InstallError> {
    let Some(bytes) = bytes else { return Ok(Lock::default()) };
    let failed = |source| InstallError::Lock {
        path: store.path().join(crate::store::LOCK_FILE).display().to_string(),
        source,
    };
    let text =
        std::str::from_utf8(bytes).map_err(|error| failed(LockError::Json(error.to_string())))?;
    Lock::parse(text).map_err(failed)
}

impl Step {
    /// Its name.
    pub fn name(&self) -> &SkillName {
        &self.described.name
    }

    /// Its files.
    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// How many files it has, and how many bytes.
    pub fn size(&self) -> (usize, usize) {
        self.tree
            .files()
            .fold((0, 0), |(count, bytes), (_, file)| (count + 1, bytes + file.bytes.len()))
    }

    /// Whether the files are those that are installed.
    fn is_reinstall(&self, lock: &Lock) -> bool {
        lock.skills
            .get(self.name())
            .is_some_and(|installed| installed.integrity == self.entry.integrity)
    }
}

impl Plan {
    /// Whether nobody needs to be asked and nothing is refused.
    pub fn is_clear(&self) -> bool {
        self.steps.iter().all(|step| step.review.is_clear())
    }

    /// What is installed before it.
    pub fn lock(&self) -> &Lock {
        &self.lock
    }
}
