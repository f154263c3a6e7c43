//! The sandbox on macOS: Seatbelt, with a profile for each run.
//!
//! Only the profile and the path of the launcher are specific to macOS, so all of it is compiled
//! and tested on other systems too, without isolation.

#![cfg_attr(
    not(target_os = "macos"),
    allow(dead_code, unreachable_pub, reason = "compiled everywhere, so that it compiles there")
)]

mod profile;
#[cfg(any(target_os = "macos", all(unix, test)))]
mod run;

#[cfg(target_os = "macos")]
pub use run::{Canceller, PreparedSandbox, Sandbox, has_memory_accounting, probe, run, warm_up};
