//! Publishing: from an upload to a version that can be installed.
//!
//! 1. The archive is unpacked in memory and checked; what is wrong with it is refused at once, and nothing is stored.
//! 2. The archive is stored under its digest, then one transaction adds the version as pending together with a job.
//! 3. The job scans the files, checks the signatures and makes the version visible, or refuses or holds it.
//!
//! A crash between any two of these leaves an object that nothing names, which is swept, or a job that any node continues.

mod check;
mod process;
mod rules;
mod similar;
mod submit;
mod sweep;

pub use check::{CheckedSkill, CheckedUpload, check_upload};
pub(crate) use process::{keys_of, tier_of};
pub use rules::refresh_skill;
pub use submit::{Receipt, Upload};
