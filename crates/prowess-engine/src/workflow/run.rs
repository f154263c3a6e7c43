//! Runs a workflow: starts ready nodes, records completed ones, and reports events.
//!
//! All nodes run in one future, which is `Send`; blocking work is on other threads: the disk on the blocking pool,
//! tools and programs where the [`NodeExecutor`] says. When a node fails no other one starts, and running ones are
//! awaited: their results are recorded and not repeated by `resume`.

use std::collections::HashMap;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::stream::{FuturesUnordered, StreamExt as _};
use prowess_core::{
    Event, INTERRUPTED, Message, Model, ModelError, Remedy, Retriever, WorkflowEvent,
};
use prowess_policy::Mode;
use prowess_proxy::{Fetcher, SystemResolver, UpstreamRoots};
use serde_json::{Map, Value};
use tracing::Instrument as _;

use super::executor::NodeExecutor;
use super::graph::{EndOutput, Task, Workflow, WorkflowNode};
use super::node::{Failure, Step, blocking, tool};
use super::schedule::{NodeState, Schedule};
use super::scope::{Input, ValueScope};
use super::store::OpenRun;
use crate::approver::AsyncApprover;
use crate::decision::{Consent, Engine, ReadyRun, RunDecision};
use crate::handle::ToolHandle;
use crate::loaded::SkillResolver;
use crate::pending::PendingRun;
use crate::prompt::Sink;
use crate::run::CancellationToken;

/// Finds models by name.
pub trait ModelLookup: Send + Sync {
    /// The model with this name, or the default one.
    fn model(&self, name: Option<&str>) -> Result<Arc<dyn Model>, ModelError>;
}

/// The context of a workflow. It owns everything, so that a run can be a separate task.
#[derive(Clone)]
pub struct WorkflowContext {
    /// The engine that runs tools. Its Python workers serve all nodes.
    pub engine: Engine,
    /// Finds models.
    pub models: Arc<dyn ModelLookup>,
    /// Searches knowledge bases.
    pub retriever: Option<Arc<dyn Retriever>>,
    /// Resolves skills.
    pub skills: Arc<dyn SkillResolver>,
    /// Sends the requests of `http` nodes.
    pub fetcher: Arc<Fetcher>,
    /// The user's consent in advance.
    pub consent: Consent,
    /// The active mode.
    pub mode: Mode,
    /// The conversation before the workflow, oldest message first.
    pub history: Arc<[Message]>,
    /// The cancellation token.
    pub cancel: CancellationToken,
    /// Limits.
    pub limits: WorkflowLimits,
    /// Where tools and programs run.
    pub executor: NodeExecutor,
}

/// Limits of a workflow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkflowLimits {
    /// Maximum number of concurrent nodes.
    pub parallel: usize,
    /// Time limit of a model per node.
    pub prompt: Duration,
}

impl WorkflowLimits {
    /// Eight nodes, and three minutes as in a chat (AFL §7.2).
    pub const USUAL: Self = Self { parallel: 8, prompt: crate::chat::CHAT_LIMIT };
}

/// A client for requests to public addresses only.
pub fn public_fetcher() -> Fetcher {
    Fetcher::new(Arc::new(SystemResolver), UpstreamRoots::System, Vec::new())
}

/// How a workflow ended.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkflowOutcome {
    /// The result, or the error message.
    pub result: Result<Value, String>,
    /// The outputs of all end nodes that were reached, by name.
    pub outputs: Map<String, Value>,
    /// Remedies for the error.
    pub remedies: Vec<Remedy>,
    /// The exit code.
    pub exit_code: i32,
}

/// Runs a checked workflow from its current state on the caller's task. The last event is [`WorkflowEvent::Complete`]
/// or [`WorkflowEvent::Error`].
pub async fn run(
    workflow: &Workflow,
    open: &mut OpenRun,
    context: &WorkflowContext,
    approver: &mut dyn AsyncApprover,
    sink: &mut Sink<'_>,
) -> WorkflowOutcome {
    let id = open.id.as_str().to_owned();
    let teller = EventReporter { sink: Mutex::new(sink) };
    teller.workflow(WorkflowEvent::Start { run: id.clone(), name: workflow.name.clone() });
    let scope = ValueScope::new(open.record.inputs.clone());
    let (schedule, skipped) = Schedule::new(workflow);
    let tools = ToolHandles::default();
    let mut running =
        WorkflowRun { workflow, context, teller: &teller, schedule, scope, tools, failure: None };
    running.tell_skipped(&skipped);
    running.work(open, approver).await;
    let ended = running.ended(open).await;
    let last = match &ended.result {
        Ok(output) => WorkflowEvent::Complete {
            run: id,
            output: output.clone(),
            outputs: ended.outputs.clone(),
        },
        Err(error) => {
            WorkflowEvent::Error { run: id, error: error.clone(), remedies: ended.remedies.clone() }
        }
    };
    teller.workflow(last);
    ended
}

