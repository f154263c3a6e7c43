//! `prowess render`: prints the exact prompt or command line, without running anything.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use prowess_core::Remedy;
use prowess_engine::quiz::Quizzes;
use prowess_engine::{
    ApprovalStore as _, CancellationToken, Consent, FileApprovals, UserGrants, plugin_root,
};
use prowess_format::command::{self, RenderError};
use prowess_format::render::{self, InputError, RenderContext, RenderedPrompt};
use prowess_format::skill::{Skill, Tool, ToolKind};
use prowess_format::subagent::{self, AgentTools, Subagent, WRITING_TOOLS};
use prowess_format::{ReadOptions, check_bytes};
use prowess_policy::Mode;
use serde_json::json;

use super::Outcome;
use crate::cli::DialectOption;
use crate::error::Error;
use crate::render::problem_text::hints;
use crate::run::injected_run::InjectedCommands;
use crate::run::inputs::{self, InputOptions};
use crate::run::tool_run;
use crate::session;
use crate::skill::check_report;
use crate::skill::prose_warning;
use crate::skill::quiz_gate;
use crate::skill::skill_ref::{Loaded, ReferenceOptions};
use crate::skill::tool_ref;
use crate::terminal::printer::Printer;

/// Print the exact prompt or command line of a skill
///
/// Substitutes values in a skill and prints the result, without running anything.
/// For prompts and instructions that is the text for the model: `{{name}}` is
/// replaced with an input, and `$ARGUMENTS` and `$0` with the `--arguments`. For a
/// command tool (`PATH/TOOL`) it is the program with its arguments, quoted for a
/// shell.
///
/// A command whose output belongs in the text is marked and not run, unless
/// `--run-commands` is given. Then all commands of the text are shown in one
/// question, and run one after the other in the sandbox of the skill. A command
/// that fails or is not approved ends it, and nothing is printed.
///
/// A skill with a quiz gate is refused until its quiz is passed.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  prowess render examples/release-notes --input commits=@examples/README.md
  prowess render examples/git-insights/recent_changes --input count=5
  prowess render examples/git-insights/hot_files --inputs '{\"count\": 5}'
  prowess render examples/commit-messages --arguments \"fix the typo\"
  prowess render examples/commit-messages --run-commands --yes")]
pub(crate) struct Arguments {
    /// A skill's folder or file, or the name of an installed skill, with `/TOOL` for
    /// one of its tools; or anything that `prowess install` takes
    #[arg(value_name = "SKILL[/TOOL]")]
    path: PathBuf,
    #[command(flatten)]
    reference: ReferenceOptions,
    #[command(flatten)]
    dialect: DialectOption,
    #[command(flatten)]
    inputs: InputOptions,
    /// The text that a user would type after the skill's name
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    arguments: Option<String>,
    /// The session id, for skills that refer to it
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// The effort level, for skills that refer to it and set none themselves
    #[arg(long, value_name = "LEVEL")]
    effort: Option<String>,
    /// Run the commands in the text, after asking, and insert their outputs
    #[arg(long)]
    run_commands: bool,
    /// Approve the commands in advance, for this time only
    #[arg(short, long, requires = "run_commands")]
    yes: bool,
    /// The mode you are in while commands run: Global, Dev, Meeting or Writer
    #[arg(long, value_name = "MODE", default_value = "Global", value_parser = tool_run::parse_mode)]
    mode: Mode,
    /// The output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// The text, or the command line for a shell
    Text,
    /// A JSON object, or the command line as a JSON array
    Json,
}

