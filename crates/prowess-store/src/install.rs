//! Installing: what would change is found out first, looked at, and then done at once or not at all.
//!
//! ```text
//! references ──► offers ──► files ──► description, signatures ──► resolution ──► review ──► Plan ──► apply
//! ```
//!
//! A [`InstallPlan`] has written nothing. It holds every file that it would write, so that between looking and doing nothing is
//! fetched again.

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
use prowess_trust::{Attestation, Contents, Evidence, SignedBy, Timestamp, TrustStore, attest};
use semver::Version;

use crate::agreement::ConsentItem;
use crate::capabilities::{Capability, capabilities_of, lines, remembered};
use crate::commit::CommitError;
use crate::difference::{FileChanges, text_difference};
use crate::lock::{LockEntry, LockError, LockFile, MOST_BYTES};
use crate::metadata::{MetadataError, SkillMetadata, read_metadata};
use crate::reference::Reference;
use crate::review::{Candidate, InstallPermissions, LowerClaim, Question, Review, review};
use crate::source::{self, Catalogue, Offer, Pinned, Source, SourceError};
use crate::store::{Store, StoreError};

pub use apply::AppliedChanges;
pub use by_name::InstalledSkill;
use choose::{Kind, OnFailure, PlanGoal};
pub use restore::{RestorePlan, RestoreReport};

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
    pub permissions: InstallPermissions,
    /// Releases must be this old, in seconds.
    pub min_age: Option<u64>,
}

/// What somebody wants installed.
#[derive(Debug, Clone)]
pub struct SkillRequirement {
    /// Where it is.
    pub reference: Reference,
    /// Which ones, where there are several; all of them when empty.
    pub only: BTreeSet<String>,
    /// The name that the user gives it, for a skill whose own can't be installed.
    pub chosen: Option<SkillName>,
    /// Who wants it, in words. A conflict names them.
    pub origin: String,
}

/// What would change.
#[derive(Debug)]
pub struct InstallPlan {
    /// The skills, each behind all that it needs (GAIA §10.3).
    pub steps: Vec<InstallStep>,
    /// Skills that are there already, as they should be.
    pub unchanged: Vec<(SkillName, Version)>,
    /// What was asked for together with these and can't be had. Somebody must agree to go without (see
    /// [`InstallPlan::skip_unavailable`]).
    pub unavailable: Vec<UnavailableSkill>,
    /// What somebody should know.
    pub notes: Vec<String>,
    skipped: Vec<UnavailableSkill>,
    /// Wishes that are left out, by their numbers, and why. They change nothing.
    failures: Vec<(usize, InstallError)>,
    /// Newer versions that an update does not choose.
    pub newer: Vec<NewerVersion>,
    /// The lock file that was looked at.
    before: Option<Vec<u8>>,
    lock: LockFile,
}

/// A requested skill that can't be fetched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnavailableSkill {
    /// What it is called where it comes from.
    pub name: String,
    /// Why.
    pub reason: String,
    /// What would help.
    pub remedies: Vec<Remedy>,
}

/// A version that is newer than the chosen one, and outside of the range that was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewerVersion {
    /// Which skill.
    pub name: SkillName,
    /// What an update chooses.
    pub chosen: Version,
    /// What there is.
    pub newest: Version,
    /// The range that was asked for.
    pub requested: Option<String>,
}

/// One skill that would be installed.
#[derive(Debug)]
pub struct InstallStep {
    /// What its files say.
    pub metadata: SkillMetadata,
    /// What it replaces.
    pub replaces: Option<Version>,
    /// What is to be looked at before.
    pub review: Review,
    /// What its signatures prove.
    pub attestation: Attestation,
    /// What the lock will say.
    pub entry: LockEntry,
    /// Whether the lock says it already, and only the files are put back.
    pub is_restored: bool,
    /// What it can make an agent do.
    pub capabilities: Vec<Capability>,
    /// How it differs from the installed version, if there is one.
    pub difference: Option<SkillDifference>,
    /// What somebody agrees to who installs it, whatever is installed now.
    demands: Vec<ConsentItem>,
    tree: Tree,
}

