//! A call of a tool, as every verb starts it that runs one: its options, the approval, the events, the end.

use std::sync::Arc;

use clap::Args;
use prowess_core::{ChangesState, Envelope, Event, Remedy, RunOutcome, wire};
use prowess_engine::quiz::Quizzes;
use prowess_engine::{
    ARGUMENTS, Call, CancellationToken, Consent, LoadedSkill, PathValues, World, approve,
    prepare_for_user, resolve_paths,
};
use prowess_format::skill::{Tool, ToolKind};
use prowess_policy::Mode;
use serde_json::Value;

use crate::commands::Outcome;
use crate::error::{Error, ErrorKind};
use crate::render::problem_text::hints;
use crate::render::run_events::{EventPrinter, Format};
use crate::run::change_options::ChangeOptions;
use crate::run::hook_services::hook_services;
use crate::run::settling::{self, ChangeRequest};
use crate::run::standing::{self, StandingOptions};
use crate::run::tool_run;
use crate::session;
use crate::terminal::approval_prompt::TerminalApprover;
use crate::terminal::printer::Printer;

/// The options of every verb that runs something in the sandbox.
#[derive(Args)]
pub(crate) struct RunOptions {
    /// The mode you are in: Global, Dev, Meeting or Writer
    #[arg(long, value_name = "MODE", default_value = "Global", value_parser = tool_run::parse_mode)]
    pub(crate) mode: Mode,
    /// Let the tool use a credential for HOST without seeing it
    ///
    /// The tool gets a placeholder in the variable NAME. The proxy replaces it with
    /// the real value in the headers of requests to HOST, over TLS only. The value
    /// is read from your own variable NAME, or from the file NAME in
    /// `~/.config/prowess/credentials`, which only you may be able to read. May be
    /// repeated.
    #[arg(long, value_name = "NAME=HOST")]
    pub(crate) credential: Vec<String>,
    #[command(flatten)]
    pub(crate) standing: StandingOptions,
    /// Remember what `--allow` grants and `--accept` accepts for this skill, until
    /// one of its files changes
    ///
    /// `prowess approvals` lists and revokes grants.
    #[arg(long)]
    pub(crate) remember: bool,
    /// Approve everything that can be approved in advance, for this run only
    ///
    /// Of changes, that is ordinary ones.
    #[arg(short, long)]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) changes: ChangeOptions,
    /// The output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
}

