//! Runs a workflow: starts what is ready, writes down what has ended, and tells what happens.
//!
//! All nodes live in one task, so nobody has to be handed over; what blocks (tools, programs) is on threads of its own.
//! When a node fails no other one starts, and those that run are waited for: what they have done is written down and not
//! done again by `resume`.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;
use std::time::Duration;

use prowess_policy::Mode;
use prowess_proxy::{Fetcher, SystemResolver, UpstreamRoots};
use serde_json::{Map, Value};
use tracing::Instrument as _;

use super::graph::{EndOutput, Node, Task, Workflow};
use super::node::{Failure, tool};
use super::schedule::{Schedule, State};
use super::scope::{Input, Scope};
use super::store::OpenRun;
use crate::approvals::ApprovalStore;
use crate::approver::{Approver, NoApprover};
use crate::clock::Clock;
use crate::deciding::Consent;
use crate::error::RunError;
use crate::loaded::SkillResolver;
use crate::prompt::Sink;
use crate::run::Cancel;
use crate::world::World;
use prowess_core::Event;
use prowess_core::INTERRUPTED;
use prowess_core::Retriever;
use prowess_core::WorkflowEvent;
use prowess_core::{Message, Model, ModelError};

/// Who knows models by their names.
pub trait Models: Send + Sync {
    /// The model of this name, or the one that is meant when nobody names one.
    fn model(&self, name: Option<&str>) -> Result<Arc<dyn Model>, ModelError>;
}

/// What a workflow runs in.
#[derive(Clone, Copy)]
pub struct Surroundings<'w> {
    /// The machine.
    pub world: &'w Arc<World>,
    /// The models.
    pub models: &'w dyn Models,
    /// Where knowledge bases are looked up.
    pub retriever: Option<&'w dyn Retriever>,
    /// Finds skills.
    pub skills: &'w Arc<dyn SkillResolver>,
    /// Who sends the requests of `http` nodes.
    pub fetcher: &'w Fetcher,
    /// What is approved.
    pub approvals: &'w ApprovalStore,
    /// When an approval is given.
    pub clock: &'w dyn Clock,
    /// What the user said before anything was asked.
    pub consent: Consent,
    /// The mode that is on.
    pub mode: Mode,
    /// What was said before the workflow, oldest first.
    pub history: &'w [Message],
    /// Who may end it.
    pub cancel: &'w Cancel,
    /// Bounds.
    pub limits: Limits,
}

/// Bounds of a workflow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Nodes that run at a time.
    pub parallel: usize,
    /// How long a model may take for one node.
    pub prompt: Duration,
}

impl Limits {
    /// Eight nodes, and three minutes as in a chat (AFL §7.2).
    pub const USUAL: Self = Self { parallel: 8, prompt: crate::chat::CHAT_LIMIT };
}

/// Who sends requests to public addresses, and to no others.
pub fn public_fetcher() -> Fetcher {
    Fetcher::new(Arc::new(SystemResolver), UpstreamRoots::System, Vec::new())
}

/// How a workflow ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Ended {
    /// The result, or what went wrong.
    pub result: Result<Value, String>,
    /// The results of all ends that were reached, by name.
    pub outputs: Map<String, Value>,
    /// What to do about the error, one line each.
    pub hints: Vec<String>,
    /// The code for a caller.
    pub exit_code: i32,
}

/// Runs a workflow that was checked, from where the run stands. Events end with [`WorkflowEvent::Complete`] or
/// [`WorkflowEvent::Error`].
pub async fn run(
    workflow: &Workflow,
    open: &mut OpenRun,
    around: &Surroundings<'_>,
    approver: &mut dyn Approver,
    sink: &mut Sink<'_>,
) -> Ended {
    let id = open.id.as_str().to_owned();
    let teller = Teller { sink: Mutex::new(sink) };
    teller.workflow(WorkflowEvent::Start { run: id.clone(), name: workflow.name.clone() });
    let scope = Scope::new(open.record.inputs.clone());
    let (schedule, skipped) = Schedule::new(workflow);
    let mut engine = Engine { workflow, around, teller: &teller, schedule, scope, failure: None };
    engine.tell_skipped(&skipped);
    engine.work(open, approver).await;
    let ended = engine.ended(open);
    let last = match &ended.result {
        Ok(output) => WorkflowEvent::Complete {
            run: id,
            output: output.clone(),
            outputs: ended.outputs.clone(),
        },
        Err(error) => {
            WorkflowEvent::Error { run: id, error: error.clone(), hints: ended.hints.clone() }
        }
    };
    teller.workflow(last);
    ended
}

