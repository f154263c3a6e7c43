//! Atomic changes to the disk.
//!
//! Readers, even after a crash or a power failure, see the old or the new content, and never a mix.
//!
//! ```
//! use prowess_files::atomic::{MAX_SMALL_FILE_BYTES, WriteOptions, read, write};
//! use prowess_files::with_lock;
//!
//! # fn main() -> std::io::Result<()> {
//! # let home = tempfile::tempdir()?;
//! let path = home.path().join("settings/approvals.json");
//! // One writer at a time: nothing changes between reading and writing.
//! with_lock(&path, || {
//!     let before = read(&path, MAX_SMALL_FILE_BYTES)?.unwrap_or_default();
//!     let after = [&before[..], b"one more\n"].concat();
//!     write(&path, &after, WriteOptions::PRIVATE)
//! })?;
//! assert_eq!(read(&path, MAX_SMALL_FILE_BYTES)?.as_deref(), Some(&b"one more\n"[..]));
//! # Ok(())
//! # }
//! ```

mod advice;
pub mod atomic;
#[cfg(all(unix, feature = "faults"))]
pub mod faults;
#[cfg(unix)]
pub mod folder;
mod lock;
pub mod private;

pub use advice::advice;
pub use lock::{lock_file, with_lock};

#[cfg(all(unix, feature = "faults"))]
use faults::step;

/// Called before every disk operation. With the feature `faults` it may fail.
#[cfg(not(all(unix, feature = "faults")))]
#[expect(clippy::unnecessary_wraps, reason = "with the feature it fails")]
#[inline]
fn step(_: &str, _: &str) -> std::io::Result<()> {
    Ok(())
}
