//! Staged runs on Linux: an overlay for every writable folder.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use prowess_changes::{
    ApplyError, Change, ChangeSet, Conflict, Durability, EntryKind, Limits, RunFolder,
};
use prowess_core::{ChangeDecision, ChangedFile, ChangesState, REFUSED, RunChanges, RunOutcome};
use prowess_format::text::visible;
use prowess_policy::changes::{
    ChangeContext, ChangeVerdict, ProposedChange, ProposedEntry, examine,
};
use prowess_sandbox::{FileAccess, FileGrant, Spec, StagedFolder};
use serde_json::{Value, json};

use super::{SettledRun, StagingError};
use crate::changes;
use crate::fold::RunEnding;
use crate::git_files;
use crate::planted::PlantedScan;
use crate::prepare::PreparedCall;
use crate::world::{ApplyWhen, FailedRunChanges, StagedWrites, World, Writes};

/// Maximum number of changes that are named in messages of one run.
const MAX_NAMED: usize = 20;

/// A run whose writes are staged. Dropping it removes what the run has written.
#[derive(Debug)]
pub(crate) struct StagedRun {
    /// `None` when it was settled.
    folder: Option<RunFolder>,
    rules: StagedWrites,
    limits: Limits,
    title: String,
    home: PathBuf,
    search_path: Vec<PathBuf>,
    may_start_git: bool,
    /// What could not be finished of runs whose processes were killed.
    unfinished: Vec<String>,
}

impl StagedRun {
    /// Makes a place for what the run writes; `None` if it writes nothing, or directly.
    pub(crate) fn begin(
        spec: &mut Spec,
        prepared: &PreparedCall,
        world: &World,
    ) -> Result<Option<Self>, StagingError> {
        let Writes::Staged(rules) = world.writes else { return Ok(None) };
        let grants: Vec<FileGrant> = outermost_writable(&spec.files).into_iter().cloned().collect();
        if grants.is_empty() {
            return Ok(None);
        }
        let place = |error: &dyn std::fmt::Display| StagingError::Place(error.to_string());
        let home = world.state.changes();
        let unfinished = prowess_changes::recover(&home)
            .into_iter()
            .map(|(id, error)| {
                format!("the changes of the run `{id}` are only partly applied, and can't be finished: {error}")
            })
            .collect();
        // What can't be removed now is tried again.
        let _ = changes::expire(&world.state, SystemTime::now());
        let id = random_id().map_err(|error| place(&error))?;
        let mut folder = RunFolder::create(&home, &id).map_err(|error| place(&error))?;
        for grant in &grants {
            if let Err(error) = stage(&mut folder, grant, spec) {
                let _ = folder.remove();
                return Err(error);
            }
        }
        let is_git = |image: &PathBuf| image.file_name().is_some_and(|name| name == "git");
        Ok(Some(Self {
            folder: Some(folder),
            rules,
            limits: Limits {
                entries: spec.limits.written_entries,
                bytes: spec.limits.written_bytes,
                ..Limits::default()
            },
            title: prepared.name(),
            home: world.home.clone(),
            search_path: world.program_folders.clone(),
            may_start_git: prepared.images.programs.iter().any(is_git),
            unfinished,
        }))
    }

    /// What others change from now on is a conflict.
    pub(crate) fn mark_start(&mut self) -> Result<(), StagingError> {
        match &mut self.folder {
            Some(folder) => {
                folder.mark_start().map_err(|error| StagingError::Place(error.to_string()))
            }
            None => Ok(()),
        }
    }

