//! The package manager: installing, updating, restoring, removing and verifying skills.
//!
//! ```text
//! ChangeRequest ──► prepare ──► PreparedChange ──► apply ──► ChangeReport
//!                                    │
//!                  questions, refusals, unavailable skills: values that any interface can show
//! ```
//!
//! Nothing is written before [`PreparedChange::apply`]. A prepared change owns everything it needs, so a server can keep it
//! while a person decides. Where skills come from is handed in as [`SkillSources`].

mod agent_skills;
mod change;
mod held;
mod import;
mod inventory;
mod lock_conflict;
mod outdated;
mod placement;
mod removal;
mod scope;
mod verification;
mod visibility;

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use prowess_core::{Problem, ProblemKind};
use prowess_scan::KnownBad;
use prowess_store::agreement::Agreements;
use prowess_store::install::read_lock;
use prowess_store::known_bad;
use prowess_store::lock::LockFile;
use prowess_store::places::{Places, Scope};
use prowess_store::project_root::ProjectRoot;
use prowess_store::reference::{GitReference, PathKind, Reference, ReferenceError, SlashMeaning};
use prowess_store::source::{Catalogue, Source};
use prowess_store::store::{ChangePhase, LOCK_FILE, ProjectStore, Store};
use prowess_trust::{Timestamp, TrustStore, load_trust_store};

pub use agent_skills::{AgentSkills, SkillPlace};
pub use change::{
    ChangeGoal, ChangeNote, ChangeReport, ChangeRequest, Decision, InstalledChange, PreparedChange,
    SkillFailure,
};
pub use held::{HeldSignature, HeldSkill, SignerStanding};
pub use import::{ImportedFile, ImportedSkills, SkippedImport};
pub use inventory::{Inventory, MissingSkill, SkillState, agent_by_id, client_by_id};
pub use lock_conflict::{ResolvedLock, SidePreference, unchosen_side};
pub use outdated::{OutdatedReport, OutdatedSkill};
pub use placement::{AgentTargets, PlacementReport};
pub use removal::{PreparedRemoval, RemovalReason, RemovalReport, RemovedSkill};
pub use scope::{ScopeChoice, ScopeReason};
pub use verification::{Revocations, VerifyReport};
pub use visibility::{OfferedSkills, SEVERAL_SKILLS};

/// The folder of a project in which its own skills and its lock file are.
pub(crate) const PROJECT_FOLDER: &str = ".prowess";
/// The file with the trusted keys, in the user's data folder.
pub(crate) const TRUST_FILE: &str = "trust.json";
/// The folder with the user's own keys, in the user's data folder.
const KEY_FOLDER: &str = "keys";

pub(crate) use scope::project_around;

/// Where skills come from.
#[derive(Clone, Copy)]
pub struct SkillSources<'s> {
    /// Fetches the files of skills.
    pub source: &'s dyn Source,
    /// Answers for registries; `None` if no registry is configured.
    pub catalogue: Option<&'s dyn Catalogue>,
}

/// Installs and removes skills for one user in one project.
#[derive(Clone, Debug)]
pub struct PackageManager {
    places: Places,
    clock: fn() -> SystemTime,
    on_phase: Option<fn(&Path, ChangePhase)>,
}

impl PackageManager {
    /// Creates a package manager for a user and a project.
    pub fn new(places: Places) -> Self {
        Self { places, clock: SystemTime::now, on_phase: None }
    }

    /// Replaces the clock by which signatures are judged.
    #[must_use]
    pub fn with_clock(mut self, clock: fn() -> SystemTime) -> Self {
        self.clock = clock;
        self
    }

    /// Uses another folder as the project.
    #[must_use]
    pub fn with_project(mut self, folder: PathBuf) -> Self {
        self.places.project = Some(folder);
        self
    }

    /// Calls a function when a change waits for another process, starts and is finished.
    #[must_use]
    pub fn on_phase(mut self, call: fn(&Path, ChangePhase)) -> Self {
        self.on_phase = Some(call);
        self
    }

    /// Where the user and the project keep things.
    pub fn places(&self) -> &Places {
        &self.places
    }

    /// The folder of a store.
    pub fn store_path(&self, scope: Scope) -> PathBuf {
        store_path(&self.places, scope)
    }

    /// The lock file of a store.
    pub fn lock_path(&self, scope: Scope) -> PathBuf {
        self.store_path(scope).join(LOCK_FILE)
    }

    /// Opens a store. One that does not exist is created by the first change.
    pub fn store(&self, scope: Scope) -> Result<Store, Problem> {
        let store = open_store(&self.places, &self.store_path(scope))?;
        Ok(match self.on_phase {
            Some(call) => store.on_phase(call),
            None => store,
        })
    }

    /// Reads the lock file of a store.
    pub fn lock_file(&self, scope: Scope) -> Result<LockFile, Problem> {
        read_lock(&self.store(scope)?).map_err(|error| error.problem())
    }

    /// The file with the trusted keys. There is one for the user: a cloned project does not decide whom its user trusts.
    pub fn trust_path(&self) -> PathBuf {
        self.places.data.join(TRUST_FILE)
    }