/// A run that did not start.
pub(crate) struct NotRun {
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

/// Refuses arguments after `--` for a tool that takes none, or that has them already.
pub(crate) fn refuse_arguments(tool: &Tool, are_given: bool) -> Result<(), Error> {
    if are_given {
        return Err(Error::usage(format!("`{ARGUMENTS}` is given twice"))
            .hint("write the arguments after `--` only"));
    }
    match tool.kind {
        ToolKind::Script | ToolKind::CommandLine => Ok(()),
        ToolKind::Command | ToolKind::Python | ToolKind::Handler | ToolKind::McpTool => {
            let name = &tool.name.value;
            Err(Error::usage(format!(
                "arguments after `--` are for scripts, and `{name}` is a tool"
            ))
            .hint("give its values with `--input NAME=VALUE`"))
        }
    }
}

/// Refuses a skill whose quiz is not passed, before anything else is said about it.
pub(crate) fn require_passed(skill: &LoadedSkill, world: &World) -> Result<(), NotRun> {
    Ok(Quizzes::of_user(world).require_passed(skill).map_err(prowess_engine::RunError::from)?)
}

/// Prepares a call, asks for approval, runs it, and prints what happens.
pub(crate) fn start(
    call: Call,
    options: &RunOptions,
    world: Arc<World>,
    printer: &mut Printer,
) -> Result<Envelope, NotRun> {
    if options.remember && options.standing.allow.is_empty() && options.changes.accept().is_empty()
    {
        return Err(Error::usage("`--remember` needs `--allow` or `--accept`")
            .hint("say what to remember, as in `--allow network:read:api.example.com`")
            .into());
    }
    let world = options.standing.world(world)?;
    let mut world = tool_run::world_for(&call.tool, world)?;
    world.writes = options.changes.writes();
    let accept = settling::patterns(options.changes.accept(), &world)?;
    for binding in &options.credential {
        world.bind_credential(binding).map_err(prowess_engine::RunError::from)?;
    }
    let world = Arc::new(world);
    let mut user = options.standing.grants(&world)?;
    if options.remember {
        user = user.remembered_for_skill();
    }
    let PathValues { values, outside } = resolve_paths(&call.tool, call.values, &world);
    let call = Call { values, ..call };
    let prepared = prepare_for_user(call, user.reading(outside), &world)?;
    if prepared.uses_working_directory() {
        standing::hint_at_home(&world, printer);
    }
    for (parameter, value) in prepared.option_like() {
        printer.warning(&format!(
            "the value of `{parameter}` is `{value}`, which the program may take for an option"
        ));
    }
    let consent = if options.yes { Consent::InAdvance } else { Consent::None };
    let mut engine = prowess_library::engine(Arc::clone(&world));
    if prepared.has_hooks() {
        engine.hooks = hook_services(&session::library()?, None)?;
    }
    let mut approver = TerminalApprover { printer };
    let ready = approve(prepared, &engine, consent, &mut approver)?;
    let cancel = CancellationToken::default();
    tool_run::listen_for_signals(&cancel);
    let ready = ready.ask_hooks(&mut approver, &cancel)?;
    let mut show = EventPrinter::new(options.format, printer);
    let mut envelope = ready.run(&cancel, &mut |event| {
        // The end is told when it is known what becomes of the changes.
        if !matches!(event, Event::Error { .. } | Event::Done(_)) {
            show.event(event);
        }
        // As with any program in a pipe, a closed output ends it.
        if show.is_closed() {
            cancel.cancel_by(tool_run::SIGPIPE);
        }
    });
    show.finish();
    let request = ChangeRequest {
        options: &options.changes,
        accept,
        remember: options.remember,
        world: &world,
    };
    let settled = request.settle(&mut envelope, show.printer());
    if let Some(message) = envelope.error.clone() {
        show.event(&Event::Error { message });
    }
    show.event(&Event::Done(Box::new(envelope.clone())));
    settled?;
    report(&envelope, options.format, printer);
    Ok(envelope)
}

/// Prints the result of a run that has ended, in the formats that print one.
pub(crate) fn report(envelope: &Envelope, format: Format, printer: &mut Printer) {
    match format {
        Format::Text => report_ending(envelope, printer),
        Format::Json => printer.json(&envelope_json(envelope)),
        Format::Events => {}
    }
}

/// The outcome of a verb that runs something. A run that did not start gets an envelope as well.
pub(crate) fn end(
    result: Result<Envelope, NotRun>,
    format: Format,
    printer: &mut Printer,
) -> Result<Outcome, Error> {
    let NotRun { error, envelope } = match result {
        Ok(envelope) => return Ok(Outcome::Ended(exit_code(&envelope))),
        Err(not_run) => not_run,
    };
    let envelope = envelope.unwrap_or_else(|| {
        let code = i32::from(error.kind.exit_code());
        let outcome = match error.kind {
            ErrorKind::Usage => RunOutcome::InvalidParameter,
            ErrorKind::NotFound => RunOutcome::NotFound,
            ErrorKind::Failed | ErrorKind::Refused | ErrorKind::NotRun(_) => RunOutcome::Refused,
        };
        let envelope = Envelope::not_started(outcome, code, error.message.clone());
        let remedies = error.hints.iter().cloned().map(Remedy::Advice).collect();
        Box::new(Envelope { remedies, ..envelope })
    });
    report_not_run(format, envelope, &error.findings, printer);
    Err(error)
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

/// Says where the changes of a run that was not to apply any are.
fn report_waiting(envelope: &Envelope, printer: &mut Printer) {
    let Some(changes) = &envelope.changes else { return };
    if changes.state != ChangesState::Pending {
        return;
    }
    let count = match changes.changes.len() {
        1 => "1 change was".to_owned(),
        count => format!("{count} changes were"),
    };
    printer.note(&format!("{count} not applied"));
    for hint in hints(&envelope.remedies) {
        printer.hint(&hint);
    }
}

/// Prints how a run ended, beside what the tool itself has printed.
fn report_ending(envelope: &Envelope, printer: &mut Printer) {
    let Some(error) = &envelope.error else { return report_waiting(envelope, printer) };
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
        | RunOutcome::Refused
        | RunOutcome::OutOfBudget => {
            let error = Error::failed(message);
            printer.error(&hints(&envelope.remedies).iter().fold(error, Error::hint));
        }
    }
}