    /// Examines the changes, and applies or keeps them. All processes of the run have ended.
    pub(crate) fn settle(
        mut self,
        ending: &mut RunEnding,
        planted_scan: &PlantedScan,
    ) -> SettledRun {
        let mut settled = SettledRun {
            changes: RunChanges {
                run: String::new(),
                changes: Vec::new(),
                state: ChangesState::None,
            },
            warnings: std::mem::take(&mut self.unfinished),
        };
        let Some(folder) = self.folder.take() else { return settled };
        folder.id().clone_into(&mut settled.changes.run);
        let set = match folder.read(self.limits) {
            Ok(set) => set,
            Err(error) => {
                ending.fail(Some(format!("the changes of this run were not applied: {error}")));
                self.keep(&folder, &mut settled);
                return settled;
            }
        };
        let dropped = set.dropped.iter().take(MAX_NAMED).map(|dropped| {
            let path = path_of(&folder, dropped.layer, &dropped.path);
            format!("`{}` was not kept: it is {}", shown(&path), dropped.what)
        });
        settled.warnings.extend(dropped);
        settled.changes.changes = self.examined(&folder, &set, planted_scan);
        if set.is_empty() {
            let _ = folder.remove();
            return settled;
        }
        let is_held = match (self.rules.apply, self.rules.failed, ending.outcome) {
            (ApplyWhen::Accepted, _, _) => true,
            (ApplyWhen::Ordinary, _, RunOutcome::Success)
            | (ApplyWhen::Ordinary, FailedRunChanges::Apply, _) => false,
            (ApplyWhen::Ordinary, FailedRunChanges::Hold, _) => true,
        };
        let open = settled.changes.changes.iter().find(|it| it.decision != ChangeDecision::Apply);
        if let Some(open) = open.filter(|_| !is_held) {
            let message = undecided(open, settled.changes.changes.len());
            let is_conflict = open.decision == ChangeDecision::Conflict;
            if ending.outcome == RunOutcome::Success {
                *ending = RunEnding {
                    outcome: if is_conflict { RunOutcome::Failed } else { RunOutcome::Refused },
                    exit_code: if is_conflict { 1 } else { REFUSED },
                    error: Some(message),
                };
            } else {
                settled.warnings.push(message);
            }
        }
        if is_held || settled.changes.changes.iter().any(|it| it.decision != ChangeDecision::Apply)
        {
            self.keep(&folder, &mut settled);
            return settled;
        }
        match folder.apply(&set, durability(&set)) {
            Ok(_) => {
                settled.changes.state = ChangesState::Applied;
                self.note(&folder, &settled.changes);
                settled.warnings.extend(mentioned(&settled.changes));
            }
            Err(error) => {
                let conflicts = match &error {
                    ApplyError::Conflicts(conflicts) => conflicts.as_slice(),
                    _ => &[],
                };
                for conflict in conflicts {
                    mark_conflict(&mut settled.changes, &folder, conflict);
                }
                ending.fail(Some(format!("the changes of this run were not applied: {error}")));
                self.keep(&folder, &mut settled);
            }
        }
        settled
    }

    /// Keeps the changes until somebody decides.
    fn keep(&self, folder: &RunFolder, settled: &mut SettledRun) {
        settled.changes.state = ChangesState::Pending;
        self.note(folder, &settled.changes);
        if let Err(error) = folder.keep_pending() {
            settled.warnings.push(format!("the changes of this run can't be kept: {error}"));
        }
    }

    fn note(&self, folder: &RunFolder, changes: &RunChanges) {
        let note = KeptNote { title: self.title.clone(), changes: changes.changes.clone() };
        // Without it the changes can still be read; only the reasons are lost, and then everything is asked about.
        let _ = folder.set_note(note.to_json().to_string().as_bytes());
    }

    /// Every change with the decision about it.
    fn examined(
        &self,
        folder: &RunFolder,
        set: &ChangeSet,
        planted_scan: &PlantedScan,
    ) -> Vec<ChangedFile> {
        let writable: Vec<PathBuf> =
            folder.layers().iter().map(|layer| layer.target.clone()).collect();
        let named_by_git: Vec<PathBuf> = planted_scan
            .absent
            .iter()
            .map(|absent| absent.place.clone())
            .chain(planted_scan.fixed.iter().cloned())
            .collect();
        let context = ChangeContext {
            home: &self.home,
            search_path: &self.search_path,
            writable: &writable,
            named_by_git: &named_by_git,
            may_start_git: self.may_start_git,
            is_dot_git: git_files::is_dot_git,
        };
        set.changes
            .iter()
            .map(|change| {
                let top = folder.layers().get(change.layer).map_or(Path::new("/"), |it| &it.target);
                let conflict = set
                    .conflicts
                    .iter()
                    .find(|it| it.layer == change.layer && change.path.starts_with(&it.path));
                changed_file(top, change, conflict, &context)
            })
            .collect()
    }
}