pub(crate) fn run(arguments: &Arguments, printer: &mut Printer) -> Result<Outcome, Error> {
    let (loaded, tool_name) =
        tool_ref::read_with_tool(&arguments.path, &arguments.reference, printer)?;
    session::library()?.require_unchanged(&loaded)?;
    let read = ReadOptions {
        form: loaded.form,
        dialect: arguments.dialect.dialect,
        ..ReadOptions::DETECT
    };
    let mut text = Cow::Borrowed("");
    let checked = check_bytes(&loaded.bytes, &mut text, read);
    if !checked.is_skill() {
        check_report::print_problems(&loaded, arguments.dialect.dialect, printer);
        return Ok(Outcome::Findings);
    }
    let skill = &checked.skill;
    // Whatever dialect it is read as.
    let quizzes = quiz_gate::declared(&checked.document);
    let is_from_file = loaded.path != Path::new("-");
    if is_from_file && !Quizzes::of_user(&*session::world()?).is_open_at(loaded.place(), &quizzes) {
        let place = loaded.place();
        let place = place.canonicalize().unwrap_or_else(|_| place.to_owned());
        return Err(Quizzes::not_passed(skill.name_or(&loaded.shown), &place).into());
    }
    match tool_ref::choose(skill, tool_name.as_deref(), &loaded, "render")? {
        Some(tool) => render_command(only_command(tool)?, arguments, printer),
        None => render_prompt(skill, &loaded, arguments, printer),
    }
}

fn only_command(tool: &Tool) -> Result<&Tool, Error> {
    let what = match tool.kind {
        ToolKind::Command => return Ok(tool),
        ToolKind::Python => "a Python function",
        ToolKind::Handler => "a handler",
        ToolKind::Script | ToolKind::CommandLine => "a script",
        ToolKind::McpTool => "a tool of an MCP server",
    };
    Err(Error::failed(format!("`{}` is {what}, which has no command line", tool.name.value))
        .hint("`prowess show` lists its parameters"))
}

fn render_command(
    tool: &Tool,
    arguments: &Arguments,
    printer: &mut Printer,
) -> Result<Outcome, Error> {
    let values = inputs::values(&arguments.inputs, &tool.parameters)?;
    let rendered = render::command(tool, &values).map_err(|errors| {
        let wanted = errors.iter().filter_map(|error| match error {
            RenderError::Missing { parameter } | RenderError::WrongType { parameter, .. } => {
                Some(parameter.as_str())
            }
            RenderError::Undeclared { .. } | RenderError::Template(_) => None,
        });
        let unknown = |error: &&RenderError| matches!(error, RenderError::Undeclared { .. });
        refused(&errors, unknown, &wanted.collect::<Vec<_>>())
    })?;
    for (parameter, value) in &rendered.option_like {
        printer.warning(&format!(
            "the value of `{parameter}` is `{value}`, which the program may take for an option"
        ));
    }
    match arguments.format {
        Format::Text => printer.data(&format!("{}\n", command::join(&rendered.argv))),
        Format::Json => printer.json(&json!(rendered.argv)),
    }
    Ok(Outcome::Fine)
}

fn render_prompt(
    skill: &Skill,
    loaded: &Loaded,
    arguments: &Arguments,
    printer: &mut Printer,
) -> Result<Outcome, Error> {
    let values = inputs::values(&arguments.inputs, &skill.inputs)?;
    inputs::refuse_unknown(&values, &skill.inputs)?;
    let directory = loaded.directory.as_ref().map(|directory| absolute(directory));
    let project = absolute(Path::new("."));
    let plugin = loaded.directory.as_deref().map(Path::canonicalize);
    let plugin = plugin.and_then(Result::ok).and_then(|folder| plugin_root(&folder));
    let plugin = plugin.map(|root| root.to_string_lossy().into_owned());
    let context = RenderContext {
        arguments: arguments.arguments.as_deref(),
        session_id: arguments.session.as_deref(),
        skill_dir: directory.as_deref(),
        project_dir: Some(&project),
        effort: arguments.effort.as_deref(),
        plugin_root: plugin.as_deref(),
        ..RenderContext::of_inputs(&values)
    };
    let rendered = render::prompt(skill, &context).map_err(|errors| {
        let wanted: Vec<&str> = errors.iter().filter_map(InputError::input).collect();
        let unknown = |error: &&InputError| matches!(error, InputError::Unknown { .. });
        refused(&errors, unknown, &wanted)
    })?;
    prose_warning::warn_of_prose(skill, loaded, printer);
    for warning in &rendered.warnings {
        printer.warning(warning);
    }
    let (text, has_run) = with_commands(&rendered, loaded, arguments, printer)?;
    let subagent = subagent::of(skill);
    if let Some(subagent) = &subagent {
        let Subagent { agent, background, .. } = subagent;
        let place = if *background { ", in the background" } else { "" };
        printer.note(&format!("the text goes to a subagent of type `{agent}`{place}"));
    }
    match arguments.format {
        Format::Text => {
            printer.data(&text);
            if !text.ends_with('\n') {
                printer.data("\n");
            }
        }
        Format::Json => {
            let commands: Vec<_> =
                rendered.commands.iter().map(|command| command.command.as_str()).collect();
            printer.json(&json!({
                "text": text,
                "warnings": rendered.warnings,
                "commands": commands,
                "commands_run": has_run,
                "fork": rendered.fork,
                "subagent": subagent.as_ref().map(subagent_json),
            }));
        }
    }
    Ok(Outcome::Fine)
}

