//! The tasks of one run on the runtime that all runs share.

use std::future::Future;
use std::sync::{Mutex, PoisonError};

use tokio::task::JoinSet;

/// Every task of a run, so that all of them end with it.
#[derive(Debug)]
pub(crate) struct Tasks(Mutex<Option<JoinSet<()>>>);

impl Default for Tasks {
    fn default() -> Self {
        Self(Mutex::new(Some(JoinSet::new())))
    }
}

impl Tasks {
    /// Spawns a task that ends with the run. After the end of the run nothing is started any more.
    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let mut tasks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(tasks) = tasks.as_mut() {
            // The set keeps what has ended until somebody asks for it.
            while tasks.try_join_next().is_some() {}
            tasks.spawn(task);
        }
    }

    /// Ends all tasks and waits until none of them holds anything.
    pub(crate) async fn end(&self) {
        // Two statements: the lock must not be held while waiting.
        let tasks = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(mut tasks) = tasks {
            tasks.shutdown().await;
        }
    }
}
