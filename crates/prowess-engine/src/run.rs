//! Runs what was allowed in a sandbox, and reports what happens.

use std::io::Read as _;
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread::JoinHandle;
use std::time::Duration;

use prowess_format::skill::ToolKind;
use prowess_format::text::visible_line;
use prowess_policy::{Allowed, Origin};
use prowess_sandbox::{
    Canceller, HardLinks, Observer, Sandbox, SandboxError, SandboxOutcome, Spec,
};
use serde_json::Value;
use tokio::sync::Notify;

mod server;

use crate::error::RunError;
use crate::failure_hints;
use crate::fold::{EnvelopeFold, RunEnding};
use crate::held_output::{HeldOutput, ReleasedOutput};
use crate::lower::{self, Launch};
use crate::named_programs::{self, MissingProgram};
use crate::network::{self, RunNetwork};
use crate::outputs;
use crate::pins::ImageHashes;
use crate::planted::{self, Findings, PlantedScan, Record};
use crate::prepare::{self, Call, PreparedCall};
use crate::programs::Images;
use crate::redact::Redactor;
use crate::staging::{Begun, StagedRun};
use crate::tool::mcp::ServerPlan;
use crate::tool::openclaw::{self, HandlerResult};
use crate::tool::python::{self, PythonWorkers, Session, WarmWorker};
use crate::world::{StagedWrites, WithoutStaging, World, Writes};
use prowess_core::{ChangesState, Envelope, INTERRUPTED, Remedy, RunOutcome, SIGNALLED};
use prowess_core::{Event, StandardStream};

use server::Conversation;
pub use server::{McpAccess, Talk};

/// What a handler may return.
const MAX_RESULT: u64 = 64 << 20;

/// Ends a run from another thread: SIGTERM, and SIGKILL after the grace period (GIB §5.3).
#[derive(Clone, Debug, Default)]
pub struct CancellationToken(Arc<CancellationShared>);

#[derive(Debug, Default)]
struct CancellationShared {
    /// A copy of the flag in the state that is cheap to read after every token.
    asked: AtomicBool,
    state: Mutex<CancellationState>,
}

#[derive(Debug, Default)]
struct CancellationState {
    asked: bool,
    killed: bool,
    /// Wakes those who wait for it.
    notify: Arc<Notify>,
    /// Why, as a signal.
    signal: Option<i32>,
    running: Option<Canceller>,
    /// Tokens that are cancelled with this one.
    children: Vec<Weak<CancellationShared>>,
}

impl CancellationToken {
    /// Ends the run, also one that has not started yet.
    pub fn cancel(&self) {
        self.end(None);
    }

    /// Cancels the run because of a signal, which decides its exit code, as in a shell. The first signal counts.
    pub fn cancel_by(&self, signal: i32) {
        self.end(Some(signal));
    }

    /// SIGKILL at once, also for a run that was asked to end and has not. What is to be done after a run is done all the
    /// same: whatever it has left is looked at.
    pub fn kill(&self) {
        self.cancel();
        let mut state = self.0.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.killed = true;
        state.notify.notify_waiters();
        if let Some(running) = &state.running {
            running.kill();
        }
        let children = state.children();
        drop(state);
        children.iter().for_each(Self::kill);
    }

    /// A token for a part of the run, which is cancelled with it.
    pub(crate) fn child(&self) -> Self {
        let child = Self::default();
        let mut state = self.0.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.children.retain(|known| known.strong_count() > 0);
        state.children.push(Arc::downgrade(&child.0));
        let (is_asked, is_killed) = (state.asked, state.killed);
        drop(state);
        if is_asked {
            child.cancel();
        }
        if is_killed {
            child.kill();
        }
        child
    }

    fn end(&self, signal: Option<i32>) {
        let mut state = self.0.state.lock().unwrap_or_else(PoisonError::into_inner);
        if !state.asked {
            state.signal = signal;
        }
        state.asked = true;
        self.0.asked.store(true, Ordering::SeqCst);
        state.notify.notify_waiters();
        if let Some(running) = &state.running {
            running.cancel();
        }
        let children = state.children();
        drop(state);
        for child in &children {
            child.end(signal);
        }
    }