/// Whom events are told. Nodes tell at the same time, one at a time.
pub(crate) struct Teller<'t, 's> {
    sink: Mutex<&'t mut Sink<'s>>,
}

impl Teller<'_, '_> {
    fn workflow(&self, event: WorkflowEvent) {
        (self.sink.lock().unwrap_or_else(PoisonError::into_inner))(&Event::Workflow(event));
    }

    /// What happens in a node. Its end is told by the workflow.
    pub(crate) fn inside(&self, node: &str, event: &Event) {
        if matches!(event, Event::Error { .. } | Event::Done(_)) {
            return;
        }
        let event = Box::new(event.clone());
        self.workflow(WorkflowEvent::Inside { node: node.to_owned(), event });
    }
}

/// A node at work.
struct Running<'r> {
    number: usize,
    work: Pin<Box<dyn Future<Output = Result<Value, Failure>> + 'r>>,
}

struct Engine<'e, 't, 's> {
    workflow: &'e Workflow,
    around: &'e Surroundings<'e>,
    teller: &'e Teller<'t, 's>,
    schedule: Schedule<'e>,
    scope: Scope,
    /// The first one counts.
    failure: Option<(String, Failure)>,
}

impl<'e> Engine<'e, '_, '_> {
    async fn work(&mut self, open: &mut OpenRun, approver: &mut dyn Approver) {
        let mut running: Vec<Running<'e>> = Vec::new();
        // Tools that have a question. It is asked when nothing else runs: whoever thinks about an answer should not let
        // the time of others run out.
        let mut asking: Vec<usize> = Vec::new();
        loop {
            while self.failure.is_none()
                && !self.around.cancel.is_asked()
                && running.len() < self.around.limits.parallel.max(1)
                && let Some(number) = self.schedule.next_ready()
            {
                self.schedule.start(number);
                match self.begin(number, open, &mut NoApprover) {
                    Begun::Running(work) => running.push(Running { number, work }),
                    Begun::Done(result) => self.finish(number, result, open),
                    Begun::Restored(output) => self.restore(number, output),
                    Begun::Asks(_) => asking.push(number),
                }
            }
            if running.is_empty() {
                let may_ask = self.failure.is_none() && !self.around.cancel.is_asked();
                let Some(number) = asking.first().copied().filter(|_| may_ask) else { break };
                asking.remove(0);
                match self.begin(number, open, approver) {
                    Begun::Running(work) => running.push(Running { number, work }),
                    Begun::Done(result) => self.finish(number, result, open),
                    Begun::Restored(output) => self.restore(number, output),
                    Begun::Asks(error) => self.finish(number, Err((*error).into()), open),
                }
                continue;
            }
            let (number, result) = first_ended(&mut running).await;
            self.finish(number, result, open);
        }
    }

