//! The tasks of one run on the shared runtime.

use std::future::Future;
use std::sync::{Mutex, PoisonError};

use tokio::task::JoinSet;

/// The tasks of a run, all of which end with it.
#[derive(Debug)]
pub(crate) struct Tasks(Mutex<Option<JoinSet<()>>>);

impl Default for Tasks {
    fn default() -> Self {
        Self(Mutex::new(Some(JoinSet::new())))
    }
}

impl Tasks {
    /// Spawns a task that ends with the run. After the end of the run nothing is spawned.
    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let mut tasks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(tasks) = tasks.as_mut() {
            // The set keeps finished tasks until they are joined.
            while tasks.try_join_next().is_some() {}
            tasks.spawn(task);
        }
    }

    /// Aborts all tasks and waits until they are dropped.
    pub(crate) async fn end(&self) {
        // Two statements: the lock must not be held while waiting.
        let tasks = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(mut tasks) = tasks {
            tasks.shutdown().await;
        }
    }
}