impl Drop for StagedRun {
    fn drop(&mut self) {
        if let Some(folder) = self.folder.take() {
            let _ = folder.remove();
        }
    }
}

/// The writable folders that are in no other writable one.
fn outermost_writable(grants: &[FileGrant]) -> Vec<&FileGrant> {
    let nearest = |path: &Path| {
        path.ancestors().skip(1).find_map(|above| {
            let here = grants.iter().filter(|grant| grant.pattern.is_none() && grant.path == above);
            here.map(|grant| grant.access).max()
        })
    };
    let mut found: Vec<&FileGrant> = grants
        .iter()
        .filter(|grant| {
            grant.access == FileAccess::Write && nearest(&grant.path) != Some(FileAccess::Write)
        })
        .collect();
    found.sort_by(|one, other| one.path.cmp(&other.path));
    found.dedup_by(|one, other| one.path == other.path && one.pattern == other.pattern);
    found
}

/// Makes a layer for a grant.
fn stage(folder: &mut RunFolder, grant: &FileGrant, spec: &mut Spec) -> Result<(), StagingError> {
    let refuse = |reason: String| StagingError::Grant { path: grant.path.clone(), reason };
    if grant.pattern.is_some() {
        return Err(refuse("only writes to whole folders can be held back".to_owned()));
    }
    let is_created = match std::fs::symlink_metadata(&grant.path) {
        Ok(data) if data.is_dir() => false,
        Ok(_) => return Err(refuse("only writes to whole folders can be held back".to_owned())),
        // Granted, and nothing there to be changed.
        Err(_) if !grant.create => return Ok(()),
        Err(_) => {
            let made = DirBuilder::new().mode(0o700).create(&grant.path);
            made.map_err(|error| refuse(error.to_string()))?;
            true
        }
    };
    let layer = match folder.add_layer(&grant.path, is_created) {
        Ok(layer) => layer,
        Err(error) => {
            if is_created {
                let _ = std::fs::remove_dir(&grant.path);
            }
            return Err(refuse(error.to_string()));
        }
    };
    spec.staged.push(StagedFolder {
        path: grant.path.clone(),
        upper: layer.upper(),
        work: layer.work(),
    });
    Ok(())
}

/// An id that nobody guesses.
fn random_id() -> Result<String, std::io::Error> {
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat())
}

/// One change needs no flush: a power failure loses it as it would lose any file that was just written.
fn durability(set: &ChangeSet) -> Durability {
    if set.changes.len() > 1 { Durability::OnDisk } else { Durability::Deferred }
}

fn path_of(folder: &RunFolder, layer: usize, path: &Path) -> PathBuf {
    let top = folder.layers().get(layer).map_or(Path::new("/"), |layer| &layer.target);
    if path.as_os_str().is_empty() { top.to_owned() } else { top.join(path) }
}

fn shown(path: &Path) -> String {
    let text = path.display().to_string();
    visible(&text).into_owned()
}

fn changed_file(
    top: &Path,
    change: &Change,
    conflict: Option<&Conflict>,
    context: &ChangeContext<'_>,
) -> ChangedFile {
    let after = change.after.as_ref().map(|after| match (after.entry, &after.target) {
        (EntryKind::Folder, _) => ProposedEntry::Folder,
        (_, Some(target)) => ProposedEntry::Link(target),
        _ => ProposedEntry::File { mode: after.mode },
    });
    let proposed = ProposedChange {
        folder: top,
        path: &change.path,
        after,
        was_executable: change.before.as_ref().is_some_and(|before| before.mode & 0o111 != 0),
    };
    let verdict = examine(&proposed, context);
    let (decision, reason) = match (conflict, verdict) {
        (Some(conflict), _) => (ChangeDecision::Conflict, Some(conflict.reason.as_str())),
        (None, ChangeVerdict::Apply | ChangeVerdict::Mention(_)) => {
            (ChangeDecision::Apply, verdict.reason())
        }
        (None, ChangeVerdict::Ask(_)) => (ChangeDecision::Ask, verdict.reason()),
        (None, ChangeVerdict::Refuse(_)) => (ChangeDecision::Refuse, verdict.reason()),
    };
    ChangedFile {
        path: if change.path.as_os_str().is_empty() {
            top.to_owned()
        } else {
            top.join(&change.path)
        },
        kind: change.kind.as_str().to_owned(),
        bytes: change.after.as_ref().map_or(0, |after| after.bytes),
        decision,
        reason: reason.map(str::to_owned),
    }
}

