//! `prowess agent run`: a model works on a task with the skills of an agent.

mod show;

use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use clap::Args;
use prowess_agent::{
    AgentContext, AgentLimits, AgentSource, AgentTask, ApprovalDesk, AssembledAgent, CallQuestion,
    FileTranscript, NamedText, Transcript, TranscriptFolder, assemble, read_transcript, run_agent,
};
use prowess_core::{BoxFuture, Envelope, Event, Model};
use prowess_engine::service::{ExecutionService, Owner, ServiceLimits, Shutdown};
use prowess_engine::{
    ApprovalReply, CancellationToken, Consent, Engine, PythonWorkers, World, command_line_tool,
};
use prowess_library::Library;
use prowess_policy::Mode;
use serde_json::Value;

use super::{Agent, AgentOptions};
use crate::commands::Outcome;
use crate::error::Error;
use crate::render::run_events::Format;
use crate::run::call_run::{self, NotRun};
use crate::run::hook_services::hook_services;
use crate::run::inputs::{self, InputOptions};
use crate::run::prompt_run;
use crate::run::standing::{self, StandingOptions};
use crate::run::terminal_command::{render_command, terminal_command};
use crate::run::tool_run;
use crate::session;
use crate::skill::skill_ref;
use crate::terminal::approval_prompt::TerminalApprover;
use crate::terminal::printer::{Printer, inline};
use show::AgentPrinter;

/// The variable with the usual model.
const MODEL: &str = "PROWESS_MODEL";
/// What a resumed agent is told when the user says nothing.
const GO_ON: &str = "Go on with the task.";
/// Runs that are left when the agent has ended have so long to end.
const LAST_SECONDS: Duration = Duration::from_secs(1);
/// How many Python workers are kept.
const WORKERS: usize = 8;

/// Let a model work on a task with the skills of an agent
///
/// The model is told what the agent is and which skills it has. It loads a skill
/// when it needs it, reads the skill's files, and calls its tools and scripts,
/// until it answers without a call. The answer goes to standard output.
///
/// Every call goes the way of `prowess run`: its values are checked, the policy
/// decides, you are asked where that is needed, and the tool runs in a sandbox.
/// Nothing that the model or a text says approves a call. Without a terminal a
/// call that needs your approval is refused, and the command that asks you is
/// printed; a lasting yes counts here too.
///
/// The agent's own tools are the functions of a `tools.py` beside the manifest.
/// The model is that of `--model`, of `PROWESS_MODEL`, of the manifest's
/// `model.default` if it is written `PROVIDER/NAME`, or of `config.toml`.
///
/// Everything that is said and done is recorded in a transcript, a file with a
/// line of JSON for each step that only you can read. `--resume` goes on with it.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  prowess agent run AGENT.yaml \"Count the words of README.md\"
  prowess agent run AGENT.yaml \"Why does it fail?\" --input log=@build.log
  prowess agent run AGENT.yaml \"Tidy up\" --max-turns 10 --format events
  prowess agent run AGENT.yaml --resume desk-x7Gk2pQz \"And now in German\"

Exit codes:
    0  the model answered
    1  the model or the transcript failed
    2  the arguments are wrong, or there is no such skill set
    3  there is no such file, skill or transcript
  123  the turns or tokens are used up, or the agent got stuck
  124  the time is over, or the model did not answer in time
  125  not started: the manifest has errors, a skill is missing, or there is
       no model
  129, 130, 143, 141
       ended by SIGHUP, Ctrl-C or SIGTERM, or because its output was closed
