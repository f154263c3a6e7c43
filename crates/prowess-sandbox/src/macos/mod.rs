//! The walls on macOS: Seatbelt, with a profile that is made for each run.
//!
//! Nothing here is about a Mac but the profile's words and the path of the launcher, so all of it is compiled and tested
//! elsewhere too; only there it encloses nothing.

#![cfg_attr(
    not(target_os = "macos"),
    allow(dead_code, unreachable_pub, reason = "compiled everywhere, so that it compiles there")
)]

mod profile;
#[cfg(any(target_os = "macos", all(unix, test)))]
mod run;

#[cfg(target_os = "macos")]
pub use run::{Canceller, Prepared, Sandbox, counts_memory, probe, run, warm_up};
