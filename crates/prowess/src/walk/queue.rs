//! A work queue for several threads: each keeps its own tasks, and shares some when another thread waits.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};

/// The shared tasks, and how many threads wait for one.
pub(super) struct Queue<T> {
    state: Mutex<QueueState<T>>,
    changed: Condvar,
    /// A copy of `QueueState::waiting`, to be read without the lock.
    waiting: AtomicUsize,
}

struct QueueState<T> {
    tasks: Vec<T>,
    workers: usize,
    waiting: usize,
}

impl<T> Queue<T> {
    pub(super) fn new(tasks: Vec<T>) -> Self {
        Self {
            state: Mutex::new(QueueState { tasks, workers: 0, waiting: 0 }),
            changed: Condvar::new(),
            waiting: AtomicUsize::new(0),
        }
    }

    /// Adds a worker. Called before its thread starts, so that the first workers don't stop too early.
    pub(super) fn join(&self) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).workers += 1;
    }

    /// Takes the next task; waits while other workers may add some, and returns `None` at the end.
    pub(super) fn take(&self) -> Option<T> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.waiting += 1;
        loop {
            if let Some(task) = state.tasks.pop() {
                state.waiting -= 1;
                self.waiting.store(state.waiting, Ordering::Relaxed);
                return Some(task);
            }
            self.waiting.store(state.waiting, Ordering::Relaxed);
            if state.waiting == state.workers {
                // No worker is left that could add more.
                self.changed.notify_all();
                return None;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Shares the older half of a thread's own tasks, if another thread waits. Older tasks are nearer to the root, so there
    /// is more below them.
    pub(super) fn share(&self, own: &mut Vec<T>) {
        if own.len() < 2 || self.waiting.load(Ordering::Relaxed) == 0 {
            return;
        }
        let half = own.len() / 2;
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.tasks.extend(own.drain(..half));
        drop(state);
        self.changed.notify_all();
    }
}
