//! Whether the storage answers, for readiness.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::Blobs;

/// For how long an answer counts: a load balancer asks every few seconds, and each look at a bucket is paid for.
const FRESH: Duration = Duration::from_secs(5);

/// A check of the storage that remembers success for a few seconds.
pub(crate) struct StorageCheck {
    blobs: Blobs,
    answered: Mutex<Option<Instant>>,
}

impl StorageCheck {
    pub(crate) fn new(blobs: Blobs) -> Self {
        Self { blobs, answered: Mutex::new(None) }
    }

    /// Looks at the storage. The error goes to the log; whoever asks is not told where the storage is.
    pub(crate) async fn run(self: Arc<Self>) -> Result<(), String> {
        let answered = || self.answered.lock().unwrap_or_else(PoisonError::into_inner);
        if answered().is_some_and(|at| at.elapsed() < FRESH) {
            return Ok(());
        }
        let checked = self.blobs.check().await;
        *answered() = checked.is_ok().then(Instant::now);
        checked.map_err(|error| {
            tracing::warn!(%error, "the storage of packages does not answer");
            "the storage of packages does not answer".to_owned()
        })
    }
}