/// How a version of a skill differs from the installed one.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SkillDifference {
    /// The files.
    pub files: FileChanges,
    /// What it can make an agent do that the user has not agreed to before.
    pub added: Vec<Capability>,
    /// Scripts that the user has agreed to, with other content.
    pub changed_scripts: Vec<Capability>,
    /// Lines of capabilities that it does not have any more.
    pub removed: Vec<String>,
    /// Whether only texts for people and agents differ: nothing that is run, named, requested or declared otherwise.
    pub is_wording_only: bool,
}

/// Why nothing can be installed. Nothing has changed.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    /// A source has nothing to give.
    #[error("{0}")]
    Source(#[from] SourceError),
    /// There are several skills, and none was named.
    #[error("`{reference}` holds {}: {}", skills(.names.len()), listed(.names))]
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
    /// Some of the skills that were asked for can't be had, and nobody agreed to go without.
    #[error("{} can't be installed: {}", skills(.0.len()), reasons(.0))]
    Unavailable(Vec<UnavailableSkill>),
    /// A skill can't be installed, whoever vouches for it.
    #[error("`{name}` can't be installed: {source}")]
    Metadata {
        /// What it is called.
        name: String,
        /// A name that it could be given, where its own is the reason.
        evident: Option<SkillName>,
        /// Why.
        source: MetadataError,
    },
    /// The files are none that can be installed.
    #[error("`{name}` can't be installed: {source}")]
    Files {
        /// What it is called.
        name: String,
        /// Why.
        source: TreeError,
    },
    /// The name inside is another one than the name it was asked for by (attack registry-C5).
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
    /// The bytes are not those of the lock (GAIA §7.3, attacks registry-C1, registry-C2).
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
        /// Whether it is kept with a project, so that there are other copies of it.
        is_shared: bool,
        /// Why.
        source: LockError,
    },
    /// The store.
    #[error("{0}")]
    Store(#[from] StoreError),
    /// The change itself.
    #[error("`{}`: {source}", .store.display())]
    Commit {
        /// The store.
        store: std::path::PathBuf,
        /// Why.
        source: CommitError,
    },
    /// Somebody else has changed the store between looking and doing.
    #[error("the store was changed meanwhile, so nothing was done")]
    StoreChanged,
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
        /// What would help.
        remedies: Vec<Remedy>,
    },
}

impl InstallError {
    /// The failure as every interface reports it.
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