    /// Resolves when the run is cancelled.
    pub async fn cancelled(&self) {
        let notify =
            Arc::clone(&self.0.state.lock().unwrap_or_else(PoisonError::into_inner).notify);
        let notified = notify.notified();
        let mut notified = std::pin::pin!(notified);
        // Registered first: it may be cancelled between the check and the wait.
        notified.as_mut().enable();
        if !self.is_cancelled() {
            notified.await;
        }
    }

    /// Resolves when the run is killed.
    pub async fn killed(&self) {
        loop {
            let (notify, is_killed) = {
                let state = self.0.state.lock().unwrap_or_else(PoisonError::into_inner);
                (Arc::clone(&state.notify), state.killed)
            };
            if is_killed {
                return;
            }
            let mut notified = std::pin::pin!(notify.notified());
            // Registered first: it may be killed between the check and the wait.
            notified.as_mut().enable();
            if !self.0.state.lock().unwrap_or_else(PoisonError::into_inner).killed {
                notified.await;
            }
        }
    }

    /// The code of a run that was ended and has none of its own.
    pub fn exit_code(&self) -> Option<i32> {
        let state = self.0.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.signal.map(|signal| SIGNALLED + signal)
    }

    /// Whether the run is cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.0.asked.load(Ordering::SeqCst)
    }

    /// From now on this sandbox is the one to end.
    pub(crate) fn watch(&self, canceller: Canceller) {
        let mut state = self.0.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.asked {
            canceller.cancel();
        }
        if state.killed {
            canceller.kill();
        }
        state.running = Some(canceller);
    }

    /// The sandbox lives on and does something else now.
    pub(crate) fn release(&self) {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner).running = None;
    }
}

impl CancellationState {
    fn children(&self) -> Vec<CancellationToken> {
        self.children.iter().filter_map(Weak::upgrade).map(CancellationToken).collect()
    }
}

/// What is left of a run that the next one can build on.
#[derive(Debug)]
pub(crate) struct WarmRun {
    pub(crate) worker: WarmWorker,
    pub(crate) time: Duration,
    pub(crate) warnings: Vec<String>,
    /// Knows the keys that the worker was given.
    redactor: Redactor,
    images: Images,
}

/// Runs a prepared call that was allowed, and gives what the next call of the tool can build on. Events end with
/// [`Event::Done`], whatever happens.
pub(crate) fn run_and_keep(
    workers: &PythonWorkers,
    prepared: &PreparedCall,
    allowed: &Allowed,
    cancel: &CancellationToken,
    sink: &mut dyn FnMut(&Event),
) -> (Envelope, Option<WarmRun>) {
    let world: &World = &prepared.world;
    let mut reporter = RunReporter::new(sink, Redactor::idle());
    reporter.held = HeldOutput::of(&prepared.call.tool);
    let mut started = start(workers, prepared, allowed, world, cancel, &mut reporter);
    if let Err(RunError::Sandbox(SandboxError::Staging { cause })) = &started
        && let Writes::Staged(StagedWrites { without: WithoutStaging::Live, .. }) = world.writes
    {
        // Nothing has started. Most reasons are known before the question, and said in it.
        reporter.warn(vec![format!("changes can't be undone: {cause}")]);
        reporter.staged = None;
        let direct = World { writes: Writes::Live, ..world.clone() };
        started = start(workers, prepared, allowed, &direct, cancel, &mut reporter);
    }
    let (finished, kept) = match started {
        Ok((finished, kept)) => (Ok(finished), kept),
        Err(error) => (Err(error), None),
    };
    let PreparedCall { call, images, missing, .. } = prepared;
    (finish(finished, &RunFacts { call, allowed, images, missing, world, cancel }, reporter), kept)
}

/// Runs a tool in a worker that an earlier run has kept; `None` when it is gone, and then nothing was told.
pub(crate) fn run_again(
    session: &Session<'_>,
    warm: &WarmRun,
    call: &Call,
    sink: &mut dyn FnMut(&Event),
) -> Option<Envelope> {
    let mut reporter = RunReporter::new(sink, warm.redactor.fresh());
    let ready = session.warm(&warm.worker)?;
    reporter.warn(warm.warnings.clone());
    reporter.tell(&Event::Started {
        skill: call.skill.name.clone(),
        tool: call.tool.name.value.clone(),
        command: python::shown(call),
    });
    let finished = session.converse(ready, &mut |event| reporter.tell_of_python(&event));
    let Session { allowed, world, cancel, .. } = *session;
    let images = &warm.images;
    let missing = &[];
    Some(finish(finished, &RunFacts { call, allowed, images, missing, world, cancel }, reporter))
}

