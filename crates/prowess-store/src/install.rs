//! Installing skills: the changes are planned and reviewed first, then applied completely or not at all.
//!
//! ```text
//! references ──► offers ──► files ──► description, signatures ──► resolution ──► review ──► Plan ──► apply
//! ```
//!
//! An [`InstallPlan`] has written nothing. It holds every file that it would write, so nothing is fetched again
//! between the review and the installation.

mod apply;
mod by_name;
mod choose;
mod installed;
mod restore;

use std::collections::{BTreeMap, BTreeSet};

use prowess_core::{Problem, ProblemKind, Remedy};
use prowess_package::digest::{FileHashes, Sha256Digest, content_digest};
use prowess_package::limits::PackageLimits;
use prowess_package::name::SkillName;
use prowess_package::tree::{Tree, TreeError};
use prowess_policy::{Origin, Trust};
use prowess_resolve::ResolveError;
use prowess_scan::KnownBad;
use prowess_trust::{Attestation, Contents, Evidence, SignedBy, Timestamp, TrustStore, attest};
use semver::Version;

use crate::agreement::ConsentItem;
use crate::capabilities::{Capability, capabilities_of, lines, remembered};
use crate::commit::CommitError;
use crate::difference::{FileChanges, text_difference};
use crate::lock::{LockEntry, LockError, LockFile, MOST_BYTES};
use crate::metadata::{MetadataError, SkillMetadata, read_metadata};
use crate::reference::Reference;
use crate::review::{Candidate, InstallPermissions, InstallQuestion, LowerClaim, Review, review};
use crate::source::{self, Catalogue, Offer, Pinned, Source, SourceError};
use crate::store::{Store, StoreError};
use crate::suspicion::Suspicions;

pub use apply::AppliedChanges;
pub use by_name::InstalledSkill;
use choose::{Kind, OnFailure, PlanGoal};
pub use restore::{RestorePlan, RestoreReport};

/// The inputs of an installation.
pub struct Installer<'a> {
    /// The store to install into.
    pub store: &'a Store,
    /// The source of the skills' files.
    pub source: &'a dyn Source,
    /// The releases of registries; `None` if no registry is configured.
    pub catalogue: Option<&'a dyn Catalogue>,
    /// The trusted keys.
    pub trust: &'a TrustStore,
    /// The current time.
    pub now: Timestamp,
    /// What the user has allowed in advance.
    pub permissions: InstallPermissions,
    /// The minimum age of releases in seconds.
    pub min_age: Option<u64>,
    /// Files that are known to be malicious.
    pub known_bad: &'a KnownBad,
}

/// A request to install a skill, or several skills of one source.
#[derive(Debug, Clone)]
pub struct SkillRequirement {
    /// The location of the skill.
    pub reference: Reference,
    /// The names of the requested skills, if the source contains several; empty for all of them.
    pub only: BTreeSet<String>,
    /// The name given by the user to a skill whose own name can't be installed.
    pub chosen: Option<SkillName>,
    /// The origin of the request in words, for the message about a version conflict.
    pub origin: String,
}

/// A plan of changes.
#[derive(Debug)]
pub struct InstallPlan {
    /// The skills to install, each after its dependencies (GAIA §10.3).
    pub steps: Vec<InstallStep>,
    /// Skills that are already installed and up to date.
    pub unchanged: Vec<(SkillName, Version)>,
    /// Requested skills that can't be fetched. The user must agree to install the others without them (see
    /// [`InstallPlan::skip_unavailable`]).
    pub unavailable: Vec<UnavailableSkill>,
    /// Notes for the user.
    pub notes: Vec<String>,
    skipped: Vec<UnavailableSkill>,
    /// Requirements that are left out, by index, each with its error. They change nothing.
    failures: Vec<(usize, InstallError)>,
    /// Newer versions that an update does not select.
    pub newer: Vec<NewerVersion>,
    /// The bytes of the lock file when the plan was made.
    before: Option<Vec<u8>>,
    lock: LockFile,
}

/// A requested skill that can't be fetched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnavailableSkill {
    /// The name of the skill at its source.
    pub name: String,
    /// The reason.
    pub reason: String,
    /// Suggested remedies.
    pub remedies: Vec<Remedy>,
}

/// A version that is newer than the selected one, but outside the requested range.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewerVersion {
    /// The name of the skill.
    pub name: SkillName,
    /// The version that the update selects.
    pub chosen: Version,
    /// The newest version.
    pub newest: Version,
    /// The requested range.
    pub requested: Option<String>,
}

