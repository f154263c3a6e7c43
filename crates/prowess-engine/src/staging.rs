//! Runs whose writes are staged: begun before the tool starts, examined when it has ended, applied as a whole or kept.

#[cfg(not(target_os = "linux"))]
mod elsewhere;
#[cfg(target_os = "linux")]
mod linux;

use prowess_core::{Envelope, RunChanges, RunOutcome};
use prowess_sandbox::{FileAccess, Spec};

#[cfg(not(target_os = "linux"))]
pub(crate) use elsewhere::{StagedRun, obstacles};
#[cfg(target_os = "linux")]
pub(crate) use linux::{KeptNote, StagedRun, obstacles};

use crate::world::{World, Writes};

/// Makes granted folders read-only where writes are staged: for what is no call of a tool, such as importing its module,
/// and so has no changes that anybody could accept.
pub(crate) fn hold_writes(spec: &mut Spec, world: &World) {
    if world.writes == Writes::Live {
        return;
    }
    for grant in &mut spec.files {
        if grant.access == FileAccess::Write {
            (grant.access, grant.create) = (FileAccess::Read, false);
        }
    }
}

/// How a run has begun.
#[derive(Debug)]
pub(crate) struct Begun {
    /// What it writes is staged, as far as that is possible; `None` if nothing is.
    pub(crate) run: Option<StagedRun>,
    /// Whether it writes something directly.
    pub(crate) is_live: bool,
    /// What can't be undone, and why.
    pub(crate) warnings: Vec<String>,
}

impl Begun {
    /// A run of which nothing is staged.
    fn live(spec: &Spec) -> Self {
        let is_live = spec.files.iter().any(|grant| grant.access == FileAccess::Write);
        Self { run: None, is_live, warnings: Vec::new() }
    }
}

/// What became of the changes of a run.
#[derive(Debug)]
pub(crate) struct SettledRun {
    pub(crate) changes: RunChanges,
    pub(crate) warnings: Vec<String>,
    /// What the run comes to if the tool itself succeeded.
    pub(crate) verdict: Option<Verdict>,
}

/// What a run comes to although its tool succeeded.
#[derive(Debug)]
pub(crate) struct Verdict {
    outcome: RunOutcome,
    exit_code: i32,
    message: String,
}

impl Verdict {
    fn failed(message: String) -> Self {
        Self { outcome: RunOutcome::Failed, exit_code: 1, message }
    }

    /// Changes the result of a tool that succeeded. Of another one it becomes a warning.
    pub(crate) fn judge(self, envelope: &mut Envelope, warnings: &mut Vec<String>) {
        if !envelope.is_success() {
            return warnings.push(self.message);
        }
        envelope.outcome = self.outcome;
        envelope.exit_code = self.exit_code;
        envelope.error = Some(self.message);
    }
}

/// Why the writes of a run can't be staged.
#[derive(Debug, thiserror::Error)]
pub enum StagingError {
    /// One of its grants can't.
    #[error("changes to `{}` can't be held back: {reason}", .path.display())]
    Grant {
        /// The granted path.
        path: std::path::PathBuf,
        /// The reason.
        reason: String,
    },
    /// The place for them can't be used.
    #[error("changes can't be held back: {0}")]
    Place(String),
}
