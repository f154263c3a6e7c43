//! Prompt skills on a model: validation, substitution, retrieval, generation, in the order and with the events of AFL §8.
//!
//! What a knowledge base gives is data: it stands in the system prompt as AFL §6 has it, and nothing in it is expanded or
//! executed. Code fences of a body are text for the model and never run (SRT §5).

pub(crate) mod generation;
pub(crate) mod knowledge;

use std::time::{Duration, Instant};

use prowess_core::Remedy;
use prowess_format::eligibility;
use prowess_format::render::{self, InputError, RenderContext};
use prowess_format::skill::Skill;
use serde_json::{Map, Value};

use crate::error::{RunError, USAGE};
use crate::hooks::{HookSession, PromptHooks};
use crate::inputs;
use crate::loaded::{LoadedSkill, SkillResolver};
use crate::outputs;
use crate::plugin::plugin_root;
use crate::prepare;
use crate::quiz::Quizzes;
use crate::run::CancellationToken;
use crate::world::World;
use generation::{Deadline, Generated, Halt};
use prowess_core::Retriever;
use prowess_core::{AnswerDetails, Envelope, INTERRUPTED, REFUSED, RunOutcome, TIMED_OUT};
use prowess_core::{Event, Thought};
use prowess_core::{Message, Model, ModelError, ModelErrorKind, ModelRequest};

/// What a model is told without a knowledge base, and first with one (AFL §6).
const SYSTEM: &str = "You are a helpful AI assistant.";
/// AFL §8, for clients that compare texts.
const ALL_THERE: &str = "All required inputs provided";
const SUBSTITUTED: &str = "Variables substituted";
/// The runtime of skills that are a wrapper around one tool of an MCP server (SRT §4.3).
const MCP_TOOL: &str = "mcp-tool";

/// A wish to run a prompt skill.
#[derive(Clone, Debug)]
pub struct PromptCall<'p> {
    /// The skill.
    pub skill: &'p LoadedSkill,
    /// The values of its inputs.
    pub values: &'p Map<String, Value>,
    /// What the user typed behind the skill's name, for bodies with `$ARGUMENTS`.
    pub arguments: Option<&'p str>,
    /// What was said before, oldest first.
    pub history: &'p [Message],
    /// How long all of it may take; as long as it takes, when absent.
    pub time: Option<Duration>,
    /// What takes the place of commands in the text.
    pub commands: CommandOutputs<'p>,
}

/// What takes the place of commands in a text, which nothing here runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommandOutputs<'o> {
    /// They stay marked, with a warning.
    NotRun,
    /// They are disabled by a setting.
    Disabled,
    /// These outputs, one per command, of an [`InjectedRun`](crate::InjectedRun).
    Given(&'o [String]),
}

/// What a prompt skill runs in.
#[derive(Clone, Copy)]
pub struct PromptContext<'p> {
    /// The machine.
    pub world: &'p World,
    /// The model, or why there is none: that is said when everything else is in order.
    pub model: Result<&'p dyn Model, &'p ModelError>,
    /// Where knowledge bases are looked up.
    pub retriever: Option<&'p dyn Retriever>,
    /// Finds the skills that it depends on.
    pub skills: &'p dyn SkillResolver,
    /// Which skills are closed until their quiz is passed.
    pub quizzes: &'p Quizzes,
    /// Who may end it.
    pub cancel: &'p CancellationToken,
    /// The hooks that were decided about. A skill whose hooks on prompts are missing here is refused.
    pub hooks: Option<&'p HookSession>,
}

/// Why a run did not come to an answer.
enum Failure {
    /// The inputs: told by a thought, not by an `error` (AFL §8).
    Inputs(Vec<InputError>),
    /// Something else before the model was asked.
    Refused(RunError),
    /// The model, or what ended it.
    Halt(Halt),
    /// An answer that is not what the skill declares.
    Invalid(Box<Invalid>),
}

/// An answer that is not what the skill declares.
struct Invalid {
    error: String,
    answer: AnswerDetails,
    text: String,
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        Failure::Refused(error)
    }
}

impl From<Halt> for Failure {
    fn from(halt: Halt) -> Self {
        Failure::Halt(halt)
    }
}

/// Where events go.
pub(crate) type Sink<'s> = dyn FnMut(&Event) + Send + 's;

/// Runs a prompt skill. Events end with [`Event::Done`], whatever happens, unless the future is dropped: then the provider
/// is let go at once.
pub async fn run_prompt(
    call: &PromptCall<'_>,
    around: &PromptContext<'_>,
    sink: &mut Sink<'_>,
) -> Envelope {
    let started = Instant::now();
    let mut warnings = Vec::new();
    let mut told = |event: &Event| {
        if let Event::Warning { message } = event {
            warnings.push(message.clone());
        }
        sink(event);
    };
    let came_to = answer(call, around, started, &mut told).await;
    let mut envelope = match came_to {
        Ok(Generated { text, parsed, answer }) => {
            Envelope { output: text, parsed, ..Envelope::answered(answer) }
        }
        Err(failure) => failed(failure, around),
    };
    envelope.warnings = warnings;
    envelope.duration = started.elapsed();
    if let Some(error) = &envelope.error
        && !matches!(envelope.outcome, RunOutcome::MissingParameter | RunOutcome::InvalidParameter)
    {
        sink(&Event::Error { message: error.clone() });
    }
    sink(&Event::Done(Box::new(envelope.clone())));
    envelope
}

