//! The time, as something that can be replaced.

use std::time::{SystemTime, UNIX_EPOCH};

/// Knows what time it is.
pub trait Clock: Send + Sync {
    /// Seconds since 1970.
    fn now(&self) -> u64;
}

/// The machine's clock.
#[derive(Clone, Copy, Debug)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> u64 {
        // A clock before 1970 is wrong by so much that 0 is as good as any.
        SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
    }
}
