//! A bounded pool of warm workers, reused while their skill is unchanged.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use prowess_sandbox::{FileAccess, FileGrant, Network, Spec};
use sha2::{Digest as _, Sha256};

use super::worker::Worker;
use crate::credentials::CredentialError;
use crate::decision_inputs::DecisionInputs;
use crate::error::RunError;
use crate::platform::PlaceOf;
use crate::run::CancellationToken;
use crate::{digest, platform};

/// Interval at which a waiting call checks for cancellation.
const TICK: Duration = Duration::from_millis(100);

/// The Python workers of a process. Clones share them; the last one stops them on drop.
///
/// A worker belongs to the files of a skill and to its permissions: if either changes, the next call gets a new worker
/// and the old one is stopped. Calls of one skill share memory, like functions of one module; calls of different skills
/// share nothing.
#[derive(Clone, Debug)]
pub struct PythonWorkers {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    most: usize,
    keeps: bool,
    state: Mutex<PoolState>,
    freed: Condvar,
}

#[derive(Debug, Default)]
struct PoolState {
    /// Idle workers, the most recently used one last.
    idle: Vec<Idle>,
    busy: usize,
}

#[derive(Debug)]
struct Idle {
    key: Key,
    worker: Worker,
    /// Tools that it was used for.
    tools: BTreeSet<String>,
    spent: Duration,
}

/// The identity of a worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Key {
    /// The skill's folder.
    pub(super) folder: PathBuf,
    /// The digest of its files.
    pub(super) digest: String,
    /// The fingerprint of its permissions.
    pub(super) fingerprint: String,
}

/// A slot in the pool, for one call.
#[derive(Debug)]
pub(super) struct PoolSlot {
    shared: Arc<Shared>,
    key: Key,
    /// A warm worker, if there is one.
    pub(super) worker: Option<Worker>,
    tools: BTreeSet<String>,
    spent: Duration,
}

/// No slot became free in time.
#[derive(Debug)]
pub(super) struct PoolTimeout;

/// Generates a request number. It is random, so that a skill can't answer later calls in advance.
pub(super) fn request_number() -> Result<String, RunError> {
    let mut number = [0; 16];
    getrandom::fill(&mut number).map_err(|error| CredentialError::Random(error.into()))?;
    Ok(digest::hexadecimal(&number))
}

impl PythonWorkers {
    /// A pool with at most this many workers, busy and idle together; at least one.
    pub fn new(most: usize) -> Self {
        Self::with(most.max(1), true)
    }

    /// A pool that keeps no workers: every call has its own.
    pub fn one_shot() -> Self {
        Self::with(usize::MAX, false)
    }

    fn with(most: usize, keeps: bool) -> Self {
        Self {
            shared: Arc::new(Shared {
                most,
                keeps,
                state: Mutex::default(),
                freed: Condvar::new(),
            }),
        }
    }

    /// Number of idle workers.
    pub fn idle(&self) -> usize {
        self.shared.state().idle.len()
    }

    /// Stops the idle workers of a skill.
    pub fn evict(&self, folder: &Path) {
        let gone = self.shared.state().take(|idle| idle.key.folder == folder);
        drop(gone);
    }

    /// A slot with a warm worker, if there is one.
    pub(super) fn warm_slot(&self, key: &Key, tool: &str) -> Option<PoolSlot> {
        let mut state = self.shared.state();
        let at = state.idle.iter().rposition(|idle| idle.key == *key)?;
        let idle = state.idle.remove(at);
        state.busy += 1;
        Some(PoolSlot::new(&self.shared, key, tool, Some(idle)))
    }