async fn answer(
    call: &PromptCall<'_>,
    around: &PromptContext<'_>,
    started: Instant,
    sink: &mut Sink<'_>,
) -> Result<Generated, Failure> {
    let skill = &call.skill.skill;
    let patience =
        Deadline { cancel: around.cancel, until: call.time.map(|time| (started + time, time)) };
    around.quizzes.require_passed(call.skill).map_err(RunError::from)?;
    sink(&thought("validation", "start", None));
    let rendered = validate(call, around, sink)?;
    sink(&thought("validation", "complete", Some(ALL_THERE)));
    sink(&thought("substitution", "start", None));
    for message in &rendered.warnings {
        sink(&Event::Warning { message: message.clone() });
    }
    let mut prompt = with_commands(rendered, call.commands, sink);
    sink(&thought("substitution", "complete", Some(SUBSTITUTED)));
    let hooks = PromptHooks::of(call.skill, around.hooks, around.cancel)?;
    if let Some(hooks) = &hooks {
        prompt.push_str(&patience.bound(hooks.submit(&prompt, sink)).await??);
    }
    let found = match &skill.knowledge_base {
        Some(base) => {
            let look = knowledge::look_up(base.as_str(), &prompt, around.retriever, sink);
            patience.bound(look).await?
        }
        None => knowledge::Context::default(),
    };
    sink(&thought("generation", "start", None));
    let model = around.model.map_err(|error| Halt::Model(error.clone()))?;
    generation::warn_of_requirements(model, skill, &patience, sink).await?;
    let mut messages = call.history.to_vec();
    messages.push(Message::User(prompt));
    let request = ModelRequest {
        system: Some(found.system),
        messages,
        temperature: Some(skill.temperature_or_default()),
        max_tokens: u32::try_from(skill.max_tokens_or_default()).ok(),
        tools: Vec::new(),
        schema: wanted_schema(skill).cloned(),
    };
    let Some(hooks) = hooks else {
        return generation::generate(model, request, skill, found.sources, &patience, sink).await;
    };
    let mut request = request;
    loop {
        let sources = found.sources.clone();
        let generated =
            generation::generate(model, request.clone(), skill, sources, &patience, sink).await?;
        match patience.bound(hooks.stop(&generated.text, sink)).await? {
            None => return Ok(generated),
            Some(reason) => {
                let said = Message::Assistant { text: generated.text, calls: Vec::new() };
                request.messages.extend([said, Message::User(reason)]);
            }
        }
    }
}

/// The text with what takes the place of its commands.
fn with_commands(
    rendered: render::RenderedPrompt,
    commands: CommandOutputs<'_>,
    sink: &mut Sink<'_>,
) -> String {
    match commands {
        CommandOutputs::Given(outputs) if outputs.len() == rendered.commands.len() => {
            rendered.with_outputs(outputs)
        }
        CommandOutputs::Disabled => rendered.with_disabled_commands(),
        CommandOutputs::NotRun | CommandOutputs::Given(_) => {
            for command in rendered.commands {
                let command = command.command;
                let message =
                    format!("not run, although its output belongs in the text: {command}");
                sink(&Event::Warning { message });
            }
            rendered.text
        }
    }
}

/// The text of a call with its values, commands marked. Nothing runs.
pub fn render_call(
    call: &PromptCall<'_>,
    world: &World,
) -> Result<render::RenderedPrompt, Vec<InputError>> {
    let LoadedSkill { skill, directory, .. } = call.skill;
    let text = |path: &std::path::Path| path.to_string_lossy().into_owned();
    let (skill_dir, project_dir) = (directory.as_deref().map(text), text(&world.working_directory));
    let plugin_root = directory.as_deref().and_then(plugin_root).map(|root| text(&root));
    let context = RenderContext {
        arguments: call.arguments,
        skill_dir: skill_dir.as_deref(),
        project_dir: Some(&project_dir),
        plugin_root: plugin_root.as_deref(),
        ..RenderContext::of_inputs(call.values)
    };
    render::prompt(skill, &context)
}

