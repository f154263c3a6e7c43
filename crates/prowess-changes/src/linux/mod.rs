//! Transactions on Linux: overlays, renames and their exchange.

mod apply;
mod clean;
mod entry;
#[cfg(feature = "faults")]
pub mod faults;
mod journal;
mod read;
mod remove;
mod run_folder;

use std::path::PathBuf;

use entry::State;

pub use apply::{ApplyError, ApplyReport, Durability, UndoError};
pub use read::ReadError;
pub use run_folder::{
    Layer, Retention, RunFolder, RunStatus, StageError, check_folder, expire, list, recover,
};

#[cfg(feature = "faults")]
use faults::step;

/// Called before every change of the disk. With the feature `faults` the process may end there.
#[cfg(not(feature = "faults"))]
#[inline]
fn step(_: &str) {}

/// One step of applying changes: one rename, or new permissions and times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Operation {
    /// The layer.
    pub(crate) layer: usize,
    /// The path below the layer's folder.
    pub(crate) path: PathBuf,
    /// What is done.
    pub(crate) action: Action,
    /// What is there before.
    pub(crate) old: Option<State>,
    /// What is there afterwards.
    pub(crate) new: Option<State>,
    /// The content of a new folder that is moved as a whole.
    pub(crate) tree: Option<TreeSize>,
}

/// What a step does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// Moves something new into place.
    Add,
    /// Exchanges the old for the new.
    Replace,
    /// Moves the old aside.
    Delete,
    /// Sets permissions and the modification time.
    Attributes,
}

/// The size of a folder, by which later changes in it are noticed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TreeSize {
    /// Entries below it.
    pub(crate) entries: u64,
    /// Bytes of its files.
    pub(crate) bytes: u64,
    /// The latest change time in it.
    pub(crate) latest: (i64, i64),
}
