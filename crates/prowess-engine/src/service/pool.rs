//! Worker threads for blocking runs: started on demand, bounded, and stopped when idle.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use prowess_core::{Problem, ProblemKind};
use tokio::sync::watch;

use super::queue::{FairQueue, Owner, QueueLimits, Ticket};

/// Time that an idle thread waits for another run before it ends.
const IDLE: Duration = Duration::from_secs(10);

/// A job that waits for a thread.
pub(crate) trait Job: Send + 'static {
    /// Runs it, on a thread of the pool.
    fn run(self: Box<Self>);

    /// Ends it without running it.
    fn refuse(self: Box<Self>, problem: Problem);
}

/// A bounded number of threads with a fair queue. Clones share both.
#[derive(Clone)]
pub(crate) struct Pool {
    shared: Arc<Shared>,
}

struct Shared {
    state: Mutex<State>,
    /// Notified when there is a job for a thread.
    work: Condvar,
    /// Counts the changes of the queue, for observers of positions.
    changes: watch::Sender<u64>,
}

struct State {
    queue: FairQueue<Box<dyn Job>>,
    /// Runs that have their turn and wait for a thread to take them.
    ready: VecDeque<(Owner, Box<dyn Job>)>,
    threads: usize,
    idle: usize,
    is_closed: bool,
}

/// A run's position in the queue.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    owner: Owner,
    ticket: Ticket,
}

/// The current load of a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Load {
    /// Number of running runs.
    pub running: usize,
    /// Number of queued runs.
    pub queued: usize,
    /// Number of threads.
    pub threads: usize,
}

impl Pool {
    /// Creates a pool without threads; the first run starts one.
    pub(crate) fn new(limits: QueueLimits) -> Self {
        let state = State {
            queue: FairQueue::new(limits),
            ready: VecDeque::new(),
            threads: 0,
            idle: 0,
            is_closed: false,
        };
        let (changes, _) = watch::channel(0);
        Self {
            shared: Arc::new(Shared { state: Mutex::new(state), work: Condvar::new(), changes }),
        }
    }

    /// Appends a job to its owner's queue.
    pub(crate) fn submit(&self, owner: &Owner, job: Box<dyn Job>) -> Result<Place, Problem> {
        let state = self.shared.lock();
        if state.is_closed {
            return Err(closed());
        }
        self.push(state, owner, job).map_err(|(_, problem)| problem)
    }

    /// Appends a job that is part of an accepted run, so that a closed pool accepts it too. A job that does not fit is
    /// returned.
    pub(crate) fn submit_part(
        &self,
        owner: &Owner,
        job: Box<dyn Job>,
    ) -> Result<Place, (Box<dyn Job>, Problem)> {
        self.push(self.shared.lock(), owner, job)
    }

    fn push(
        &self,
        mut state: MutexGuard<'_, State>,
        owner: &Owner,
        job: Box<dyn Job>,
    ) -> Result<Place, (Box<dyn Job>, Problem)> {
        let ticket = state.queue.push(owner, job)?;
        let refused = self.shared.dispatch(&mut state);
        drop(state);
        self.shared.changed();
        refuse(refused);
        Ok(Place { owner: owner.clone(), ticket })
    }

    /// The number of runs that start before this one; `None` if it has started or was cancelled.
    pub(crate) fn position(&self, place: &Place) -> Option<usize> {
        self.shared.lock().queue.position(&place.owner, place.ticket)
    }

    /// A receiver that is notified when positions may have changed.
    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.shared.changes.subscribe()
    }

    /// Removes a queued job; `None` if it has started.
    pub(crate) fn remove(&self, place: &Place) -> Option<Box<dyn Job>> {
        let job = self.shared.lock().queue.remove(&place.owner, place.ticket)?;
        self.shared.changed();
        Some(job)
    }

    /// Refuses new jobs from now on.
    pub(crate) fn close(&self) {
        self.shared.lock().is_closed = true;
        self.shared.work.notify_all();
    }

    /// Removes all queued jobs.
    pub(crate) fn remove_all(&self) -> Vec<Box<dyn Job>> {
        let jobs = self.shared.lock().queue.remove_all();
        self.shared.changed();
        jobs
    }

    /// The current load.
    pub(crate) fn load(&self) -> Load {
        let state = self.shared.lock();
        let (running, queued) = (state.queue.running(), state.queue.queued());
        Load { running, queued, threads: state.threads }
    }
}

impl Shared {
    /// Jobs run without the lock, and no code that holds it can panic halfway.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn changed(&self) {
        self.changes.send_modify(|count| *count = count.wrapping_add(1));
    }

    /// Gives turns to queued jobs, and starts threads for them. Returns the jobs for which no thread can be started.
    fn dispatch(self: &Arc<Self>, state: &mut State) -> Vec<(Box<dyn Job>, Problem)> {
        while let Some((owner, job)) = state.queue.pop() {
            state.ready.push_back((owner, job));
            self.work.notify_one();
        }
        let mut refused = Vec::new();
        while state.ready.len() > state.idle && state.threads < state.queue.limits().running {
            let shared = Arc::clone(self);
            let thread = std::thread::Builder::new().name("prowess-run".to_owned());
            match thread.spawn(move || shared.work()) {
                Ok(_) => {
                    state.threads += 1;
                    // It counts as idle until it has taken a job.
                    state.idle += 1;
                }
                // The existing threads will take it.
                Err(_) if state.threads > 0 => break,
                Err(error) => {
                    let Some((owner, job)) = state.ready.pop_front() else { break };
                    state.queue.finished(&owner);
                    let message = format!("no thread can be started: {error}");
                    let problem = Problem::new("no-thread", ProblemKind::Unavailable, message);
                    refused.push((job, problem.advice("try again when the machine is less busy")));
                }
            }
        }
        refused
    }

    /// The main loop of a thread.
    fn work(self: &Arc<Self>) {
        let mut state = self.lock();
        loop {
            if let Some((owner, job)) = state.ready.pop_front() {
                state.idle -= 1;
                drop(state);
                self.changed();
                // A job that panics has informed its reader; the thread can be reused.
                let _ = catch_unwind(AssertUnwindSafe(|| job.run()));
                state = self.lock();
                state.idle += 1;
                state.queue.finished(&owner);
                let refused = self.dispatch(&mut state);
                if !refused.is_empty() {
                    drop(state);
                    refuse(refused);
                    state = self.lock();
                }
                continue;
            }
            let is_over = state.is_closed && state.queue.queued() == 0;
            let (next, waited) = if is_over {
                state.threads -= 1;
                state.idle -= 1;
                return;
            } else {
                self.work.wait_timeout(state, IDLE).unwrap_or_else(PoisonError::into_inner)
            };
            state = next;
            if waited.timed_out() && state.ready.is_empty() {
                state.threads -= 1;
                state.idle -= 1;
                return;
            }
        }
    }
}

fn refuse(jobs: Vec<(Box<dyn Job>, Problem)>) {
    for (job, problem) in jobs {
        job.refuse(problem);
    }
}

/// The problem for a service that is shutting down.
pub(crate) fn closed() -> Problem {
    Problem::new(
        "shutting-down",
        ProblemKind::Unavailable,
        "no runs are started any more: the service is shutting down",
    )
    .advice("try again when it is back")
}

#[cfg(test)]
mod tests;