/// A skill to install.
#[derive(Debug)]
pub struct InstallStep {
    /// The metadata read from its files.
    pub metadata: SkillMetadata,
    /// The version that it replaces.
    pub replaces: Option<Version>,
    /// The result of its review.
    pub review: Review,
    /// What its signatures prove.
    pub attestation: Attestation,
    /// The entry to write to the lock file.
    pub entry: LockEntry,
    /// Whether the lock file already has this entry, so that only the files are restored.
    pub is_restored: bool,
    /// What the skill can make an agent do.
    pub capabilities: Vec<Capability>,
    /// The difference from the installed version, if there is one.
    pub difference: Option<SkillDifference>,
    /// Everything that the user consents to by installing it, whatever is installed now.
    demands: Vec<ConsentItem>,
    tree: Tree,
}

/// The difference between a version of a skill and the installed one.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SkillDifference {
    /// The changed files.
    pub files: FileChanges,
    /// Capabilities that the user has not approved before.
    pub added: Vec<Capability>,
    /// Scripts that the user has approved with other content.
    pub changed_scripts: Vec<Capability>,
    /// Lines of capabilities that the new version no longer has.
    pub removed: Vec<String>,
    /// Whether only texts for people and agents differ: nothing that is run, named, requested or declared has
    /// changed.
    pub is_wording_only: bool,
}

