//! Runs on disk: their inputs, and the outputs of completed nodes.
//!
//! A run is a folder. `run.json` is written once, before anything else; each completed node has its own file, written
//! atomically and synced before the next node starts. A lock marks a run in progress, and is released however its
//! process ends.

use std::collections::HashMap;
use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use prowess_core::Remedy;
use prowess_files::atomic::{self, MAX_SMALL_FILE_BYTES, WriteOptions};
use prowess_files::lock_file;
use prowess_files::private::private_folder;
use serde_json::{Map, Value, json};

use crate::world::StateFolders;

/// The version of the file format.
const VERSION: u64 = 1;
/// Maximum length of the workflow's name in the name of a run.
const MAX_NAME: usize = 32;
/// Number of random characters in the name of a run.
const RANDOM: usize = 8;
/// Maximum number of successful runs that are kept.
const MAX_ENDED: usize = 100;
/// Written when a run has succeeded.
const ENDED: &str = "ended.json";

/// Where runs of workflows are recorded: files of the user by default, a database for a server.
///
/// The methods block. A running workflow calls those of its [`RunJournal`] on the blocking pool of its runtime, so an
/// implementation may wait for a disk or a database.
pub trait RunStore: Send + Sync {
    /// Records a new run, named after its workflow.
    fn create(&self, name: &str, record: RunRecord) -> Result<OpenRun, RunStoreError>;

    /// Opens a run to resume it, exclusively until it is dropped.
    fn open(&self, id: &str) -> Result<OpenRun, RunStoreError>;

    /// All runs, the latest first.
    fn list(&self) -> Result<Vec<StoredRun>, RunStoreError>;
}

/// The journal of a run: the outputs of its nodes.
pub trait RunJournal: Send {
    /// Records the output of a node durably.
    fn complete(&mut self, number: usize, node: &str, output: &Value) -> Result<(), RunStoreError>;

    /// Records that the run is complete.
    fn end(&mut self, output: &Value) -> Result<(), RunStoreError>;
}

/// Runs in a folder of the user.
#[derive(Clone, Debug)]
pub struct FileRuns {
    folder: PathBuf,
}

/// The name of a run: one safe path component.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredRunId(String);

/// The parameters of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct RunRecord {
    /// The text of the workflow's file.
    pub text: String,
    /// The inputs.
    pub inputs: Map<String, Value>,
    /// Settings of the caller, for resuming.
    pub settings: Value,
}

/// A run that is opened exclusively.
pub struct OpenRun {
    /// Its name.
    pub id: StoredRunId,
    /// Its parameters.
    pub record: RunRecord,
    /// Outputs of completed nodes, by id.
    outputs: HashMap<String, Value>,
    journal: Journal,
}

/// A journal that is passed to the blocking pool and back.
pub(crate) type Journal = Arc<Mutex<dyn RunJournal>>;

/// A run's folder.
struct FileJournal {
    folder: PathBuf,
    /// Held until this is dropped.
    _lock: File,
}

/// A run in a list.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredRun {
    /// Its name.
    pub id: StoredRunId,
    /// Its parameters.
    pub record: RunRecord,
    /// Its state.
    pub state: StoredRunState,
    /// The number of completed nodes.
    pub ended_nodes: usize,
    /// The time of the last change.
    pub changed: SystemTime,
}

/// The state of a stored run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoredRunState {
    /// A process is running it.
    Running,
    /// It was stopped, or a node failed: it can be resumed.
    Stopped,
    /// It is complete.
    Ended,
}

