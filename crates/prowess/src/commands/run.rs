//! `prowess run`: runs a tool of a skill in a sandbox, after asking for approval, or a prompt skill on a model.

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use prowess_core::Remedy;
use prowess_core::RunOutcome;
use prowess_core::{Envelope, Event, wire};
use prowess_engine::{
    Call, CancellationToken, Consent, Engine, LoadedSkill, World, approve, prepare,
};
use prowess_format::skill::Tool;
use prowess_policy::Mode;
use serde_json::Value;

use super::Outcome;
use crate::cli::DialectOption;
use crate::error::{Error, ErrorKind};
use crate::log;
use crate::render::problem_text::hints;
use crate::render::run_events::{EventPrinter, Format};
use crate::run::inputs::{self, InputOptions};
use crate::run::prompt_run::{self, PromptRequest};
use crate::run::tool_run;
use crate::session;
use crate::skill::skill_ref;
use crate::skill::tool_ref;
use crate::terminal::approval_prompt::TerminalApprover;
use crate::terminal::printer::Printer;

/// Run a tool of a skill in a sandbox, or a prompt skill on a model
///
/// First the values, the skill's files and the programs are checked. Then the
/// policy decides: the tool runs, is refused, or you are asked. The question
/// shows the exact command and everything that the tool may and may not do. Your
/// answer is remembered until a file of the skill or a program changes.
///
/// The sandbox contains only what was granted: no network, no other files, no
/// other programs, no secrets from the environment. The working directory is the
/// root of the repository around the current folder, or else your home. At the
/// time limit, or on Ctrl-C, the tool and everything it has started get SIGTERM,
/// and SIGKILL five seconds later. A second Ctrl-C sends SIGKILL at once. A third
/// ends prowess itself, without the check of what the tool has left behind.
///
/// A prompt skill has no tools: its inputs are put into its text, passages of its
/// knowledge base are retrieved, and a model answers. `prowess models` lists the
/// models. Nothing in the text is executed.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  prowess run examples/word-count --input file=examples/README.md --yes
  prowess run examples/word-count --input file=/dev/null --yes --format json
  prowess run examples/release-notes --input commits=@log --model ollama/qwen3

Exit codes:
    0  the tool succeeded, or the model answered
    n  the tool's own code, if it failed; 1 if a function raised an error, the
       model failed, or its answer is not what the skill declares
    2  a value is missing or invalid, or the arguments are wrong
    3  the skill or the tool does not exist
  124  the tool or the model timed out
  125  refused: by you, by the policy, because the skill has errors, or
       because no sandbox or no model is available
  126  the program can't be executed
  127  the program was not found
  129, 130, 143, 141
       ended by SIGHUP, Ctrl-C or SIGTERM, or because its output was closed;
       a tool that exits with a code of its own on SIGTERM keeps that code
  137  killed because it used too much memory, printed or wrote too much
A tool may exit with 2, 3 or 124 to 127 itself: `outcome` in `--format json`
tells which it was.")]
pub(crate) struct Arguments {
    /// A skill's folder or file, or the name of an installed skill, with `/TOOL` for
    /// one of its tools
    #[arg(value_name = "PATH[/TOOL]")]
    path: PathBuf,
    #[command(flatten)]
    dialect: DialectOption,
    #[command(flatten)]
    inputs: InputOptions,
    /// The mode you are in: Global, Dev, Meeting or Writer
    #[arg(long, value_name = "MODE", default_value = "Global", value_parser = tool_run::parse_mode)]
    mode: Mode,
    /// Let the tool use a credential for HOST without seeing it
    ///
    /// The tool gets a placeholder in the variable NAME. The proxy replaces it with
    /// the real value in the headers of requests to HOST, over TLS only. The value
    /// is read from your own variable NAME, or from the file NAME in
    /// `~/.config/prowess/credentials`, which only you may be able to read. May be
    /// repeated.
    #[arg(long, value_name = "NAME=HOST")]
    credential: Vec<String>,
    #[arg(
        long,
        value_name = "PROVIDER/NAME",
        help = "The model for a prompt skill [env: PROWESS_MODEL]"
    )]
    model: Option<String>,
    /// Write the answer of a prompt skill to a file
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Approve everything that can be approved in advance, for this run only
    #[arg(short, long)]
    yes: bool,
    /// The output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

