//! Runs that wait for a network and need no thread: tasks of the caller's runtime.

use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::task::Poll;
use std::time::Duration;

use prowess_core::{Envelope, Event, Problem, ProblemKind};

use tracing::Instrument as _;

use super::events::EventSender;
use super::{ExecutionService, Owner, RunContext, RunHandle, panicked};
use crate::run::CancellationToken;

/// Limits of concurrent prompts and workflows, which are tasks. They are not queued: above the limit they are refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamLimits {
    /// Maximum number of all owners.
    pub running: usize,
    /// Maximum number per owner.
    pub running_per_owner: usize,
}

/// Receives the events of a task. It never waits; the task is not polled while too much is unread.
#[derive(Debug)]
pub struct EventSink {
    sender: EventSender,
}

impl EventSink {
    /// Sends an event.
    pub fn send(&mut self, event: &Event) {
        self.sender.send_now(event.clone());
    }
}

impl ExecutionService {
    /// Starts a run that is a future, such as a prompt skill, as a task of the current runtime. It is not polled while
    /// its reader lags behind.
    pub fn spawn<F>(
        &self,
        owner: &Owner,
        work: impl FnOnce(RunContext, EventSink) -> F,
    ) -> Result<RunHandle, Problem>
    where
        F: Future<Output = Envelope> + Send + 'static,
    {
        let runtime = tokio::runtime::Handle::try_current().map_err(|_| {
            let message = "runs that wait for a network need a runtime to wait on";
            Problem::new("no-runtime", ProblemKind::Internal, message)
        })?;
        let permit = self.permit(owner)?;
        let (mut ending, handle) = self.begin(owner, CancellationToken::default())?;
        let sink = EventSink { sender: ending.sender.another() };
        let span = tracing::info_span!("run", run_id = %handle.id());
        let work = work(ending.context.clone(), sink);
        let run = async move {
            let envelope = drive(work, &ending.sender, &ending.context.cancel).await;
            // The slot is released before the end is reported, so that the reader can start another run.
            drop(permit);
            ending.end(envelope);
        };
        runtime.spawn(run.instrument(span));
        Ok(handle)
    }

    fn permit(&self, owner: &Owner) -> Result<Permit, Problem> {
        let limits = self.inner.limits.streams;
        let mut active = self.inner.active();
        let mine = active.streams.get(owner).copied().unwrap_or(0);
        if mine >= limits.running_per_owner {
            let kind = ProblemKind::RateLimited { retry_after: Some(Duration::from_secs(1)) };
            let message = format!("{mine} of your prompts and workflows are running already");
            return Err(Problem::new("too-many-runs", kind, message)
                .advice("wait until one of them has ended, or cancel one"));
        }
        let all: usize = active.stream_count;
        if all >= limits.running {
            let message = format!("{all} prompts and workflows are running already");
            return Err(Problem::new("queue-full", ProblemKind::Unavailable, message)
                .advice("try again in a moment"));
        }
        active.stream_count += 1;
        *active.streams.entry(owner.clone()).or_default() += 1;
        Ok(Permit { service: self.clone(), owner: owner.clone() })
    }
}

/// The slot of one run within the limits.
struct Permit {
    service: ExecutionService,
    owner: Owner,
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut active = self.service.inner.active();
        active.stream_count = active.stream_count.saturating_sub(1);
        if let Some(count) = active.streams.get_mut(&self.owner) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                active.streams.remove(&self.owner);
            }
        }
    }
}

/// Polls a run while its reader keeps up, and cancels it if the reader doesn't.
async fn drive(
    work: impl Future<Output = Envelope>,
    sender: &EventSender,
    cancel: &CancellationToken,
) -> Envelope {
    let mut work = pin!(work);
    let mut asked = pin!(cancel.cancelled());
    let mut is_cancelled = false;
    let mut waiting: Option<Pin<Box<tokio::time::Sleep>>> = None;
    poll_fn(|context| {
        // A future must not be polled again after it was ready.
        is_cancelled = is_cancelled || asked.as_mut().poll(context).is_ready();
        if !is_cancelled && sender.poll_ready(context).is_pending() {
            let timer =
                waiting.get_or_insert_with(|| Box::pin(tokio::time::sleep(sender.patience())));
            if timer.as_mut().poll(context).is_pending() {
                return Poll::Pending;
            }
            sender.give_up();
        }
        waiting = None;
        let polled = catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(context)));
        polled.unwrap_or_else(|_| Poll::Ready(panicked()))
    })
    .await
}
