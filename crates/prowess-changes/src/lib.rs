//! The changes of a run as a transaction: nothing is written to the user's folders until the changes were accepted, and
//! what was applied can be undone.
//!
//! A run writes to the upper layer of an overlay, whose lower layer is the user's folder. This crate reads the upper
//! layer ([`RunFolder::read`]), writes it as a patch ([`patch`]), applies it with a journal ([`RunFolder::apply`]), finishes
//! what a killed process has begun ([`RunFolder::open`]), and undoes it ([`RunFolder::undo`]). It knows neither sandboxes
//! nor skills. See `docs/design/transactions.md`.

mod change;
#[cfg(target_os = "linux")]
mod linux;
#[cfg(unix)]
pub mod patch;

pub use change::{
    Change, ChangeKind, ChangeSet, Conflict, ConflictReason, Dropped, EntryKind, EntryVersion,
    Limits,
};
#[cfg(all(target_os = "linux", feature = "faults"))]
pub use linux::faults;
#[cfg(target_os = "linux")]
pub use linux::{
    ApplyError, ApplyReport, Durability, Layer, ReadError, Retention, RunFolder, RunStatus,
    StageError, UndoError, check_folder, expire, list, recover,
};
