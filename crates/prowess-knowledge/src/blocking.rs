//! A bounded thread pool for blocking searches, shared by the whole process.
//!
//! Threads are started on demand and end after being idle for a while. The queue is first in, first out; work whose
//! future was dropped is skipped.

use std::collections::VecDeque;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::{Arc, Condvar, LazyLock, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use prowess_core::{BoxFuture, Passage, Remedy, RetrieveError, RetrieveErrorKind};
use tracing::Instrument as _;

use crate::error::BaseError;

/// Maximum number of threads. Searches are limited by the processor and the disk; more would not be faster.
const MOST_THREADS: usize = 8;
/// Maximum number of queued searches.
const MOST_QUEUED: usize = 10_000;
/// How long a thread waits for work before it ends.
const IDLE: Duration = Duration::from_secs(10);

static POOL: LazyLock<Pool> = LazyLock::new(|| {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    Pool::new(cores.clamp(2, MOST_THREADS), MOST_QUEUED)
});

/// Runs a blocking search as a future, for the trait [`Retriever`](prowess_core::Retriever).
pub(crate) fn search(
    base: &str,
    work: impl FnOnce() -> Result<Vec<Passage>, BaseError> + Send + 'static,
) -> BoxFuture<'_, Result<Vec<Passage>, RetrieveError>> {
    // The span has the name of the knowledge base, but not the query, which is the user's.
    let span = tracing::info_span!("retrieval", base);
    let inside = span.clone();
    let searching = async move {
        match POOL.run(move || inside.in_scope(work)).await {
            Ok(found) => found.map_err(RetrieveError::from),
            Err(Failed::Panicked) => Err(RetrieveError::new(
                RetrieveErrorKind::Internal,
                format!("the search in knowledge base `{base}` panicked (internal error)"),
            )),
            Err(Failed::Full) => Err(RetrieveError::new(
                RetrieveErrorKind::Unavailable,
                format!("too many searches are queued for knowledge base `{base}`"),
            )
            .remedy(Remedy::Advice("try again in a moment".to_owned()))),
        }
    };
    Box::pin(searching.instrument(span))
}

/// Why work failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Failed {
    Panicked,
    /// The queue is full, or no thread can be started.
    Full,
}

type Work = Box<dyn FnOnce() + Send>;

#[derive(Clone)]
struct Pool {
    shared: Arc<Shared>,
}

struct Shared {
    state: Mutex<PoolState>,
    work: Condvar,
    most_threads: usize,
    most_queued: usize,
}

#[derive(Default)]
struct PoolState {
    queued: VecDeque<Work>,
    threads: usize,
    idle: usize,
}

impl Pool {
    fn new(most_threads: usize, most_queued: usize) -> Self {
        let shared =
            Shared { state: Mutex::default(), work: Condvar::new(), most_threads, most_queued };
        Self { shared: Arc::new(shared) }
    }

    /// Runs work on a thread of the pool.
    fn run<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Waiting<T> {
        let outcome = Arc::new(Mutex::new(Outcome::Working(None)));
        let shared = Arc::clone(&outcome);
        let queued = self.shared.queue(Box::new(move || {
            // The future holds the other reference.
            if Arc::strong_count(&shared) == 1 {
                return;
            }
            let result = catch_unwind(AssertUnwindSafe(work)).map_err(|_| Failed::Panicked);
            end(&shared, result);
        }));
        if !queued {
            end(&outcome, Err(Failed::Full));
        }
        Waiting(outcome)
    }
}

impl Shared {
    /// Locks the state. Work runs without the lock, so it can't be poisoned.
    fn lock(&self) -> MutexGuard<'_, PoolState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Queues work; returns whether it was accepted.
    fn queue(self: &Arc<Self>, work: Work) -> bool {
        let mut state = self.lock();
        if state.queued.len() >= self.most_queued {
            return false;
        }
        if state.queued.len() >= state.idle && state.threads < self.most_threads {
            let shared = Arc::clone(self);
            let thread = std::thread::Builder::new().name("knowledge".to_owned());
            match thread.spawn(move || shared.work()) {
                Ok(_) => {
                    state.threads += 1;
                    state.idle += 1;
                }
                // The other threads will run it, if there are any.
                Err(_) if state.threads == 0 => return false,
                Err(_) => {}
            }
        }
        state.queued.push_back(work);
        self.work.notify_one();
        true
    }

    /// The main loop of a thread.
    fn work(&self) {
        let mut state = self.lock();
        loop {
            if let Some(work) = state.queued.pop_front() {
                state.idle -= 1;
                drop(state);
                work();
                state = self.lock();
                state.idle += 1;
                continue;
            }
            let (next, waited) =
                self.work.wait_timeout(state, IDLE).unwrap_or_else(PoisonError::into_inner);
            state = next;
            if waited.timed_out() && state.queued.is_empty() {
                state.threads -= 1;
                state.idle -= 1;
                return;
            }
        }
    }
}

enum Outcome<T> {
    Working(Option<Waker>),
    Done(Option<Result<T, Failed>>),
}

fn end<T>(outcome: &Mutex<Outcome<T>>, result: Result<T, Failed>) {
    let mut outcome = outcome.lock().unwrap_or_else(PoisonError::into_inner);
    let before = std::mem::replace(&mut *outcome, Outcome::Done(Some(result)));
    drop(outcome);
    if let Outcome::Working(Some(waker)) = before {
        waker.wake();
    }
}

struct Waiting<T>(Arc<Mutex<Outcome<T>>>);

impl<T> Future for Waiting<T> {
    type Output = Result<T, Failed>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<T, Failed>> {
        let mut outcome = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match &mut *outcome {
            Outcome::Done(Some(_)) => match std::mem::replace(&mut *outcome, Outcome::Done(None)) {
                Outcome::Done(Some(result)) => Poll::Ready(result),
                Outcome::Done(None) | Outcome::Working(_) => Poll::Pending,
            },
            Outcome::Done(None) => Poll::Pending,
            Outcome::Working(waker) => {
                *waker = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }
}

#[cfg(test)]
mod tests;
