//! Python tools: functions of a skill's `tools.py` (GAIA §5).
//!
//! A worker process imports `tools.py` inside the sandbox and calls its functions. Nothing of a skill is imported outside:
//! there the file is only parsed, to hold it against what SKILL.md declares. `docs/design/python-tools.md` has the reasons.

mod handlers;
mod index;
mod index_settings;
mod inline_metadata;
mod installer;
mod interpreter;
mod interpreter_query;
mod load;
mod packages;
mod polling;
mod pool;
mod steps;
mod venv;
mod verify;
mod versions;
mod worker;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use prowess_core::Remedy;
use prowess_format::skill::{Skill, ToolKind};
use prowess_policy::Allowed;
use prowess_policy::scope::Program;
use prowess_sandbox::{ExitReason, Spec, SyntheticFile};
use serde_json::{Map, Value, json};

use super::{Recipe, with_defaults};
use crate::decision_inputs::DecisionInputs;
use crate::digest;
use crate::error::RunError;
use crate::fold::RunEnding;
use crate::loaded::LoadedSkill;
use crate::network::RunNetwork;
use crate::prepare::{self, Call};
use crate::run::{self, CancellationToken, FinishedRun};
use crate::world::World;
use interpreter::Interpreter;
use pool::{Key, PoolSlot, WorkerReuse};
use prowess_core::RunOutcome;
use prowess_core::{Event, StandardStream, Thought};
use worker::{Answer, Bounds, Worker, WorkerError};

pub(crate) use handlers::HandlerPackages;
pub(crate) use inline_metadata::inline_metadata;
pub use load::{LoadOptions, load_skill};
pub use packages::{PackageError, requirements_file};
pub use pool::PythonWorkers;
pub use steps::{LoadError, LoadStep};

/// Where our own modules are inside.
const MODULES: &str = "/.prowess/python";
/// Where the files of the skill are inside, exactly as they were hashed (attack sandbox-G07). They are under their own path too,
/// for scripts and for whoever follows `PROWESS_SKILL_DIR`.
const SKILL: &str = "/.prowess/skill";
/// Larger skills are not copied into memory: the root of a sandbox holds 16 MiB.
const MAX_SNAPSHOT: u64 = 8 << 20;
/// The sandbox of a worker ends with the worker; each call has a limit of its own.
const WORKER_LIFETIME: Duration = Duration::from_hours(24 * 365);

/// Our own modules: the worker, and `gaia.agents.base.tools`, which GAIA §5.3 tells authors to import.
const MODULE_FILES: &[(&str, &str)] = &[
    ("worker.py", include_str!("python/inside/worker.py")),
    ("gaia/__init__.py", include_str!("python/inside/gaia/__init__.py")),
    ("gaia/agents/__init__.py", include_str!("python/inside/gaia/agents/__init__.py")),
    ("gaia/agents/base/__init__.py", include_str!("python/inside/gaia/agents/base/__init__.py")),
    ("gaia/agents/base/tools.py", include_str!("python/inside/gaia/agents/base/tools.py")),
];

/// What a call of a Python tool needs beside what every tool needs.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    interpreter: Interpreter,
    /// In one spelling and order.
    packages: Vec<String>,
    arguments: Value,
}

impl Plan {
    /// The plan for another call of the tool.
    pub(crate) fn again(&self, call: &Call) -> Self {
        Self { arguments: with_defaults(call), ..self.clone() }
    }

    /// Folders that the interpreter needs.
    pub(crate) fn support(&self) -> &[PathBuf] {
        &self.interpreter.support
    }
}

