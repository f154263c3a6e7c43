//! Starts runs: a slot, a task of the execution service, a log, and a record at the end.

use std::collections::HashMap;
use std::future::Future;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::SystemTime;

use axum::response::Response;
use http::HeaderValue;
use prowess_core::{Envelope, Event, Problem, RunId, RunOutcome};
use prowess_engine::CancellationToken;
use prowess_engine::service::{ExecutionService, Owner, RunHandle};
use prowess_server::database::{DatabaseError, Transaction};
use prowess_server::metrics::prometheus_client::metrics::gauge::Gauge;
use serde_json::{Value, json};
use tokio::sync::Notify;

use super::finish::{Finish, Unfinished};
use super::live::{LiveRun, OnDisconnect};
use super::record::{RunKind, RunStore, StartedRun};
use super::slots::{RunSlots, SlotsFull};
use crate::events::{EventBody, event_response};
use crate::problem::ApiProblem;
use crate::timestamp;

/// The response header with the id of a run.
pub(crate) const RUN_ID: &str = "x-run-id";

/// The runs of this server.
#[derive(Clone)]
pub(crate) struct Runs {
    pub(crate) inner: Arc<RunsInner>,
}

pub(crate) struct RunsInner {
    pub(crate) service: ExecutionService,
    pub(crate) slots: RunSlots,
    pub(crate) store: RunStore,
    /// The name of this server among several.
    pub(crate) node: String,
    pub(crate) live: Mutex<HashMap<RunId, Arc<LiveRun>>>,
    pub(crate) active: Gauge,
    /// Notified when a run is forgotten: it has ended and is recorded.
    pub(crate) forgotten: Notify,
}

/// A run that is wanted.
#[derive(Clone, Debug)]
pub(crate) struct NewRun {
    pub(crate) owner: String,
    pub(crate) kind: RunKind,
    /// The skill, or the workflow's id.
    pub(crate) subject: Option<String>,
    pub(crate) version: Option<i64>,
    pub(crate) model: Option<String>,
    pub(crate) inputs: Value,
    pub(crate) on_disconnect: OnDisconnect,
    /// The price of the model's tokens.
    pub(crate) price: Option<crate::models::Price>,
}

/// What the work of a run gets.
#[derive(Clone)]
pub(crate) struct RunScope {
    pub(crate) live: Arc<LiveRun>,
    pub(crate) cancel: CancellationToken,
}

impl RunScope {
    /// Tells an event to the readers.
    pub(crate) fn event(&self, event: &Event) {
        self.live.event(event);
    }
}

