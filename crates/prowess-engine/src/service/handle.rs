//! The handle of a run: events, queue position, cancel, join.

use std::sync::Arc;

use prowess_core::{Envelope, RunId};
use tokio::sync::oneshot;

use super::events::{EventReceiver, EventSender};
use super::pool::Place;
use super::{Inner, RunContext, cancelled};
use crate::run::CancellationToken;

/// A run of the service. Dropping it cancels the run, unless it was [detached](Self::detach).
pub struct RunHandle {
    inner: Arc<Inner>,
    id: RunId,
    cancel: CancellationToken,
    sender: EventSender,
    events: Option<EventReceiver>,
    joined: Option<oneshot::Receiver<Envelope>>,
    pub(super) place: Option<Place>,
    is_detached: bool,
}

/// The state of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunState {
    /// It is queued, and this many runs start before it.
    Queued {
        /// Zero is the next one.
        position: usize,
    },
    /// It has started, or is being cancelled.
    Running,
    /// It has ended.
    Ended,
}

impl RunHandle {
    pub(super) fn new(
        inner: Arc<Inner>,
        context: &RunContext,
        sender: &EventSender,
        events: EventReceiver,
        joined: oneshot::Receiver<Envelope>,
    ) -> Self {
        Self {
            inner,
            id: context.id,
            cancel: context.cancel.clone(),
            sender: sender.another(),
            events: Some(events),
            joined: Some(joined),
            place: None,
            is_detached: false,
        }
    }

    /// The id of the run.
    pub fn id(&self) -> RunId {
        self.id
    }

    /// The state of the run.
    pub fn state(&self) -> RunState {
        match self.position() {
            Some(position) => RunState::Queued { position },
            None if self.inner.is_active(self.id) => RunState::Running,
            None => RunState::Ended,
        }
    }

    /// The number of runs that start before this one; `None` if it is not queued. An estimate: later runs of owners
    /// with fewer turns start before it too, and owners at their limit are skipped.
    pub fn position(&self) -> Option<usize> {
        self.inner.pool.position(self.place.as_ref()?)
    }

    /// Waits until the position differs from `known` and returns it; `None` if the run has started or ended. Positions
    /// in between may be missed.
    pub async fn position_changed(&self, known: Option<usize>) -> Option<usize> {
        let mut changes = self.inner.pool.changes();
        loop {
            changes.mark_unchanged();
            let position = self.position();
            if position != known || position.is_none() {
                return position;
            }
            // The pool lives as long as this handle.
            changes.changed().await.ok()?;
        }
    }

    /// Takes the events of the run, once; while they are not read, the run waits when too many are unread.
    pub fn take_events(&mut self) -> Option<EventReceiver> {
        self.events.take()
    }

    /// Cancels the run, including a queued one.
    pub fn cancel(&self) {
        self.inner.cancel(self.id);
    }

    /// Cancels the run because of a signal, which determines its exit code.
    pub fn cancel_by(&self, signal: i32) {
        self.cancel.cancel_by(signal);
        self.cancel();
    }

    /// Ends the run at once, with SIGKILL.
    pub fn kill(&self) {
        self.cancel.kill();
        self.cancel();
    }

    /// Waits for the end. Events that were not taken are discarded.
    pub async fn join(mut self) -> Envelope {
        self.events = None;
        let Some(joined) = self.joined.take() else { return cancelled(&self.cancel) };
        let envelope = joined.await;
        self.is_detached = true;
        envelope.unwrap_or_else(|_| cancelled(&self.cancel))
    }

    /// Waits for the end, blocking the thread. It panics inside an async runtime.
    pub fn join_blocking(mut self) -> Envelope {
        self.events = None;
        let Some(joined) = self.joined.take() else { return cancelled(&self.cancel) };
        let envelope = joined.blocking_recv();
        self.is_detached = true;
        envelope.unwrap_or_else(|_| cancelled(&self.cancel))
    }

    /// Lets the run continue without this handle. It can still be cancelled by its id.
    pub fn detach(mut self) {
        self.is_detached = true;
    }
}

impl Drop for RunHandle {
    fn drop(&mut self) {
        if !self.is_detached {
            self.cancel();
        }
        self.sender.unblock();
    }
}

impl std::fmt::Debug for RunHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RunHandle").field("id", &self.id).finish_non_exhaustive()
    }
}
