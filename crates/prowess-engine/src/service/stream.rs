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

/// How many runs that are tasks (prompts and workflows) there may be at a time. Beyond them nothing waits: it is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamLimits {
    /// Of all owners.
    pub running: usize,
    /// Of one owner.
    pub running_per_owner: usize,
}

/// Where a task puts its events. It never waits; the task is not polled while too much is unread.
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
    /// Starts a run that is a future, as prompt skills are, as a task of the current runtime. While its reader is behind, it
    /// is not polled.
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
            // First the place, then the news: who hears of the end can start another.
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

/// The place of one run among those that there may be.
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

/// Polls a run as long as its reader keeps up, and gives up on a reader that does not.
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
        // Polled once more after it was ready, it would panic.
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