/// Reports events. Concurrent nodes share it, one at a time.
pub(crate) struct EventReporter<'t, 's> {
    sink: Mutex<&'t mut Sink<'s>>,
}

impl EventReporter<'_, '_> {
    fn workflow(&self, event: WorkflowEvent) {
        (self.sink.lock().unwrap_or_else(PoisonError::into_inner))(&Event::Workflow(event));
    }

    /// Reports an event of a node. The workflow reports its end.
    pub(crate) fn inside(&self, node: &str, event: &Event) {
        if matches!(event, Event::Error { .. } | Event::Done(_)) {
            return;
        }
        let event = Box::new(event.clone());
        self.workflow(WorkflowEvent::Inside { node: node.to_owned(), event });
    }
}

/// The tools that the nodes of a run call, so that a later call can reuse the decision of an earlier one.
#[derive(Clone, Default)]
pub(crate) struct ToolHandles(Arc<Mutex<HashMap<(PathBuf, String), ToolHandle>>>);

impl ToolHandles {
    /// The handle of a tool. It is replaced if its skill was reloaded.
    pub(crate) fn get(&self, tool: ToolHandle) -> ToolHandle {
        let mut handles = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match handles.get(&tool.key()) {
            Some(known) if known.is_same_skill(&tool) => known.clone(),
            _ => {
                handles.insert(tool.key(), tool.clone());
                tool
            }
        }
    }
}

/// The output of a node, by index.
type Work<'r> = Pin<Box<dyn Future<Output = (usize, Result<Value, Failure>)> + Send + 'r>>;

struct WorkflowRun<'e, 't, 's> {
    workflow: &'e Workflow,
    context: &'e WorkflowContext,
    teller: &'e EventReporter<'t, 's>,
    schedule: Schedule<'e>,
    scope: ValueScope,
    tools: ToolHandles,
    /// The first failure.
    failure: Option<(String, Failure)>,
}

impl<'e> WorkflowRun<'e, '_, '_> {
    async fn work(&mut self, open: &OpenRun, approver: &mut dyn AsyncApprover) {
        let mut running: FuturesUnordered<Work<'e>> = FuturesUnordered::new();
        // Tools that need approval. The user is asked when nothing else runs, so that no time limit expires meanwhile.
        let mut asking: Vec<(usize, Box<PendingRun>)> = Vec::new();
        loop {
            while self.may_start()
                && running.len() < self.context.limits.parallel.max(1)
                && let Some(number) = self.schedule.next_ready()
            {
                self.schedule.start(number);
                match self.begin(number, open).await {
                    NodeStart::Running(work) => running.push(work),
                    NodeStart::Done(result) => self.finish(number, result, open).await,
                    NodeStart::Restored(output) => self.restore(number, output),
                    NodeStart::Asks(pending) => asking.push((number, pending)),
                }
            }
            if let Some((number, result)) = running.next().await {
                self.finish(number, result, open).await;
                continue;
            }
            if asking.is_empty() || !self.may_start() {
                break;
            }
            let (number, pending) = asking.remove(0);
            match self.ask(pending, approver).await {
                Ok(ready) => running.push(self.run_tool(number, ready)),
                Err(failure) => {
                    self.tell_started(number);
                    self.finish(number, Err(failure), open).await;
                }
            }
        }
    }

    fn may_start(&self) -> bool {
        self.failure.is_none() && !self.context.cancel.is_cancelled()
    }

    /// Asks for the approval of a tool. An earlier approval may cover it.
    async fn ask(
        &self,
        pending: Box<PendingRun>,
        approver: &mut dyn AsyncApprover,
    ) -> Result<ReadyRun, Failure> {
        let consent = self.context.consent;
        match blocking(move || pending.reconsider(consent)).await?? {
            RunDecision::Ready(ready) => Ok(ready),
            RunDecision::Denied(denied) => Err(crate::error::RunError::Denied(denied).into()),
            RunDecision::Ask(pending) => {
                let reply = tokio::select! {
                    biased;
                    () = self.context.cancel.cancelled() => {
                        return Err(Failure::new("it was cancelled"));
                    }
                    reply = approver.ask(pending.request()) => reply,
                };
                Ok(blocking(move || pending.answer(reply)).await??)
            }
        }
    }

