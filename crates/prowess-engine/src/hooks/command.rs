//! Commands of hooks, in the sandbox that was decided about.

use std::time::Duration;

use prowess_core::{ChangesState, Envelope, Remedy};
use prowess_format::skill::HookHandler;
use prowess_hooks::HandlerResult;
use prowess_policy::scope::Program;
use prowess_sandbox::{ExitReason, Input, Observer, OutputStream, Sandbox, SandboxError};

use super::prepared::{self, HookStart};
use super::session::Registered;
use crate::error::RunError;
use crate::fold::RunEnding;
use crate::lower::Launch;
use crate::network::RunNetwork;
use crate::planted::Record;
use crate::prepare;
use crate::programs::Images;
use crate::redact::Redactor;
use crate::run::{self, CancellationToken, RunSpecification};
use crate::staging::{Begun, StagedRun};
use crate::world::{StagedWrites, WithoutStaging, World, Writes};

/// The most bytes of an output stream that are read; an answer is far shorter.
const MAX_OUTPUT: usize = 1 << 20;
/// How long a hook that takes too long may take to end.
const GRACE: Duration = Duration::from_secs(2);

/// What running a command came to, and what people should know.
pub(super) struct CommandEnd {
    pub(super) result: HandlerResult,
    pub(super) warnings: Vec<String>,
}

/// Runs a command.
pub(super) fn run(
    registered: &Registered,
    handler: &HookHandler,
    input: String,
    variables: Vec<(String, String)>,
    time: Duration,
    cancel: &CancellationToken,
) -> CommandEnd {
    let mut warnings = Vec::new();
    let world = &registered.prepared.world;
    let hook = HookCommand { registered, handler, input, variables, time, cancel };
    let mut result = hook.start(world, &mut warnings);
    if let Err(RunError::Sandbox(SandboxError::Staging { cause })) = &result
        && let Writes::Staged(StagedWrites { without: WithoutStaging::Live, .. }) = world.writes
    {
        warnings.push(format!("changes of the hook can't be undone: {cause}"));
        let direct = World { writes: Writes::Live, ..(**world).clone() };
        result = hook.start(&direct, &mut warnings);
    }
    let result = result.unwrap_or_else(|error| HandlerResult::Broken { why: error.to_string() });
    CommandEnd { result, warnings }
}

/// A command of a hook that is about to run.
struct HookCommand<'h> {
    registered: &'h Registered,
    handler: &'h HookHandler,
    input: String,
    variables: Vec<(String, String)>,
    time: Duration,
    cancel: &'h CancellationToken,
}