/// Why a run can't be recorded or opened.
#[derive(Debug, thiserror::Error)]
pub enum RunStoreError {
    /// The run does not exist.
    #[error("there is no run `{0}`")]
    NotThere(String),
    /// Another process is running it.
    #[error("the run `{0}` is still running")]
    Busy(String),
    /// Its files are damaged.
    #[error("`{}` can't be used: {reason}", .path.display())]
    Broken {
        /// The file.
        path: PathBuf,
        /// The reason.
        reason: String,
    },
    /// An input or output error.
    #[error("cannot record the run in `{}`: {source}", .path.display())]
    Disk {
        /// The file or folder.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
}

impl RunStoreError {
    /// The remedy.
    pub fn remedy(&self) -> Remedy {
        let advice = |text: &str| Remedy::Advice(text.to_owned());
        match self {
            RunStoreError::NotThere(_) => Remedy::ListRuns,
            RunStoreError::Busy(_) => advice("wait for it, or cancel it first"),
            RunStoreError::Broken { .. } => advice("start the workflow again"),
            RunStoreError::Disk { path, .. } => advice(&format!(
                "free some space, or check the permissions of `{}`",
                path.display()
            )),
        }
    }
}

impl StoredRunId {
    /// Parses a name.
    pub fn parse(text: &str) -> Option<Self> {
        let fine = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        let is_name = (1..=64).contains(&text.len()) && text.bytes().all(fine);
        is_name.then(|| Self(text.to_owned()))
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl RunStore for FileRuns {
    fn create(&self, name: &str, record: RunRecord) -> Result<OpenRun, RunStoreError> {
        let disk = |source| RunStoreError::Disk { path: self.folder.clone(), source };
        private_folder(&self.folder).map_err(disk)?;
        self.forget_old();
        let plain =
            |it: char| if it.is_ascii_alphanumeric() { it.to_ascii_lowercase() } else { '-' };
        let words: String = name.chars().map(plain).collect();
        let words: Vec<&str> = words.split('-').filter(|word| !word.is_empty()).collect();
        let name: String = words.join("-").chars().take(MAX_NAME).collect();
        let prefix = if name.is_empty() { "run-".to_owned() } else { format!("{name}-") };
        let mut builder = tempfile::Builder::new();
        builder.prefix(&prefix).rand_bytes(RANDOM);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            builder.permissions(std::fs::Permissions::from_mode(0o700));
        }
        // A unique name.
        let folder = builder.tempdir_in(&self.folder).map_err(disk)?.keep();
        let id = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let id = StoredRunId(id);
        let lock = locked(&folder, &id)?;
        let text = json!({
            "version": VERSION,
            "workflow": record.text,
            "inputs": record.inputs,
            "settings": record.settings,
        });
        let path = folder.join("run.json");
        atomic::write(&path, text.to_string().as_bytes(), WriteOptions::PRIVATE)
            .and_then(|()| atomic::sync_folder(&self.folder))
            .map_err(|source| RunStoreError::Disk { path, source })?;
        let journal = FileJournal { folder, _lock: lock };
        Ok(OpenRun::new(id, record, HashMap::new(), journal))
    }

    fn open(&self, id: &str) -> Result<OpenRun, RunStoreError> {
        let id = StoredRunId::parse(id).ok_or_else(|| RunStoreError::NotThere(id.to_owned()))?;
        let folder = self.folder.join(id.as_str());
        if !folder.join("run.json").is_file() {
            return Err(RunStoreError::NotThere(id.0));
        }
        let lock = locked(&folder, &id)?;
        let record = record(&folder)?;
        let mut outputs = HashMap::new();
        let disk = |source| RunStoreError::Disk { path: folder.clone(), source };
        for entry in std::fs::read_dir(&folder).map_err(disk)? {
            let name = entry.map_err(disk)?.file_name().to_string_lossy().into_owned();
            if !is_of_node(&name) {
                continue;
            }
            let (path, mut node) = object(folder.join(name))?;
            let Some(Value::String(id)) = node.remove("id") else {
                return Err(RunStoreError::Broken { path, reason: "it has no id".to_owned() });
            };
            outputs.insert(id, node.remove("output").unwrap_or_default());
        }
        Ok(OpenRun::new(id, record, outputs, FileJournal { folder, _lock: lock }))
    }

    /// Unreadable runs are omitted: they can't be resumed either.
    fn list(&self) -> Result<Vec<StoredRun>, RunStoreError> {
        let entries = match std::fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(source) => return Err(RunStoreError::Disk { path: self.folder.clone(), source }),
        };
        let mut runs: Vec<StoredRun> = entries
            .flatten()
            .filter_map(|entry| {
                kept(StoredRunId::parse(&entry.file_name().to_string_lossy())?, &entry.path())
            })
            .collect();
        runs.sort_by(|one, other| {
            other.changed.cmp(&one.changed).then_with(|| one.id.0.cmp(&other.id.0))
        });
        Ok(runs)
    }
}

impl FileRuns {
    /// The runs of a user.
    pub fn of(state: &StateFolders) -> Self {
        Self { folder: state.data.join("runs") }
    }

    /// Deletes old successful runs; those that can be resumed are kept. Failures don't stop a new run.
    fn forget_old(&self) {
        let Ok(entries) = std::fs::read_dir(&self.folder) else { return };
        let mut ended: Vec<_> = entries
            .flatten()
            .filter_map(|entry| {
                let path = entry.path();
                Some((path.join(ENDED).metadata().ok()?.modified().ok()?, path))
            })
            .collect();
        ended.sort();
        let too_many = ended.len().saturating_sub(MAX_ENDED - 1);
        for (_, path) in ended.drain(..too_many) {
            let _ = std::fs::remove_dir_all(path);
        }
    }
}

impl OpenRun {
    /// A run with the outputs of its nodes so far, by id.
    pub fn new(
        id: StoredRunId,
        record: RunRecord,
        outputs: HashMap<String, Value>,
        journal: impl RunJournal + 'static,
    ) -> Self {
        Self { id, record, outputs, journal: Arc::new(Mutex::new(journal)) }
    }

