//! Runs on disk: what was started with which inputs, and what each node has given.
//!
//! A run is a folder. `run.json` is written once, before anything happens; each node that has ended has a file of its own,
//! written whole or not at all, and on the disk before the next one starts. A lock says that somebody is at work, and goes
//! away with the process however that ends.

use std::collections::HashMap;
use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use crate::platform;
use crate::state_file;
use crate::world::State;

/// The version of the files.
const VERSION: u64 = 1;
/// What of a workflow's name is in the name of a run.
const MOST_NAME: usize = 32;
/// Letters and digits that make a run's name its own.
const RANDOM: usize = 8;
/// Runs that have ended well and are kept: enough to look back.
const MOST_ENDED: usize = 100;
/// Written when a run has ended well.
const ENDED: &str = "ended.json";

/// Where runs are.
#[derive(Clone, Debug)]
pub struct RunStore {
    folder: PathBuf,
}

/// The name of a run: one safe part of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunId(String);

/// What a run was started with.
#[derive(Clone, Debug, PartialEq)]
pub struct RunRecord {
    /// The workflow's file, as it was.
    pub text: String,
    /// The inputs.
    pub inputs: Map<String, Value>,
    /// What whoever started it wants to know again.
    pub settings: Value,
}

/// A run that nobody else is working on.
#[derive(Debug)]
pub struct OpenRun {
    /// Its name.
    pub id: RunId,
    /// What it was started with.
    pub record: RunRecord,
    folder: PathBuf,
    /// Outputs of nodes that have ended, by their ids.
    outputs: HashMap<String, Value>,
    /// Held until this is dropped.
    _lock: File,
}

/// Why a run can't be kept or found.
#[derive(Debug, thiserror::Error)]
pub enum RunStoreError {
    /// There is no such run.
    #[error("there is no run `{0}`")]
    NotThere(String),
    /// Another process works on it.
    #[error("the run `{0}` is still going on")]
    Busy(String),
    /// Its files are not what was written.
    #[error("`{}` can't be used: {reason}", .path.display())]
    Broken {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// The disk.
    #[error("cannot write down the run in `{}`: {source}", .path.display())]
    Disk {
        /// The file or folder.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

impl RunStoreError {
    /// What to do about it.
    pub fn hint(&self) -> String {
        match self {
            RunStoreError::NotThere(_) => {
                "`prowess workflow run` prints the name of a run when it stops early".to_owned()
            }
            RunStoreError::Busy(_) => "wait for it, or end it first".to_owned(),
            RunStoreError::Broken { .. } => "start the workflow again".to_owned(),
            RunStoreError::Disk { path, .. } => {
                format!("make room or look at the permissions of `{}`", path.display())
            }
        }
    }
}

impl RunId {
    /// The name, if it is one.
    pub fn parse(text: &str) -> Option<Self> {
        let fine = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        let is_name = (1..=64).contains(&text.len()) && text.bytes().all(fine);
        is_name.then(|| Self(text.to_owned()))
    }

    /// The same as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl RunStore {
    /// The runs of a user.
    pub fn of(state: &State) -> Self {
        Self { folder: state.data.join("runs") }
    }

    /// Writes down a new run, named after its workflow.
    pub fn create(&self, name: &str, record: RunRecord) -> Result<OpenRun, RunStoreError> {
        let disk = |source| RunStoreError::Disk { path: self.folder.clone(), source };
        platform::private_folder(&self.folder).map_err(disk)?;
        self.forget_old();
        let plain =
            |it: char| if it.is_ascii_alphanumeric() { it.to_ascii_lowercase() } else { '-' };
        let words: String = name.chars().map(plain).collect();
        let words: Vec<&str> = words.split('-').filter(|word| !word.is_empty()).collect();
        let name: String = words.join("-").chars().take(MOST_NAME).collect();
        let prefix = if name.is_empty() { "run-".to_owned() } else { format!("{name}-") };
        let mut builder = tempfile::Builder::new();
        builder.prefix(&prefix).rand_bytes(RANDOM);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            builder.permissions(std::fs::Permissions::from_mode(0o700));
        }
        // Nobody else has its name.
        let folder = builder.tempdir_in(&self.folder).map_err(disk)?.keep();
        let id = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let id = RunId(id);
        let lock = locked(&folder, &id)?;
        let text = json!({
            "version": VERSION,
            "workflow": record.text,
            "inputs": record.inputs,
            "settings": record.settings,
        });
        let path = folder.join("run.json");
        state_file::replace(&path, &text.to_string())
            .and_then(|()| File::open(&self.folder)?.sync_all())
            .map_err(|source| RunStoreError::Disk { path, source })?;
        Ok(OpenRun { id, record, folder, outputs: HashMap::new(), _lock: lock })
    }

    /// Opens a run to go on with it.
    pub fn open(&self, id: &str) -> Result<OpenRun, RunStoreError> {
        let id = RunId::parse(id).ok_or_else(|| RunStoreError::NotThere(id.to_owned()))?;
        let folder = self.folder.join(id.as_str());
        if !folder.join("run.json").is_file() {
            return Err(RunStoreError::NotThere(id.0));
        }
        let lock = locked(&folder, &id)?;
        let (path, mut run) = object(folder.join("run.json"))?;
        let broken = |reason: &str| RunStoreError::Broken { path, reason: reason.to_owned() };
        let (Some(Value::String(text)), Some(Value::Object(inputs))) =
            (run.remove("workflow"), run.remove("inputs"))
        else {
            return Err(broken("it has no workflow"));
        };
        let settings = run.remove("settings").unwrap_or_default();
        let record = RunRecord { text, inputs, settings };
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
        Ok(OpenRun { id, record, folder, outputs, _lock: lock })
    }

    /// What has ended well long ago goes away; what can be resumed stays. Nothing here may stop a new run.
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
        let too_many = ended.len().saturating_sub(MOST_ENDED - 1);
        for (_, path) in ended.drain(..too_many) {
            let _ = std::fs::remove_dir_all(path);
        }
    }
}

impl OpenRun {
    /// What a node gave in an earlier part of the run.
    pub fn output(&self, node: &str) -> Option<&Value> {
        self.outputs.get(node)
    }