/// Everything that can be wrong before anything happens: inputs, requirements, dependencies (SRT §4.4, §4.6).
fn validate(
    call: &PromptCall<'_>,
    around: &PromptContext<'_>,
    sink: &mut Sink<'_>,
) -> Result<render::RenderedPrompt, Failure> {
    let skill = &call.skill.skill;
    let world = around.world;
    let rendered = render_call(call, world).map_err(|errors| {
        let message = joined(&errors);
        sink(&thought("validation", "error", Some(&message)));
        Failure::Inputs(errors)
    })?;
    // Nothing runs, so a file is where the user is.
    inputs::check_files(&skill.inputs, call.values, &world.current)
        .map_err(|errors| RunError::Inputs { tool: call.skill.name.clone(), errors })?;
    if let Some(schema) = wanted_schema(skill) {
        outputs::check_schema(schema)?;
    }
    let missing = eligibility::missing(skill, &prepare::here(call.skill, world));
    if !missing.is_empty() {
        let skill = call.skill.name.clone();
        return Err(RunError::Requirements { skill, missing }.into());
    }
    // A model would answer something, and the tool would not have been called.
    if skill
        .runtime
        .as_ref()
        .and_then(|runtime| runtime.kind.as_ref())
        .is_some_and(|kind| kind.value == MCP_TOOL)
    {
        return Err(RunError::Unsupported(format!(
            "`{}` stands for one tool of an MCP server (`runtime.type: {MCP_TOOL}`), and does not say of which: name it in `runtime.server`",
            call.skill.name
        ))
        .into());
    }
    for wanted in skill.requirements.skills.iter().filter(|wanted| wanted.required) {
        depend(wanted, around.skills)
            .map_err(|reason| RunError::Dependency { skill: call.skill.name.clone(), reason })?;
    }
    Ok(rendered)
}

/// A skill that another one needs (SRT §4.6). Ranges of other grammars are the installer's business.
fn depend(
    wanted: &prowess_format::skill::SkillDependency,
    skills: &dyn SkillResolver,
) -> Result<(), String> {
    let found = skills.resolve(&wanted.name.value).map_err(|error| error.to_string())?;
    let Ok(range) = semver::VersionReq::parse(wanted.range.trim()) else { return Ok(()) };
    let version = found.skill.version.as_ref().map(|version| version.value.clone());
    let fits = version
        .as_deref()
        .and_then(|version| semver::Version::parse(version).ok())
        .is_some_and(|version| range.matches(&version));
    if fits {
        return Ok(());
    }
    Err(format!(
        "it needs `{}` {range}, but `{}` is {}",
        wanted.name.value,
        found.file.display(),
        version.map_or_else(|| "unversioned".to_owned(), |version| format!("version {version}"))
    ))
}

/// The schema of the answer, where it has to be JSON (SRT §4.5).
fn wanted_schema(skill: &Skill) -> Option<&Value> {
    skill.outputs.as_ref().and_then(|outputs| outputs.schema.as_ref()).filter(|it| !it.is_null())
}

fn failed(failure: Failure, around: &PromptContext<'_>) -> Envelope {
    let stopped = |outcome, code, error: String, remedies: Vec<Remedy>| Envelope {
        remedies,
        answer: Some(Box::default()),
        ..Envelope::not_started(outcome, code, error)
    };
    match failure {
        Failure::Inputs(errors) => {
            let is_missing = errors.iter().any(|it| matches!(it, InputError::Missing { .. }));
            let outcome = if is_missing {
                RunOutcome::MissingParameter
            } else {
                RunOutcome::InvalidParameter
            };
            let remedies = inputs::give(errors.iter().filter_map(InputError::input));
            stopped(outcome, USAGE, joined(&errors), remedies)
        }
        Failure::Refused(error) => Envelope { answer: Some(Box::default()), ..error.envelope() },
        Failure::Halt(Halt::Model(error)) => {
            let (outcome, code) = match error.kind {
                ModelErrorKind::NotConfigured => (RunOutcome::Refused, REFUSED),
                ModelErrorKind::TimedOut => (RunOutcome::TimedOut, TIMED_OUT),
                _ => (RunOutcome::Failed, 1),
            };
            stopped(outcome, code, error.message, error.remedies)
        }
        Failure::Halt(Halt::TimedOut(time)) => {
            let error = format!("Skill execution timed out after {} s", time.as_secs_f64());
            stopped(RunOutcome::TimedOut, TIMED_OUT, error, Vec::new())
        }
        Failure::Halt(Halt::Cancelled) => {
            let code = around.cancel.exit_code().unwrap_or(INTERRUPTED);
            let error = "Skill execution was cancelled".to_owned();
            stopped(RunOutcome::Cancelled, code, error, Vec::new())
        }
        Failure::Invalid(invalid) => {
            let Invalid { error, answer, text } = *invalid;
            Envelope {
                output: text,
                answer: Some(Box::new(answer)),
                ..Envelope::not_started(RunOutcome::InvalidOutput, 1, error)
            }
        }
    }
}

fn joined(errors: &[InputError]) -> String {
    // A misspelt name explains what is missing.
    let unknown = |error: &&InputError| matches!(error, InputError::Unknown { .. });
    let words = errors.iter().filter(|error| !unknown(error)).chain(errors.iter().filter(unknown));
    words.map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

fn thought(kind: &'static str, status: &'static str, message: Option<&str>) -> Event {
    let message = message.map(str::to_owned);
    Event::Thought(Thought { kind, status, message, details: Vec::new() })
}