/// Why an installation failed. Nothing has changed, except for what [`CommitError`] says.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    /// The source can't provide the skill.
    #[error("{0}")]
    Source(#[from] SourceError),
    /// The source contains several skills, and none was named.
    #[error("`{reference}` contains {}: {}", skills(.names.len()), listed(.names))]
    Several {
        /// The reference.
        reference: String,
        /// The names of the skills there.
        names: Vec<String>,
    },
    /// The source contains no skill of the requested name.
    #[error("`{reference}` contains no skill `{wanted}`, only: {}", listed(.names))]
    NoneOfThem {
        /// The reference.
        reference: String,
        /// The requested name.
        wanted: String,
        /// The names of the skills there.
        names: Vec<String>,
    },
    /// Some of the requested skills can't be fetched, and the user has not agreed to go without them.
    #[error("{} can't be installed: {}", skills(.0.len()), reasons(.0))]
    Unavailable(Vec<UnavailableSkill>),
    /// A skill can't be installed, whatever its signatures.
    #[error("`{name}` can't be installed: {source}")]
    Metadata {
        /// The name of the skill at its source.
        name: String,
        /// A name that it could be given, if its own name is the reason.
        evident: Option<SkillName>,
        /// The reason.
        source: MetadataError,
    },
    /// The files can't be installed.
    #[error("`{name}` can't be installed: {source}")]
    Files {
        /// The name of the skill at its source.
        name: String,
        /// The reason.
        source: TreeError,
    },
    /// The skill declares another name than the requested one (attack registry-C5).
    #[error("requested `{wanted}`, but the skill is named `{found}`")]
    OtherName {
        /// The requested name.
        wanted: String,
        /// The declared name.
        found: SkillName,
    },
    /// The skill declares another version than the registry.
    #[error("requested version {wanted} of `{name}`, but the skill declares version {found}")]
    OtherVersion {
        /// The name of the skill.
        name: String,
        /// The requested version.
        wanted: Version,
        /// The declared version.
        found: Version,
    },
    /// The digest differs from that in the lock file (GAIA §7.3, attacks registry-C1, registry-C2).
    #[error("`{name}` does not match the lock file: its digest is {found}, expected {expected}")]
    NotLocked {
        /// The name of the skill.
        name: SkillName,
        /// The digest in the lock file.
        expected: String,
        /// The digest of the fetched files.
        found: String,
    },
    /// A signature is invalid, which is worse than no signature.
    #[error("`{name}` can't be installed: {}", .refusals.join("; "))]
    BadSignature {
        /// The name of the skill.
        name: SkillName,
        /// The reason for each invalid signature.
        refusals: Vec<String>,
    },
    /// No set of versions satisfies all requirements.
    #[error("{0}")]
    Unresolved(Box<ResolveError<SourceError>>),
    /// The version range is invalid.
    #[error("{0}")]
    Range(String),
    /// A name was given, but no registry is configured.
    #[error("there is no registry to look up `{0}`")]
    NoRegistry(String),
    /// The lock file can't be read.
    #[error("the lock file `{path}` can't be used: {source}")]
    Lock {
        /// The path of the lock file.
        path: String,
        /// Whether it is kept with a project, so that there are other copies of it.
        is_shared: bool,
        /// The reason.
        source: LockError,
    },
    /// The store can't be used.
    #[error("{0}")]
    Store(#[from] StoreError),
    /// The change of the store failed.
    #[error("`{}`: {source}", .store.display())]
    Commit {
        /// The path of the store.
        store: std::path::PathBuf,
        /// The reason.
        source: CommitError,
    },
    /// Another process has changed the store since the plan was made.
    #[error("another process changed the store in the meantime; nothing was changed")]
    StoreChanged,
    /// The skill is not installed.
    #[error("`{0}` is not installed")]
    NotInstalled(SkillName),
    /// Other skills depend on the skill.
    #[error("`{name}` is required by {}", listed(.by))]
    Needed {
        /// The name of the skill.
        name: SkillName,
        /// The names of its dependents.
        by: Vec<String>,
    },
    /// The plan was refused, or not reviewed.
    #[error("`{name}` can't be installed: {reason}")]
    Refused {
        /// The name of the skill.
        name: SkillName,
        /// The reason.
        reason: String,
        /// Suggested remedies.
        remedies: Vec<Remedy>,
    },
}

impl InstallError {
    /// The [`Problem`] that every interface reports.
    pub fn problem(&self) -> Problem {
        let (code, kind) = match self {
            Self::Source(error) => return error.problem(),
            Self::Several { .. } => ("several-skills", ProblemKind::InvalidInput),
            Self::NoneOfThem { .. } => ("no-such-skill-in-source", ProblemKind::NotFound),
            Self::Unavailable(_) => ("skills-unavailable", ProblemKind::Failed),
            Self::Metadata { source: MetadataError::HasName(_), .. } => {
                ("skill-has-a-name", ProblemKind::InvalidInput)
            }
            Self::Metadata { .. } => ("skill-not-installable", ProblemKind::Failed),
            Self::Files { .. } => ("files-not-installable", ProblemKind::Failed),
            Self::OtherName { .. } => ("other-name-than-requested", ProblemKind::Refused),
            Self::OtherVersion { .. } => ("other-version-than-requested", ProblemKind::Refused),
            Self::NotLocked { .. } => ("differs-from-lock-file", ProblemKind::Refused),
            Self::BadSignature { .. } => ("invalid-signature", ProblemKind::Refused),
            Self::Unresolved(_) => ("version-conflict", ProblemKind::Failed),
            Self::Range(_) => ("invalid-range", ProblemKind::InvalidInput),
            Self::NoRegistry(_) => ("no-registry", ProblemKind::Failed),
            Self::Lock { source: LockError::Conflict(_), .. } => {
                ("lock-file-conflict", ProblemKind::Conflict)
            }
            Self::Lock { .. } => ("lock-file-unusable", ProblemKind::Corrupt),
            Self::Store(_) => ("store-unusable", ProblemKind::Failed),
            Self::Commit { .. } => ("change-failed", ProblemKind::Failed),
            Self::StoreChanged => ("store-changed", ProblemKind::Conflict),
            Self::NotInstalled(_) => ("skill-not-installed", ProblemKind::NotFound),
            Self::Needed { .. } => ("needed-by-others", ProblemKind::Refused),
            Self::Refused { .. } => ("installation-refused", ProblemKind::Refused),
        };
        Problem { code, kind, message: self.to_string(), remedies: self.remedies() }
    }

    /// Suggested remedies.
    pub fn remedies(&self) -> Vec<Remedy> {
        let advice = |text: &str| vec![Remedy::Advice(text.to_owned())];
        match self {
            Self::Source(error) => error.remedies.clone(),
            Self::Several { .. } => vec![Remedy::ChooseSkill("NAME".to_owned()), Remedy::ChooseAll],
            Self::NoRegistry(name) => advice(&format!(
                "name a folder (`./{name}`), a repository or a domain, or set PROWESS_REGISTRY to the URL of a registry"
            )),
            Self::NotLocked { name, .. } => {
                let mut remedies = advice("find out who changed it");
                remedies.push(Remedy::Update(name.to_string()));
                remedies
            }
            // The message names the program to use; the file itself is fine.
            Self::Lock { source: LockError::Version(_), .. } => Vec::new(),
            Self::Lock { source: LockError::Conflict(_), .. } => vec![Remedy::ResolveLockFile],
            Self::Lock { source: LockError::Markers(_) | LockError::Side { .. }, .. } => advice(
                "check out one side of the file from version control, then install the skills of the other side again",
            ),
            Self::Lock { is_shared: true, .. } => advice("restore it from version control"),
            Self::Lock { is_shared: false, .. } => {
                let mut remedies = advice(
                    "move that file away and install the skills again; their files are kept until then",
                );
                remedies.push(Remedy::ListInstalled);
                remedies
            }
            Self::StoreChanged => advice("run it again"),
            Self::NotInstalled(_) => vec![Remedy::ListInstalled],
            Self::Needed { name, by } => {
                vec![Remedy::Uninstall(format!("{name} {}", by.join(" ")))]
            }
            Self::Refused { remedies, .. } => remedies.clone(),
            Self::Unresolved(error) => {
                let hint = error.hint();
                if hint.is_empty() { Vec::new() } else { vec![Remedy::Advice(hint)] }
            }
            Self::BadSignature { .. } => {
                advice("do not use it; ask its author for a version with a valid signature")
            }
            Self::Metadata { evident: Some(evident), .. } => {
                vec![Remedy::InstallAs(evident.to_string())]
            }
            Self::Metadata { source: MetadataError::Name(_), .. } => {
                vec![Remedy::InstallAs("NAME".to_owned())]
            }
            Self::Metadata { source: MetadataError::HasName(_), .. } => {
                advice("install it under its own name")
            }
            Self::Metadata {
                source: MetadataError::Empty | MetadataError::Unreadable(_), ..
            } => advice("ask its author to fix it"),
            Self::Metadata { source: MetadataError::NewerClient { .. }, .. } => {
                advice("install a newer version of this program, or an older version of the skill")
            }
            _ => Vec::new(),
        }
    }
}

fn skills(count: usize) -> String {
    match count {
        1 => "1 skill".to_owned(),
        count => format!("{count} skills"),
    }
}

fn reasons(unavailable: &[UnavailableSkill]) -> String {
    let reason = |one: &UnavailableSkill| format!("`{}`: {}", one.name, one.reason);
    unavailable.iter().map(reason).collect::<Vec<String>>().join("; ")
}

fn listed(names: &[String]) -> String {
    const MOST: usize = 20;
    let shown: Vec<String> = names.iter().take(MOST).map(|name| format!("`{name}`")).collect();
    match names.len().saturating_sub(MOST) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// A skill whose files have been fetched.
#[derive(Debug, Clone)]
struct FetchedSkill {
    metadata: SkillMetadata,
    tree: Tree,
    hashes: FileHashes,
    offer: Offer,
    attestation: Attestation,
    requested: Option<String>,
    is_explicit: bool,
    notes: Vec<String>,
}

impl Installer<'_> {
    /// Plans an installation of all requirements or none. Nothing is written.
    pub fn plan(&self, requirements: &[SkillRequirement]) -> Result<InstallPlan, InstallError> {
        self.plan_install(requirements, OnFailure::Stop, MissingSkills::Fail)
    }

    /// Plans like [`Self::plan`], but a skill that can't be fetched does not stop the others: it is left out with its reason, so
    /// that one report lists all of them. The user must agree to that before the plan is applied.
    pub fn plan_collecting_missing(
        &self,
        requirements: &[SkillRequirement],
    ) -> Result<InstallPlan, InstallError> {
        self.plan_install(requirements, OnFailure::Stop, MissingSkills::Collect)
    }

    /// Plans independent requirements: those that can't be satisfied are left out, and
    /// [`InstallPlan::take_failures`] says why.
    pub fn plan_each(
        &self,
        requirements: &[SkillRequirement],
    ) -> Result<InstallPlan, InstallError> {
        self.plan_install(requirements, OnFailure::Skip, MissingSkills::Fail)
    }

    fn plan_install(
        &self,
        requirements: &[SkillRequirement],
        on_failure: OnFailure,
        missing: MissingSkills,
    ) -> Result<InstallPlan, InstallError> {
        let (before, lock) = self.read_lock()?;
        // A range that differs from the previous one selects its newest version, not the installed one.
        let is_other_range = |requirement: &SkillRequirement| match &requirement.reference {
            Reference::Named(named) if named.range.is_some() => {
                let entry = lock.skills.get(&named.name)?;
                (entry.requested != named.range).then(|| named.name.clone())
            }
            _ => None,
        };
        let moving: BTreeSet<SkillName> = requirements.iter().filter_map(is_other_range).collect();
        let goal =
            PlanGoal { requirements, moving: &moving, kind: Kind::Install, on_failure, missing };
        choose::plan(self, &goal, before, lock)
    }

    /// Plans an update of the named skills, or of all skills if none is named. A skill that can't be updated stays as
    /// it is and doesn't stop the others.
    pub fn plan_update(&self, names: &BTreeSet<SkillName>) -> Result<UpdatePlan, InstallError> {
        let (before, lock) = self.read_lock()?;
        for name in names {
            if !lock.skills.contains_key(name) {
                return Err(InstallError::NotInstalled(name.clone()));
            }
        }
        let (mut requirements, mut followed) = (Vec::new(), Vec::new());
        let mut moving = BTreeSet::new();
        for (name, entry) in &lock.skills {
            if !names.is_empty() && !names.contains(name) {
                continue;
            }
            moving.insert(name.clone());
            // Skills that were only installed as dependencies are updated with their dependents.
            if (entry.explicit || names.contains(name))
                && let Some(requirement) = choose::follow(name, entry)
            {
                requirements.push(requirement);
                followed.push(name.clone());
            }
        }
        let on_failure = OnFailure::Skip;
        let goal = PlanGoal {
            requirements: &requirements,
            moving: &moving,
            kind: Kind::Update,
            on_failure,
            missing: MissingSkills::Fail,
        };
        let mut plan = choose::plan(self, &goal, before, lock)?;
        let failures = std::mem::take(&mut plan.failures);
        let failures =
            failures.into_iter().map(|(requirement, error)| (followed[requirement].clone(), error));
        Ok(UpdatePlan { failures: failures.collect(), plan })
    }

    fn read_lock(&self) -> Result<(Option<Vec<u8>>, LockFile), InstallError> {
        read_lock_file(self.store)
    }

    /// Fetches the files of an offer, reads the metadata and verifies the signatures.
    fn fetch(
        &self,
        offer: Offer,
        chosen: Option<&SkillName>,
    ) -> Result<FetchedSkill, InstallError> {
        let source::FetchedFiles { tree, mut notes } =
            self.source.fetch(&offer.name, &offer.pinned)?;
        notes.extend(source::covered_note(&offer.name, &tree));
        let metadata = read_metadata(&tree, &offer.name, chosen).map_err(|source| {
            let is_name = matches!(source, MetadataError::Name(_));
            let evident = is_name.then(|| evident_name(&offer)).flatten();
            InstallError::Metadata { name: offer.name.clone(), evident, source }
        })?;
        let hashes = tree.hashes();
        let namespace = offer.pinned.namespace();
        let attestation = self.attest(&metadata, &tree, &hashes, namespace);
        if !attestation.refused.is_empty() {
            let refusals = attestation.refused.iter().map(ToString::to_string).collect();
            return Err(InstallError::BadSignature { name: metadata.name, refusals });
        }
        Ok(FetchedSkill {
            metadata,
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
        metadata: &SkillMetadata,
        tree: &Tree,
        hashes: &FileHashes,
        namespace: Option<&SkillName>,
    ) -> Attestation {
        let contents = contents_of(metadata, hashes, namespace);
        attest(&contents, &signatures_of(tree), self.trust, self.now)
    }

    /// Compares a fetched skill with the installed one of the same name.
    fn step(
        &self,
        fetched: FetchedSkill,
        lock: &LockFile,
        needed: Needed,
    ) -> Result<InstallStep, InstallError> {
        let FetchedSkill {
            metadata, tree, hashes, offer, attestation, requested, is_explicit, ..
        } = fetched;
        let offer_name = offer.name.clone();
        let installed = lock.skills.get(&metadata.name);
        let trust = Trust::of(&metadata.skill, attestation.tier, None, Origin::Downloaded);
        let evidence = Evidence { tier: trust.tier(), ..attestation.to_evidence() };
        let accepted =
            |signer: &SignedBy| self.trust.accepts(metadata.name.as_str(), &signer.key_id);
        let signer_accepted = evidence.signers.iter().any(accepted);
        // The user has already agreed to install a version with errors.
        let before = installed.and_then(|entry| self.store.checked_metadata(&metadata.name, entry));
        let had_errors = before.as_ref().is_some_and(|before| !before.errors.is_empty());
        let was_prose = before.as_ref().is_some_and(|before| before.is_prose);
        let is_prose = metadata.is_prose && !was_prose;
        let integrity = content_digest(&hashes).integrity();
        let capabilities = capabilities_of(&tree);
        let was_tree = installed.and_then(|_| {
            let folder = self.store.skill_path(&metadata.name);
            Tree::read_foreign(&folder, &PackageLimits::PACKAGE).ok()
        });
        let suspicions = match &was_tree {
            Some(was) => Suspicions::of_update(&was.tree, &tree, self.known_bad),
            None => Suspicions::of(&tree, self.known_bad),
        };
        let accepted = installed.map(|installed| {
            self.store.accepted(&metadata.name, installed, &integrity, &capabilities)
        });
        let accepted = accepted.unwrap_or_default();
        let before_files = installed.map(|it| self.store.agreed_files(&metadata.name, it));
        let files = before_files.map(|before| FileChanges::between(&before, &hashes));
        let changed_scripts: BTreeSet<String> =
            files.iter().flat_map(FileChanges::changed_or_added).collect();
        let candidate = Candidate {
            calls_itself: metadata.calls_itself.as_deref(),
            is_prose,
            errors: if had_errors { &[] } else { &metadata.errors },
            version: &metadata.version,
            grants: &metadata.grants,
            evidence: &evidence,
            owner: offer.owner.as_deref(),
            source: &offer.pinned,
            is_explicit,
            signer_accepted,
            lower_claim: LowerClaim::of(&metadata.skill, attestation.tier, tree.manifest()),
            capabilities: &capabilities,
            accepted: &accepted,
            changed_scripts: &changed_scripts,
            suspicions: &suspicions,
        };
        let demands = self.demands(&metadata, &hashes, &candidate);
        let mut review = review(&candidate, installed, self.permissions);
        if installed.is_some_and(|installed| !self.store.has_agreed(&metadata.name, installed)) {
            review.extend(crate::review::review(&candidate, None, self.permissions));
        }
        let was = installed.filter(|installed| installed.integrity != integrity);
        let was = was.and_then(|entry| self.store.installed_lines(&metadata.name, entry));
        let was = was.unwrap_or_default();
        let is_declared_same =
            before.as_ref().is_some_and(|before| declares_same(before, &metadata));
        let difference = files.map(|files| {
            let mut difference = difference(files, &review, &was, &capabilities);
            difference.is_wording_only &= is_declared_same;
            difference
        });
        if installed.is_none() {
            review.refusals.extend(self.store.occupied(&metadata.name, &integrity)?);
        }
        let mut entry = LockEntry::new(
            metadata.version.clone(),
            integrity,
            evidence.tier,
            self.now.to_string(),
        );
        entry.files = hashes.iter().map(|(path, hash)| (path.clone(), *hash)).collect();
        entry.signers = evidence.signers;
        entry.owner = offer.owner;
        entry.source = Some(offer.pinned);
        entry.allow_unsigned = self.permissions.unsigned && entry.signers.is_empty();
        entry.allow_blocked = suspicions.allowed(self.permissions.blocked);
        entry.requested = requested;
        entry.explicit = is_explicit || installed.is_some_and(|installed| installed.explicit);
        entry.required_by = needed.by;
        entry.dependencies_hash = dependencies_hash(&metadata, &needed.dependencies);
        entry.dependencies = needed.dependencies;
        entry.permissions = metadata.grants.grants().iter().map(ToString::to_string).collect();
        // Other people may have written the lock file of a project, so its lines are not approvals of this user.
        entry.capabilities = match (installed, self.store.project()) {
            (Some(installed), None) => remembered(&installed.capabilities, &capabilities),
            _ => lines(&capabilities),
        };
        if let Some(installed) = installed {
            entry.keep_extra_of(installed);
        }
        entry.source_name = metadata.calls_itself.is_some().then_some(offer_name);
        let replaces = installed.map(|installed| installed.version.clone());
        let is_restored = false;
        Ok(InstallStep {
            metadata,
            replaces,
            review,
            attestation,
            entry,
            is_restored,
            capabilities,
            difference,
            demands,
            tree,
        })
    }

    /// What a user who has never seen the skill must consent to, if consent is recorded (in projects only).
    fn demands(
        &self,
        metadata: &SkillMetadata,
        hashes: &FileHashes,
        candidate: &Candidate<'_>,
    ) -> Vec<ConsentItem> {
        if self.store.project().is_none() {
            return Vec::new();
        }
        // Reviewed as if nothing were installed: nothing counts as approved before.
        let candidate = Candidate {
            is_explicit: true,
            is_prose: metadata.is_prose,
            errors: &metadata.errors,
            ..candidate.clone()
        };
        let first_look = review(&candidate, None, InstallPermissions::default());
        ConsentItem::of(&metadata.name, &content_digest(hashes).integrity(), &first_look)
    }
}

/// The difference from the installed version, according to the questions of the review.
fn difference(
    files: FileChanges,
    review: &Review,
    was: &BTreeSet<String>,
    capabilities: &[Capability],
) -> SkillDifference {
    let now = lines(capabilities);
    let mut difference = SkillDifference {
        files,
        removed: was.difference(&now).cloned().collect(),
        ..SkillDifference::default()
    };
    for question in &review.questions {
        match question {
            InstallQuestion::Capability(capability) => difference.added.push(capability.clone()),
            InstallQuestion::ChangedScript(script) => {
                difference.changed_scripts.push(script.clone());
            }
            _ => {}
        }
    }
    difference.is_wording_only = difference.files.are_documents()
        && difference.added.is_empty()
        && difference.changed_scripts.is_empty()
        && difference.removed.is_empty();
    difference
}

/// Whether two versions request, require and provide the same. A tool's commands are part of the text, so a change of
/// a skill with tools is never only a change of wording.
fn declares_same(before: &SkillMetadata, now: &SkillMetadata) -> bool {
    let grants = |metadata: &SkillMetadata| -> BTreeSet<String> {
        metadata.grants.grants().iter().map(ToString::to_string).collect()
    };
    now.skill.tools.is_empty()
        && before.skill.tools.is_empty()
        && grants(before) == grants(now)
        && before.skill.requirements == now.skill.requirements
        && before.skill.invocation == now.skill.invocation
}

/// The plan of an update.
#[derive(Debug)]
pub struct UpdatePlan {
    /// The plan for the skills that can be updated.
    pub plan: InstallPlan,
    /// Skills that are not updated, each with its error.
    pub failures: Vec<(SkillName, InstallError)>,
}

/// The name to suggest: that of the skill's folder if it is valid, otherwise the declared name converted to a valid
/// one.
fn evident_name(offer: &Offer) -> Option<SkillName> {
    let place = match &offer.pinned {
        Pinned::Folder { path } => path.as_str(),
        Pinned::Git { folder: Some(folder), .. } => folder.as_str(),
        Pinned::Git { .. }
        | Pinned::File { .. }
        | Pinned::WellKnown { .. }
        | Pinned::Registry { .. }
        | Pinned::Mcp { .. } => "",
    };
    let folder = place.rsplit('/').next().unwrap_or(place);
    folder.parse().ok().or_else(|| prowess_package::name::similar(&offer.name))
}

/// Whether a skill that can't be fetched makes the whole plan fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MissingSkills {
    /// The plan fails.
    Fail,
    /// The skill is left out and reported.
    Collect,
}

/// The dependents and the dependencies of a skill.
#[derive(Debug, Default)]
struct Needed {
    by: BTreeSet<SkillName>,
    dependencies: BTreeMap<SkillName, Version>,
}

/// The files at the root of a skill, each of which may be a signature.
pub fn signatures_of(tree: &Tree) -> Vec<prowess_trust::Signature> {
    let at_root = tree.files().filter(|(path, _)| path.parts().count() == 1);
    let as_signature =
        |(path, file): (&prowess_package::path::PackagePath, &prowess_package::tree::TreeFile)| {
            prowess_trust::Signature::detached(path.as_str(), file.bytes.clone())
        };
    at_root.map(as_signature).collect()
}

/// The contents of a skill that its signatures cover.
pub fn contents_of(
    metadata: &SkillMetadata,
    hashes: &FileHashes,
    namespace: Option<&SkillName>,
) -> Contents {
    // The declared name: a signature for one name is not valid for the same files under another name.
    let mut contents = Contents::new(metadata.own_name(), &metadata.version.to_string());
    contents.namespace = namespace.map(ToString::to_string);
    contents.files =
        hashes.iter().map(|(path, hash)| (path.as_str().to_owned(), *hash.as_bytes())).collect();
    contents
}

/// A hash of all resolved dependencies: skills and Python packages (GAIA §7.3).
fn dependencies_hash(metadata: &SkillMetadata, skills: &BTreeMap<SkillName, Version>) -> String {
    let mut lines: Vec<String> =
        skills.iter().map(|(name, version)| format!("skill {name} {version}\n")).collect();
    let packages = &metadata.skill.requirements.python_packages;
    let mut packages: Vec<String> =
        packages.iter().map(|package| format!("python {}\n", package.as_str())).collect();
    packages.sort();
    lines.extend(packages);
    Sha256Digest::of(lines.concat().as_bytes()).integrity()
}

/// Reads the lock file of a store.
pub fn read_lock(store: &Store) -> Result<LockFile, InstallError> {
    read_lock_file(store).map(|(_, lock)| lock)
}

/// Reads the lock file and its bytes, after interrupted changes are recovered. The store isn't locked: a later change
/// fails if the lock file is no longer the same.
pub(crate) fn read_lock_file(store: &Store) -> Result<(Option<Vec<u8>>, LockFile), InstallError> {
    store.wait_for_changes()?;
    let bytes = store.lock_file(MOST_BYTES)?;
    let lock = parse_lock(store, bytes.as_deref())?;
    Ok((bytes, lock))
}

fn parse_lock(store: &Store, bytes: Option<&[u8]>) -> Result<LockFile, InstallError> {
    let Some(bytes) = bytes else { return Ok(LockFile::default()) };
    let failed = |source| InstallError::Lock {
        path: store.path().join(crate::store::LOCK_FILE).display().to_string(),
        is_shared: store.is_shared(),
        source,
    };
    let text =
        std::str::from_utf8(bytes).map_err(|error| failed(LockError::Json(error.to_string())))?;
    store.parse_lock(text).map_err(failed)
}

impl InstallStep {
    /// The name of the skill.
    pub fn name(&self) -> &SkillName {
        &self.metadata.name
    }

    /// The files of the skill.
    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// The number of files and their total size in bytes.
    pub fn size(&self) -> (usize, usize) {
        self.tree
            .files()
            .fold((0, 0), |(count, bytes), (_, file)| (count + 1, bytes + file.bytes.len()))
    }

    /// The unified diff from the installed texts. If no version is installed, every line is an addition.
    pub fn text_difference(&self, store: &Store) -> String {
        let is_there = self.difference.is_some();
        let path = store.skill_path(self.name());
        let before = is_there.then(|| Tree::read(&path, &PackageLimits::PACKAGE).ok()).flatten();
        text_difference(before.as_ref().map(|read| &read.tree), &self.tree)
    }

    /// The error if the review refuses the skill.
    fn refused(&self) -> Option<InstallError> {
        let refusals = &self.review.refusals;
        let reasons: Vec<String> = refusals.iter().map(ToString::to_string).collect();
        (!refusals.is_empty()).then(|| InstallError::Refused {
            name: self.name().clone(),
            reason: reasons.join("; "),
            remedies: refusals.iter().flat_map(crate::review::InstallRefusal::remedies).collect(),
        })
    }

    /// The range that updates follow from now on, if it differs from the previous one.
    pub fn new_range(&self, plan: &InstallPlan) -> Option<&str> {
        let before = plan.lock.skills.get(self.name())?;
        self.entry.requested.as_deref().filter(|_| before.requested != self.entry.requested)
    }

    /// Whether the files are identical to the installed ones.
    fn is_reinstall(&self, lock: &LockFile) -> bool {
        lock.skills
            .get(self.name())
            .is_some_and(|installed| installed.integrity == self.entry.integrity)
    }
}

impl InstallPlan {
    /// Whether nothing is refused and no confirmation is needed.
    pub fn is_clear(&self) -> bool {
        self.steps.iter().all(|step| step.review.is_clear())
    }

    /// Agrees to install the others. Each skill that is left out is reported as a note.
    pub fn skip_unavailable(&mut self) {
        let unavailable = std::mem::take(&mut self.unavailable);
        let note = |one: &UnavailableSkill| format!("`{}` is left out: {}", one.name, one.reason);
        self.notes.extend(unavailable.iter().map(note));
        self.skipped.extend(unavailable);
    }

    /// The skills that the user agreed to leave out.
    pub fn skipped(&self) -> &[UnavailableSkill] {
        &self.skipped
    }

    /// Whether a step only restores the installed files.
    pub fn keeps_files(&self, step: &InstallStep) -> bool {
        step.is_reinstall(&self.lock)
    }

    /// The lock file before the change.
    pub fn lock(&self) -> &LockFile {
        &self.lock
    }

    /// Takes the requirements that are left out, by index, with their errors.
    pub fn take_failures(&mut self) -> Vec<(usize, InstallError)> {
        std::mem::take(&mut self.failures)
    }

    /// Merges two plans for the same lock file into one change. For a skill in both plans, the step of this one is
    /// used.
    pub fn and(mut self, other: Self) -> Result<Self, InstallError> {
        if self.before != other.before {
            return Err(InstallError::StoreChanged);
        }
        let is_new =
            |step: &InstallStep| self.steps.iter().all(|known| known.name() != step.name());
        let more: Vec<InstallStep> = other.steps.into_iter().filter(is_new).collect();
        // Restored skills may be dependencies of new ones, but never depend on them.
        self.steps.splice(0..0, more);
        let is_step = |name: &SkillName| self.steps.iter().any(|step| step.name() == name);
        let mut unchanged: BTreeMap<SkillName, Version> = self.unchanged.into_iter().collect();
        unchanged.extend(other.unchanged);
        self.unchanged = unchanged.into_iter().filter(|(name, _)| !is_step(name)).collect();
        self.notes.extend(other.notes);
        Ok(self)
    }
}
