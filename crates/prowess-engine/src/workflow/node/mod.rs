//! The implementations of nodes, one file for each kind that takes time.

mod code;
mod http;
mod knowledge;
mod prompt;
pub(crate) mod tool;

use serde_json::Value;

use super::graph::{Task, WorkflowNode};
use super::run::{EventReporter, WorkflowContext};
use super::scope::{Input, ValueScope};
use crate::decision::{ReadyRun, RunDecision};
use crate::error::RunError;
use prowess_core::Remedy;
use prowess_core::{Envelope, RunOutcome};
use prowess_core::{ModelError, ModelErrorKind, Problem, ProblemKind};

/// Maximum size of a node's output.
pub(crate) const MAX_OUTPUT: usize = 8 << 20;

/// Why a node failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    /// The message, as a lowercase phrase.
    pub(crate) message: String,
    /// Remedies.
    pub(crate) remedies: Vec<Remedy>,
    /// The exit code.
    pub(crate) exit_code: i32,
}

impl Failure {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), remedies: Vec::new(), exit_code: 1 }
    }

    pub(crate) fn advice(self, text: impl Into<String>) -> Self {
        self.remedy(Remedy::Advice(text.into()))
    }

    pub(crate) fn remedy(mut self, remedy: Remedy) -> Self {
        self.remedies.push(remedy);
        self
    }

    /// The failure of an unsuccessful run.
    pub(crate) fn of(envelope: &Envelope) -> Self {
        let message = envelope.error.clone().unwrap_or_else(|| "it failed".to_owned());
        let exit_code = match envelope.outcome {
            RunOutcome::Refused | RunOutcome::Cancelled => envelope.exit_code,
            _ => 1,
        };
        Self { message, remedies: envelope.remedies.clone(), exit_code }
    }
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        Failure::of(&error.envelope())
    }
}

impl From<Problem> for Failure {
    fn from(problem: Problem) -> Self {
        let exit_code = match problem.kind {
            ProblemKind::Cancelled => prowess_core::INTERRUPTED,
            _ => 1,
        };
        Self { message: problem.message, remedies: problem.remedies, exit_code }
    }
}

impl From<ModelError> for Failure {
    fn from(error: ModelError) -> Self {
        let exit_code = match error.kind {
            ModelErrorKind::NotConfigured => prowess_core::REFUSED,
            _ => 1,
        };
        Self { message: error.message, remedies: error.remedies, exit_code }
    }
}

/// The next step of a node that uses a skill.
#[derive(Debug)]
pub(crate) enum Step {
    /// Run a prompt.
    Prompt,
    /// Run a tool, if it is allowed.
    Tool(RunDecision),
}

/// Runs blocking work on the blocking pool of the runtime.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Failure> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|error| Failure::new(format!("internal error: {error}")))
}

/// Runs a node that is not a tool.
pub(crate) async fn run(
    node: &WorkflowNode,
    input: Input,
    scope: ValueScope,
    context: &WorkflowContext,
    teller: &EventReporter<'_, '_>,
) -> Result<Value, Failure> {
    let scene = NodeContext { node, input, scope, context, teller };
    let output = match &node.task {
        Task::Llm(llm) => prompt::llm(&scene, llm).await,
        Task::Skill(used) => prompt::skill(&scene, used).await,
        Task::Knowledge { base } => knowledge::look_up(&scene, &base.value).await,
        Task::Http(request) => http::send(&scene, request).await,
        Task::Code(program) => code::run(&scene, program).await,
        // These take no time, and are handled where nodes are started.
        Task::Start { .. } | Task::Condition { .. } | Task::End { .. } => Ok(scene.input.value),
    }?;
    bounded(output)
}

/// Runs an approved tool.
pub(crate) async fn run_tool(
    node: &WorkflowNode,
    ready: ReadyRun,
    context: &WorkflowContext,
    teller: &EventReporter<'_, '_>,
) -> Result<Value, Failure> {
    bounded(tool::run(&node.id, ready, context, teller).await?)
}

/// The context of a node.
pub(crate) struct NodeContext<'s, 't, 'k> {
    node: &'s WorkflowNode,
    input: Input,
    scope: ValueScope,
    context: &'s WorkflowContext,
    teller: &'s EventReporter<'t, 'k>,
}

fn bounded(output: Value) -> Result<Value, Failure> {
    // Only strings can be that long: everything else has its own limit.
    match &output {
        Value::String(text) if text.len() > MAX_OUTPUT => {
            Err(Failure::new(format!("the output has more than {} MiB", MAX_OUTPUT >> 20)))
        }
        _ => Ok(output),
    }
}

/// Parses output: JSON if it is valid, otherwise text without the trailing line break.
pub(crate) fn printed(bytes: &[u8]) -> Value {
    let text = String::from_utf8_lossy(bytes);
    let text = text.strip_suffix('\n').unwrap_or(&text);
    match serde_json::from_str(text) {
        Ok(value) => value,
        Err(_) => Value::from(text),
    }
}
