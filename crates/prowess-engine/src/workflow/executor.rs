//! Where the programs of nodes run.

use super::node::{Failure, blocking};
use crate::run::CancellationToken;
use crate::service::{ExecutionService, Owner};

/// Where the tools and programs of a workflow's nodes run: on the blocking pool of the runtime, or in the queue of an
/// execution service. [`ExecutionService::spawn_workflow`] sets the latter.
#[derive(Clone, Debug, Default)]
pub struct NodeExecutor {
    queue: Option<(ExecutionService, Owner)>,
}

impl NodeExecutor {
    /// Nodes wait in the queue of a service, under the owner of the workflow. The workflow has to be a task: on a
    /// thread of the service it would occupy the thread that its nodes wait for.
    pub(crate) fn queue_of(service: ExecutionService, owner: Owner) -> Self {
        Self { queue: Some((service, owner)) }
    }

    /// Runs blocking work, and returns its result.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        cancel: &CancellationToken,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Failure> {
        match &self.queue {
            Some((service, owner)) => Ok(service.run_part(owner, cancel, work).await?),
            None => blocking(work).await,
        }
    }
}
