//! How long an agent may work: until it is cancelled, or until its time is over.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use prowess_engine::CancellationToken;
use tokio::time::Instant;

use crate::ending::Halt;

/// Ends the work from outside.
pub(crate) struct Patience {
    cancel: CancellationToken,
    until: Mutex<Instant>,
}

impl Patience {
    pub(crate) fn new(cancel: CancellationToken, time: Duration) -> Self {
        let now = Instant::now();
        // A time that no clock can show is as good as none; ten years are enough.
        let until = now.checked_add(time).unwrap_or(now + Duration::from_hours(87_600));
        Self { cancel, until: Mutex::new(until) }
    }

    fn until(&self) -> Instant {
        *self.until.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds time during which a person was asked.
    pub(crate) fn extend(&self, time: Duration) {
        let mut until = self.until.lock().unwrap_or_else(PoisonError::into_inner);
        *until = until.checked_add(time).unwrap_or(*until);
    }

    /// Why the work has to end now, if it has to.
    pub(crate) fn is_over(&self) -> Option<Halt> {
        if self.cancel.is_cancelled() {
            return Some(Halt::Cancelled);
        }
        (Instant::now() >= self.until()).then_some(Halt::TimedOut)
    }

    /// Resolves when the work has to end.
    pub(crate) async fn over(&self) -> Halt {
        loop {
            tokio::select! {
                biased;
                () = self.cancel.cancelled() => return Halt::Cancelled,
                () = tokio::time::sleep_until(self.until()) => {
                    if Instant::now() >= self.until() {
                        return Halt::TimedOut;
                    }
                }
            }
        }
    }

    /// Resolves when the work has to end at once.
    pub(crate) async fn killed(&self) {
        self.cancel.killed().await;
    }

    /// Waits for a future, or drops it when the work has to end.
    pub(crate) async fn bound<T>(&self, work: impl Future<Output = T>) -> Result<T, Halt> {
        tokio::select! {
            biased;
            halt = self.over() => Err(halt),
            done = work => Ok(done),
        }
    }
}