/// The text with what takes the place of its commands, and whether they have run.
fn with_commands(
    rendered: &RenderedPrompt,
    loaded: &Loaded,
    arguments: &Arguments,
    printer: &mut Printer,
) -> Result<(String, bool), Error> {
    if rendered.commands.is_empty() {
        return Ok((rendered.text.clone(), false));
    }
    if session::library()?.disables_injected_commands()? {
        printer.note("commands in the text are disabled in `config.toml`");
        return Ok((rendered.with_disabled_commands(), false));
    }
    if !arguments.run_commands {
        for command in &rendered.commands {
            printer.note(&format!("not run, its output belongs in the text: {}", command.command));
        }
        return Ok((rendered.text.clone(), false));
    }
    let dialect = arguments.dialect.dialect;
    let skill = tool_run::load_without_errors(loaded, dialect, "rendered", printer)?;
    let world = session::world()?;
    let approvals = FileApprovals::of(&world.state).load();
    let approvals =
        approvals.map_err(|error| Error::failed(error.to_string()).hint(error.hint()))?;
    let cancel = CancellationToken::default();
    tool_run::listen_for_signals(&cancel);
    let commands = InjectedCommands {
        skill: &skill,
        rendered,
        mode: arguments.mode,
        consent: if arguments.yes { Consent::InAdvance } else { Consent::None },
        user: UserGrants::none().with_earlier(&approvals),
        world: &world,
    };
    let outputs = commands.outputs(&cancel, printer)?;
    Ok((rendered.with_outputs(&outputs), true))
}

/// The subagent of `context: fork`, for programs.
fn subagent_json(subagent: &Subagent) -> serde_json::Value {
    let known = subagent.known.map(|known| {
        let (all, except, only): (bool, &[&str], &[&str]) = match known.tools {
            AgentTools::All => (true, &[], &[]),
            AgentTools::ReadOnly => (true, WRITING_TOOLS, &[]),
            AgentTools::Only(tools) => (false, &[], tools),
        };
        json!({
            "purpose": known.purpose,
            "tools": if all { json!("all") } else { json!(only) },
            "without_tools": except,
            "reads_project_instructions": known.reads_project,
            "model": known.model,
            "source": known.source,
        })
    });
    json!({
        "agent": subagent.agent,
        "background": subagent.background,
        "model": subagent.model,
        "type": known,
    })
}

/// Joins all problems in one error. Unknown names come first, because a misspelt one explains what is missing.
fn refused<E: ToString>(errors: &[E], is_unknown: impl Fn(&&E) -> bool, wanted: &[&str]) -> Error {
    let unknown = errors.iter().filter(&is_unknown);
    let others = errors.iter().filter(|error| !is_unknown(error));
    let messages: Vec<String> = unknown.chain(others).map(ToString::to_string).collect();
    let error = Error::usage(messages.join("; "));
    let give: Vec<Remedy> =
        wanted.iter().map(|name| Remedy::GiveInput((*name).to_owned())).collect();
    hints(&give).into_iter().fold(error, Error::hint)
}

fn absolute(path: &Path) -> String {
    // If the path can't be resolved, it is used as given.
    let full = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    full.to_string_lossy().into_owned()
}