/// Reports a call that did not start.
pub(crate) fn not_started(error: &RunError, sink: &mut dyn FnMut(&Event)) -> Envelope {
    let envelope = error.envelope();
    if let Some(message) = envelope.error.clone() {
        sink(&Event::Error { message });
    }
    sink(&Event::Done(Box::new(envelope.clone())));
    envelope
}

/// What the end of a run is judged by.
struct RunFacts<'a> {
    call: &'a Call,
    allowed: &'a Allowed,
    images: &'a Images,
    missing: &'a [MissingProgram],
    world: &'a World,
    cancel: &'a CancellationToken,
}

impl RunFacts<'_> {
    /// Whether an MCP server on this machine has ended without an answer.
    fn is_lost_server(&self, envelope: &Envelope) -> bool {
        let error = envelope.error.as_deref().unwrap_or_default();
        !self.images.programs.is_empty()
            && self.call.tool.kind == ToolKind::McpTool
            && error.ends_with(server::LOST)
    }
}

/// The envelope of a run, after everything that is told at its end.
fn finish(
    finished: Result<FinishedRun, RunError>,
    facts: &RunFacts<'_>,
    mut reporter: RunReporter<'_>,
) -> Envelope {
    reporter.flush();
    let envelope = match finished {
        Ok(FinishedRun { mut ending, duration, result }) => {
            if ending.outcome == RunOutcome::Cancelled
                && ending.exit_code == INTERRUPTED
                && let Some(code) = facts.cancel.exit_code()
            {
                ending.exit_code = code;
            }
            let released = reporter.release(ending.outcome);
            let mut envelope = std::mem::take(&mut reporter.fold).finish(ending, duration);
            if let Some(released) = released {
                released.note(&mut envelope);
            }
            envelope.parsed = result.or(envelope.parsed);
            // What is held to a schema is what a caller gets to see.
            let mut envelope = reporter.redactor.envelope(envelope);
            if envelope.outcome == RunOutcome::Failed {
                envelope.remedies =
                    failure_hints::of(&envelope, facts.allowed.spec(), facts.images, facts.world);
                if facts.is_lost_server(&envelope) {
                    envelope.remedies.push(Remedy::Advice(server::SANDBOX_HINT.to_owned()));
                }
            }
            if envelope.outcome == RunOutcome::Success {
                let folder = facts.call.skill.directory.as_deref();
                let told =
                    failure_hints::unnoticed(&envelope.output, facts.images, folder, facts.missing);
                for message in told {
                    (reporter.sink)(&Event::Warning { message: message.clone() });
                    envelope.warnings.push(message);
                }
            }
            let envelope = match outputs::schema(&facts.call.skill.skill, &facts.call.tool) {
                Some(schema) => outputs::validate(envelope, schema),
                None => envelope,
            };
            // A result that is not what the skill declares is a failure, which applies nothing.
            match reporter.staged.take() {
                Some(staged) => staged.settle(envelope, &mut reporter),
                None => envelope,
            }
        }
        Err(error) => error.envelope(),
    };
    let envelope = reporter.redactor.envelope(envelope);
    if let Some(error) = &envelope.error {
        (reporter.sink)(&Event::Error { message: error.clone() });
    }
    (reporter.sink)(&Event::Done(Box::new(envelope.clone())));
    envelope
}

struct RunReporter<'w> {
    fold: EnvelopeFold,
    sink: &'w mut dyn FnMut(&Event),
    door: RunNetwork,
    redactor: Redactor,
    /// Standard output of a tool that has its result made from it.
    held: Option<HeldOutput>,
    /// The changes of the run, which are settled when its result is known.
    staged: Option<UnsettledRun>,
    /// Whether the start was told.
    has_started: bool,
}

/// A run that has ended, and whose changes are neither applied nor kept yet.
#[derive(Debug)]
struct UnsettledRun {
    staged: StagedRun,
    planted_scan: PlantedScan,
    /// Gone when the folders were looked at.
    record: Option<Record>,
}