    /// Records that the run is complete.
    pub fn end(&self, output: &Value) -> Result<(), RunStoreError> {
        self.journal.lock().unwrap_or_else(PoisonError::into_inner).end(output)
    }

    pub(crate) fn journal(&self) -> Journal {
        Arc::clone(&self.journal)
    }

    /// Records the output of a node.
    pub fn complete(&self, number: usize, node: &str, output: &Value) -> Result<(), RunStoreError> {
        let mut journal = self.journal.lock().unwrap_or_else(PoisonError::into_inner);
        journal.complete(number, node, output)
    }

    /// The recorded output of a node.
    pub fn output(&self, node: &str) -> Option<&Value> {
        self.outputs.get(node)
    }
}

impl std::fmt::Debug for OpenRun {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OpenRun").field("id", &self.id).finish_non_exhaustive()
    }
}

impl RunJournal for FileJournal {
    fn complete(&mut self, number: usize, node: &str, output: &Value) -> Result<(), RunStoreError> {
        let text = json!({ "version": VERSION, "id": node, "output": output }).to_string();
        // The index and not the id, which may not be a valid file name.
        let path = self.folder.join(format!("node-{number:04}.json"));
        atomic::write(&path, text.as_bytes(), WriteOptions::PRIVATE)
            .map_err(|source| RunStoreError::Disk { path, source })
    }

    fn end(&mut self, output: &Value) -> Result<(), RunStoreError> {
        let path = self.folder.join(ENDED);
        let text = json!({ "version": VERSION, "output": output }).to_string();
        atomic::write(&path, text.as_bytes(), WriteOptions::PRIVATE)
            .map_err(|source| RunStoreError::Disk { path, source })
    }
}

fn record(folder: &Path) -> Result<RunRecord, RunStoreError> {
    let (path, mut run) = object(folder.join("run.json"))?;
    let (Some(Value::String(text)), Some(Value::Object(inputs))) =
        (run.remove("workflow"), run.remove("inputs"))
    else {
        return Err(RunStoreError::Broken { path, reason: "it has no workflow".to_owned() });
    };
    let settings = run.remove("settings").unwrap_or_default();
    Ok(RunRecord { text, inputs, settings })
}

fn kept(id: StoredRunId, folder: &Path) -> Option<StoredRun> {
    let record = record(folder).ok()?;
    let mut ended_nodes = 0;
    let mut changed = folder.join("run.json").metadata().ok()?.modified().ok()?;
    for entry in std::fs::read_dir(folder).ok()?.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if is_of_node(&name) {
            ended_nodes += 1;
        } else if name != ENDED {
            continue;
        }
        let written = entry.metadata().ok().and_then(|it| it.modified().ok());
        changed = written.map_or(changed, |written| changed.max(written));
    }
    let state = if folder.join(ENDED).is_file() {
        StoredRunState::Ended
    } else if is_locked(folder) {
        StoredRunState::Running
    } else {
        StoredRunState::Stopped
    };
    Some(StoredRun { id, record, state, ended_nodes, changed })
}

/// Whether a process is running it. The check takes a shared lock for an instant, so that concurrent checks don't
/// interfere.
fn is_locked(folder: &Path) -> bool {
    let lock = File::open(folder.join("lock"));
    lock.is_ok_and(|lock| matches!(lock.try_lock_shared(), Err(TryLockError::WouldBlock)))
}

fn is_of_node(name: &str) -> bool {
    name.strip_prefix("node-").and_then(|rest| rest.strip_suffix(".json")).is_some()
}

fn locked(folder: &Path, id: &StoredRunId) -> Result<File, RunStoreError> {
    let path = folder.join("lock");
    let disk = |source| RunStoreError::Disk { path: path.clone(), source };
    let lock = lock_file(&path).map_err(disk)?;
    match lock.try_lock() {
        Ok(()) => Ok(lock),
        Err(TryLockError::WouldBlock) => Err(RunStoreError::Busy(id.0.clone())),
        Err(TryLockError::Error(source)) => Err(disk(source)),
    }
}

fn object(path: PathBuf) -> Result<(PathBuf, Map<String, Value>), RunStoreError> {
    let text = match atomic::read_text(&path, MAX_SMALL_FILE_BYTES) {
        Ok(text) => text.unwrap_or_default(),
        Err(source) => return Err(RunStoreError::Disk { path, source }),
    };
    match serde_json::from_str::<Value>(&text) {
        Ok(Value::Object(object)) if object.get("version") == Some(&VERSION.into()) => {
            Ok((path, object))
        }
        Ok(_) => {
            let reason = "it was written by another version of prowess".to_owned();
            Err(RunStoreError::Broken { path, reason })
        }
        Err(error) => Err(RunStoreError::Broken { path, reason: error.to_string() }),
    }
}

#[cfg(test)]
mod tests;
