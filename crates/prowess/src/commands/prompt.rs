//! `prowess prompt`: the description of the tools of skills for a model.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Args, ValueEnum};
use prowess_engine::{LoadedSkill, ToolOffer};
use prowess_format::document::Form;
use prowess_format::form_of;
use prowess_policy::Mode;
use serde_json::{Value, json};

use super::Outcome;
use crate::cli::DialectOption;
use crate::error::Error;
use crate::run::tool_run;
use crate::skill::skill_ref;
use crate::terminal::printer::Printer;

/// Print the list of tools for a model
///
/// Prints the tools of skills in the form that a model expects: prompt lines for
/// small function-calling models, or the `tools` of a request to a provider. Only
/// skills that are available in the mode are listed. If two skills have a tool of
/// the same name, the tool is prefixed with the skill's name. If you give several
/// paths, those that are not skills are skipped with a note.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  prowess prompt examples/git-insights examples/word-count
  prowess prompt examples/* --mode Dev
  prowess prompt examples/text-stats --mode Dev --format openai
  prowess prompt examples/git-insights --native \"typer=Type text at cursor\"")]
pub(crate) struct Arguments {
    /// Folders or files of skills
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<PathBuf>,
    #[command(flatten)]
    dialect: DialectOption,
    /// The mode you are in: Global, Dev, Meeting or Writer
    #[arg(long, value_name = "MODE", default_value = "Global", value_parser = tool_run::parse_mode)]
    mode: Mode,
    /// A tool of the host's own; may be repeated
    #[arg(long, value_name = "NAME=DESCRIPTION", value_parser = native)]
    native: Vec<(String, String)>,
    /// The output format
    #[arg(long, value_enum, default_value_t = Format::Functiongemma)]
    format: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Lines of a prompt for small function-calling models
    Functiongemma,
    /// The `tools` of a request to an OpenAI-compatible provider
    Openai,
    /// The `tools` of a request to Anthropic
    Anthropic,
    /// All details, for programs
    Json,
}

fn native(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, description)) if !name.trim().is_empty() => {
            Ok((name.trim().to_owned(), description.trim().to_owned()))
        }
        _ => Err("expected `NAME=DESCRIPTION`".to_owned()),
    }
}

pub(crate) fn run(arguments: &Arguments, printer: &mut Printer) -> Result<Outcome, Error> {
    let mut skills: Vec<Arc<LoadedSkill>> = Vec::new();
    for path in &arguments.paths {
        // Several paths may come from a shell's `*`; a single one is meant.
        if arguments.paths.len() > 1 && !may_be_skill(path)? {
            printer.note(&format!("skipped `{}`, which is not a skill", skill_ref::shown(path)));
            continue;
        }
        let loaded = skill_ref::load(path, printer)?;
        let dialect = arguments.dialect.dialect;
        let skill = tool_run::load_without_errors(&loaded, dialect, "listed", printer)?;
        if skills.iter().all(|known| known.file != skill.file) {
            skills.push(skill);
        }
    }
    let offer = ToolOffer {
        native: arguments.native.clone(),
        ..ToolOffer::of(
            skills.iter().map(|skill| (skill.name.as_str(), &skill.skill)),
            arguments.mode,
        )
    };
    if offer.tools.is_empty() {
        printer.note(&format!("none of these skills has tools in mode {}", arguments.mode));
    }
    match arguments.format {
        Format::Functiongemma => printer.data(&offer.prompt()),
        Format::Openai => printer.json(&offer.openai()),
        Format::Anthropic => printer.json(&offer.anthropic()),
        Format::Json => printer.json(&whole(&offer)),
    }
    Ok(Outcome::Fine)
}

/// Whether a path looks like a skill: a folder with a main file, or a file with the name of one or with front matter.
///
/// A path that does not exist counts too, so that loading it reports the error.
fn may_be_skill(path: &Path) -> Result<bool, Error> {
    if path.is_dir() {
        return Ok(skill_ref::main_file(path)?.is_some());
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    if !path.exists()
        || skill_ref::is_main_name(&name)
        || name.ends_with(skill_ref::TOOL_PACK_ENDING)
    {
        return Ok(true);
    }
    let bytes = skill_ref::read(path).map_err(|source| Error::io("read", path, &source))?;
    Ok(form_of(&name) == Form::Markdown && bytes.starts_with(b"---"))
}

fn whole(offer: &ToolOffer) -> Value {
    let native: Vec<Value> = offer
        .native
        .iter()
        .map(|(name, description)| json!({ "name": name, "description": description }))
        .collect();
    let tools: Vec<Value> = offer
        .tools
        .iter()
        .map(|tool| {
            json!({
                "name": tool.name,
                "skill": tool.skill,
                "tool": tool.tool,
                "description": tool.description,
                "parameters": tool.parameters,
            })
        })
        .collect();
    json!({ "native": native, "tools": tools })
}
