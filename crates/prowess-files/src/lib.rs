//! Changes of the disk that happen whole or not at all.

mod advice;
#[cfg(all(unix, feature = "faults"))]
pub mod faults;
#[cfg(unix)]
pub mod folder;

pub use advice::advice;