fn mark_conflict(changes: &mut RunChanges, folder: &RunFolder, conflict: &Conflict) {
    let path = path_of(folder, conflict.layer, &conflict.path);
    for file in changes.changes.iter_mut().filter(|file| file.path == path) {
        file.decision = ChangeDecision::Conflict;
        file.reason = Some(conflict.reason.as_str().to_owned());
    }
}

/// Why nothing was applied, in a sentence.
fn undecided(file: &ChangedFile, all: usize) -> String {
    let reason = file.reason.as_deref().unwrap_or_default();
    let path = shown(&file.path);
    let count = match all {
        1 => "its change is".to_owned(),
        all => format!("its {all} changes are"),
    };
    match file.decision {
        ChangeDecision::Conflict => {
            format!("{count} not applied: `{path}` is in conflict, because {reason}")
        }
        ChangeDecision::Refuse => {
            format!("{count} not applied: `{path}` is never applied, because {reason}")
        }
        ChangeDecision::Ask | ChangeDecision::Apply => {
            format!("{count} not applied yet: `{path}` needs your decision, because {reason}")
        }
    }
}

/// What was applied and is worth a word.
fn mentioned(changes: &RunChanges) -> Option<String> {
    let files: Vec<&ChangedFile> =
        changes.changes.iter().filter(|file| file.reason.is_some()).collect();
    let first = files.first()?;
    let more = match files.len() {
        1 => String::new(),
        count => format!(", and {} more", count - 1),
    };
    let reason = first.reason.as_deref().unwrap_or_default();
    Some(format!("the run left `{}`{more}: {reason}", shown(&first.path)))
}

/// What is noted about a run beside its changes.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct KeptNote {
    /// The skill and the tool.
    pub(crate) title: String,
    /// The changes with their decisions.
    pub(crate) changes: Vec<ChangedFile>,
}

/// The version of notes.
const NOTE_VERSION: u64 = 1;

impl KeptNote {
    pub(crate) fn to_json(&self) -> Value {
        use std::os::unix::ffi::OsStrExt as _;
        let change = |file: &ChangedFile| {
            // Names need not be text.
            let path: Vec<u8> = file.path.as_os_str().as_bytes().to_vec();
            let path =
                String::from_utf8(path).map_or_else(|error| json!(error.into_bytes()), Value::from);
            json!({
                "path": path,
                "kind": file.kind,
                "bytes": file.bytes,
                "decision": file.decision.as_str(),
                "reason": file.reason,
            })
        };
        let changes: Vec<Value> = self.changes.iter().map(change).collect();
        json!({ "version": NOTE_VERSION, "title": self.title, "changes": changes })
    }

    /// `None` if it is damaged or of another version.
    pub(crate) fn of_json(value: &Value) -> Option<Self> {
        use std::os::unix::ffi::OsStringExt as _;
        if value.get("version")?.as_u64()? != NOTE_VERSION {
            return None;
        }
        let path = |value: &Value| match value {
            Value::String(text) => Some(PathBuf::from(text)),
            Value::Array(bytes) => {
                let bytes: Option<Vec<u8>> = bytes
                    .iter()
                    .map(|byte| byte.as_u64().and_then(|byte| u8::try_from(byte).ok()))
                    .collect();
                Some(PathBuf::from(std::ffi::OsString::from_vec(bytes?)))
            }
            _ => None,
        };
        let change = |value: &Value| {
            Some(ChangedFile {
                path: path(value.get("path")?)?,
                kind: value.get("kind")?.as_str()?.to_owned(),
                bytes: value.get("bytes")?.as_u64()?,
                decision: ChangeDecision::of_name(value.get("decision")?.as_str()?)?,
                reason: value.get("reason")?.as_str().map(str::to_owned),
            })
        };
        let changes =
            value.get("changes")?.as_array()?.iter().map(change).collect::<Option<_>>()?;
        Some(Self { title: value.get("title")?.as_str()?.to_owned(), changes })
    }
}
