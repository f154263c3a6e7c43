//! `prowess run`: runs a tool of a skill in a sandbox, and asks before it does; or a prompt skill on a model.

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use prowess_core::Outcome as Ending;
use prowess_core::Remedy;
use prowess_core::{Envelope, Event, wire};
use prowess_engine::{Call, Cancel, Consent, Engine, LoadedSkill, World, approve, prepare};
use prowess_format::skill::Tool;
use prowess_policy::Mode;
use serde_json::Value;

use super::Outcome;
use crate::cli::DialectOption;
use crate::error::{Error, ErrorKind};
use crate::log;
use crate::render::problem_text::hints;
use crate::render::run_events::{Format, Show};
use crate::run::inputs::{self, InputOptions};
use crate::run::prompt_run::{self, Wish};
use crate::run::tool_run;
use crate::session;
use crate::skill::skill_ref;
use crate::skill::tool_ref;
use crate::terminal::approval_prompt::Terminal;
use crate::terminal::printer::Printer;

/// Run a tool of a skill with no more rights than you approve, or a prompt on a model
///
/// The values are checked first, then the skill's files and programs are looked
/// at, and then the policy decides: it runs, it is refused, or you are asked. The
/// question shows the exact command and everything that the tool may and may not
/// do. An answer is remembered until a file of the skill or a program changes.
///
/// The tool runs in a sandbox that holds only what was granted: no network, no
/// other files, no other programs, no secrets from the environment. It works in
/// the root of the repository around the current folder, otherwise in your home.
/// After its time limit, or Ctrl-C, it gets SIGTERM and five seconds later
/// SIGKILL, together with everything it has started; a second Ctrl-C is SIGKILL
/// at once, a third ends prowess itself and skips the look at what the tool left.
///
/// A prompt skill has no tools: its inputs are put into its text, passages of its
/// knowledge base are looked up, and a model answers. `prowess models` shows
/// which models there are. Nothing in the text is executed.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  prowess run examples/word-count --input file=examples/README.md --yes
  prowess run examples/word-count --input file=/dev/null --yes --format json
  prowess run examples/release-notes --input commits=@log --model ollama/qwen3

Exit codes:
    0  the tool succeeded, or the model has answered
    n  the tool's own code, if it failed; 1 if a function raised an error, if
       the model failed, or if its answer is not what the skill declares
    2  a value is missing or wrong, or the arguments are
    3  the skill or the tool does not exist
  124  the time was up, the tool's or the model's
  125  it was refused: by you, by the policy, because the skill has errors,
       or because no sandbox or model is available
  126  the program can't be executed
  127  there is no such program
  129, 130, 143, 141
       it was ended by SIGHUP, Ctrl-C or SIGTERM, or nobody read its output
       any more; a tool that ends itself on SIGTERM with a code keeps that one
  137  it was killed because it used too much memory, printed or wrote too
       much
`--format json` tells the tool's own 2, 3 and 124 to 127 from these by
`outcome`.")]
pub(crate) struct Arguments {
    /// A skill's folder or file, or the name of an installed skill; `/TOOL` behind
    /// it means one of its tools
    #[arg(value_name = "PATH[/TOOL]")]
    path: PathBuf,
    #[command(flatten)]
    dialect: DialectOption,
    #[command(flatten)]
    inputs: InputOptions,
    /// The situation: Global, Dev, Meeting or Writer
    #[arg(long, value_name = "MODE", default_value = "Global", value_parser = tool_run::parse_mode)]
    mode: Mode,
    /// Let the tool use a credential that it never sees, with this host alone
    ///
    /// NAME is the variable in which the tool gets a placeholder. The real value
    /// comes from your variable of that name, or from the file of that name in
    /// `~/.config/prowess/credentials`, which nobody else may read. It is put into
    /// the headers of requests to HOST, over TLS. May be repeated.
    #[arg(long, value_name = "NAME=HOST")]
    credential: Vec<String>,
    /// The model that answers a prompt skill; `PROWESS_MODEL` when absent
    #[arg(long, value_name = "PROVIDER/NAME")]
    model: Option<String>,
    /// Write the answer of a prompt skill to a file
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Say yes to everything that may be answered in advance, for this one run
    #[arg(short, long)]
    yes: bool,
    /// How the result is written
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
                    ErrorKind::Usage => Ending::InvalidParameter,
                    ErrorKind::NotFound => Ending::NotFound,
                    ErrorKind::Failed | ErrorKind::Refused | ErrorKind::NotRun(_) => {
                        Ending::Refused
                    }
                };
                let envelope = Envelope::not_started(outcome, code, error.message.clone());
                let remedies = error.hints.iter().cloned().map(Remedy::Advice).collect();
                Box::new(Envelope { remedies, ..envelope })
            });
            tell_not_run(arguments.format, envelope, &error.findings, printer);
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
    /// Whatever fails here fails before the tool, and 1 would be a code of the tool's own.
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
    let sound = tool_run::sound(&loaded, arguments.dialect.dialect, "run", printer)?;
    drop(resolving);
    if tool_name.is_none() && prompt_run::is_prompt(&sound.skill) {
        return Ok(start_prompt(arguments, &sound, printer)?);
    }
    for (option, is_given) in
        [("--model", arguments.model.is_some()), ("--output", arguments.output.is_some())]
    {
        if is_given {
            let message = format!("`{option}` is for prompt skills, which `{}` is not", sound.name);
            return Err(Error::usage(message).hint(format!("leave `{option}` out")).into());
        }
    }
    let tool = choose(&sound, tool_name.as_deref(), &loaded)?;
    let values = inputs::values(&arguments.inputs, &tool.parameters)?;
    let mut world = World::clone(&*session::world()?);
    for binding in &arguments.credential {
        world.bind_credential(binding).map_err(prowess_engine::RunError::from)?;
    }
    let world = Arc::new(world);
    let (skill, tool) = (Arc::clone(&sound), tool.clone());
    let call = Call { skill, tool, values, mode: arguments.mode };
    let prepared = prepare(call, &world)?;
    for (parameter, value) in prepared.option_like() {
        printer.warning(&format!(
            "the value of `{parameter}` is `{value}`, which the program may take for an option"
        ));
    }
    let consent = if arguments.yes { Consent::InAdvance } else { Consent::None };
    let mut approver = Terminal { printer };
    let ready = approve(prepared, &Engine::new(world), consent, &mut approver)?;
    let cancel = Cancel::default();
    tool_run::listen_for_signals(&cancel);
    let mut show = Show::new(arguments.format, printer);
    let envelope = ready.run(&cancel, &mut |event| {
        show.event(event);
        // As with any program in a pipe: who has no reader any more has nothing left to do.
        if show.is_unread() {
            cancel.cancel_by(tool_run::SIGPIPE);
        }
    });
    show.finish();
    match arguments.format {
        Format::Text => tell_ending(&envelope, printer),
        Format::Json => printer.json(&envelope_json(&envelope)),
        Format::Events => {}
    }
    Ok(envelope)
}