    /// Writes down what a node has given. Afterwards no power cut makes it run again.
    pub fn complete(
        &mut self,
        number: usize,
        node: &str,
        output: &Value,
    ) -> Result<(), RunStoreError> {
        let text = json!({ "version": VERSION, "id": node, "output": output }).to_string();
        // The number and not the id, which may be no name of a file.
        let path = self.folder.join(format!("node-{number:04}.json"));
        state_file::replace(&path, &text).map_err(|source| RunStoreError::Disk { path, source })
    }

    /// Writes down that there is nothing left to do.
    pub fn end(&mut self, output: &Value) -> Result<(), RunStoreError> {
        let path = self.folder.join(ENDED);
        let text = json!({ "version": VERSION, "output": output }).to_string();
        state_file::replace(&path, &text).map_err(|source| RunStoreError::Disk { path, source })
    }
}

fn is_of_node(name: &str) -> bool {
    name.strip_prefix("node-").and_then(|rest| rest.strip_suffix(".json")).is_some()
}

fn locked(folder: &Path, id: &RunId) -> Result<File, RunStoreError> {
    let path = folder.join("lock");
    let disk = |source| RunStoreError::Disk { path: path.clone(), source };
    let lock = platform::private_file(&path).map_err(disk)?;
    match lock.try_lock() {
        Ok(()) => Ok(lock),
        Err(TryLockError::WouldBlock) => Err(RunStoreError::Busy(id.0.clone())),
        Err(TryLockError::Error(source)) => Err(disk(source)),
    }
}

fn object(path: PathBuf) -> Result<(PathBuf, Map<String, Value>), RunStoreError> {
    let text = match state_file::read(&path) {
        Ok(text) => text.unwrap_or_default(),
        Err(source) => return Err(RunStoreError::Disk { path, source }),
    };
    match serde_json::from_str::<Value>(&text) {
        Ok(Value::Object(object)) if object.get("version") == Some(&VERSION.into()) => {
            Ok((path, object))
        }
        Ok(_) => {
            let reason = "another version of this program has written it".to_owned();
            Err(RunStoreError::Broken { path, reason })
        }
        Err(error) => Err(RunStoreError::Broken { path, reason: error.to_string() }),
    }
}

#[cfg(test)]
mod tests;
