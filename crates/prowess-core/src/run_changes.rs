//! What a run has changed in granted folders, if its writes were staged.

use std::path::PathBuf;

/// The changes of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunChanges {
    /// The id of the run, under which its changes are kept.
    pub run: String,
    /// Every changed file, folder and link.
    pub changes: Vec<ChangedFile>,
    /// What became of them: all or nothing.
    pub state: ChangesState,
    /// The exit code of the tool itself, which the run has if its changes are accepted later.
    pub exit_code: i32,
}

/// What became of the changes of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangesState {
    /// There are none.
    None,
    /// They were applied, and can be undone.
    Applied,
    /// They wait to be accepted or discarded.
    Pending,
    /// They were applied and undone.
    Undone,
}

impl ChangesState {
    /// The name in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            ChangesState::None => "none",
            ChangesState::Applied => "applied",
            ChangesState::Pending => "pending",
            ChangesState::Undone => "undone",
        }
    }
}

/// A changed file, folder or link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedFile {
    /// Its path.
    pub path: PathBuf,
    /// The kind of change: `added`, `changed`, `deleted`, `mode` or `link`.
    pub kind: String,
    /// Its new size in bytes.
    pub bytes: u64,
    /// What happens with it.
    pub decision: ChangeDecision,
    /// The reason of that, as a clause: "because …".
    pub reason: Option<String>,
}

/// What happens with a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeDecision {
    /// It is applied without a question.
    Apply,
    /// A person decides.
    Ask,
    /// It is never applied.
    Refuse,
    /// Others have changed the same file.
    Conflict,
}

impl ChangeDecision {
    /// The name in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            ChangeDecision::Apply => "apply",
            ChangeDecision::Ask => "ask",
            ChangeDecision::Refuse => "refuse",
            ChangeDecision::Conflict => "conflict",
        }
    }

    /// The decision of a name.
    pub fn of_name(name: &str) -> Option<Self> {
        [Self::Apply, Self::Ask, Self::Refuse, Self::Conflict]
            .into_iter()
            .find(|decision| decision.as_str() == name)
    }
}
