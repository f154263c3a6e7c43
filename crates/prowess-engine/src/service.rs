//! The execution service: many runs of many owners in one process.
//!
//! It is built once per process and cloned freely. Sandboxed runs wait in a fair queue for a bounded number of threads
//! ([`submit`](ExecutionService::submit)); answers of models are tasks of the caller's runtime and bounded in number
//! ([`spawn`](ExecutionService::spawn)). A workflow is such a task too, and its nodes wait in the queue
//! ([`spawn_workflow`](ExecutionService::spawn_workflow)). Each way the caller gets a [`RunHandle`]: events, position, cancel, join. A
//! program that has one run and nothing else calls [`ReadyRun::run`], which needs neither thread nor queue.
//! `docs/design/execution.md` has the rules.

mod active;
mod events;
mod handle;
mod part;
mod pool;
mod queue;
mod stream;
mod workflow;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use prowess_core::{
    Envelope, Event, INTERRUPTED, Problem, ProblemKind, REFUSED, RunId, RunOutcome,
};
use tokio::sync::oneshot;

use crate::decision::ReadyRun;
use crate::run::CancellationToken;
use active::{Active, Ended};
pub use events::{EventLimits, EventReceiver};
pub use handle::{RunHandle, RunState};
pub use pool::Load;
use pool::{Job, Pool};
pub use queue::{Owner, QueueLimits};
pub use stream::{EventSink, StreamLimits};

/// Time that a cancelled run may take to end before it is killed: the grace period of tools with a margin.
const GRACE: Duration = Duration::from_secs(7);

/// All limits of a service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServiceLimits {
    /// Limits of sandboxed runs.
    pub queue: QueueLimits,
    /// Limits of prompts and workflows.
    pub streams: StreamLimits,
    /// Limits of unread events, per run.
    pub events: EventLimits,
}

impl ServiceLimits {
    /// Limits that suit a server on this machine.
    pub fn of_this_machine() -> Self {
        Self {
            queue: QueueLimits::of_this_machine(),
            streams: StreamLimits { running: 10_000, running_per_owner: 100 },
            events: EventLimits::USUAL,
        }
    }
}

/// Executes runs within limits. Clones share the same service.
#[derive(Clone)]
pub struct ExecutionService {
    inner: Arc<Inner>,
}

struct Inner {
    limits: ServiceLimits,
    pool: Pool,
    active: Mutex<Active>,
    ended: Ended,
}

/// The context of a run.
#[derive(Clone, Debug)]
pub struct RunContext {
    id: RunId,
    owner: Owner,
    cancel: CancellationToken,
}

impl RunContext {
    /// The id of the run.
    pub fn id(&self) -> RunId {
        self.id
    }

    /// The owner of the run.
    pub fn owner(&self) -> &Owner {
        &self.owner
    }

    /// The cancellation token of the run.
    pub fn cancel(&self) -> &CancellationToken {
        &self.cancel
    }
}

/// A step of shutting down a service.
type Step = fn(&Inner);

/// What happens to unfinished runs when a service shuts down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shutdown {
    /// They may finish until the deadline, including queued ones; then they are cancelled.
    Drain,
    /// They are cancelled immediately.
    Cancel,
}

impl ExecutionService {
    /// Creates a service without threads and runs.
    pub fn new(limits: ServiceLimits) -> Self {
        let inner = Inner {
            limits,
            pool: Pool::new(limits.queue),
            active: Mutex::default(),
            ended: Ended::default(),
        };
        Self { inner: Arc::new(inner) }
    }

    /// Queues a blocking run, such as a sandboxed one. `work` gets a thread when it is its owner's turn, and must end
    /// soon after it is cancelled.
    pub fn submit(
        &self,
        owner: &Owner,
        work: impl FnOnce(&RunContext, &mut dyn FnMut(&Event)) -> Envelope + Send + 'static,
    ) -> Result<RunHandle, Problem> {
        let (ending, mut handle) = self.begin(owner, CancellationToken::default())?;
        let waiting = tracing::info_span!("queue", run_id = %handle.id());
        let job = QueuedRun { ending, work, waiting };
        match self.inner.pool.submit(owner, Box::new(job)) {
            Ok(place) => {
                self.inner.set_place(handle.id(), &place);
                handle.place = Some(place);
                Ok(handle)
            }
            Err(problem) => {
                handle.detach();
                Err(problem)
            }
        }
    }

    /// Queues a run that is ready. The files it was decided on are verified again when it starts, however long it has
    /// waited.
    pub fn submit_run(&self, owner: &Owner, ready: ReadyRun) -> Result<RunHandle, Problem> {
        self.submit(owner, move |context, sink| ready.run(context.cancel(), sink))
    }

    /// Cancels a run by its id; returns whether it existed.
    pub fn cancel(&self, run: RunId) -> bool {
        self.inner.cancel(run)
    }

    /// The current load.
    pub fn load(&self) -> Load {
        self.inner.pool.load()
    }

