//! Workflows in a service: tasks of the caller's runtime whose nodes wait in the queue.

use std::time::Instant;

use prowess_core::{Envelope, Problem, REFUSED, RunOutcome};

use super::{ExecutionService, Owner, RunContext, RunHandle};
use crate::approver::AsyncApprover;
use crate::workflow::{
    self, NodeExecutor, OpenRun, Workflow, WorkflowContext, WorkflowOutcome, text_of,
};

impl ExecutionService {
    /// Starts a checked workflow as a task of the current runtime, limited in number like prompts. It holds no thread
    /// of the pool: its nodes that start programs wait in the queue under its owner, and share the limits with all
    /// other runs. `cancel` and `executor` of the context are replaced by those of the run.
    pub fn spawn_workflow(
        &self,
        owner: &Owner,
        workflow: Workflow,
        mut open: OpenRun,
        context: WorkflowContext,
        mut approver: Box<dyn AsyncApprover>,
    ) -> Result<RunHandle, Problem> {
        let executor = NodeExecutor::queue_of(self.clone(), owner.clone());
        self.spawn(owner, |run: RunContext, mut sink| async move {
            let cancel = run.cancel().clone();
            let context = WorkflowContext { cancel, executor, ..context };
            let started = Instant::now();
            let mut tell = |event: &prowess_core::Event| sink.send(event);
            let ended =
                workflow::run(&workflow, &mut open, &context, &mut *approver, &mut tell).await;
            let is_cancelled = run.cancel().is_cancelled();
            Envelope { duration: started.elapsed(), ..envelope(ended, is_cancelled) }
        })
    }
}

/// The result of a workflow as an envelope.
fn envelope(ended: WorkflowOutcome, is_cancelled: bool) -> Envelope {
    match ended.result {
        Ok(output) => Envelope {
            output: text_of(&output),
            parsed: Some(output),
            error: None,
            ..Envelope::not_started(RunOutcome::Success, ended.exit_code, String::new())
        },
        Err(error) => {
            let outcome = match ended.exit_code {
                _ if is_cancelled => RunOutcome::Cancelled,
                REFUSED => RunOutcome::Refused,
                _ => RunOutcome::Failed,
            };
            let envelope = Envelope::not_started(outcome, ended.exit_code, error);
            Envelope { remedies: ended.remedies, ..envelope }
        }
    }
}