impl UnsettledRun {
    /// Applies or keeps the changes, and looks at the folders if they were changed.
    fn settle(self, mut envelope: Envelope, reporter: &mut RunReporter<'_>) -> Envelope {
        let Self { staged, planted_scan, record } = self;
        let settled = staged.settle(&envelope, &planted_scan);
        let mut warnings = settled.warnings;
        if let Some(verdict) = settled.verdict {
            verdict.judge(&mut envelope, &mut warnings);
        }
        let state = settled.changes.state;
        if state == ChangesState::Pending {
            envelope.remedies.push(Remedy::ReviewChanges(settled.changes.run.clone()));
        }
        envelope.changes = Some(Box::new(settled.changes));
        if state == ChangesState::Applied {
            let Findings { warnings: told, failures } = planted_scan.scan();
            warnings.extend(told);
            warnings.extend(failures.clone());
            if let Some(failure) = failures.into_iter().next().filter(|_| envelope.is_success()) {
                envelope.outcome = RunOutcome::Failed;
                envelope.exit_code = 1;
                envelope.error = Some(failure);
            }
        }
        drop(record);
        for message in warnings {
            // The fold is finished, so each is told and noted.
            let message = visible_line(&message).into_owned();
            reporter.tell(&Event::Warning { message: message.clone() });
            envelope.warnings.push(message);
        }
        envelope
    }
}

impl<'w> RunReporter<'w> {
    fn new(sink: &'w mut dyn FnMut(&Event), redactor: Redactor) -> Self {
        Self {
            fold: EnvelopeFold::default(),
            sink,
            door: RunNetwork::Closed,
            redactor,
            held: None,
            staged: None,
            has_started: false,
        }
    }

    /// Tells that the run starts, once.
    fn tell_start(&mut self, call: &Call, command: &[String]) {
        if !std::mem::replace(&mut self.has_started, true) {
            self.tell(&Event::Started {
                skill: call.skill.name.clone(),
                tool: call.tool.name.value.clone(),
                command: command.to_vec(),
            });
        }
    }

    fn warn(&mut self, messages: Vec<String>) {
        for message in messages {
            // Names of files are in them, and a tool may choose one that looks like another line of ours.
            let message = visible_line(&message).into_owned();
            self.tell(&Event::Warning { message });
        }
    }

    /// Leaves a note for the case that nobody gets to look at what the run has left.
    fn record(
        &mut self,
        planted_scan: &PlantedScan,
        prepared: &PreparedCall,
        time: Duration,
        world: &World,
    ) -> Option<Record> {
        if planted_scan.is_idle() {
            return None;
        }
        match Record::leave(&world.state, &prepared.name(), time, planted_scan) {
            Ok(record) => Some(record),
            Err(error) => {
                let folder = world.state.data.display();
                self.warn(vec![format!(
                    "this run can't be recorded in `{folder}` ({error}): if prowess is killed, files that the tool left are not examined"
                )]);
                None
            }
        }
    }

    /// Looks at what the run has left, and tells. Gives what could not be put right.
    fn look(&mut self, planted_scan: &PlantedScan) -> Option<String> {
        let Findings { warnings, failures } = planted_scan.scan();
        self.warn(warnings);
        self.warn(failures.clone());
        failures.into_iter().next()
    }

    fn tell(&mut self, event: &Event) {
        if self.redactor.is_idle() {
            self.pass(event);
        } else if let Some(event) = self.redactor.event(event) {
            self.pass(&event);
        }
    }

    /// Of Python only the result is standard output, and what was printed comes before it.
    fn tell_of_python(&mut self, event: &Event) {
        if matches!(event, Event::Output { stream: StandardStream::Stdout, .. }) {
            self.flush();
        }
        self.tell(event);
    }

    /// What was held back because it might have been the beginning of a key.
    fn flush(&mut self) {
        for event in self.redactor.rest() {
            self.pass(&event);
        }
    }

    /// Passes the result of a tool on in place of its standard output.
    fn release(&mut self, outcome: RunOutcome) -> Option<ReleasedOutput> {
        let released = self.held.take()?.release(outcome);
        if !released.text.is_empty() {
            let bytes = released.text.clone();
            self.pass(&Event::Output { stream: StandardStream::Stdout, bytes });
        }
        Some(released)
    }

    fn pass(&mut self, event: &Event) {
        if let (Some(held), Event::Output { stream: StandardStream::Stdout, bytes }) =
            (&mut self.held, event)
        {
            held.push(bytes);
            return;
        }
        self.fold.push(event);
        (self.sink)(event);
    }
}

