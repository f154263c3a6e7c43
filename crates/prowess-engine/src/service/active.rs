//! The unfinished runs, which can be found by id, cancelled and awaited.

use std::collections::HashMap;
use std::sync::{Condvar, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use prowess_core::{Problem, ProblemKind, RunId};
use tokio::sync::Notify;

use super::Inner;
use super::events::EventSender;
use super::pool::{self, Place};
use super::queue::Owner;
use crate::run::CancellationToken;

/// The unfinished runs.
#[derive(Default)]
pub(super) struct Active {
    runs: HashMap<RunId, ActiveRun>,
    pub(super) streams: HashMap<Owner, usize>,
    pub(super) stream_count: usize,
    is_closed: bool,
}

struct ActiveRun {
    cancel: CancellationToken,
    sender: EventSender,
    place: Option<Place>,
}

/// Notified when a run has ended.
#[derive(Default)]
pub(super) struct Ended {
    threads: Condvar,
    tasks: Notify,
}

impl Ended {
    /// Waits until no run is left; `false` on timeout.
    pub(super) async fn wait(&self, inner: &Inner, most: Duration) -> bool {
        let idle = async {
            loop {
                let ended = self.tasks.notified();
                let mut ended = std::pin::pin!(ended);
                // Before checking: a run may end in between.
                ended.as_mut().enable();
                if inner.active_runs() == 0 {
                    return;
                }
                ended.await;
            }
        };
        tokio::time::timeout(most, idle).await.is_ok()
    }
}

impl Inner {
    pub(super) fn active(&self) -> MutexGuard<'_, Active> {
        self.active.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn active_runs(&self) -> usize {
        self.active().runs.len()
    }

    pub(super) fn is_active(&self, id: RunId) -> bool {
        self.active().runs.contains_key(&id)
    }

    pub(super) fn register(
        &self,
        id: RunId,
        cancel: &CancellationToken,
        sender: &EventSender,
    ) -> Result<(), Problem> {
        let mut active = self.active();
        if active.is_closed {
            return Err(pool::closed());
        }
        let run = ActiveRun { cancel: cancel.clone(), sender: sender.another(), place: None };
        active.runs.insert(id, run);
        Ok(())
    }

    /// Stores the queue position of a run, unless it has ended meanwhile.
    pub(super) fn set_place(&self, id: RunId, place: &Place) {
        if let Some(run) = self.active().runs.get_mut(&id) {
            run.place = Some(place.clone());
        }
    }

    pub(super) fn forget(&self, id: RunId) {
        self.active().runs.remove(&id);
        self.ended.threads.notify_all();
        self.ended.tasks.notify_waiters();
    }

    /// Cancels a run, including a queued one; returns whether it exists.
    pub(super) fn cancel(&self, id: RunId) -> bool {
        let active = self.active();
        let Some(run) = active.runs.get(&id) else { return false };
        let (cancel, sender, place) = (run.cancel.clone(), run.sender.another(), run.place.clone());
        drop(active);
        cancel.cancel();
        sender.unblock();
        if let Some(job) = place.and_then(|place| self.pool.remove(&place)) {
            job.refuse(cancelled());
        }
        true
    }

    pub(super) fn close(&self) {
        self.active().is_closed = true;
        self.pool.close();
    }

    pub(super) fn cancel_all(&self) {
        for job in self.pool.remove_all() {
            job.refuse(cancelled());
        }
        let ids: Vec<RunId> = self.active().runs.keys().copied().collect();
        for id in ids {
            self.cancel(id);
        }
    }

    pub(super) fn kill_all(&self) {
        let cancels: Vec<CancellationToken> =
            self.active().runs.values().map(|run| run.cancel.clone()).collect();
        for cancel in cancels {
            cancel.kill();
        }
    }

    pub(super) fn wait_until_idle(&self, most: Duration) -> bool {
        let deadline = Instant::now() + most;
        let mut active = self.active();
        while !active.runs.is_empty() {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            let waited = self.ended.threads.wait_timeout(active, left);
            active = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }
}

/// The problem for a run that was cancelled before it started.
pub(super) fn cancelled() -> Problem {
    Problem::new("run-cancelled", ProblemKind::Cancelled, "the run was cancelled")
}
