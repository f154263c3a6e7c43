//! Changes of runs that are kept: those that wait for a decision, and those that were applied and can be undone.

pub(crate) mod accepted;

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use prowess_changes::patch::{PatchOptions, PatchReport};
use prowess_changes::{Durability, Limits, ReadError, Retention, RunFolder, RunStatus};
use prowess_core::{
    ChangeDecision, ChangedFile, ChangesState, Envelope, Problem, ProblemKind, Remedy, RunChanges,
    RunOutcome,
};

use self::accepted::AcceptedChanges;
pub use self::accepted::{AcceptPattern, AcceptPatternError};
use crate::staging::KeptNote;
use crate::world::StateFolders;
pub use prowess_changes::{ApplyError, Conflict, UndoError};

/// How long changes are kept.
pub const RETENTION: Retention = Retention {
    applied: Duration::from_hours(7 * 24),
    pending: Duration::from_hours(30 * 24),
    most: 100,
};
/// Bounds for reading changes again. Those of the run were checked when it ended.
const KEPT_LIMITS: Limits = Limits { entries: 4_000_000, bytes: u64::MAX, depth: 128 };
/// Maximum size of a file in a patch.
const MAX_PATCH_FILE_BYTES: u64 = 64 << 20;

/// A run whose changes are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptRun {
    /// The skill and the tool.
    pub title: String,
    /// When it was started.
    pub started: SystemTime,
    /// Its changes.
    pub changes: RunChanges,
}

