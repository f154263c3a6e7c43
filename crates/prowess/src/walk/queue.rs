//! Work for several threads: each keeps its own, and gives some away when another has none.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};

/// Work that nobody has taken, and how many threads wait for some.
pub(super) struct Queue<T> {
    state: Mutex<State<T>>,
    changed: Condvar,
    /// A copy of `State::waiting`, to look at without the lock.
    hungry: AtomicUsize,
}

struct State<T> {
    tasks: Vec<T>,
    workers: usize,
    waiting: usize,
}

impl<T> Queue<T> {
    pub(super) fn new(tasks: Vec<T>) -> Self {
        Self {
            state: Mutex::new(State { tasks, workers: 0, waiting: 0 }),
            changed: Condvar::new(),
            hungry: AtomicUsize::new(0),
        }
    }

    /// One thread more. Called before it starts, so that the first ones don't think they are alone.
    pub(super) fn join(&self) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).workers += 1;
    }

    /// The next task; waits while others may still find some, and ends with `None`.
    pub(super) fn take(&self) -> Option<T> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.waiting += 1;
        loop {
            if let Some(task) = state.tasks.pop() {
                state.waiting -= 1;
                self.hungry.store(state.waiting, Ordering::Relaxed);
                return Some(task);
            }
            self.hungry.store(state.waiting, Ordering::Relaxed);
            if state.waiting == state.workers {
                // Nobody is left who could find more.
                self.changed.notify_all();
                return None;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Gives the older half of a thread's own tasks away, if another thread waits. Older tasks are nearer to the root,
    /// so there is more below them.
    pub(super) fn share(&self, own: &mut Vec<T>) {
        if own.len() < 2 || self.hungry.load(Ordering::Relaxed) == 0 {
            return;
        }
        let half = own.len() / 2;
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.tasks.extend(own.drain(..half));
        drop(state);
        self.changed.notify_all();
    }
}