    /// The folder with the user's own keys.
    pub fn key_folder(&self) -> PathBuf {
        self.places.data.join(KEY_FOLDER)
    }

    /// Reads the trusted keys.
    pub fn trust_store(&self) -> Result<TrustStore, Problem> {
        load_trust(&self.trust_path())
    }

    /// The files that are known to be malicious, if the user has installed a list that a trusted key vouches for.
    pub fn known_bad(&self, trust: &TrustStore) -> KnownBad {
        let store = self.store(Scope::User);
        store.map(|store| known_bad::installed(&store, trust, self.now())).unwrap_or_default()
    }

    /// Parses a reference to a skill that can be installed. With a registry, `a/b` is a name in it; without one it is a
    /// repository.
    pub fn reference(&self, text: &str, has_registry: bool) -> Result<Reference, Problem> {
        let slash = if has_registry { SlashMeaning::Registry } else { SlashMeaning::Repository };
        let kind = |path: &str| match std::fs::metadata(self.places.current.join(path)) {
            Ok(metadata) if metadata.is_file() => PathKind::File,
            Ok(_) => PathKind::Folder,
            Err(_) => PathKind::Nothing,
        };
        if let Some(repository) = self.local_repository(text) {
            return Ok(Reference::Git(repository));
        }
        Reference::parse(text, slash, kind).map_err(|error| {
            let problem =
                Problem::new("invalid-reference", ProblemKind::InvalidInput, error.to_string());
            match &error {
                ReferenceError::Ambiguous { text, other } => Problem {
                    code: "ambiguous-reference",
                    ..problem.advice(format!(
                        "write `./{text}` for the one here, or `{}` for the other",
                        other.spelling()
                    ))
                },
                _ => problem,
            }
        })
    }

    /// A repository on this machine, named by its path: a bare one, or any with `#revision:folder` after it. The skills of
    /// a working folder are its files, so without a revision that is an ordinary path.
    fn local_repository(&self, text: &str) -> Option<GitReference> {
        if text.contains("://") {
            return None;
        }
        let whole = self.expanded(text);
        let (path, fragment) = match text.split_once('#') {
            Some((path, fragment)) if !whole.exists() => (path, Some(fragment)),
            _ => (text, None),
        };
        let folder = self.expanded(path);
        let is_meant = if fragment.is_some() {
            is_bare_repository(&folder) || folder.join(".git").exists()
        } else {
            is_bare_repository(&folder)
        };
        if path.is_empty() || !is_meant {
            return None;
        }
        let url = folder.canonicalize().ok()?.into_os_string().into_string().ok()?;
        match Reference::repository(url, fragment) {
            Ok(Reference::Git(repository)) => Some(repository),
            _ => None,
        }
    }

    /// A path as the user wrote it, relative to the current folder.
    fn expanded(&self, text: &str) -> PathBuf {
        match text.strip_prefix("~/") {
            Some(rest) => self.places.home.join(rest),
            None => self.places.current.join(text),
        }
    }

    /// The current time by the package manager's clock.
    pub(crate) fn now(&self) -> Timestamp {
        timestamp((self.clock)())
    }
}

/// Whether a folder is a git repository without a working folder.
pub(crate) fn is_bare_repository(folder: &Path) -> bool {
    folder.join("HEAD").is_file()
        && folder.join("objects").is_dir()
        && folder.join("refs").is_dir()
        && !folder.join("SKILL.md").exists()
}

/// The folder of a store. Outside of a project the current folder counts as one.
pub(crate) fn store_path(places: &Places, scope: Scope) -> PathBuf {
    match scope {
        Scope::User => places.data.clone(),
        Scope::Project => places.project.as_ref().unwrap_or(&places.current).join(PROJECT_FOLDER),
    }
}

/// Whether a store is kept with a project.
pub(crate) fn is_project_store(root: &Path) -> bool {
    root.file_name().is_some_and(|name| name == PROJECT_FOLDER)
}

/// Opens a store by its folder. One that is kept with a project is opened as such.
pub(crate) fn open_store(places: &Places, root: &Path) -> Result<Store, Problem> {
    let opened = if is_project_store(root) {
        let ground = ProjectRoot::of_project(root.parent().unwrap_or(root));
        let agreements = Agreements::in_folder(&places.data);
        Store::open_project(root, ProjectStore { ground, agreements })
    } else {
        Store::open(root)
    };
    opened.map_err(|error| Problem::new("store-unusable", ProblemKind::Failed, error.to_string()))
}

/// Reads a file with trusted keys.
pub(crate) fn load_trust(path: &Path) -> Result<TrustStore, Problem> {
    load_trust_store(path)
        .map_err(|error| Problem::new("trust-store-error", ProblemKind::Corrupt, error.to_string()))
}

/// A time as signatures and lock files have it.
pub(crate) fn timestamp(time: SystemTime) -> Timestamp {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_unix(i64::try_from(since.as_secs()).unwrap_or(i64::MAX))
}