impl Observer for RunReporter<'_> {
    fn output(&mut self, stream: prowess_sandbox::OutputStream, bytes: &[u8]) {
        let stream = match stream {
            prowess_sandbox::OutputStream::Output => StandardStream::Stdout,
            prowess_sandbox::OutputStream::Error => StandardStream::Stderr,
        };
        self.tell(&Event::Output { stream, bytes: bytes.to_owned() });
    }

    fn listeners(&mut self, listeners: Vec<TcpListener>) {
        if let Err(message) = self.door.open(listeners) {
            self.tell(&Event::Warning {
                message: format!("the network is not available: {message}"),
            });
        }
    }
}

/// A run that has ended.
#[derive(Debug)]
pub(crate) struct FinishedRun {
    pub(crate) ending: RunEnding,
    pub(crate) duration: Duration,
    /// What a function returned. A program has only its output.
    pub(crate) result: Option<Value>,
}

/// What a call may touch and how long it may take.
#[derive(Debug)]
pub(crate) struct RunSpecification {
    pub(crate) spec: Spec,
    pub(crate) time: Duration,
    pub(crate) door: RunNetwork,
    pub(crate) warnings: Vec<String>,
    /// What to look at after the run.
    pub(crate) planted_scan: PlantedScan,
}

/// Makes sure that what was decided about is still there, and turns the decision into what a sandbox enforces.
pub(crate) fn specification(
    prepared: &PreparedCall,
    allowed: &Allowed,
    world: &World,
) -> Result<RunSpecification, RunError> {
    let recipe = &prepared.recipe;
    let launch = Launch {
        skill: &prepared.call.skill.name,
        // A server sees nothing of the skill that calls its tool.
        skill_directory: prepared
            .call
            .skill
            .directory
            .as_deref()
            .filter(|_| recipe.server.is_none()),
        is_server: recipe.server.is_some(),
        mode: allowed.mode(),
        images: &prepared.images,
        arguments: recipe.arguments.iter().map(Into::into).collect(),
        variables: recipe.variables.clone(),
        input: recipe.sandbox_input(),
    };
    specification_of(prepared, allowed, launch, world)
}

/// The specification of a launch with the programs of a call that was decided about, such as one of its hooks.
pub(crate) fn specification_of(
    prepared: &PreparedCall,
    allowed: &Allowed,
    launch: Launch<'_>,
    world: &World,
) -> Result<RunSpecification, RunError> {
    same_as_decided(prepared, allowed, world)?;
    let call = &prepared.call;
    let lowered = lower::lower(allowed.spec(), launch, world)?;
    // What the question has said, said again to those who were not asked.
    let told = allowed.unavailable_grants().map(|closed| format!("the tool {closed}"));
    let unseen =
        named_programs::sentences(&call.tool.name, &prepared.missing, &allowed.spec().programs);
    let (mut spec, warnings) = (lowered.spec, told.chain(lowered.warnings).chain(unseen).collect());
    let door = network::prepare(allowed.spec(), &mut spec, &prepared.outside, &world.credentials)?;
    // Package managers and local clones are full of hard links. Somebody else's skill is refused there; the user's own is
    // trusted with them, and told.
    spec.hard_links = match call.skill.trust.origin() {
        Origin::Downloaded => HardLinks::Refuse,
        Origin::Bundled | Origin::Local => HardLinks::Report,
    };
    if let Some(grace) = prepared.grace {
        spec.limits.time = prepared.time;
        spec.limits.grace = grace;
    }
    let planted_scan = lowered.planted_scan;
    Ok(RunSpecification { time: spec.limits.time, spec, door, warnings, planted_scan })
}