`outcome` in `--format json` tells them apart.")]
pub(super) struct Arguments {
    #[command(flatten)]
    agent: AgentOptions,
    /// What the agent is to do; `-` reads it from standard input
    #[arg(value_name = "TASK", required_unless_present = "resume")]
    task: Option<String>,
    #[command(flatten)]
    inputs: InputOptions,
    #[arg(long, value_name = "PROVIDER/NAME", help = "The model [env: PROWESS_MODEL]")]
    model: Option<String>,
    /// The mode you are in: Global, Dev, Meeting or Writer
    #[arg(long, value_name = "MODE", default_value = "Global", value_parser = tool_run::parse_mode)]
    mode: Mode,
    /// The most requests to the model
    #[arg(long, value_name = "N", default_value_t = AgentLimits::USUAL.turns, value_parser = clap::value_parser!(u32).range(1..))]
    max_turns: u32,
    /// The most tokens of all requests and answers together
    #[arg(long, value_name = "N", default_value_t = AgentLimits::USUAL.tokens, value_parser = clap::value_parser!(u64).range(1..))]
    max_tokens: u64,
    /// The most seconds; those in which you are asked do not count
    #[arg(long, value_name = "SECONDS", default_value_t = AgentLimits::USUAL.time.as_secs(), value_parser = clap::value_parser!(u64).range(1..))]
    timeout: u64,
    /// Write the transcript to a new file, instead of one in your data folder
    #[arg(long, value_name = "FILE", conflicts_with = "resume")]
    transcript: Option<PathBuf>,
    /// Go on with an earlier conversation: a transcript's file or name
    #[arg(long, value_name = "TRANSCRIPT")]
    resume: Option<PathBuf>,
    /// Work in DIR instead of the current folder
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,
    /// Approve everything that can be approved in advance, for this run only
    #[arg(short, long)]
    yes: bool,
    /// The output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

pub(super) fn run(arguments: &Arguments, printer: &mut Printer) -> Result<Outcome, Error> {
    let result = start(arguments, printer).map_err(NotRun::from);
    call_run::end(result, arguments.format, printer)
}

fn start(arguments: &Arguments, printer: &mut Printer) -> Result<Envelope, Error> {
    let manifest = Agent::sound(&arguments.agent, "run", printer)?;
    let library = session::library()?;
    let where_user_is = StandingOptions { allow: Vec::new(), cwd: arguments.cwd.clone() };
    let world = where_user_is.world(session::world()?)?;
    let assembled = assembled(&manifest, arguments.mode, &library)?;
    for warning in &assembled.warnings {
        printer.warning(&inline(warning));
    }
    let (text, inputs) = (task_text(arguments)?, named_texts(&arguments.inputs)?);
    let model = model(arguments, &manifest, &library, printer)?;
    // Last, because it leaves a file behind.
    let (earlier, transcript) = conversation(arguments, &assembled.agent.name, &world)?;
    let task = AgentTask { text, inputs, ..earlier };
    if assembled.agent.own.is_some()
        || assembled.agent.skills.iter().any(|it| !it.skill.tools.is_empty())
    {
        standing::hint_at_home(&world, printer);
    }
    let envelope =
        work(arguments, &assembled, &task, transcript, model, &library, &world, printer)?;
    call_run::report(&envelope, arguments.format, printer);
    if let Some(transcript) =
        envelope.answer.as_ref().and_then(|it| it.agent.as_ref()?.transcript.as_ref())
    {
        printer.note(&format!("the transcript is `{}`", inline(transcript)));
    }
    Ok(envelope)
}

fn assembled(manifest: &Agent, mode: Mode, library: &Library) -> Result<AssembledAgent, Error> {
    let active = manifest.active()?;
    let packages = manifest.packages()?;
    let source = AgentSource {
        manifest: &manifest.manifest,
        text: &manifest.text,
        path: &manifest.path,
        folder: &manifest.folder,
        active: &active,
        mode,
    };
    Ok(assemble(library, &packages, &source)?)
}

/// The conversation so far, and where it is recorded from now on.
fn conversation(
    arguments: &Arguments,
    agent: &str,
    world: &World,
) -> Result<(AgentTask, FileTranscript), Error> {
    let folder = TranscriptFolder::of(&world.state.data);
    let Some(resumed) = &arguments.resume else {
        let transcript = match &arguments.transcript {
            Some(path) => FileTranscript::create(path)?,
            None => folder.create(agent)?,
        };
        return Ok((AgentTask::default(), transcript));
    };
    let named = resumed.to_str().and_then(|name| folder.find(name));
    let path =
        if resumed.is_file() { resumed.clone() } else { named.unwrap_or_else(|| resumed.clone()) };
    let earlier = read_transcript(&path)?;
    if earlier.agent != agent {
        let other = inline(&earlier.agent).into_owned();
        return Err(Error::usage(format!(
            "`{}` is a transcript of `{other}`, not of `{agent}`",
            skill_ref::shown(&path)
        ))
        .hint("name the manifest of that agent"));
    }
    let task =
        AgentTask { history: earlier.messages, loaded: earlier.loaded, ..AgentTask::default() };
    Ok((task, earlier.transcript))
}

fn task_text(arguments: &Arguments) -> Result<String, Error> {
    let text = match arguments.task.as_deref() {
        None => GO_ON.to_owned(),
        Some("-") => {
            let mut text = String::new();
            let read = io::stdin().lock().take(skill_ref::MOST_BYTES).read_to_string(&mut text);
            read.map_err(|source| {
                let reason = prowess_core::system_reason(&source);
                Error::usage(format!("cannot read standard input: {reason}"))
            })?;
            text.trim_end().to_owned()
        }
        Some(text) => text.to_owned(),
    };
    if text.trim().is_empty() {
        return Err(Error::usage("the task is empty").hint("say what the agent is to do"));
    }
    Ok(text)
}

/// Values are texts for the model; what is not a text is written as JSON.
fn named_texts(options: &InputOptions) -> Result<Vec<NamedText>, Error> {
    let values = inputs::values(options, &[])?;
    let text = |value: Value| match value {
        Value::String(text) => text,
        other => other.to_string(),
    };
    Ok(values.into_iter().map(|(name, value)| NamedText { name, text: text(value) }).collect())
}

/// The model: the user's choice, the variable, the manifest's, the settings'.
fn model(
    arguments: &Arguments,
    manifest: &Agent,
    library: &Library,
    printer: &mut Printer,
) -> Result<Arc<dyn Model>, Error> {
    let wanted = manifest.manifest.model.default.as_ref().map(|model| model.as_str());
    let is_set = std::env::var(MODEL).is_ok_and(|model| !model.trim().is_empty());
    let of_manifest = wanted.filter(|name| !is_set && name.contains('/'));
    let chosen = arguments.model.as_deref().or(of_manifest);
    let model = library.models().open(chosen).map_err(|error| {
        let error = Error::from(error);
        match wanted {
            Some(wanted) if chosen.is_none() => {
                error.hint(format!("the manifest asks for `{}`", inline(wanted)))
            }
            _ => error,
        }
    })?;
    let name = model.name().rsplit('/').next().unwrap_or_default();
    if let Some(wanted) = wanted.filter(|wanted| wanted.rsplit('/').next() != Some(name)) {
        printer.note(&format!(
            "the manifest asks for `{}`, and `{}` is used",
            inline(wanted),
            model.name()
        ));
    }
    Ok(model)
}

#[expect(
    clippy::too_many_arguments,
    reason = "each is a part of one run, and this is where they meet"
)]
fn work(
    arguments: &Arguments,
    assembled: &AssembledAgent,
    task: &AgentTask,
    transcript: FileTranscript,
    model: Arc<dyn Model>,
    library: &Arc<Library>,
    world: &Arc<World>,
    printer: &mut Printer,
) -> Result<Envelope, Error> {
    let cancel = CancellationToken::default();
    tool_run::listen_for_signals(&cancel);
    let mut engine = Engine {
        workers: PythonWorkers::new(WORKERS),
        ..prowess_library::engine(Arc::clone(world))
    };
    engine.hooks = hook_services(library, arguments.model.as_deref())?;
    let script_engine = World::clone(world)
        .for_tool(&command_line_tool("true"))
        .map(|world| Engine { world: Arc::new(world), ..engine.clone() })
        .map_err(|error| error.to_string());
    let service = ExecutionService::new(ServiceLimits::of_this_machine());
    // Events and questions share the terminal.
    let show = Mutex::new(AgentPrinter::new(arguments.format, printer));
    let context = AgentContext {
        engine,
        script_engine,
        service: service.clone(),
        owner: Owner::new("agent"),
        model,
        retriever: Some(Arc::new(prompt_run::bases(world))),
        skills: library.in_folders(skill_folders(assembled, world)),
        consent: if arguments.yes { Consent::InAdvance } else { Consent::None },
        desk: Box::new(TerminalDesk { show: &show, mode: arguments.mode, cancel: cancel.clone() }),
        transcript: Some(Box::new(transcript) as Box<dyn Transcript>),
        limits: AgentLimits {
            turns: arguments.max_turns,
            tokens: arguments.max_tokens,
            time: Duration::from_secs(arguments.timeout),
            ..AgentLimits::USUAL
        },
        disables_injection: library.disables_injected_commands()?,
        cancel: cancel.clone(),
    };
    let mut sink = |event: &Event| {
        let mut show = show.lock().unwrap_or_else(PoisonError::into_inner);
        show.event(event);
        // As with any program in a pipe, a closed output ends it.
        if show.is_closed() {
            cancel.cancel_by(tool_run::SIGPIPE);
        }
    };
    let runtime = prompt_run::runtime()?;
    let envelope = runtime.block_on(run_agent(&assembled.agent, task, context, &mut sink));
    // Whatever a call has left running ends now.
    service.shutdown_blocking(Shutdown::Cancel, LAST_SECONDS);
    Ok(envelope)
}

