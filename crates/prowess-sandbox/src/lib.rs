//! Runs a program inside limits that the kernel enforces, ends its whole tree, and keeps its output bounded.
//!
//! This crate knows no skills. It gets a [`Spec`] that names everything the program may reach; what is not named is not
//! there. What the machine can't enforce is refused, never run in a weaker way. See `docs/design/sandbox.md`.

mod check;
#[cfg(any(test, not(any(target_os = "linux", target_os = "macos"))))]
mod elsewhere;
mod error;
#[cfg(target_os = "linux")]
mod linux;
mod macos;
mod output;
mod pattern;
mod probe;
mod spec;

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
pub use elsewhere::{Canceller, Prepared, Sandbox, counts_memory, probe, run, warm_up};
pub use error::Error;
#[cfg(target_os = "linux")]
pub use linux::{Canceller, Prepared, Sandbox, counts_memory, probe, run, warm_up};
#[cfg(target_os = "macos")]
pub use macos::{Canceller, Prepared, Sandbox, counts_memory, probe, run, warm_up};
pub use output::{Capture, Captured, HEAD, TAIL};
pub use probe::{Layer, Probe, State};
pub use spec::{
    Access, Discarded, Ended, FileGrant, HardLinks, How, Input, Limits, Network, Observer, Spec,
    Stream, SyntheticFile, Written,
};
