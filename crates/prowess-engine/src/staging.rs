//! Runs whose writes are staged: begun before the tool starts, examined when it has ended, applied as a whole or kept.

#[cfg(not(target_os = "linux"))]
mod elsewhere;
#[cfg(target_os = "linux")]
mod linux;

use prowess_core::RunChanges;
use prowess_sandbox::{FileAccess, Spec};

#[cfg(not(target_os = "linux"))]
pub(crate) use elsewhere::StagedRun;
#[cfg(target_os = "linux")]
pub(crate) use linux::{KeptNote, StagedRun};

use crate::world::{World, Writes};

/// Makes granted folders read-only where writes are staged: for what is no call of a tool, such as importing its module or a
/// hook, and so has no changes that anybody could accept.
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

/// What became of the changes of a run.
#[derive(Debug)]
pub(crate) struct SettledRun {
    pub(crate) changes: RunChanges,
    pub(crate) warnings: Vec<String>,
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