impl HookCommand<'_> {
    fn start(&self, world: &World, warnings: &mut Vec<String>) -> Result<HandlerResult, RunError> {
        let Self { registered, handler, time, cancel, .. } = *self;
        let (hooks, allowed) = (&registered.prepared, &registered.allowed);
        let skill = &hooks.call.skill;
        let folders = prepared::folders(skill, world);
        let HookStart { program, arguments } =
            prepared::start_of(handler, skill.directory.as_deref(), &folders);
        let program = Program::of_command(&program)
            .map_err(|error| RunError::Unsupported(error.to_string()))?;
        let path = prepare::finder(skill, world).locate(&program)?;
        let images = first(&hooks.images, &path).ok_or(RunError::Changed("a program of a hook"))?;
        let mut variables: Vec<(String, String)> =
            folders.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        variables.extend(self.variables.iter().cloned());
        let launch = Launch {
            skill: &skill.name,
            skill_directory: skill.directory.as_deref(),
            is_server: false,
            mode: allowed.mode(),
            images: &images,
            arguments: arguments.iter().map(Into::into).collect(),
            variables,
            input: Input::Bytes(self.input.clone().into_bytes()),
        };
        let RunSpecification { mut spec, door, warnings: told, planted_scan, .. } =
            run::specification_of(hooks, allowed, launch, world)?;
        // What the policy leaves out it has said when the tool was decided about.
        drop(told);
        let Begun { run: mut staged, is_live, warnings: told } =
            StagedRun::begin(&mut spec, hooks, world)?;
        warnings.extend(told);
        spec.limits.time = time;
        spec.limits.grace = GRACE;
        let _record = if planted_scan.is_idle() {
            None
        } else {
            Record::leave(&world.state, &hooks.name(), time + GRACE, &planted_scan).ok()
        };
        let mut reader = Reader { door, stdout: Vec::new(), stderr: Vec::new(), is_full: false };
        if let Some(staged) = &mut staged {
            staged.mark_start()?;
        }
        let sandbox = Sandbox::spawn(spec)?;
        cancel.watch(sandbox.canceller());
        let ended = sandbox.wait(&mut reader);
        warnings.extend(std::mem::replace(&mut reader.door, RunNetwork::Closed).close());
        let mut failures = Vec::new();
        let mut look = |warnings: &mut Vec<String>| {
            let found = planted_scan.scan();
            warnings.extend(found.warnings);
            failures.extend(found.failures);
        };
        if is_live {
            look(warnings);
        }
        let ended = ended?;
        // A hook that fails or blocks leaves nothing.
        if let Some(staged) = staged.filter(|_| ended.exit == ExitReason::Exited(0)) {
            let ending = RunEnding::of(ended.exit, time, &[]);
            let mut envelope = Envelope::ended(ending.outcome, ending.exit_code);
            let settled = staged.settle(&envelope, &planted_scan);
            warnings.extend(settled.warnings);
            let state = settled.changes.state;
            if let Some(verdict) = settled.verdict {
                verdict.judge(&mut envelope, warnings);
                warnings.extend(envelope.error);
            }
            match state {
                ChangesState::Applied => look(warnings),
                ChangesState::Pending => {
                    let run = Remedy::ReviewChanges(settled.changes.run);
                    warnings.push(format!("changes of a hook wait for a decision: {run}"));
                }
                ChangesState::None | ChangesState::Undone => {}
            }
        }
        if let Some(failure) = failures.into_iter().next() {
            return Ok(HandlerResult::Broken { why: failure });
        }
        let redactor = Redactor::of(allowed.spec(), world)?;
        let text = |bytes: Vec<u8>| {
            let text = String::from_utf8_lossy(&bytes).into_owned();
            match redactor.value(text.into()) {
                serde_json::Value::String(text) => text,
                other => other.to_string(),
            }
        };
        let broken = |why: String| HandlerResult::Broken { why };
        if reader.is_full {
            return Ok(broken("it printed more than 1 MiB".to_owned()));
        }
        Ok(match ended.exit {
            ExitReason::Exited(code) => HandlerResult::Exited {
                code,
                stdout: text(reader.stdout),
                stderr: text(reader.stderr),
            },
            ExitReason::Signalled(signal) => broken(format!("it was ended by signal {signal}")),
            ExitReason::TimedOut(_) => HandlerResult::TimedOut { after: seconds(time) },
            ExitReason::Cancelled(_) => broken("it was cancelled".to_owned()),
            ExitReason::OutOfMemory => broken("it used too much memory".to_owned()),
            ExitReason::TooMuchOutput => broken("it printed too much".to_owned()),
            ExitReason::TooMuchWritten(_) => broken("it wrote too much".to_owned()),
        })
    }
}

/// A time as people write it.
pub(super) fn seconds(time: Duration) -> String {
    format!("{} s", time.as_secs_f64())
}

/// The images of all hooks, with one of them as the one to start; `None` when it is not among those that were decided about.
fn first(images: &Images, path: &std::path::Path) -> Option<Images> {
    let at = images.programs.iter().position(|known| known == path)?;
    let mut images = images.clone();
    images.programs.swap(0, at);
    Some(images)
}

struct Reader {
    door: RunNetwork,
    stdout: Vec<u8>,
    stderr: Vec<u8>,
    is_full: bool,
}

impl Observer for Reader {
    fn output(&mut self, stream: OutputStream, bytes: &[u8]) {
        let (kept, is_answer) = match stream {
            OutputStream::Output => (&mut self.stdout, true),
            OutputStream::Error => (&mut self.stderr, false),
        };
        let room = MAX_OUTPUT.saturating_sub(kept.len());
        kept.extend_from_slice(&bytes[..bytes.len().min(room)]);
        // Half an answer could mean anything. What is cut of the rest is cut anyway.
        self.is_full |= is_answer && bytes.len() > room;
    }

    fn listeners(&mut self, listeners: Vec<std::net::TcpListener>) {
        // Without its proxy it has no network, which it will notice.
        let _: Result<(), String> = self.door.open(listeners);
    }
}
