//! Installed skills: which store a folder belongs to, and how far its skill is trusted.

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

use prowess_core::{Problem, ProblemKind, Remedy};
use prowess_package::digest::Sha256Digest;
use prowess_package::name::SkillName;
use prowess_policy::{Origin, Tier};
use prowess_store::agreement::Agreements;
use prowess_store::drift::{self, Drift, VerifiedSkill};
use prowess_store::install::read_lock;
use prowess_store::lock::{LockEntry, LockFile};
use prowess_store::places::Scope;
use prowess_store::source::Pinned;
use prowess_store::store::{LOCK_FILE, Store};
use prowess_trust::{Timestamp, TrustStore};

use crate::cache::Stamp;
use crate::library::Library;
use crate::packages::{self, TRUST_FILE, is_project_store};

/// The place of a skill in a store.
pub(crate) struct StorePlace {
    pub(crate) root: PathBuf,
    pub(crate) name: SkillName,
    /// Whether the store belongs to a project, and may have been written by someone else.
    pub(crate) is_shared: bool,
    /// The lock file; `None` if there is none.
    pub(crate) lock: Option<Arc<LockFile>>,
}

impl StorePlace {
    pub(crate) fn entry(&self) -> Option<&LockEntry> {
        self.lock.as_ref()?.skills.get(&self.name)
    }

    /// The name that the user gave to a skill whose own name can't be installed.
    pub(crate) fn given_name(&self) -> Option<&SkillName> {
        self.entry()?.chosen(&self.name)
    }
}

impl Library {
    /// The folder of a store.
    pub(crate) fn store_root(&self, scope: Scope) -> PathBuf {
        packages::store_path(self.places(), scope)
    }

    /// Opens a store for reading.
    pub(crate) fn open_store(&self, root: &Path) -> Result<Store, Problem> {
        packages::open_store(self.places(), root)
    }

    pub(crate) fn agreements(&self) -> Agreements {
        Agreements::in_folder(&self.places().data)
    }

