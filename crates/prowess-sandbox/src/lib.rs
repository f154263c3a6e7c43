//! Runs a program in a sandbox enforced by the kernel, terminates its whole process tree, and
//! bounds its output.
//!
//! This crate knows nothing about skills. It takes a [`Spec`] that names everything the program may
//! access; anything else is not visible. What the machine can't enforce is refused, never run with
//! weaker isolation. See `docs/design/sandbox.md`.

mod check;
mod error;
#[cfg(target_os = "linux")]
mod linux;
mod macos;
mod output;
mod pattern;
mod probe;
mod spec;
#[cfg(any(test, not(any(target_os = "linux", target_os = "macos"))))]
mod unsupported;

pub use error::SandboxError;
#[cfg(target_os = "linux")]
pub use linux::{
    Canceller, PreparedSandbox, Sandbox, has_memory_accounting, probe, run, try_overlay, warm_up,
};
#[cfg(target_os = "macos")]
pub use macos::{Canceller, PreparedSandbox, Sandbox, has_memory_accounting, probe, run, warm_up};
pub use output::{Capture, Captured, OUTPUT_HEAD_BYTES, OUTPUT_TAIL_BYTES};
pub use probe::{Layer, LayerState, Probe};
pub use spec::{
    Discarded, ExitReason, FileAccess, FileGrant, HardLinks, Input, Network, Observer,
    OutputStream, SandboxLimits, SandboxOutcome, Spec, StagedFolder, SyntheticFile, WriteLimit,
};
#[cfg(not(any(target_os = "linux", target_os = "macos")))]
pub use unsupported::{
    Canceller, PreparedSandbox, Sandbox, has_memory_accounting, probe, run, warm_up,
};