    /// Starts a node, or does what takes no time.
    fn begin(&mut self, number: usize, open: &OpenRun, approver: &mut dyn Approver) -> Begun<'e> {
        let node: &'e Node = &self.workflow.nodes[number];
        if let Some(output) = open.output(&node.id) {
            return Begun::Restored(output.clone());
        }
        let input = self.input(number);
        let started = WorkflowEvent::NodeStart { node: node.id.clone(), kind: node.task.kind() };
        let done = match &node.task {
            Task::Start { variable } => {
                let value = self.scope.input(variable).cloned();
                value.ok_or_else(|| Failure::new(format!("there is no input `{variable}`")))
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
                let launch = tool::launch(used, &input, &self.scope, self.around, approver);
                let work = match launch {
                    Ok(Some(launch)) => {
                        self.teller.workflow(started);
                        super::node::run_tool(node, launch, self.around, self.teller)
                    }
                    Ok(None) => {
                        self.teller.workflow(started);
                        let scope = self.scope.clone();
                        super::node::run(node, input, scope, self.around, self.teller)
                    }
                    Err(tool::NoLaunch::Question(error)) => return Begun::Asks(error),
                    Err(tool::NoLaunch::Failure(failure)) => {
                        self.teller.workflow(started);
                        return Begun::Done(Err(failure));
                    }
                };
                return Begun::Running(Box::pin(work.instrument(span(node))));
            }
            Task::Llm(_) | Task::Knowledge { .. } | Task::Http(_) | Task::Code(_) => {
                self.teller.workflow(started);
                let scope = self.scope.clone();
                let work = super::node::run(node, input, scope, self.around, self.teller);
                return Begun::Running(Box::pin(work.instrument(span(node))));
            }
        };
        self.teller.workflow(started);
        Begun::Done(done)
    }

    /// What the live parents of a node hand on.
    fn input(&self, number: usize) -> Input {
        let parents = self.schedule.parents(number);
        let handed: Vec<(String, Arc<Value>)> = parents
            .into_iter()
            .map(|parent| (self.workflow.nodes[parent].id.clone(), self.handed(parent)))
            .collect();
        Input::of(&handed)
    }

    /// A condition hands on what it was given: its own output is for templates, and no text for a model.
    fn handed(&self, number: usize) -> Arc<Value> {
        use super::template::{Lookup as _, Reference};
        let node = &self.workflow.nodes[number];
        if matches!(node.task, Task::Condition { .. }) {
            return Arc::new(self.input(number).value);
        }
        let reference = Reference { segments: vec![node.id.clone(), "output".to_owned()] };
        Arc::new(self.scope.value(&reference).cloned().unwrap_or_default())
    }

    fn finish(&mut self, number: usize, result: Result<Value, Failure>, open: &mut OpenRun) {
        let node = &self.workflow.nodes[number];
        let result = result.and_then(|output| {
            open.complete(number, &node.id, &output)
                .map_err(|error| Failure::new(error.to_string()).hint(error.hint()))?;
            Ok(output)
        });
        match result {
            Ok(output) => self.complete(number, output, false),
            Err(failure) => {
                self.teller.workflow(WorkflowEvent::NodeError {
                    node: node.id.clone(),
                    error: failure.message.clone(),
                    hints: failure.hints.clone(),
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

    fn ended(&self, open: &mut OpenRun) -> Ended {
        let resume = format!(
            "go on with `prowess workflow resume {}`, which takes the workflow as it was; after a change of the file start a new run",
            open.id.as_str()
        );
        let failed = |error: String, mut hints: Vec<String>, exit_code| {
            hints.push(resume.clone());
            Ended { result: Err(error), outputs: Map::new(), hints, exit_code }
        };
        let cancel = self.around.cancel;
        if cancel.is_asked() {
            let code = cancel.exit_code().unwrap_or(INTERRUPTED);
            return failed("the workflow was cancelled".to_owned(), Vec::new(), code);
        }
        if let Some((node, failure)) = &self.failure {
            let error = format!("the node `{node}` failed: {}", failure.message);
            return failed(error, failure.hints.clone(), failure.exit_code);
        }
        let outputs = self.outputs();
        let output = match outputs.values().collect::<Vec<_>>().as_slice() {
            // AFL: without an end that is reached the result is nothing.
            [] => Value::Null,
            [only] => (*only).clone(),
            _ => Value::Object(outputs.clone()),
        };
        match open.end(&output) {
            Ok(()) => Ended { result: Ok(output), outputs, hints: Vec::new(), exit_code: 0 },
            Err(error) => failed(error.to_string(), vec![error.hint()], 1),
        }
    }

    /// What the ends that were reached give, by name.
    fn outputs(&self) -> Map<String, Value> {
        let mut outputs = Map::new();
        for (number, node) in self.workflow.nodes.iter().enumerate() {
            let Task::End { output } = &node.task else { continue };
            if self.schedule.state(number) != State::Complete {
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

/// The span of a node at work.
fn span(node: &Node) -> tracing::Span {
    tracing::info_span!("workflow_node", node = %node.id, kind = node.task.kind())
}

/// What became of a node that was started.
enum Begun<'e> {
    Running(Pin<Box<dyn Future<Output = Result<Value, Failure>> + 'e>>),
    Done(Result<Value, Failure>),
    /// It has run before.
    Restored(Value),
    /// Somebody has to be asked first.
    Asks(Box<RunError>),
}

/// Waits for the first of some nodes and takes it out.
async fn first_ended(running: &mut Vec<Running<'_>>) -> (usize, Result<Value, Failure>) {
    let (at, result) = poll_fn(|context| {
        for (at, node) in running.iter_mut().enumerate() {
            if let Poll::Ready(result) = node.work.as_mut().poll(context) {
                return Poll::Ready((at, result));
            }
        }
        Poll::Pending
    })
    .await;
    (running.remove(at).number, result)
}