    /// A slot for a call of a tool, with a warm worker if there is one.
    pub(super) fn slot(
        &self,
        key: &Key,
        tool: &str,
        until: Instant,
        cancel: &CancellationToken,
    ) -> Result<PoolSlot, PoolTimeout> {
        let shared = &self.shared;
        let mut state = shared.state();
        // Workers for earlier files of the skill or for earlier permissions of this tool.
        let mut gone = state.take(|idle| {
            idle.key.folder == key.folder
                && (idle.key.digest != key.digest
                    || (idle.key.fingerprint != key.fingerprint && idle.tools.contains(tool)))
        });
        let place = |idle: Option<Idle>| PoolSlot::new(shared, key, tool, idle);
        let taken = loop {
            if let Some(at) = state.idle.iter().rposition(|idle| idle.key == *key) {
                let idle = state.idle.remove(at);
                break Ok(place(Some(idle)));
            }
            if state.busy + state.idle.len() < shared.most {
                break Ok(place(None));
            }
            if !state.idle.is_empty() {
                gone.push(state.idle.remove(0));
                break Ok(place(None));
            }
            if cancel.is_cancelled() || Instant::now() >= until {
                break Err(PoolTimeout);
            }
            let waited = shared.freed.wait_timeout(state, TICK);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        };
        if taken.is_ok() {
            state.busy += 1;
        }
        drop(state);
        // Stopping takes a moment, and others need the lock.
        drop(gone);
        taken
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, PoolState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PoolState {
    fn take(&mut self, mut unwanted: impl FnMut(&Idle) -> bool) -> Vec<Idle> {
        self.idle.extract_if(.., |idle| unwanted(idle)).collect()
    }
}

impl PoolSlot {
    fn new(shared: &Arc<Shared>, key: &Key, tool: &str, idle: Option<Idle>) -> Self {
        let (worker, mut tools, spent) = match idle {
            Some(idle) => (Some(idle.worker), idle.tools, idle.spent),
            None => (None, BTreeSet::new(), Duration::ZERO),
        };
        if !tools.contains(tool) {
            tools.insert(tool.to_owned());
        }
        PoolSlot { shared: Arc::clone(shared), key: key.clone(), worker, tools, spent }
    }

    /// Whether a worker may be reused after a call.
    ///
    /// Patterns are expanded at the start, writable folders are examined at the end of a run, and a proxy has a
    /// certificate and a byte count for one run: such a worker is used for one call. The CPU time limit applies to the
    /// whole life of a process: one that has used much of it could fail a later call.
    pub(super) fn keeps(&self, spec: &WorkerReuse) -> bool {
        self.shared.keeps && spec.reusable && spec.cpu.is_none_or(|most| self.spent < most / 4)
    }

    /// Adds the time of a call.
    pub(super) fn spend(&mut self, time: Duration) {
        self.spent += time;
    }

    /// Returns the worker to the pool.
    pub(super) fn keep(mut self, worker: Worker) {
        let idle = Idle {
            key: self.key.clone(),
            worker,
            tools: std::mem::take(&mut self.tools),
            spent: self.spent,
        };
        self.shared.state().idle.push(idle);
    }
}

impl Drop for PoolSlot {
    fn drop(&mut self) {
        self.shared.state().busy -= 1;
        self.shared.freed.notify_one();
    }
}

/// The parts of a specification that decide whether a worker may be reused.
#[derive(Clone, Copy, Debug)]
pub(super) struct WorkerReuse {
    reusable: bool,
    cpu: Option<Duration>,
}

impl WorkerReuse {
    pub(super) fn of(spec: &Spec) -> Self {
        let is_lasting =
            |grant: &FileGrant| grant.pattern.is_none() && grant.access != FileAccess::Write;
        let reusable = spec.network == Network::None && spec.files.iter().all(is_lasting);
        Self { reusable, cpu: spec.limits.cpu }
    }
}

/// A fingerprint of everything that a specification grants. A replaced file changes it, because a worker still sees the
/// old one.
pub(super) fn fingerprint(spec: &Spec) -> String {
    let mut hasher = Sha256::new();
    let mut add = |text: String| {
        hasher.update((text.len() as u64).to_le_bytes());
        hasher.update(text);
    };
    add(format!("{} {:?} {:?}", spec.program.display(), spec.arguments, spec.environment));
    add(format!("{} {:?} {:?}", spec.working_directory.display(), spec.network, spec.limits));
    for grant in &spec.files {
        add(format!("{grant:?} {:?}", place_of(&grant.path)));
    }
    for path in spec.programs.iter().chain(&spec.support).chain([&spec.program]) {
        add(format!("{} {:?}", path.display(), place_of(path)));
    }
    digest::hexadecimal(&hasher.finalize())
}

/// Every file and folder that a specification grants, as it is now.
pub(super) fn places(spec: &Spec) -> Option<DecisionInputs> {
    let granted = spec.files.iter().map(|grant| &grant.path);
    let programs = spec.programs.iter().chain(&spec.support).chain([&spec.program]);
    let mut evidence = DecisionInputs::default();
    granted.chain(programs).try_for_each(|path| evidence.place(path.clone()))?;
    Some(evidence)
}

/// Identifies the file or folder at a path, whatever its content.
fn place_of(path: &Path) -> Option<PlaceOf> {
    platform::place_of(&path.symlink_metadata().ok()?)
}