/// How to start a Python tool. The file is held against the declaration here, before anything runs (GAIA §5.4).
pub(super) fn recipe(call: &Call, world: &World) -> Result<Recipe, RunError> {
    let Call { skill, tool, .. } = call;
    let Some(directory) = &skill.directory else {
        return Err(RunError::Unsupported(format!(
            "`{}` is a function of `tools.py`, but the skill has no folder of its own",
            tool.name.value
        )));
    };
    let stopped = |step, reason: String| LoadError::new(&skill.name, step, &reason);
    let read = verify::read(&skill.file, directory, Some(skill.skill.dialect))
        .map_err(|error| stopped(LoadStep::Parse, error.to_string()))?;
    if let Some(step) = read.problems.iter().map(|(step, _)| *step).max()
        && step >= LoadStep::Import
    {
        return Err(stopped(step, verify::joined(&read.problems, step)).into());
    }
    let wanted = &skill.skill.requirements;
    let packages = packages::normal(wanted.python_packages.iter().map(|line| line.value.as_str()))
        .map_err(|error| stopped(LoadStep::Dependencies, error.to_string()))?;
    let range = wanted.python.as_ref().map(|range| range.value.as_str());
    let interpreter = interpreter::find(world, range).map_err(|error| LoadError {
        remedies: vec![Remedy::Advice(
            "install a suitable version, for example with `uv python install`, and put it on PATH"
                .to_owned(),
        )],
        ..stopped(LoadStep::Dependencies, error.to_string())
    })?;
    let arguments = with_defaults(call);
    let options = ["-I", "-S", "-B", "-u", "-X", "utf8"].map(str::to_owned);
    Ok(Recipe {
        program: Program::At(interpreter.image.to_string_lossy().into_owned()),
        // Isolated from the user's variables and packages; no files of compiled code, the skill is read-only.
        arguments: options.into_iter().chain([format!("{MODULES}/worker.py")]).collect(),
        shown: shown(call),
        option_like: Vec::new(),
        variables: Vec::new(),
        input: None,
        successes: Vec::new(),
        private_result: true,
        python: Some(Plan { interpreter, packages, arguments }),
        packages: None,
        server: None,
    })
}

/// What a person reads as the command of a call.
pub(crate) fn shown(call: &Call) -> Vec<String> {
    vec![
        "python3".to_owned(),
        format!("tools.py:{}", call.tool.name.value),
        Value::Object(call.values.clone()).to_string(),
    ]
}

/// The interpreter of a skill's tools.
pub(super) fn starter(skill: &Skill, world: &World) -> Option<Program> {
    let range = skill.requirements.python.as_ref().map(|range| range.value.as_str());
    let interpreter = interpreter::find(world, range).ok()?;
    Some(Program::At(interpreter.image.to_str()?.to_owned()))
}

/// A call, or the loading before any call.
pub(crate) struct Session<'s> {
    pub(crate) skill: &'s LoadedSkill,
    pub(crate) plan: &'s Plan,
    pub(crate) allowed: &'s Allowed,
    pub(crate) world: &'s World,
    pub(crate) workers: &'s PythonWorkers,
    pub(crate) cancel: &'s CancellationToken,
    /// Of the loading, and again of the call.
    pub(crate) time: Duration,
}

/// Why there is no worker.
enum NotReady {
    Run(RunError),
    Load(LoadError),
    Lost(WorkerError),
}

impl From<RunError> for NotReady {
    fn from(error: RunError) -> Self {
        NotReady::Run(error)
    }
}

impl From<LoadError> for NotReady {
    fn from(error: LoadError) -> Self {
        NotReady::Load(error)
    }
}