/// What is written in the same transaction as the end of a run, before its last event is told.
pub(crate) type AtEnd = Box<
    dyn FnMut(&mut Transaction<'_>, &super::record::EndedRun) -> Result<(), DatabaseError>
        + Send
        + 'static,
>;

/// What a run came to.
pub(crate) struct RunEnd {
    pub(crate) envelope: Envelope,
    pub(crate) at_end: Option<AtEnd>,
}

/// Hands a workflow to the service.
pub(crate) type SpawnWorkflow =
    Box<dyn FnOnce(&ExecutionService, &Owner) -> Result<RunHandle, Problem> + Send>;

/// A workflow that is wanted.
pub(crate) struct WorkflowStart {
    pub(crate) new: NewRun,
    /// Set to the run when it has an id.
    pub(crate) live: Arc<OnceLock<Arc<LiveRun>>>,
    pub(crate) spawn: SpawnWorkflow,
    pub(crate) at_end: AtEnd,
}

impl From<Envelope> for RunEnd {
    fn from(envelope: Envelope) -> Self {
        Self { envelope, at_end: None }
    }
}

impl Runs {
    pub(crate) fn new(
        service: ExecutionService,
        slots: RunSlots,
        store: RunStore,
        node: String,
    ) -> Self {
        let live = Mutex::default();
        Self {
            inner: Arc::new(RunsInner {
                service,
                slots,
                store,
                node,
                live,
                active: Gauge::default(),
                forgotten: Notify::new(),
            }),
        }
    }

    /// A run that goes on here.
    pub(crate) fn live(&self, id: RunId) -> Option<Arc<LiveRun>> {
        self.inner.live().get(&id).cloned()
    }

    /// Cancels a run; returns whether it went on here.
    pub(crate) fn cancel(&self, id: RunId) -> bool {
        self.inner.service.cancel(id)
    }

    /// Starts a run. Its work begins when it has a slot.
    pub(crate) fn start<F>(
        &self,
        new: NewRun,
        work: impl FnOnce(RunScope) -> F,
    ) -> Result<Arc<LiveRun>, ApiProblem>
    where
        F: Future<Output = RunEnd> + Send + 'static,
    {
        let mut place = self.inner.slots.enter(&new.owner).map_err(refused)?;
        let owner = Owner::new(&new.owner);
        let mut started = None;
        let handle = self.inner.service.spawn(&owner, |context, _sink| {
            let live = Arc::new(LiveRun::new(context.id(), &new.owner, new.on_disconnect));
            started = Some(Arc::clone(&live));
            let scope = RunScope { live: Arc::clone(&live), cancel: context.cancel().clone() };
            let cancel = context.cancel().clone();
            let begun = self.begin(&new, &live);
            let finish = Finish::new(self.clone(), live, new, begun);
            let work = work(scope.clone());
            async move {
                // Dropped with the task, so that a run always ends.
                let unfinished = Unfinished::of(&finish);
                tokio::select! {
                    biased;
                    () = place.wait(|position| {
                        scope.live.custom("queued", &json!({ "position": position }));
                    }) => {}
                    () = cancel.cancelled() => {
                        let message = "the run was cancelled".to_owned();
                        let envelope = Envelope::not_started(
                            RunOutcome::Cancelled, prowess_core::INTERRUPTED, message.clone(),
                        );
                        scope.event(&Event::Error { message });
                        return finish.finish(envelope.into(), unfinished).await;
                    }
                }
                let end = work.await;
                // The slot is free before the end is told, so that a reader can start the next run at once.
                drop(place);
                finish.finish(end, unfinished).await
            }
        })?;
        handle.detach();
        started.ok_or_else(|| ApiProblem::internal("starting a run", &"no run was created"))
    }

    /// Starts a workflow, which the service runs: its tools wait in the service's own queue.
    pub(crate) fn start_workflow(&self, start: WorkflowStart) -> Result<Arc<LiveRun>, ApiProblem> {
        let WorkflowStart { new, live: known, spawn, at_end } = start;
        let mut handle = spawn(&self.inner.service, &Owner::new(&new.owner))?;
        let live = Arc::new(LiveRun::new(handle.id(), &new.owner, new.on_disconnect));
        let _ = known.set(Arc::clone(&live));
        let begun = self.begin(&new, &live);
        let finish = Finish::new(self.clone(), Arc::clone(&live), new, begun);
        let told = Arc::clone(&live);
        tokio::spawn(async move {
            let unfinished = Unfinished::of(&finish);
            if let Some(mut events) = handle.take_events() {
                while let Some(frame) = events.recv().await {
                    told.event(&frame.event);
                }
            }
            let envelope = handle.join().await;
            finish.finish(RunEnd { envelope, at_end: Some(at_end) }, unfinished).await;
        });
        Ok(live)
    }

    /// Registers a run, and records it while it already works: a disk must not delay the first token.
    pub(crate) fn begin(
        &self,
        new: &NewRun,
        live: &Arc<LiveRun>,
    ) -> tokio::task::JoinHandle<Result<(), DatabaseError>> {
        self.inner.live().insert(live.id, Arc::clone(live));
        self.inner.active.inc();
        let store = self.inner.store.clone();
        let run = StartedRun {
            id: live.id.to_string(),
            owner: new.owner.clone(),
            kind: new.kind,
            subject: new.subject.clone(),
            version: new.version,
            model: new.model.clone(),
            inputs: new.inputs.clone(),
            node: self.inner.node.clone(),
            started_at: timestamp::millis(SystemTime::now()),
        };
        tokio::spawn(async move { store.begin(run).await })
    }

    /// The response that follows a live run.
    pub(crate) fn follow(&self, live: &Arc<LiveRun>, after: u64) -> Response {
        let (service, id, on_disconnect) =
            (self.inner.service.clone(), live.id, live.on_disconnect);
        let body = EventBody::new(Arc::clone(&live.log), after, move |is_last| {
            if is_last && on_disconnect == OnDisconnect::Cancel {
                service.cancel(id);
            }
        });
        let mut response = event_response(body);
        let id = HeaderValue::from_str(&live.id.to_string()).expect("hexadecimal digits");
        response.headers_mut().insert(RUN_ID, id);
        response
    }
}

impl RunsInner {
    /// Forgets a run that has ended.
    pub(crate) fn forget(&self, id: RunId) {
        if self.live().remove(&id).is_some() {
            self.active.dec();
            self.forgotten.notify_waiters();
        }
    }

    /// Resolves when no run goes on here and the ends of all are recorded.
    pub(crate) async fn all_recorded(&self) {
        loop {
            let mut forgotten = pin!(self.forgotten.notified());
            forgotten.as_mut().enable();
            if self.live().is_empty() {
                return;
            }
            forgotten.await;
        }
    }

    pub(crate) fn live(&self) -> MutexGuard<'_, HashMap<RunId, Arc<LiveRun>>> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn refused(full: SlotsFull) -> ApiProblem {
    let second = std::time::Duration::from_secs(1);
    match full {
        SlotsFull::Owner => ApiProblem::rate_limited("Too many of your runs are waiting", second),
        SlotsFull::All => ApiProblem {
            retry_after: Some(second),
            ..ApiProblem::new(
                http::StatusCode::SERVICE_UNAVAILABLE,
                "queue-full",
                "",
                "The queue is full, try again in a moment",
            )
        },
    }
}
