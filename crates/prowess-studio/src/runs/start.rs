//! Starts runs: a slot, a task of the execution service, a log, and a record at the end.

use std::collections::HashMap;
use std::future::Future;
use std::pin::pin;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::SystemTime;

use axum::response::Response;
use bytes::Bytes;
use http::HeaderValue;
use prowess_core::{Envelope, Event, Problem, RunId, RunOutcome};
use prowess_engine::CancellationToken;
use prowess_engine::service::{ExecutionService, Owner, RunHandle};
use prowess_server::database::{DatabaseError, DatabaseKind, Transaction};
use prowess_server::metrics::prometheus_client::metrics::gauge::Gauge;
use serde_json::{Value, json};
use tokio::sync::Notify;

use super::finish::{Finish, Unfinished};
use super::live::{EarlierEvents, LiveRun, OnDisconnect};
use super::record::{RunKind, RunStore, StartedRun};
use super::slots::{RunSlots, SlotsFull};
use crate::events::{EventBody, EventLog, LogLimits, event_response, frame as frame_of};
use crate::limiter::Admission;
use crate::problem::ApiProblem;
use crate::timestamp;

/// How often the events of a run of another server are looked for.
const LOOK: std::time::Duration = std::time::Duration::from_millis(100);
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
    /// Whether what is cancelled from now on belongs to the other servers.
    pub(crate) is_leaving: AtomicBool,
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
    /// What another server needs to run it again.
    pub(crate) job: Option<Value>,
    /// What another server has written down of it, if it is taken over.
    pub(crate) earlier: Option<EarlierEvents>,
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
    pub(crate) admission: Admission,
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
                is_leaving: AtomicBool::new(false),
            }),
        }
    }

    /// A run that goes on here.
    pub(crate) fn live(&self, id: RunId) -> Option<Arc<LiveRun>> {
        self.inner.live().get(&id).cloned()
    }

    /// Cancels a run; returns whether it went on here.
    pub(crate) fn cancel(&self, id: RunId) -> bool {
        self.live(id).is_some_and(|live| self.inner.service.cancel(live.service_id))
    }

    /// Starts a run. Its work begins when it has a slot.
    pub(crate) fn start<F>(
        &self,
        new: NewRun,
        mut admission: Admission,
        work: impl FnOnce(RunScope) -> F,
    ) -> Result<Arc<LiveRun>, ApiProblem>
    where
        F: Future<Output = RunEnd> + Send + 'static,
    {
        let mut place = self.inner.slots.enter(&new.owner).map_err(refused)?;
        let owner = Owner::new(&new.owner);
        let mut started = None;
        let handle = self.inner.service.spawn(&owner, |context, _sink| {
            let live = Arc::new(live_run(context.id(), &new));
            started = Some(Arc::clone(&live));
            let scope = RunScope { live: Arc::clone(&live), cancel: context.cancel().clone() };
            let cancel = context.cancel().clone();
            let begun = self.begin(&new, &live);
            let finish = Finish::new(self.clone(), live, new, begun);
            let work = work(scope.clone());
            async move {
                // Dropped with the task, so that a run always ends.
                let unfinished = Unfinished::of(&finish);
                let tell = |position: usize| {
                    scope.live.custom("queued", &json!({ "position": position }));
                };
                tokio::select! {
                    biased;
                    () = async {
                        admission.wait(tell).await;
                        place.wait(tell).await;
                    } => {}
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
                drop(admission);
                finish.finish(end, unfinished).await
            }
        })?;
        handle.detach();
        started.ok_or_else(|| ApiProblem::internal("starting a run", &"no run was created"))
    }

    /// Starts a workflow, which the service runs: its tools wait in the service's own queue.
    pub(crate) fn start_workflow(&self, start: WorkflowStart) -> Result<Arc<LiveRun>, ApiProblem> {
        let WorkflowStart { new, live: known, spawn, at_end, admission } = start;
        let mut handle = spawn(&self.inner.service, &Owner::new(&new.owner))?;
        let live = Arc::new(live_run(handle.id(), &new));
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
            drop(admission);
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
        if new.earlier.is_some() {
            // Its record exists.
            live.is_recorded.send_replace(true);
            return tokio::spawn(async { Ok(()) });
        }
        let store = self.inner.store.clone();
        let run = StartedRun {
            id: live.id.to_string(),
            owner: new.owner.clone(),
            kind: new.kind,
            subject: new.subject.clone(),
            version: new.version,
            model: new.model.clone(),
            inputs: new.inputs.clone(),
            job: new.job.clone(),
            node: self.inner.node.clone(),
            started_at: timestamp::millis(SystemTime::now()),
        };
        let live = Arc::clone(live);
        tokio::spawn(async move {
            let begun = store.begin(run).await;
            live.is_recorded.send_replace(true);
            begun
        })
    }

    /// The response of a run that has just begun. Where several servers share a database, all of them know the run before the
    /// client does; the model works meanwhile.
    pub(crate) async fn respond(&self, live: &Arc<LiveRun>) -> Response {
        if self.inner.store.database.kind() == DatabaseKind::Postgres {
            // The sender lives as long as the run.
            let _ = live.is_recorded.subscribe().wait_for(|is_recorded| *is_recorded).await;
        }
        self.follow(live, 0)
    }

    /// The response that follows a live run.
    pub(crate) fn follow(&self, live: &Arc<LiveRun>, after: u64) -> Response {
        let (service, id, on_disconnect) =
            (self.inner.service.clone(), live.service_id, live.on_disconnect);
        let body = EventBody::new(Arc::clone(&live.log), after, move |is_last| {
            if is_last && on_disconnect == OnDisconnect::Cancel {
                service.cancel(id);
            }
        });
        with_run_id(event_response(body), live.id)
    }

    /// The response that follows a run of another server, by what that one writes down.
    pub(crate) fn follow_elsewhere(&self, id: RunId, after: u64) -> Response {
        let log = Arc::new(EventLog::resumed(LogLimits::USUAL, after, Vec::new()));
        let has_left = CancellationToken::default();
        let leave = has_left.clone();
        let body = EventBody::new(Arc::clone(&log), after, move |_| leave.cancel());
        let store = self.inner.store.clone();
        tokio::spawn(async move {
            tokio::select! {
                () = has_left.cancelled() => {}
                () = copy_events(&store, id, after, &log) => log.end(),
            }
        });
        with_run_id(event_response(body), id)
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

/// Copies the events of a run of another server until it has ended.
async fn copy_events(store: &RunStore, id: RunId, after: u64, log: &EventLog) {
    let mut last = after;
    loop {
        match store.noted(&id.to_string(), last).await {
            Ok(noted) => {
                for (number, frame) in noted.frames {
                    if number > last + 1 {
                        let gap = json!({ "from": last + 1, "to": number - 1 });
                        // Its number stands for those that are gone.
                        (last + 1..number - 1).for_each(|_| log.push(Bytes::new()));
                        log.push(frame_of(number - 1, "gap", &gap));
                    }
                    if number > last {
                        log.push(frame);
                        last = number;
                    }
                }
                if noted.is_over {
                    return;
                }
            }
            Err(error) => tracing::warn!(run_id = %id, %error, "events were not found"),
        }
        tokio::time::sleep(LOOK).await;
    }
}

fn with_run_id(mut response: Response, id: RunId) -> Response {
    let id = HeaderValue::from_str(&id.to_string()).expect("hexadecimal digits");
    response.headers_mut().insert(RUN_ID, id);
    response
}

fn live_run(service_id: RunId, new: &NewRun) -> LiveRun {
    match &new.earlier {
        None => LiveRun::new(service_id, &new.owner, new.on_disconnect),
        Some(earlier) => LiveRun::resumed(service_id, &new.owner, new.on_disconnect, earlier),
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