impl Session<'_> {
    /// Runs a tool. `spec` is what it may touch. Tells which worker is warm now, where one is.
    pub(crate) fn run(
        &self,
        spec: Spec,
        door: RunNetwork,
        tell: &mut dyn FnMut(Event),
    ) -> Result<(FinishedRun, Option<WarmWorker>), RunError> {
        let started = Instant::now();
        let ready = match self.ready(spec, door, tell) {
            Ok(ready) => ready,
            Err(NotReady::Run(error)) => return Err(error),
            // Code of the skill has run and failed: that is a result, with everything it has printed.
            Err(NotReady::Load(error)) if error.step >= LoadStep::Import => {
                return Ok((failed(error.to_string(), started), None));
            }
            Err(NotReady::Load(error)) => return Err(error.into()),
            Err(NotReady::Lost(lost)) => return Ok((self.lost(lost, started)?, None)),
        };
        let warmth = ready.place.keeps(&ready.warmth.rules).then(|| ready.warmth.clone());
        Ok((self.converse(ready, tell)?, warmth))
    }

    /// A worker of an earlier call, if it is still there.
    pub(crate) fn warm(&self, warmth: &WarmWorker) -> Option<ReadyWorker> {
        let started = Instant::now();
        let mut place = self.workers.warm_slot(&warmth.key, self.allowed.tool())?;
        let mut worker = place.worker.take()?;
        worker.is_clean().then_some(())?;
        Some(ReadyWorker { place, worker, warmth: warmth.clone(), started })
    }

    /// Calls the tool.
    pub(crate) fn converse(
        &self,
        mut ready: ReadyWorker,
        tell: &mut dyn FnMut(Event),
    ) -> Result<FinishedRun, RunError> {
        let started = ready.started;
        let tool = self.allowed.tool();
        let called = Instant::now();
        let bounds = Bounds { until: called + self.time, output: ready.warmth.output };
        let arguments = self.plan.arguments.clone();
        let request =
            Map::from_iter([("call".to_owned(), tool.into()), ("arguments".to_owned(), arguments)]);
        let number = pool::request_number()?;
        let asked = ready.worker.ask(&number, request, bounds, self.cancel, &mut printed(tell));
        let (spent, duration) = (called.elapsed(), started.elapsed());
        let answer = match asked {
            Ok(answer) => answer,
            Err(lost) => {
                warn_of(ready.worker.refused(), tell);
                return self.lost(lost, started);
            }
        };
        ready.place.spend(spent);
        ready.dismiss(tell);
        Ok(match answer {
            Answer::Returned(result) => {
                let bytes = format!("{result}\n").into_bytes();
                tell(Event::Output { stream: StandardStream::Stdout, bytes });
                let ending = RunEnding { outcome: RunOutcome::Success, exit_code: 0, error: None };
                FinishedRun { ending, duration, result: Some(result) }
            }
            Answer::Raised { kind, message } => {
                let words = if message.is_empty() { kind } else { format!("{kind}: {message}") };
                failed(format!("`{tool}` raised {words}"), started)
            }
            Answer::Unserializable(what) => {
                failed(format!("`{tool}` returned a value that is not JSON: {what}"), started)
            }
            Answer::Tools(_) => failed("the worker sent an unexpected answer".to_owned(), started),
        })
    }

    /// Makes a worker ready and leaves it for calls to come: steps 4, 5 and 6 of GAIA §5.1.
    fn load(
        &self,
        spec: Spec,
        door: RunNetwork,
        tell: &mut dyn FnMut(Event),
    ) -> Result<(), NotReady> {
        self.ready(spec, door, tell)?.dismiss(tell);
        Ok(())
    }

    fn ready(
        &self,
        mut spec: Spec,
        door: RunNetwork,
        tell: &mut dyn FnMut(Event),
    ) -> Result<ReadyWorker, NotReady> {
        let packages = self.packages(tell)?;
        spec.support.extend(packages.clone());
        let folder = self.skill.directory.as_deref().unwrap_or(Path::new("/")).to_owned();
        let key = Key {
            digest: self.allowed.digest().as_str().to_owned(),
            fingerprint: pool::fingerprint(&spec),
            folder,
        };
        let warmth = WarmWorker {
            rules: WorkerReuse::of(&spec),
            places: pool::places(&spec),
            output: spec.limits.output,
            key,
        };
        let started = Instant::now();
        let until = started + self.time;
        let place = self.workers.slot(&warmth.key, self.allowed.tool(), until, self.cancel);
        let mut place = place.map_err(|_| NotReady::Lost(WorkerError::TimedOut))?;
        if let Some(mut worker) = place.worker.take()
            && worker.is_clean()
        {
            return Ok(ReadyWorker { place, worker, warmth, started });
        }
        let worker = self.import(spec, door, packages.as_deref(), until, tell)?;
        Ok(ReadyWorker { place, worker, warmth, started })
    }

    /// Step 4: the folder of the skill's packages, where it has any.
    fn packages(&self, tell: &mut dyn FnMut(Event)) -> Result<Option<PathBuf>, LoadError> {
        let Plan { interpreter, packages, .. } = self.plan;
        if packages.is_empty() {
            return Ok(None);
        }
        let wanted = venv::EnvironmentSpec { interpreter, packages };
        let mut tell = |message| {
            tell(Event::Thought(Thought {
                kind: "skill",
                status: "start",
                message: Some(message),
                details: Vec::new(),
            }));
        };
        let folder = venv::packages(&wanted, self.world, self.cancel, &mut tell);
        folder.map(Some).map_err(|error| LoadError {
            remedies: error.hints().into_iter().map(Remedy::Advice).collect(),
            ..LoadError::new(&self.skill.name, LoadStep::Dependencies, &error)
        })
    }

    /// Steps 5 and 6: a new worker that has imported `tools.py`, with every declared tool in it.
    fn import(
        &self,
        mut spec: Spec,
        door: RunNetwork,
        packages: Option<&Path>,
        until: Instant,
        tell: &mut dyn FnMut(Event),
    ) -> Result<Worker, NotReady> {
        let folder = self.skill.directory.as_deref().unwrap_or(Path::new("/"));
        let (digest, snapshot) = digest::snapshot(folder, MAX_SNAPSHOT).map_err(RunError::from)?;
        if digest != *self.allowed.digest() {
            return Err(RunError::Changed("the skill").into());
        }
        let files = MODULE_FILES.iter().map(|(name, text)| SyntheticFile {
            path: Path::new(MODULES).join(name),
            bytes: text.as_bytes().to_owned(),
        });
        spec.synthetic.extend(files);
        let is_copied = snapshot.is_some();
        for (path, bytes) in snapshot.unwrap_or_default().files {
            spec.synthetic.push(SyntheticFile { path: Path::new(SKILL).join(path), bytes });
        }
        let seen = if is_copied { Path::new(SKILL) } else { folder };
        let bounds = Bounds { until, output: spec.limits.output };
        spec.limits.time = WORKER_LIFETIME;
        let mut worker = Worker::start(spec, door).map_err(RunError::from)?;
        let outside = folder.to_string_lossy();
        let load = json!({ "folder": seen, "packages": packages, "outside": outside });
        let request = Map::from_iter([("load".to_owned(), load)]);
        let number = pool::request_number()?;
        let asked = worker.ask(&number, request, bounds, self.cancel, &mut printed(tell));
        let answer = asked.map_err(|lost| {
            warn_of(worker.refused(), tell);
            NotReady::Lost(lost)
        })?;
        let stopped = |step, reason: String| LoadError::new(&self.skill.name, step, &reason);
        let tools = match answer {
            Answer::Tools(tools) => tools,
            Answer::Raised { kind, message } => {
                return Err(stopped(LoadStep::Import, format!("{kind}: {message}")).into());
            }
            Answer::Returned(_) | Answer::Unserializable(_) => {
                return Err(NotReady::Lost(WorkerError::ForgedAnswer));
            }
        };
        // A skill too large to copy was read where it lies. Others can't have changed.
        if !is_copied && prepare::digest_of(self.skill)? != *self.allowed.digest() {
            return Err(RunError::Changed("the skill").into());
        }
        let declared = self.skill.skill.tools.iter().filter(|it| it.kind == ToolKind::Python);
        let missing: Vec<String> = declared
            .filter(|tool| !tools.contains(&tool.name.value))
            .map(|tool| format!("`{}`", tool.name.value))
            .collect();
        if missing.is_empty() {
            return Ok(worker);
        }
        let reason = format!(
            "after the import {} {} not decorated with `@tool` of `gaia.agents.base.tools`",
            missing.join(", "),
            if missing.len() == 1 { "is" } else { "are" }
        );
        Err(stopped(LoadStep::Verify, reason).into())
    }

    /// What it means that the worker is gone.
    fn lost(&self, lost: WorkerError, started: Instant) -> Result<FinishedRun, RunError> {
        let ending = |how| RunEnding::of(how, self.time, &[]);
        let ending = match lost {
            WorkerError::Sandbox(error) => return Err(error.into()),
            WorkerError::TimedOut if self.cancel.is_cancelled() => {
                ending(ExitReason::Cancelled(None))
            }
            WorkerError::TimedOut => ending(ExitReason::TimedOut(None)),
            WorkerError::TooMuchOutput => ending(ExitReason::TooMuchOutput),
            WorkerError::Ended(ExitReason::Exited(code), words) => {
                let error = match words.as_str() {
                    "" => format!("the tool ended its process with exit code {code}"),
                    words => format!("Python ended with exit code {code}: {words}"),
                };
                // Without a result there is no success.
                return Ok(failed_with(if code == 0 { 1 } else { code }, error, started));
            }
            WorkerError::Ended(ExitReason::Cancelled(_), _) if !self.cancel.is_cancelled() => {
                return Ok(failed("the tool closed the pipe for its result".to_owned(), started));
            }
            WorkerError::Ended(how, _) => ending(how),
            WorkerError::TooLong => {
                return Ok(failed("the tool returned too large a result".to_owned(), started));
            }
            WorkerError::ForgedAnswer => {
                let error = "the tool wrote to the pipe for its result, which is reserved";
                return Ok(failed(error.to_owned(), started));
            }
        };
        Ok(FinishedRun { ending, duration: started.elapsed(), result: None })
    }
}