    fn tell_started(&self, number: usize) {
        let node = &self.workflow.nodes[number];
        let (node, kind) = (node.id.clone(), node.task.kind());
        self.teller.workflow(WorkflowEvent::NodeStart { node, kind });
    }

    fn run_tool(&self, number: usize, ready: ReadyRun) -> Work<'e> {
        self.tell_started(number);
        let (node, context, teller) = (&self.workflow.nodes[number], self.context, self.teller);
        let work =
            async move { (number, super::node::run_tool(node, ready, context, teller).await) };
        Box::pin(work.instrument(span(node)))
    }

    fn run_node(&self, number: usize, input: Input) -> Work<'e> {
        self.tell_started(number);
        let (node, context, teller) = (&self.workflow.nodes[number], self.context, self.teller);
        let scope = self.scope.clone();
        let work =
            async move { (number, super::node::run(node, input, scope, context, teller).await) };
        Box::pin(work.instrument(span(node)))
    }

    /// Starts a node, or completes one that takes no time.
    async fn begin(&mut self, number: usize, open: &OpenRun) -> NodeStart<'e> {
        let node: &'e WorkflowNode = &self.workflow.nodes[number];
        if let Some(output) = open.output(&node.id) {
            return NodeStart::Restored(output.clone());
        }
        let input = self.input(number);
        let done = match &node.task {
            Task::Start { variable } => {
                let value = self.scope.input(variable).cloned();
                value.ok_or_else(|| Failure::new(format!("the input `{variable}` has no value")))
            }
            Task::Condition { expression, .. } => Ok(expression.holds(&self.scope).into()),
            Task::End { output } => Ok(match output {
                EndOutput::Input(_) => input.value,
                EndOutput::Template(_, template) => match template.lone_reference() {
                    Some(reference) => {
                        use super::template::Lookup as _;
                        self.scope.value(reference).cloned().unwrap_or_default()
                    }
                    None => template.render(&self.scope).into(),
                },
            }),
            Task::Skill(used) => {
                let step = tool::decide(used, &input, &self.scope, self.context, &self.tools).await;
                return match step {
                    Ok(Step::Prompt) => NodeStart::Running(self.run_node(number, input)),
                    Ok(Step::Tool(RunDecision::Ready(ready))) => {
                        NodeStart::Running(self.run_tool(number, ready))
                    }
                    Ok(Step::Tool(RunDecision::Ask(pending))) => NodeStart::Asks(pending),
                    Ok(Step::Tool(RunDecision::Denied(denied))) => {
                        self.tell_started(number);
                        NodeStart::Done(Err(crate::error::RunError::Denied(denied).into()))
                    }
                    Err(failure) => {
                        self.tell_started(number);
                        NodeStart::Done(Err(failure))
                    }
                };
            }
            Task::Llm(_) | Task::Knowledge { .. } | Task::Http(_) | Task::Code(_) => {
                return NodeStart::Running(self.run_node(number, input));
            }
        };
        self.tell_started(number);
        NodeStart::Done(done)
    }

    /// The input of a node: the outputs of its live parents.
    fn input(&self, number: usize) -> Input {
        let parents = self.schedule.parents(number);
        let handed: Vec<(String, Arc<Value>)> = parents
            .into_iter()
            .map(|parent| (self.workflow.nodes[parent].id.clone(), self.handed(parent)))
            .collect();
        Input::of(&handed)
    }

    /// The value that a node passes on. A condition passes on its input: its own output is for templates.
    fn handed(&self, number: usize) -> Arc<Value> {
        use super::template::{Lookup as _, ValueReference};
        let node = &self.workflow.nodes[number];
        if matches!(node.task, Task::Condition { .. }) {
            return Arc::new(self.input(number).value);
        }
        let reference = ValueReference { segments: vec![node.id.clone(), "output".to_owned()] };
        Arc::new(self.scope.value(&reference).cloned().unwrap_or_default())
    }

    async fn finish(&mut self, number: usize, result: Result<Value, Failure>, open: &OpenRun) {
        let node = &self.workflow.nodes[number];
        let result = match result {
            Ok(output) => {
                let (journal, id) = (open.journal(), node.id.clone());
                blocking(move || {
                    let mut journal = journal.lock().unwrap_or_else(PoisonError::into_inner);
                    let written = journal.complete(number, &id, &output);
                    written
                        .map(|()| output)
                        .map_err(|error| Failure::new(error.to_string()).remedy(error.remedy()))
                })
                .await
                .and_then(|written| written)
            }
            Err(failure) => Err(failure),
        };
        match result {
            Ok(output) => self.complete(number, output, false),
            Err(failure) => {
                self.teller.workflow(WorkflowEvent::NodeError {
                    node: node.id.clone(),
                    error: failure.message.clone(),
                    remedies: failure.remedies.clone(),
                });
                self.failure.get_or_insert((node.id.clone(), failure));
            }
        }
    }

    fn restore(&mut self, number: usize, output: Value) {
        self.complete(number, output, true);
    }

    fn complete(&mut self, number: usize, output: Value, restored: bool) {
        let node = &self.workflow.nodes[number];
        let answer = match node.task {
            Task::Condition { .. } => Some(output == Value::Bool(true)),
            _ => None,
        };
        self.scope.put(&node.id, Arc::new(output.clone()));
        let node = node.id.clone();
        self.teller.workflow(WorkflowEvent::NodeComplete { node, output, restored });
        let skipped = self.schedule.complete(number, answer);
        self.tell_skipped(&skipped);
    }

    fn tell_skipped(&self, skipped: &[usize]) {
        for number in skipped {
            let node = self.workflow.nodes[*number].id.clone();
            self.teller.workflow(WorkflowEvent::NodeSkipped { node });
        }
    }

    async fn ended(&self, open: &OpenRun) -> WorkflowOutcome {
        let resume = Remedy::ResumeRun(open.id.as_str().to_owned());
        let failed = |error: String, mut remedies: Vec<Remedy>, exit_code| {
            remedies.push(resume.clone());
            WorkflowOutcome { result: Err(error), outputs: Map::new(), remedies, exit_code }
        };
        let cancel = &self.context.cancel;
        if cancel.is_cancelled() {
            let code = cancel.exit_code().unwrap_or(INTERRUPTED);
            return failed("the workflow was cancelled".to_owned(), Vec::new(), code);
        }
        if let Some((node, failure)) = &self.failure {
            let error = format!("the node `{node}` failed: {}", failure.message);
            return failed(error, failure.remedies.clone(), failure.exit_code);
        }
        let outputs = self.outputs();
        let output = match outputs.values().collect::<Vec<_>>().as_slice() {
            // AFL: without a reached end node the result is null.
            [] => Value::Null,
            [only] => (*only).clone(),
            _ => Value::Object(outputs.clone()),
        };
        let journal = open.journal();
        let written = blocking(move || {
            let written = journal.lock().unwrap_or_else(PoisonError::into_inner).end(&output);
            let failed = |error: super::store::RunStoreError| {
                Failure::new(error.to_string()).remedy(error.remedy())
            };
            written.map(|()| output).map_err(failed)
        });
        match written.await.and_then(|written| written) {
            Ok(output) => {
                WorkflowOutcome { result: Ok(output), outputs, remedies: Vec::new(), exit_code: 0 }
            }
            Err(failure) => failed(failure.message, failure.remedies, 1),
        }
    }

    /// The outputs of the reached end nodes, by name.
    fn outputs(&self) -> Map<String, Value> {
        let mut outputs = Map::new();
        for (number, node) in self.workflow.nodes.iter().enumerate() {
            let Task::End { output } = &node.task else { continue };
            if self.schedule.state(number) != NodeState::Complete {
                continue;
            }
            let name = match output {
                EndOutput::Input(Some(name)) if !outputs.contains_key(name) => name,
                EndOutput::Input(_) | EndOutput::Template(..) => &node.id,
            };
            outputs.insert(name.clone(), Value::clone(&self.handed(number)));
        }
        outputs
    }
}

/// The tracing span of a node.
fn span(node: &WorkflowNode) -> tracing::Span {
    tracing::info_span!("workflow_node", node = %node.id, kind = node.task.kind())
}

/// The result of starting a node.
enum NodeStart<'e> {
    Running(Work<'e>),
    Done(Result<Value, Failure>),
    /// It was completed in an earlier part of the run.
    Restored(Value),
    /// It needs approval first.
    Asks(Box<PendingRun>),
}