pub(crate) fn run(arguments: &Arguments, printer: &mut Printer) -> Result<Outcome, Error> {
    let error = match start(arguments, printer) {
        Ok(envelope) => return Ok(Outcome::Ended(exit_code(&envelope))),
        Err(NotRun { error, envelope }) => {
            let envelope = envelope.unwrap_or_else(|| {
                let code = i32::from(error.kind.exit_code());
                let outcome = match error.kind {
                    ErrorKind::Usage => RunOutcome::InvalidParameter,
                    ErrorKind::NotFound => RunOutcome::NotFound,
                    ErrorKind::Failed | ErrorKind::Refused | ErrorKind::NotRun(_) => {
                        RunOutcome::Refused
                    }
                };
                let envelope = Envelope::not_started(outcome, code, error.message.clone());
                let remedies = error.hints.iter().cloned().map(Remedy::Advice).collect();
                Box::new(Envelope { remedies, ..envelope })
            });
            report_not_run(arguments.format, envelope, &error.findings, printer);
            error
        }
    };
    Err(error)
}

/// A run that did not start.
struct NotRun {
    error: Error,
    envelope: Option<Box<Envelope>>,
}

impl From<Error> for NotRun {
    /// Failures before the tool starts get code 125, because 1 could be the tool's own.
    fn from(error: Error) -> Self {
        let kind = match error.kind {
            ErrorKind::Failed | ErrorKind::Refused => ErrorKind::NotRun(tool_run::REFUSED),
            kind => kind,
        };
        Self { error: Error { kind, ..error }, envelope: None }
    }
}

impl From<prowess_engine::RunError> for NotRun {
    fn from(error: prowess_engine::RunError) -> Self {
        Self { envelope: Some(Box::new(error.envelope())), error: tool_run::not_run(&error) }
    }
}

fn start(arguments: &Arguments, printer: &mut Printer) -> Result<Envelope, NotRun> {
    let _run = log::run_span().entered();
    let resolving = tracing::info_span!("resolve").entered();
    let (loaded, tool_name) = tool_ref::load_with_tool(&arguments.path, printer)?;
    let skill = tool_run::load_without_errors(&loaded, arguments.dialect.dialect, "run", printer)?;
    drop(resolving);
    if tool_name.is_none() && prompt_run::is_prompt(&skill.skill) {
        return Ok(start_prompt(arguments, &skill, printer)?);
    }
    for (option, is_given) in
        [("--model", arguments.model.is_some()), ("--output", arguments.output.is_some())]
    {
        if is_given {
            let message = format!("`{option}` is for prompt skills, which `{}` is not", skill.name);
            return Err(Error::usage(message).hint(format!("run without `{option}`")).into());
        }
    }
    let tool = choose(&skill, tool_name.as_deref(), &loaded)?.clone();
    let values = inputs::values(&arguments.inputs, &tool.parameters)?;
    let mut world = World::clone(&*session::world()?);
    for binding in &arguments.credential {
        world.bind_credential(binding).map_err(prowess_engine::RunError::from)?;
    }
    let world = Arc::new(world);
    let call = Call { skill, tool, values, mode: arguments.mode };
    let prepared = prepare(call, &world)?;
    for (parameter, value) in prepared.option_like() {
        printer.warning(&format!(
            "the value of `{parameter}` is `{value}`, which the program may take for an option"
        ));
    }
    let consent = if arguments.yes { Consent::InAdvance } else { Consent::None };
    let mut approver = TerminalApprover { printer };
    let ready = approve(prepared, &Engine::new(world), consent, &mut approver)?;
    let cancel = CancellationToken::default();
    tool_run::listen_for_signals(&cancel);
    let mut show = EventPrinter::new(arguments.format, printer);
    let envelope = ready.run(&cancel, &mut |event| {
        show.event(event);
        // As with any program in a pipe, a closed output ends it.
        if show.is_closed() {
            cancel.cancel_by(tool_run::SIGPIPE);
        }
    });
    show.finish();
    match arguments.format {
        Format::Text => report_ending(&envelope, printer),
        Format::Json => printer.json(&envelope_json(&envelope)),
        Format::Events => {}
    }
    Ok(envelope)
}