/// Where the skills that prompt skills depend on may be: beside them, and among the user's own.
fn skill_folders(assembled: &AssembledAgent, world: &World) -> Vec<PathBuf> {
    let beside = assembled.agent.skills.iter().filter_map(|skill| skill.place().parent());
    let mut folders: Vec<PathBuf> = beside.map(Path::to_owned).collect();
    folders.push(world.state.skills());
    folders.dedup();
    folders
}

/// Asks on the terminal that also shows the events. Without one, it prints the command that asks.
struct TerminalDesk<'a, 'p> {
    show: &'a Mutex<AgentPrinter<'p>>,
    mode: Mode,
    cancel: CancellationToken,
}

impl ApprovalDesk for TerminalDesk<'_, '_> {
    fn ask<'a>(&'a mut self, question: CallQuestion<'a>) -> BoxFuture<'a, ApprovalReply> {
        let mut show = self.show.lock().unwrap_or_else(PoisonError::into_inner);
        let printer = show.for_question();
        let mut approver = TerminalApprover { printer: &mut *printer };
        let reply = approver.ask_until(question.request, Some(&self.cancel));
        if reply == ApprovalReply::Nobody {
            let CallQuestion { request, skill, tool, values, working_directory } = question;
            let reasons = request.reasons.join("; ");
            printer.warning(&format!(
                "`{}` was not run: it needs your approval ({reasons})",
                request.name()
            ));
            let hint = match tool {
                Some(tool) if request.can_be_remembered => {
                    let command =
                        terminal_command(skill, Some(tool), values, self.mode, working_directory);
                    format!(
                        "this asks you, and a lasting yes counts for the agent too: `{command}`"
                    )
                }
                Some(_) => {
                    "start the agent in a terminal to be asked each time; a yes can't be remembered"
                        .to_owned()
                }
                None if !request.injected.is_empty() => {
                    let command = render_command(skill, self.mode);
                    format!(
                        "this asks you, and a lasting yes counts for the agent too: `{command}`"
                    )
                }
                None => "start the agent in a terminal to be asked".to_owned(),
            };
            printer.hint(&hint);
            if request.allows_in_advance {
                printer.hint("`--yes` approves such calls for one run");
            }
        }
        Box::pin(std::future::ready(reply))
    }
}