fn start_prompt(
    arguments: &Arguments,
    sound: &LoadedSkill,
    printer: &mut Printer,
) -> Result<Envelope, Error> {
    let values = inputs::values(&arguments.inputs, &sound.skill.inputs)?;
    inputs::refuse_unknown(&values, &sound.skill.inputs)?;
    let cancel = Cancel::default();
    tool_run::listen_for_signals(&cancel);
    let wish = Wish {
        sound,
        values: &values,
        model: arguments.model.as_deref(),
        output: arguments.output.as_deref(),
        format: arguments.format,
    };
    let envelope = prompt_run::run(&wish, &cancel, printer)?;
    match arguments.format {
        Format::Text => tell_ending(&envelope, printer),
        Format::Json => printer.json(&envelope_json(&envelope)),
        Format::Events => {}
    }
    Ok(envelope)
}

fn choose<'s>(
    sound: &'s LoadedSkill,
    name: Option<&str>,
    loaded: &skill_ref::Loaded,
) -> Result<&'s Tool, Error> {
    tool_ref::choose(&sound.skill, name, loaded, "run")?.ok_or_else(|| {
        let shown = &loaded.shown;
        tool_run::refused(format!(
            "`{shown}` contains instructions for an agent and defines no tools"
        ))
        .hint(format!("`prowess render {shown}` prints what an agent gets to read"))
        .hint("an agent follows it: put the skill's folder where yours looks for skills")
    })
}

fn exit_code(envelope: &Envelope) -> u8 {
    // Codes have eight bits there as everywhere.
    if envelope.is_success() { 0 } else { u8::try_from(envelope.exit_code & 0xff).unwrap_or(1) }
}

/// The envelope as JSON, with hints in the words of the terminal.
fn envelope_json(envelope: &Envelope) -> Value {
    let mut object = wire::envelope(envelope);
    if !envelope.remedies.is_empty() {
        object["hints"] = hints(&envelope.remedies).into();
    }
    object
}

/// Programs that read JSON get their answer also when nothing ran.
fn tell_not_run(
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

/// What a person wants to know about the end, beside what the tool has printed.
fn tell_ending(envelope: &Envelope, printer: &mut Printer) {
    let Some(error) = &envelope.error else { return };
    let mut characters = error.chars();
    let lower = characters.next().map(|first| first.to_lowercase().to_string());
    let message = format!("{}{}", lower.unwrap_or_default(), characters.as_str());
    match envelope.outcome {
        Ending::Success => {}
        // A tool has said itself what went wrong; a model has not.
        Ending::Failed | Ending::Cancelled if envelope.answer.is_none() => {
            printer.note(&message);
            for hint in hints(&envelope.remedies) {
                printer.hint(&hint);
            }
        }
        Ending::Failed
        | Ending::Cancelled
        | Ending::TimedOut
        | Ending::OutOfMemory
        | Ending::TooMuchOutput
        | Ending::TooMuchWritten
        | Ending::InvalidOutput
        | Ending::MissingParameter
        | Ending::InvalidParameter
        | Ending::NotFound
        | Ending::NotExecutable
        | Ending::Refused => {
            let error = Error::failed(message);
            printer.error(&hints(&envelope.remedies).iter().fold(error, Error::hint));
        }
    }
}
