//! A bounded pool of connections for blocking threads.

use std::ops::{Deref, DerefMut};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::error::DatabaseError;

/// How long a caller waits for a connection before the database counts as overloaded.
const MOST_WAIT: Duration = Duration::from_secs(10);

pub(super) struct Pool<C> {
    most: usize,
    connect: Box<dyn Fn() -> Result<C, DatabaseError> + Send + Sync>,
    state: Mutex<PoolState<C>>,
    returned: Condvar,
}

struct PoolState<C> {
    idle: Vec<C>,
    open: usize,
}

impl<C> Pool<C> {
    pub(super) fn new(
        most: usize,
        connect: impl Fn() -> Result<C, DatabaseError> + Send + Sync + 'static,
    ) -> Pool<C> {
        Pool {
            most,
            connect: Box::new(connect),
            state: Mutex::new(PoolState { idle: Vec::new(), open: 0 }),
            returned: Condvar::new(),
        }
    }

    /// Waits for a connection. The most recently used one is preferred: its caches are warm.
    pub(super) fn checkout(&self) -> Result<Pooled<'_, C>, DatabaseError> {
        let deadline = Instant::now() + MOST_WAIT;
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(connection) = state.idle.pop() {
                return Ok(Pooled { pool: self, connection: Some(connection) });
            }
            if state.open < self.most {
                state.open += 1;
                drop(state);
                // The place is given back if connecting fails or panics.
                let mut pooled = Pooled { pool: self, connection: None };
                pooled.connection = Some((self.connect)()?);
                return Ok(pooled);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(DatabaseError::Busy);
            }
            (state, _) =
                self.returned.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Takes all idle connections out, for a caller who closes them where that may block.
    pub(super) fn take_idle(&self) -> Vec<C> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let idle = std::mem::take(&mut state.idle);
        state.open -= idle.len();
        idle
    }
}

/// A connection that returns to its pool.
pub(super) struct Pooled<'a, C> {
    pool: &'a Pool<C>,
    connection: Option<C>,
}

impl<C> Pooled<'_, C> {
    /// Closes the connection instead of returning it.
    pub(super) fn discard(mut self) {
        self.connection = None;
    }
}

impl<C> Deref for Pooled<'_, C> {
    type Target = C;

    fn deref(&self) -> &C {
        self.connection.as_ref().expect("it is taken out only by `discard` and `drop`")
    }
}

impl<C> DerefMut for Pooled<'_, C> {
    fn deref_mut(&mut self) -> &mut C {
        self.connection.as_mut().expect("it is taken out only by `discard` and `drop`")
    }
}

impl<C> Drop for Pooled<'_, C> {
    fn drop(&mut self) {
        // After a panic nobody knows the state of the connection.
        let connection = self.connection.take().filter(|_| !std::thread::panicking());
        let mut state = self.pool.state.lock().unwrap_or_else(PoisonError::into_inner);
        match connection {
            Some(connection) => state.idle.push(connection),
            None => state.open -= 1,
        }
        drop(state);
        self.pool.returned.notify_one();
    }
}