fn start(
    workers: &PythonWorkers,
    prepared: &PreparedCall,
    allowed: &Allowed,
    world: &World,
    cancel: &CancellationToken,
    reporter: &mut RunReporter<'_>,
) -> Result<(FinishedRun, Option<WarmRun>), RunError> {
    reporter.redactor = Redactor::of(allowed.spec(), world)?;
    if let Some(plan) = &prepared.recipe.server {
        reporter.redactor = Redactor::with(&plan.server.secrets());
        return start_server(prepared, plan, allowed, world, cancel, reporter)
            .map(|finished| (finished, None));
    }
    reporter.warn(planted::scan_killed_runs(&world.state).warnings);
    let RunSpecification { mut spec, time, door, warnings, planted_scan } =
        specification(prepared, allowed, world)?;
    reporter.warn(warnings.clone());
    let call = &prepared.call;
    // Gone when this function is left, whichever way, or when the changes are settled.
    let longest = longest(prepared, &spec);
    let record = reporter.record(&planted_scan, prepared, longest, world);
    let recipe = &prepared.recipe;
    let Begun { run: mut staged, is_live, warnings: told } =
        StagedRun::begin(&mut spec, prepared, world)?;
    reporter.warn(told);
    if let Some(plan) = &recipe.python {
        reporter.tell_start(call, &recipe.shown);
        let skill = &call.skill;
        let session = Session { skill, plan, allowed, world, workers, cancel, time };
        if let Some(staged) = &mut staged {
            staged.mark_start()?;
        }
        let span = tracing::info_span!("sandbox").entered();
        let finished = session.run(spec, door, &mut |event| reporter.tell_of_python(&event));
        drop(span);
        let (mut finished, warmth) = match finished {
            Ok(finished) => finished,
            Err(error) => {
                reporter.look(&planted_scan);
                return Err(error);
            }
        };
        if is_live {
            finished.ending.fail(reporter.look(&planted_scan));
        }
        let staged = staged.map(|staged| UnsettledRun { staged, planted_scan, record });
        reporter.staged = staged;
        let redactor = reporter.redactor.fresh();
        let images = prepared.images.clone();
        let keep = |worker| WarmRun { worker, time, warnings, redactor, images };
        return Ok((finished, warmth.map(keep)));
    }
    reporter.door = door;
    let result = if recipe.private_result { Some(private_result(&mut spec)?) } else { None };
    reporter.tell_start(call, &recipe.shown);
    if let Some(packages) = &recipe.packages {
        packages.provide(&mut spec, world, cancel, &mut |event| reporter.tell(event))?;
    }
    if let Some(staged) = &mut staged {
        staged.mark_start()?;
    }
    let span = tracing::info_span!("sandbox").entered();
    let sandbox = Sandbox::spawn(spec)?;
    cancel.watch(sandbox.canceller());
    let ended = sandbox.wait(reporter);
    drop(span);
    let refused = std::mem::replace(&mut reporter.door, RunNetwork::Closed).close();
    reporter.warn(refused);
    // What is not staged is what the folders have in them.
    let failure = if is_live { reporter.look(&planted_scan) } else { None };
    let ended = ended?;
    reporter.flush();
    let told = result.map(|reader| {
        openclaw::handler_result(&reader.join().unwrap_or_default(), call.tool.name.as_str())
    });
    if let Some(HandlerResult::Returned(result)) = &told {
        let bytes = format!("{result}\n").into_bytes();
        reporter.tell(&Event::Output { stream: StandardStream::Stdout, bytes });
    }
    reporter.warn(left_behind(&ended));
    let mut ending = RunEnding::of(ended.exit, time, &recipe.successes);
    match (&told, ending.outcome) {
        (Some(HandlerResult::Failed(reason)), RunOutcome::Failed) => {
            ending.error = Some(reason.clone());
        }
        // Without a result there is no success.
        (Some(HandlerResult::Failed(_) | HandlerResult::Nothing), RunOutcome::Success) => {
            let error = "the handler ended its process without a result".to_owned();
            ending = RunEnding { outcome: RunOutcome::Failed, exit_code: 1, error: Some(error) };
        }
        _ => {}
    }
    reporter.staged = staged.map(|staged| UnsettledRun { staged, planted_scan, record });
    ending.fail(failure);
    Ok((FinishedRun { ending, duration: ended.duration, result: None }, None))
}