fn start_prompt(
    arguments: &Arguments,
    skill: &LoadedSkill,
    printer: &mut Printer,
) -> Result<Envelope, Error> {
    let values = inputs::values(&arguments.inputs, &skill.skill.inputs)?;
    inputs::refuse_unknown(&values, &skill.skill.inputs)?;
    let cancel = CancellationToken::default();
    tool_run::listen_for_signals(&cancel);
    let request = PromptRequest {
        skill,
        values: &values,
        model: arguments.model.as_deref(),
        output: arguments.output.as_deref(),
        format: arguments.format,
    };
    let envelope = prompt_run::run(&request, &cancel, printer)?;
    match arguments.format {
        Format::Text => report_ending(&envelope, printer),
        Format::Json => printer.json(&envelope_json(&envelope)),
        Format::Events => {}
    }
    Ok(envelope)
}

fn choose<'s>(
    skill: &'s LoadedSkill,
    name: Option<&str>,
    loaded: &skill_ref::Loaded,
) -> Result<&'s Tool, Error> {
    tool_ref::choose(&skill.skill, name, loaded, "run")?.ok_or_else(|| {
        let shown = &loaded.shown;
        tool_run::refused(format!(
            "`{shown}` contains instructions for an agent and defines no tools"
        ))
        .hint(format!("`prowess render {shown}` prints what an agent reads"))
        .hint("to use it, put its folder where your agent looks for skills")
    })
}

fn exit_code(envelope: &Envelope) -> u8 {
    // An exit code has eight bits.
    if envelope.is_success() { 0 } else { u8::try_from(envelope.exit_code & 0xff).unwrap_or(1) }
}

/// The envelope as JSON, with its remedies as hints for the command line.
fn envelope_json(envelope: &Envelope) -> Value {
    let mut object = wire::envelope(envelope);
    if !envelope.remedies.is_empty() {
        object["hints"] = hints(&envelope.remedies).into();
    }
    object
}

/// Prints the envelope of a run that did not start, for programs that read JSON.
fn report_not_run(
    format: Format,
    envelope: Box<Envelope>,
    findings: &[Value],
    printer: &mut Printer,
) {
    let with_findings = |mut envelope: Value| {
        if !findings.is_empty() {
            envelope["findings"] = findings.into();
        }
        envelope
    };
    match format {
        Format::Text => {}
        Format::Json => printer.json(&with_findings(envelope_json(&envelope))),
        Format::Events => {
            let mut writer = wire::EventWriter::default();
            let message = envelope.error.clone().unwrap_or_default();
            for event in [Event::Error { message }, Event::Done(envelope)] {
                for mut line in writer.write(&event) {
                    if let Some(envelope) = line["data"].get_mut("envelope") {
                        *envelope = with_findings(envelope.take());
                    }
                    printer.json_line(&line);
                }
            }
        }
    }
}

/// Prints how a run ended, beside what the tool itself has printed.
fn report_ending(envelope: &Envelope, printer: &mut Printer) {
    let Some(error) = &envelope.error else { return };
    let mut characters = error.chars();
    let lower = characters.next().map(|first| first.to_lowercase().to_string());
    let message = format!("{}{}", lower.unwrap_or_default(), characters.as_str());
    match envelope.outcome {
        RunOutcome::Success => {}
        // A tool has printed itself what went wrong; a model has not.
        RunOutcome::Failed | RunOutcome::Cancelled if envelope.answer.is_none() => {
            printer.note(&message);
            for hint in hints(&envelope.remedies) {
                printer.hint(&hint);
            }
        }
        RunOutcome::Failed
        | RunOutcome::Cancelled
        | RunOutcome::TimedOut
        | RunOutcome::OutOfMemory
        | RunOutcome::TooMuchOutput
        | RunOutcome::TooMuchWritten
        | RunOutcome::InvalidOutput
        | RunOutcome::MissingParameter
        | RunOutcome::InvalidParameter
        | RunOutcome::NotFound
        | RunOutcome::NotExecutable
        | RunOutcome::Refused => {
            let error = Error::failed(message);
            printer.error(&hints(&envelope.remedies).iter().fold(error, Error::hint));
        }
    }
}