/// A worker for a call, and its place.
pub(crate) struct ReadyWorker {
    place: PoolSlot,
    worker: Worker,
    warmth: WarmWorker,
    started: Instant,
}

/// What has to be known to find a worker again.
#[derive(Clone, Debug)]
pub(crate) struct WarmWorker {
    key: Key,
    rules: WorkerReuse,
    /// Bytes that a call may print.
    output: u64,
    /// Everything that the worker has in view. It sees what was there when it started, whatever is there now.
    pub(crate) places: Option<DecisionInputs>,
}

impl ReadyWorker {
    /// Keeps the worker for the next call, or ends it.
    fn dismiss(mut self, tell: &mut dyn FnMut(Event)) {
        if self.place.keeps(&self.warmth.rules) {
            self.place.keep(self.worker);
            return;
        }
        // The result is there; how the process ends changes nothing about it.
        let ended = self.worker.end(&mut printed(tell));
        warn_of(self.worker.refused(), tell);
        warn_of(ended.iter().flat_map(run::left_behind), tell);
    }
}

fn warn_of(messages: impl IntoIterator<Item = String>, tell: &mut dyn FnMut(Event)) {
    for message in messages {
        tell(Event::Warning { message });
    }
}

/// Whatever a tool prints is talk, on whichever stream; its result is what it returns.
fn printed(tell: &mut dyn FnMut(Event)) -> impl FnMut(StandardStream, &[u8]) {
    |_, bytes| tell(Event::Output { stream: StandardStream::Stderr, bytes: bytes.to_owned() })
}

fn failed(error: String, started: Instant) -> FinishedRun {
    failed_with(1, error, started)
}

fn failed_with(exit_code: i32, error: String, started: Instant) -> FinishedRun {
    let ending = RunEnding { outcome: RunOutcome::Failed, exit_code, error: Some(error) };
    FinishedRun { ending, duration: started.elapsed(), result: None }
}