/// Calls a tool of an MCP server.
fn start_server(
    prepared: &PreparedCall,
    plan: &ServerPlan,
    allowed: &Allowed,
    world: &World,
    cancel: &CancellationToken,
    reporter: &mut RunReporter<'_>,
) -> Result<FinishedRun, RunError> {
    let call = &prepared.call;
    let access = prepared.access.as_ref().ok_or_else(|| {
        RunError::Unsupported(format!(
            "`{}` is a tool of an MCP server, which can't be called from here",
            prepared.name()
        ))
    })?;
    let talk = prepared.talk.as_ref();
    let conversation = Conversation { access, plan, talk, cancel };
    if plan.is_remote() {
        same_as_decided(prepared, allowed, world)?;
        reporter.tell_start(call, &prepared.recipe.shown);
        let time = Duration::from_secs(allowed.spec().limits.wall_secs);
        let time = if prepared.grace.is_some() { prepared.time } else { time };
        return Ok(conversation.over_http(time, reporter));
    }
    reporter.warn(planted::scan_killed_runs(&world.state).warnings);
    let RunSpecification { mut spec, time, door, warnings, planted_scan } =
        specification(prepared, allowed, world)?;
    reporter.warn(warnings);
    let record = reporter.record(&planted_scan, prepared, longest(prepared, &spec), world);
    let Begun { run: mut staged, is_live, warnings: told } =
        StagedRun::begin(&mut spec, prepared, world)?;
    reporter.warn(told);
    reporter.tell_start(call, &prepared.recipe.shown);
    reporter.door = door;
    if let Some(staged) = &mut staged {
        staged.mark_start()?;
    }
    let mut finished = match conversation.over_pipes(spec, time, reporter) {
        Ok(finished) => finished,
        Err(error) => {
            reporter.look(&planted_scan);
            return Err(error);
        }
    };
    if is_live {
        finished.ending.fail(reporter.look(&planted_scan));
    }
    reporter.staged = staged.map(|staged| UnsettledRun { staged, planted_scan, record });
    Ok(finished)
}

/// How long a run can take, with everything around it.
fn longest(prepared: &PreparedCall, spec: &Spec) -> Duration {
    /// Packages are installed first, and nobody limits that.
    const INSTALLING: Duration = Duration::from_mins(10);
    let recipe = &prepared.recipe;
    let installs = recipe.python.is_some() || recipe.packages.is_some();
    // Functions have the time twice: for loading and for the call.
    let installing = if installs { INSTALLING } else { Duration::ZERO };
    spec.limits.time * 2 + spec.limits.grace + installing
}

/// What a person should know about the files that a run has left. That a folder was too large to be looked through is no
/// news about the run, and would be told on every run in it.
pub(crate) fn left_behind(ended: &SandboxOutcome) -> Vec<String> {
    let discarded = ended
        .discarded
        .iter()
        .map(|file| format!("`{}` was not kept: {}", file.path.display(), file.reason));
    // There are none or thousands of them.
    let shared = ended.hard_linked.first().map(|file| {
        let more = match ended.hard_linked.len() {
            1 => String::new(),
            count => format!(", as have at least {} more files", count - 1),
        };
        format!(
            "`{}` is hard-linked outside the granted folders{more}, and could be changed there too",
            file.display()
        )
    });
    // Links are looked for by the engine itself, in larger folders too.
    let unknown = ended.scan_incomplete.then(|| {
        "the granted folders are too large to scan for hard links: files in them that are hard-linked elsewhere could be changed there too".to_owned()
    });
    discarded.chain(shared).chain(unknown).collect()
}

/// A question may wait for minutes. What is run has to be what was shown (attacks sandbox-B12, sandbox-G07).
fn same_as_decided(
    prepared: &PreparedCall,
    allowed: &Allowed,
    world: &World,
) -> Result<(), RunError> {
    let skill = &prepared.call.skill;
    let other = allowed.skill() != skill.name || allowed.tool() != prepared.call.tool.name.value;
    if other || prepare::digest_of(skill)? != *allowed.digest() {
        return Err(RunError::Changed("the skill"));
    }
    let mut hashes = ImageHashes::load(&world.state);
    let pins = prepare::pins_of_call(&prepared.call, &prepared.images, &mut hashes, world)?;
    if pins != allowed.pins() {
        return Err(RunError::Changed("a program"));
    }
    Ok(())
}

/// A descriptor on which the tool gives its result, and the thread that takes it.
fn private_result(spec: &mut Spec) -> Result<JoinHandle<Vec<u8>>, RunError> {
    let failed = |source| prowess_sandbox::SandboxError::SetUp { stage: "pipe", source };
    let (reader, writer) = std::io::pipe().map_err(failed)?;
    spec.descriptors.push(OwnedFd::from(writer));
    std::thread::Builder::new()
        .name("prowess-result".to_owned())
        .spawn(move || {
            let mut bytes = Vec::new();
            // What can't be read any more was not returned.
            let _ = reader.take(MAX_RESULT).read_to_end(&mut bytes);
            bytes
        })
        .map_err(|source| failed(source).into())
}