/// Why something can't be done with the changes of a run.
#[derive(Debug, thiserror::Error)]
pub enum ChangesError {
    /// There are none of that id.
    #[error("there are no changes of a run `{0}`")]
    Unknown(String),
    /// A person has to decide about some of them.
    #[error("{} of the changes need a decision", .0.len())]
    Undecided(Vec<ChangedFile>),
    /// Some are never applied.
    #[error("{} of the changes are never applied", .0.len())]
    Refused(Vec<ChangedFile>),
    /// They can't be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// They can't be applied.
    #[error(transparent)]
    Apply(#[from] ApplyError),
    /// They can't be undone.
    #[error(transparent)]
    Undo(#[from] UndoError),
    /// An error.
    #[error("cannot use the changes of the run: {0}")]
    Io(#[from] io::Error),
}

/// The kept runs, oldest first. Those that another process works with are left out.
pub fn list(state: &StateFolders) -> Result<Vec<KeptRun>, ChangesError> {
    let home = state.changes();
    let mut found = Vec::new();
    for id in prowess_changes::list(&home)? {
        match RunFolder::open(&home, &id) {
            Ok(Some(run)) => found.extend(kept(&run)),
            Ok(None) => {}
            Err(error) if error.kind() == io::ErrorKind::ResourceBusy => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(found)
}

/// One kept run.
pub fn get(state: &StateFolders, id: &str) -> Result<KeptRun, ChangesError> {
    let unknown = || ChangesError::Unknown(id.to_owned());
    kept(&open(state, id)?).ok_or_else(unknown)
}

/// Applies pending changes, all or nothing. `accepts` answers for changes that need a decision.
pub fn apply(
    state: &StateFolders,
    id: &str,
    accepts: &dyn Fn(&Path) -> bool,
) -> Result<KeptRun, ChangesError> {
    let run = open(state, id)?;
    if run.status() != RunStatus::Pending {
        return Err(ApplyError::NotPending.into());
    }
    let note = note(&run);
    let set = run.read(KEPT_LIMITS)?;
    // Without a note nothing was examined, and then the changes are not those in it.
    let open: Vec<ChangedFile> =
        note.changes.iter().filter(|file| file.decision == ChangeDecision::Ask).cloned().collect();
    let refused: Vec<ChangedFile> = note
        .changes
        .iter()
        .filter(|file| file.decision == ChangeDecision::Refuse)
        .cloned()
        .collect();
    if !refused.is_empty() {
        return Err(ChangesError::Refused(refused));
    }
    let undecided: Vec<ChangedFile> =
        open.into_iter().filter(|file| !accepts(&file.path)).collect();
    if !undecided.is_empty() {
        return Err(ChangesError::Undecided(undecided));
    }
    // What was examined is what is applied.
    let is_examined = set.changes.len() == note.changes.len()
        && set.changes.iter().zip(&note.changes).all(|(change, noted)| {
            let top = run.layers().get(change.layer).map(|layer| layer.target.as_path());
            top.is_some_and(|top| noted.path == joined(top, &change.path))
        });
    if !is_examined && set.conflicts.is_empty() {
        return Err(ApplyError::OtherChanges.into());
    }
    run.apply(&set, Durability::OnDisk)?;
    kept(&run).ok_or_else(|| ChangesError::Unknown(id.to_owned()))
}

/// Remembers that changes of these paths are accepted, for further runs of the skill until one of its files changes.
pub fn remember(
    state: &StateFolders,
    id: &str,
    patterns: &[AcceptPattern],
) -> Result<(), ChangesError> {
    let note = note(&open(state, id)?);
    Ok(AcceptedChanges::remember(state, &note.skill, &note.digest, patterns)?)
}

/// Applies the pending changes of a run that has just ended, and gives it the result that its tool has had. If that is not
/// possible, the changes stay pending and the result says so.
pub fn accept(
    state: &StateFolders,
    envelope: &mut Envelope,
    accepts: &dyn Fn(&Path) -> bool,
) -> Result<(), ChangesError> {
    let Some(changes) = envelope.changes.as_deref().filter(|it| it.state == ChangesState::Pending)
    else {
        return Ok(());
    };
    let (id, exit_code) = (changes.run.clone(), changes.exit_code);
    let kept = apply(state, &id, accepts)?;
    // A tool that failed has its own result still.
    let is_held = |remedy: &Remedy| matches!(remedy, Remedy::ReviewChanges(run) if *run == id);
    if envelope.remedies.iter().any(is_held) && envelope.outcome == RunOutcome::Refused {
        (envelope.outcome, envelope.exit_code, envelope.error) =
            (RunOutcome::Success, exit_code, None);
    }
    envelope.remedies.retain(|remedy| !is_held(remedy));
    envelope.changes = Some(Box::new(kept.changes));
    Ok(())
}

/// Marks a run whose changes were not accepted: they wait.
pub fn refuse(envelope: &mut Envelope, message: String) {
    if envelope.is_success() {
        envelope.outcome = RunOutcome::Refused;
        envelope.exit_code = prowess_core::REFUSED;
        envelope.error = Some(message);
    }
}

/// Forgets the changes of a run: pending ones are lost, applied ones stay and can't be undone any more.
pub fn discard(state: &StateFolders, id: &str) -> Result<(), ChangesError> {
    Ok(open(state, id)?.remove()?)
}

/// Undoes applied changes, unless others have changed them since.
pub fn undo(state: &StateFolders, id: &str) -> Result<KeptRun, ChangesError> {
    let run = open(state, id)?;
    let note = note(&run);
    // Every `git status` writes the index anew: that is nobody's work as long as it says the same.
    run.undo_unless(&|path| {
        let left = note.indexes.get(path);
        left.is_some() && left == crate::planted::index_meaning(path).as_ref()
    })?;
    kept(&run).ok_or_else(|| ChangesError::Unknown(id.to_owned()))
}

/// Writes the changes as a patch that `git apply` takes in the given folder. What is in other granted folders has its
/// whole path, without the leading slash.
pub fn write_patch(
    state: &StateFolders,
    id: &str,
    folder: &Path,
    out: &mut dyn Write,
) -> Result<PatchReport, ChangesError> {
    let run = open(state, id)?;
    let set = match run.status() {
        RunStatus::Applied => run.read_applied(KEPT_LIMITS)?,
        RunStatus::Pending | RunStatus::Unfinished | RunStatus::Undone => run.read(KEPT_LIMITS)?,
    };
    let prefixes: Vec<PathBuf> = run
        .layers()
        .iter()
        .map(|layer| {
            let inside = layer.target.strip_prefix(folder);
            inside.or_else(|_| layer.target.strip_prefix("/")).unwrap_or(&layer.target).to_owned()
        })
        .collect();
    let options = PatchOptions { prefixes: &prefixes, max_file_bytes: MAX_PATCH_FILE_BYTES };
    Ok(run.write_patch(&set, options, out)?)
}

/// Removes the changes of old runs, at most once an hour. What can't be removed now is tried again.
pub(crate) fn expire_now_and_then(state: &StateFolders, now: SystemTime) {
    const PAUSE: Duration = Duration::from_hours(1);
    let mark = state.changes().join(".expired");
    let modified = std::fs::metadata(&mark).and_then(|data| data.modified());
    let is_recent = modified.is_ok_and(|then| now.duration_since(then).is_ok_and(|it| it < PAUSE));
    if !is_recent && std::fs::write(&mark, b"").is_ok() {
        let _ = expire(state, now);
    }
}

/// Removes what is too old, and what killed processes have left. Returns how many runs.
pub fn expire(state: &StateFolders, now: SystemTime) -> Result<usize, ChangesError> {
    Ok(prowess_changes::expire(&state.changes(), RETENTION, now)?)
}

fn open(state: &StateFolders, id: &str) -> Result<RunFolder, ChangesError> {
    RunFolder::open(&state.changes(), id)?.ok_or_else(|| ChangesError::Unknown(id.to_owned()))
}

fn note(run: &RunFolder) -> KeptNote {
    let bytes = run.note().ok().flatten().unwrap_or_default();
    let value = serde_json::from_slice(&bytes).ok();
    value.as_ref().and_then(KeptNote::of_json).unwrap_or_default()
}

/// A run whose process did not finish has no changes that could be kept.
fn kept(run: &RunFolder) -> Option<KeptRun> {
    let state = match run.status() {
        RunStatus::Unfinished => return None,
        RunStatus::Pending => ChangesState::Pending,
        RunStatus::Applied => ChangesState::Applied,
        RunStatus::Undone => ChangesState::Undone,
    };
    let KeptNote { title, changes, exit_code, .. } = note(run);
    let changes = RunChanges { run: run.id().to_owned(), changes, state, exit_code };
    Some(KeptRun { title, started: run.created(), changes })
}

fn joined(top: &Path, path: &Path) -> PathBuf {
    if path.as_os_str().is_empty() { top.to_owned() } else { top.join(path) }
}

impl From<ChangesError> for Problem {
    fn from(error: ChangesError) -> Self {
        let (code, kind) = match &error {
            ChangesError::Unknown(_) => ("run-not-found", ProblemKind::NotFound),
            ChangesError::Undecided(_) => ("changes-undecided", ProblemKind::Refused),
            ChangesError::Refused(_) => ("changes-refused", ProblemKind::Refused),
            ChangesError::Apply(ApplyError::Conflicts(_) | ApplyError::NotPending)
            | ChangesError::Undo(UndoError::Changed(_) | UndoError::NotApplied) => {
                ("changes-in-conflict", ProblemKind::Conflict)
            }
            ChangesError::Read(_)
            | ChangesError::Apply(_)
            | ChangesError::Undo(_)
            | ChangesError::Io(_) => ("changes-unusable", ProblemKind::Failed),
        };
        Problem::new(code, kind, error.to_string())
    }
}