    /// The lock file of a store, cached while it does not change; `None` if there is none.
    pub(crate) fn lock_of(&self, root: &Path) -> Result<Option<Arc<LockFile>>, Problem> {
        let path = root.join(LOCK_FILE);
        if !path.exists() {
            return Ok(None);
        }
        let stamp = Stamp::of_files([path.as_path()]);
        let mut locks = self.locks.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, lock)) = locks.get(root)
            && *known == stamp
        {
            return Ok(Some(Arc::clone(lock)));
        }
        self.counts.lock_reads.fetch_add(1, Ordering::Relaxed);
        let lock = read_lock(&self.open_store(root)?).map_err(|error| {
            let problem = Problem::new("lock-file-error", ProblemKind::Corrupt, error.to_string());
            error.remedies().into_iter().fold(problem, Problem::remedy)
        })?;
        let lock = Arc::new(lock);
        locks.insert(root.to_owned(), (stamp, Arc::clone(&lock)));
        Ok(Some(lock))
    }

    /// The trusted keys. They are per user: a cloned project does not decide whom its user trusts.
    fn keys(&self) -> Result<Arc<TrustStore>, Problem> {
        let path = self.places().data.join(TRUST_FILE);
        let stamp = Stamp::of_files([path.as_path()]);
        let mut keys = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, keys)) = keys.as_ref()
            && *known == stamp
        {
            return Ok(Arc::clone(keys));
        }
        let loaded = packages::load_trust(&path)?;
        let loaded = Arc::new(loaded);
        *keys = Some((stamp, Arc::clone(&loaded)));
        Ok(loaded)
    }

    /// The files that a trust decision in a store depends on, in addition to the skill's own.
    pub(crate) fn trust_files(&self, place: Option<&StorePlace>) -> Vec<PathBuf> {
        let Some(place) = place else { return Vec::new() };
        let data = &self.places().data;
        let mut files = vec![place.root.join(LOCK_FILE), data.join(TRUST_FILE)];
        if place.is_shared {
            files.push(data.join(prowess_store::agreement::FILE_NAME));
        }
        files
    }

    /// The store of a folder `STORE/skills/NAME`, which must be free of symbolic links. `.prowess` counts as a store
    /// even without a lock file: its content came with the project.
    pub(crate) fn place_in_store(&self, directory: &Path) -> Result<Option<StorePlace>, Problem> {
        let parts = || {
            let name: SkillName = directory.file_name()?.to_str()?.parse().ok()?;
            let skills = directory.parent()?;
            (skills.file_name()? == "skills").then_some((skills.parent()?, name))
        };
        let Some((root, name)) = parts() else { return Ok(None) };
        let lock = self.lock_of(root)?;
        let is_shared = is_project_store(root);
        if lock.is_none() && !is_shared {
            return Ok(None);
        }
        Ok(Some(StorePlace { root: root.to_owned(), name, is_shared, lock }))
    }

    /// Decides how far a skill is trusted. An installed skill must be unchanged; if it was signed and has changed, it
    /// is refused (GAIX-26). In a project's store, a skill that this user has not agreed to counts as downloaded.
    /// Everything else is a file of the user's, whatever it claims.
    pub(crate) fn trust(
        &self,
        bytes: &[u8],
        main_file: &str,
        place: Option<&StorePlace>,
    ) -> Result<(Tier, Origin), Problem> {
        let Some(place) = place else { return Ok((Tier::Experimental, Origin::Local)) };
        let (Some(lock), Some(entry)) = (&place.lock, place.entry()) else {
            let origin = if place.is_shared { Origin::Downloaded } else { Origin::Local };
            return Ok((Tier::Experimental, origin));
        };
        let finding = self.examine(place, lock)?;
        let mut drifts: Vec<String> = finding
            .drifts
            .iter()
            .filter(|drift| drift.is_about_files())
            .map(ToString::to_string)
            .collect();
        // The main file was read before the files were hashed. These are the bytes that are used, so they are compared too.
        let is_read_file = |path: &str| path == main_file;
        let installed = entry.files.iter().find(|(path, _)| is_read_file(path.as_str()));
        if drifts.is_empty() && installed.is_some_and(|(_, hash)| *hash != Sha256Digest::of(bytes))
        {
            drifts.push(format!("`{main_file}` changed while it was read"));
        }
        if !drifts.is_empty() && !entry.signers.is_empty() {
            let scope = if place.is_shared { Scope::Project } else { Scope::User };
            let message = format!(
                "`{}` was signed, and is not what was installed: {}",
                place.name,
                drifts.join("; ")
            );
            return Err(Problem::new("signed-skill-changed", ProblemKind::Refused, message)
                .remedy(Remedy::Restore(scope.as_str().to_owned())));
        }
        let attested = match &finding.attestation {
            // A signature does not cover files that were changed.
            Some(attestation) if drifts.is_empty() => attestation.tier,
            _ => Tier::Experimental,
        };
        let is_remote = entry.source.as_ref().is_none_or(Pinned::is_remote);
        let is_agreed = !place.is_shared
            || drifts.is_empty() && self.agreements().cover_skill(&place.name, &entry.integrity);
        let origin = if is_remote || !is_agreed { Origin::Downloaded } else { Origin::Local };
        Ok((attested, origin))
    }

    /// Compares the files of an installed skill with what was installed. They are hashed here, because the lock file says
    /// only what they were; the run hashes them again after the user has answered.
    fn examine(&self, place: &StorePlace, lock: &LockFile) -> Result<VerifiedSkill, Problem> {
        let store = self.open_store(&place.root)?;
        let keys = self.keys()?;
        self.counts.hashes.fetch_add(1, Ordering::Relaxed);
        let finding = drift::verify_one(&store, lock, &place.name, &keys, self.now());
        if !finding.drifts.iter().any(Drift::is_about_files) {
            return Ok(finding);
        }
        // Another process may be installing: verifying again distinguishes that from drift.
        self.counts.hashes.fetch_add(1, Ordering::Relaxed);
        let again = drift::verify(&store, std::slice::from_ref(&place.name), &keys, self.now());
        Ok(again.ok().and_then(|all| all.into_iter().next()).unwrap_or(finding))
    }

    /// The current time by the library's clock.
    fn now(&self) -> Timestamp {
        packages::timestamp((self.clock)())
    }

    /// Whether an installed skill's files are those of its lock entry.
    pub(crate) fn is_whole(&self, root: &Path, name: &SkillName, entry: &LockEntry) -> bool {
        let Ok(store) = self.open_store(root) else { return false };
        self.counts.hashes.fetch_add(1, Ordering::Relaxed);
        store.is_unchanged(name, entry)
    }
}
