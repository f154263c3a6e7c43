//! What the owner of a run holds: events, position, cancel, join.

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

/// How far a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunState {
    /// It waits, and this many runs start before it.
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

    /// The run.
    pub fn id(&self) -> RunId {
        self.id
    }

    /// How far it is.
    pub fn state(&self) -> RunState {
        match self.position() {
            Some(position) => RunState::Queued { position },
            None if self.inner.is_active(self.id) => RunState::Running,
            None => RunState::Ended,
        }
    }

    /// How many runs start before this one; `None` when it does not wait. An estimate: runs that are added for owners who
    /// have had fewer turns start before it too, and owners at their limit are passed over.
    pub fn position(&self) -> Option<usize> {
        self.inner.pool.position(self.place.as_ref()?)
    }

    /// Waits until the position is another than `known` and gives it; `None` when the run has started or ended. Who is slow
    /// to ask again misses the positions in between.
    pub async fn position_changed(&self, known: Option<usize>) -> Option<usize> {
        let mut changes = self.inner.pool.changes();
        loop {
            changes.mark_unchanged();
            let position = self.position();
            if position != known || position.is_none() {
                return position;
            }
            // The pool is there as long as this handle.
            changes.changed().await.ok()?;
        }
    }

    /// The events of the run. They can be taken once; while nobody reads them, the run waits when too many are unread.
    pub fn take_events(&mut self) -> Option<EventReceiver> {
        self.events.take()
    }

    /// Cancels the run, also one that waits.
    pub fn cancel(&self) {
        self.inner.cancel(self.id);
    }

    /// Cancels the run because of a signal, which its exit code then tells.
    pub fn cancel_by(&self, signal: i32) {
        self.cancel.cancel_by(signal);
        self.cancel();
    }

    /// Waits for the end. Events that nobody has taken are dropped.
    pub async fn join(mut self) -> Envelope {
        self.events = None;
        let Some(joined) = self.joined.take() else { return cancelled(&self.cancel) };
        let envelope = joined.await;
        self.is_detached = true;
        envelope.unwrap_or_else(|_| cancelled(&self.cancel))
    }

    /// Waits for the end, blocking the thread. It panics inside of a runtime.
    pub fn join_blocking(mut self) -> Envelope {
        self.events = None;
        let Some(joined) = self.joined.take() else { return cancelled(&self.cancel) };
        let envelope = joined.blocking_recv();
        self.is_detached = true;
        envelope.unwrap_or_else(|_| cancelled(&self.cancel))
    }

    /// Lets the run go on without this handle. It can still be cancelled by its id.
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