    /// What would help.
    pub fn remedies(&self) -> Vec<Remedy> {
        let advice = |text: &str| vec![Remedy::Advice(text.to_owned())];
        match self {
            Self::Source(error) => error.remedies.clone(),
            Self::Several { .. } => vec![Remedy::ChooseSkill("NAME".to_owned()), Remedy::ChooseAll],
            Self::NoRegistry(name) => advice(&format!(
                "name a folder (`./{name}`), a repository or a domain, or set PROWESS_REGISTRY to the address of a registry"
            )),
            Self::NotLocked { name, .. } => {
                let mut remedies = advice("find out who changed it");
                remedies.push(Remedy::Update(name.to_string()));
                remedies
            }
            // Its message says which program to use: there is nothing wrong with the file.
            Self::Lock { source: LockError::Version(_), .. } => Vec::new(),
            Self::Lock { source: LockError::Conflict(_), .. } => vec![Remedy::ResolveLockFile],
            Self::Lock { source: LockError::Markers(_) | LockError::Side { .. }, .. } => advice(
                "take one side as a whole from version control, and install the skills of the other side again",
            ),
            Self::Lock { is_shared: true, .. } => advice("restore it from version control"),
            Self::Lock { is_shared: false, .. } => {
                let mut remedies = advice(
                    "move that file away and install the skills again; their files stay until then",
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
                advice("do not use it; ask its author for one whose signature is valid")
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
                advice("install a newer version of this program, or an older one of the skill")
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

/// A skill whose files are here.
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
    /// Plans a change: all of the requirements or none. Nothing is written.
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
        // Who names another range than before wants the best of that one, and not what happens to be there.
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

    /// Finds out what an update would change: of some skills, or of all when none is named. A skill that can't be updated
    /// stays as it is and keeps no other from it.
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
            // What nobody asked for moves with what needs it.
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

    /// Fetches the files of an offer and looks at them.
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

    /// Compares a skill with what is installed under its name.
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
        // Whoever has a skill with errors has agreed to that once.
        let before = installed.and_then(|entry| self.store.checked_metadata(&metadata.name, entry));
        let had_errors = before.as_ref().is_some_and(|before| !before.errors.is_empty());
        let was_prose = before.as_ref().is_some_and(|before| before.is_prose);
        let is_prose = metadata.is_prose && !was_prose;
        let integrity = content_digest(&hashes).integrity();
        let capabilities = capabilities_of(&tree);
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
        entry.requested = requested;
        entry.explicit = is_explicit || installed.is_some_and(|installed| installed.explicit);
        entry.required_by = needed.by;
        entry.dependencies_hash = dependencies_hash(&metadata, &needed.dependencies);
        entry.dependencies = needed.dependencies;
        entry.permissions = metadata.grants.grants().iter().map(ToString::to_string).collect();
        // What others wrote into the lock file of a project is nothing that this user has agreed to.
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

    /// What somebody has to agree to who has never seen a skill, where that is to be remembered.
    fn demands(
        &self,
        metadata: &SkillMetadata,
        hashes: &FileHashes,
        candidate: &Candidate<'_>,
    ) -> Vec<ConsentItem> {
        if self.store.project().is_none() {
            return Vec::new();
        }
        // Whatever the installed version had and was agreed to before.
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

/// How a skill differs from the installed one, by what its review asks.
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
            Question::Capability(capability) => difference.added.push(capability.clone()),
            Question::ChangedScript(script) => difference.changed_scripts.push(script.clone()),
            _ => {}
        }
    }
    difference.is_wording_only = difference.files.are_documents()
        && difference.added.is_empty()
        && difference.changed_scripts.is_empty()
        && difference.removed.is_empty();
    difference
}

/// Whether two versions request, need and offer the same. Tools have their commands in the text, so a skill with tools is
/// never only worded differently.
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

/// What an update would change.
#[derive(Debug)]
pub struct UpdatePlan {
    /// What can be updated.
    pub plan: InstallPlan,
    /// Skills that stay as they are, and why.
    pub failures: Vec<(SkillName, InstallError)>,
}

/// The name that is meant: that of the skill's folder where it is one, otherwise its own in the form of names.
fn evident_name(offer: &Offer) -> Option<SkillName> {
    let place = match &offer.pinned {
        Pinned::Folder { path } => path.as_str(),
        Pinned::Git { folder: Some(folder), .. } => folder.as_str(),
        Pinned::Git { .. }
        | Pinned::File { .. }
        | Pinned::WellKnown { .. }
        | Pinned::Registry { .. } => "",
    };
    let folder = place.rsplit('/').next().unwrap_or(place);
    folder.parse().ok().or_else(|| prowess_package::name::similar(&offer.name))
}

/// Whether skills that can't be had keep the others from being installed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MissingSkills {
    /// They do.
    Fail,
    /// They are collected.
    Collect,
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
    metadata: &SkillMetadata,
    hashes: &FileHashes,
    namespace: Option<&SkillName>,
) -> Contents {
    // The name in the file: a signature for one name is none for the same files under another.
    let mut contents = Contents::new(metadata.own_name(), &metadata.version.to_string());
    contents.namespace = namespace.map(ToString::to_string);
    contents.files =
        hashes.iter().map(|(path, hash)| (path.as_str().to_owned(), *hash.as_bytes())).collect();
    contents
}

/// One hash over everything a skill was resolved with: skills and Python packages (GAIA §7.3).
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

/// What is installed in a store, as its lock file has it.
pub fn read_lock(store: &Store) -> Result<LockFile, InstallError> {
    read_lock_file(store).map(|(_, lock)| lock)
}

/// The lock file and what it says, after what others left undone was finished. Nobody is locked out: a change is made only
/// if the lock file is still this one.
pub(crate) fn read_lock_file(store: &Store) -> Result<(Option<Vec<u8>>, LockFile), InstallError> {
    store.settle()?;
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
    /// Its name.
    pub fn name(&self) -> &SkillName {
        &self.metadata.name
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

    /// The unified difference of its texts from those that are installed. Without an installed version everything is new.
    pub fn text_difference(&self, store: &Store) -> String {
        let is_there = self.difference.is_some();
        let path = store.skill_path(self.name());
        let before = is_there.then(|| Tree::read(&path, &PackageLimits::PACKAGE).ok()).flatten();
        text_difference(before.as_ref().map(|read| &read.tree), &self.tree)
    }

    /// Why it can't be installed, when it is refused.
    fn refused(&self) -> Option<InstallError> {
        let refusals = &self.review.refusals;
        let reasons: Vec<String> = refusals.iter().map(ToString::to_string).collect();
        (!refusals.is_empty()).then(|| InstallError::Refused {
            name: self.name().clone(),
            reason: reasons.join("; "),
            remedies: refusals.iter().flat_map(crate::review::Refusal::remedies).collect(),
        })
    }

    /// The range that it is followed in from now on, where that is another one than before.
    pub fn new_range(&self, plan: &InstallPlan) -> Option<&str> {
        let before = plan.lock.skills.get(self.name())?;
        self.entry.requested.as_deref().filter(|_| before.requested != self.entry.requested)
    }

    /// Whether the files are those that are installed.
    fn is_reinstall(&self, lock: &LockFile) -> bool {
        lock.skills
            .get(self.name())
            .is_some_and(|installed| installed.integrity == self.entry.integrity)
    }
}

impl InstallPlan {
    /// Whether nobody needs to be asked and nothing is refused.
    pub fn is_clear(&self) -> bool {
        self.steps.iter().all(|step| step.review.is_clear())
    }

    /// Agrees to install the others. What is left out is told as a note.
    pub fn skip_unavailable(&mut self) {
        let unavailable = std::mem::take(&mut self.unavailable);
        let note = |one: &UnavailableSkill| format!("`{}` is left out: {}", one.name, one.reason);
        self.notes.extend(unavailable.iter().map(note));
        self.skipped.extend(unavailable);
    }

    /// What somebody agreed to go without.
    pub fn skipped(&self) -> &[UnavailableSkill] {
        &self.skipped
    }

    /// Whether a step only puts back the files that are installed.
    pub fn keeps_files(&self, step: &InstallStep) -> bool {
        step.is_reinstall(&self.lock)
    }

    /// What is installed before it.
    pub fn lock(&self) -> &LockFile {
        &self.lock
    }

    /// Takes the requirements that are left out, by their numbers, with the reasons.
    pub fn take_failures(&mut self) -> Vec<(usize, InstallError)> {
        std::mem::take(&mut self.failures)
    }

    /// Both plans as one change. Of a skill that is in both, this one counts. They must be about the same lock file.
    pub fn and(mut self, other: Self) -> Result<Self, InstallError> {
        if self.before != other.before {
            return Err(InstallError::StoreChanged);
        }
        let is_new =
            |step: &InstallStep| self.steps.iter().all(|known| known.name() != step.name());
        let more: Vec<InstallStep> = other.steps.into_iter().filter(is_new).collect();
        // What is put back is needed by what is new, and never the other way around.
        self.steps.splice(0..0, more);
        let is_step = |name: &SkillName| self.steps.iter().any(|step| step.name() == name);
        let mut unchanged: BTreeMap<SkillName, Version> = self.unchanged.into_iter().collect();
        unchanged.extend(other.unchanged);
        self.unchanged = unchanged.into_iter().filter(|(name, _)| !is_step(name)).collect();
        self.notes.extend(other.notes);
        Ok(self)
    }
}
