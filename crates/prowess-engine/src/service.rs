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

/// How long a run that was cancelled may take to end before it is killed: the grace period of tools and a little more.
const GRACE: Duration = Duration::from_secs(7);

/// Everything that is bounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServiceLimits {
    /// Runs in sandboxes.
    pub queue: QueueLimits,
    /// Answers of models.
    pub streams: StreamLimits,
    /// Events that nobody has read yet, of each run.
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

/// Runs what it is given, within limits. Clones are the same service.
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

/// What a run knows about itself.
#[derive(Clone, Debug)]
pub struct RunContext {
    id: RunId,
    owner: Owner,
    cancel: CancellationToken,
}

impl RunContext {
    /// The run.
    pub fn id(&self) -> RunId {
        self.id
    }

    /// Whose run it is.
    pub fn owner(&self) -> &Owner {
        &self.owner
    }

    /// Ends it.
    pub fn cancel(&self) -> &CancellationToken {
        &self.cancel
    }
}

/// Something that is done while a service is shut down.
type Step = fn(&Inner);

/// What to do with runs that have not ended when a service is shut down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shutdown {
    /// Let them come to their end, also those that wait, until the deadline; then cancel them.
    Drain,
    /// Cancel them at once.
    Cancel,
}

impl ExecutionService {
    /// A service without threads and runs.
    pub fn new(limits: ServiceLimits) -> Self {
        let inner = Inner {
            limits,
            pool: Pool::new(limits.queue),
            active: Mutex::default(),
            ended: Ended::default(),
        };
        Self { inner: Arc::new(inner) }
    }

    /// Queues a run that blocks, as sandboxed ones do. `work` gets a thread when it is its owner's turn, and has to end soon
    /// after it was cancelled.
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

    /// Queues a run that may start. What it was decided on is compared again when it starts, however long it has waited.
    pub fn submit_run(&self, owner: &Owner, ready: ReadyRun) -> Result<RunHandle, Problem> {
        self.submit(owner, move |context, sink| ready.run(context.cancel(), sink))
    }

    /// Cancels a run by its id. Says whether there was such a run.
    pub fn cancel(&self, run: RunId) -> bool {
        self.inner.cancel(run)
    }

    /// What there is to do at the moment.
    pub fn load(&self) -> Load {
        self.inner.pool.load()
    }

    /// The number of runs that have not ended, of both kinds.
    pub fn active(&self) -> usize {
        self.inner.active_runs()
    }

    /// Ends the service: nothing new is started, and what has not ended at the deadline is cancelled, then killed. Says
    /// whether everything has ended.
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

    /// What is done, and how long each may take.
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

/// Creates an identifier for a run. It is random, so that runs of several processes can be kept in one place.
pub fn new_run_id() -> Result<RunId, Problem> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| {
        let message = format!("no random numbers for the id of a run: {error}");
        Problem::new("no-random-numbers", ProblemKind::Failed, message)
    })?;
    Ok(RunId::from_bytes(bytes))
}

/// Makes sure that a run ends once: with an envelope, an event that says so, and a free place.
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
        // Nobody may be left to hear it.
        let _ = joined.send(envelope);
    }
}

impl Drop for RunEnding {
    /// A run that was dropped before it came to its end, for example with the runtime that it was a task of.
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
