//! Runs a program in a sandbox enforced by the kernel, terminates its whole process tree, and
//! bounds its output.
//!
//! This crate knows nothing about skills. It takes a [`Spec`] that names everything the program may
//! access; anything else is not visible. What the machine can't enforce is refused, never run with
//! weaker isolation. See `docs/design/sandbox.md`.

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