    /// The number of unfinished runs of both kinds.
    pub fn active(&self) -> usize {
        self.inner.active_runs()
    }

    /// Shuts down the service: no run is started, and unfinished runs are cancelled at the deadline, then killed.
    /// Returns whether all runs have ended.
    pub async fn shutdown(&self, how: Shutdown, deadline: Duration) -> bool {
        for (act, wait) in self.steps(how, deadline) {
            act(&self.inner);
            if self.inner.ended.wait(&self.inner, wait).await {
                return true;
            }
        }
        false
    }

    /// Ends the service as [`shutdown`](Self::shutdown) does, blocking the thread.
    pub fn shutdown_blocking(&self, how: Shutdown, deadline: Duration) -> bool {
        self.steps(how, deadline).into_iter().any(|(act, wait)| {
            act(&self.inner);
            self.inner.wait_until_idle(wait)
        })
    }

    /// The steps of a shutdown, with time limits.
    fn steps(&self, how: Shutdown, deadline: Duration) -> [(Step, Duration); 3] {
        self.inner.close();
        let first: Step = match how {
            Shutdown::Drain => |_| (),
            Shutdown::Cancel => Inner::cancel_all,
        };
        [(first, deadline), (Inner::cancel_all, GRACE), (Inner::kill_all, GRACE)]
    }

    /// Registers a run.
    fn begin(
        &self,
        owner: &Owner,
        cancel: CancellationToken,
    ) -> Result<(RunEnding, RunHandle), Problem> {
        let id = new_run_id()?;
        let (sender, receiver) = events::channel(id, self.inner.limits.events, cancel.clone());
        let (envelope, joined) = oneshot::channel();
        self.inner.register(id, &cancel, &sender)?;
        let context = RunContext { id, owner: owner.clone(), cancel };
        let handle = RunHandle::new(Arc::clone(&self.inner), &context, &sender, receiver, joined);
        let ending =
            RunEnding { inner: Arc::clone(&self.inner), context, sender, envelope: Some(envelope) };
        Ok((ending, handle))
    }
}

impl std::fmt::Debug for ExecutionService {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ExecutionService").field("load", &self.load()).finish_non_exhaustive()
    }
}

/// Generates a run id. It is random, so that runs of several processes can be stored together.
pub fn new_run_id() -> Result<RunId, Problem> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| {
        let message = format!("no random numbers for the id of a run: {error}");
        Problem::new("no-random-numbers", ProblemKind::Failed, message)
    })?;
    Ok(RunId::from_bytes(bytes))
}

/// Ensures that a run ends once: with an envelope, a final event, and a released slot.
struct RunEnding {
    inner: Arc<Inner>,
    context: RunContext,
    sender: events::EventSender,
    envelope: Option<oneshot::Sender<Envelope>>,
}

impl RunEnding {
    fn end(&mut self, envelope: Envelope) {
        let Some(joined) = self.envelope.take() else { return };
        let envelope = self.sender.finish(envelope);
        self.inner.forget(self.context.id);
        // The receiver may be gone.
        let _ = joined.send(envelope);
    }
}

impl Drop for RunEnding {
    /// Ends a run that was dropped, for example with its runtime.
    fn drop(&mut self) {
        self.end(cancelled(&self.context.cancel));
    }
}

/// A run that waits for a thread.
struct QueuedRun<W> {
    ending: RunEnding,
    work: W,
    /// Closed when the run starts.
    waiting: tracing::Span,
}

impl<W> Job for QueuedRun<W>
where
    W: FnOnce(&RunContext, &mut dyn FnMut(&Event)) -> Envelope + Send + 'static,
{
    fn run(self: Box<Self>) {
        let Self { mut ending, work, waiting } = *self;
        drop(waiting);
        let _span = tracing::info_span!("run", run_id = %ending.context.id).entered();
        let (context, sender) = (&ending.context, &ending.sender);
        let envelope = if context.cancel.is_cancelled() {
            cancelled(&context.cancel)
        } else {
            let mut sink = |event: &Event| sender.send(event.clone());
            catch_unwind(AssertUnwindSafe(|| work(context, &mut sink)))
                .unwrap_or_else(|_| panicked())
        };
        ending.end(envelope);
    }

    fn refuse(mut self: Box<Self>, problem: Problem) {
        let envelope = match problem.kind {
            ProblemKind::Cancelled => cancelled(&self.ending.context.cancel),
            _ => Envelope::not_started(RunOutcome::Refused, REFUSED, problem.message),
        };
        self.ending.end(envelope);
    }
}

fn cancelled(cancel: &CancellationToken) -> Envelope {
    let code = cancel.exit_code().unwrap_or(INTERRUPTED);
    Envelope::not_started(RunOutcome::Cancelled, code, "the run was cancelled".to_owned())
}

fn panicked() -> Envelope {
    let error = "the run panicked (internal error)".to_owned();
    Envelope::not_started(RunOutcome::Failed, 1, error)
}

#[cfg(test)]
mod tests;
