//! Blocking work that is part of an accepted run: a workflow node that starts a program.
//!
//! It waits in the queue like any run, under the owner of its run. The run itself is a task and holds no thread while
//! it waits, so a pool with one thread is enough for any workflow.

use std::panic::{AssertUnwindSafe, catch_unwind};

use prowess_core::{Problem, ProblemKind};
use tokio::sync::oneshot;

use super::ExecutionService;
use super::active::cancelled;
use super::pool::{Job, Place, Pool};
use super::queue::Owner;
use crate::run::CancellationToken;

impl ExecutionService {
    /// Runs `work` on a thread of the pool when it is its owner's turn, and returns its result. It is not refused if
    /// the queue is full: it waits for room. If `cancel` is triggered before it has started, it never starts; after
    /// that, `work` has to check `cancel` itself.
    pub(crate) async fn run_part<T: Send + 'static>(
        &self,
        owner: &Owner,
        cancel: &CancellationToken,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Problem> {
        let pool = &self.inner.pool;
        let (result, mut results) = oneshot::channel();
        let mut job: Box<dyn Job> = Box::new(SkillPart { work, cancel: cancel.clone(), result });
        let mut changes = pool.changes();
        let place = loop {
            // Before trying: room may become available in between.
            changes.mark_unchanged();
            match pool.submit_part(owner, job) {
                Ok(place) => break place,
                Err((refused, _)) => job = refused,
            }
            tokio::select! {
                biased;
                () = cancel.cancelled() => return Err(cancelled()),
                // The pool lives as long as this service.
                _ = changes.changed() => {}
            }
        };
        let place = PlaceGuard { pool, place };
        tokio::select! {
            biased;
            () = cancel.cancelled() => {
                if place.leave() {
                    return Err(cancelled());
                }
            }
            result = &mut results => return result.unwrap_or_else(|_| Err(panicked())),
        }
        results.await.unwrap_or_else(|_| Err(panicked()))
    }
}

/// Queued work, and the channel for its result.
struct SkillPart<T, W> {
    work: W,
    cancel: CancellationToken,
    result: oneshot::Sender<Result<T, Problem>>,
}

impl<T, W> Job for SkillPart<T, W>
where
    T: Send + 'static,
    W: FnOnce() -> T + Send + 'static,
{
    fn run(self: Box<Self>) {
        let Self { work, cancel, result } = *self;
        let done = if cancel.is_cancelled() {
            Err(cancelled())
        } else {
            catch_unwind(AssertUnwindSafe(work)).map_err(|_| panicked())
        };
        // The run may have been dropped meanwhile.
        let _ = result.send(done);
    }

    fn refuse(self: Box<Self>, problem: Problem) {
        let _ = self.result.send(Err(problem));
    }
}

/// Leaves the queue on drop.
struct PlaceGuard<'p> {
    pool: &'p Pool,
    place: Place,
}

impl PlaceGuard<'_> {
    /// Leaves the queue; returns whether the job was still queued.
    fn leave(&self) -> bool {
        self.pool.remove(&self.place).is_some()
    }
}

impl Drop for PlaceGuard<'_> {
    fn drop(&mut self) {
        self.leave();
    }
}

fn panicked() -> Problem {
    let message = "the thread panicked (internal error)";
    Problem::new("run-panicked", ProblemKind::Internal, message)
}

#[cfg(test)]
mod tests;
