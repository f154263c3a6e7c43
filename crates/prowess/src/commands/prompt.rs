//! `prowess prompt`: what a model is told about the tools of skills.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Args, ValueEnum};
use prowess_engine::{LoadedSkill, Offer};
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
/// Reads skills and prints their tools as a model is told about them: the lines
/// that small function-calling models expect, or the `tools` of a request to a
/// provider. Only skills that are there in the mode are listed. Where two skills
/// have a tool of the same name, the skill's name stands before it. Of several
/// paths, those that lead to no skill are left out with a note.
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
    /// The situation: Global, Dev, Meeting or Writer
    #[arg(long, value_name = "MODE", default_value = "Global", value_parser = tool_run::parse_mode)]
    mode: Mode,
    /// A tool of the host's own; may be repeated
    #[arg(long, value_name = "NAME=DESCRIPTION", value_parser = native)]
    native: Vec<(String, String)>,
    /// Who reads it
    #[arg(long, value_enum, default_value_t = Format::Functiongemma)]
    format: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Lines of a prompt, as small function-calling models know them
    Functiongemma,
    /// The `tools` of a request to a provider of the usual kind
    Openai,
    /// The `tools` of a request in Anthropic's dialect
    Anthropic,
    /// Everything that is known, for programs
    Json,
}

fn native(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, description)) if !name.trim().is_empty() => {
            Ok((name.trim().to_owned(), description.trim().to_owned()))
        }
        _ => Err("write `NAME=DESCRIPTION`".to_owned()),
    }
}

pub(crate) fn run(arguments: &Arguments, printer: &mut Printer) -> Result<Outcome, Error> {
    let mut skills: Vec<Arc<LoadedSkill>> = Vec::new();
    for path in &arguments.paths {
        // A shell's `*` names whatever lies there; who names one thing alone means it.
        if arguments.paths.len() > 1 && !may_be_skill(path)? {
            printer.note(&format!("`{}` is no skill and is left out", skill_ref::shown(path)));
            continue;
        }
        let loaded = skill_ref::load(path, printer)?;
        let sound = tool_run::sound(&loaded, arguments.dialect.dialect, "listed", printer)?;
        if skills.iter().all(|known| known.file != sound.file) {
            skills.push(sound);
        }
    }
    let offer = Offer {
        native: arguments.native.clone(),
        ..Offer::of(skills.iter().map(|sound| (sound.name.as_str(), &sound.skill)), arguments.mode)
    };
    if offer.tools.is_empty() {
        printer.note(&format!("none of these skills has a tool in the mode {}", arguments.mode));
    }
    match arguments.format {
        Format::Functiongemma => printer.data(&offer.prompt()),
        Format::Openai => printer.json(&offer.openai()),
        Format::Anthropic => printer.json(&offer.anthropic()),
        Format::Json => printer.json(&whole(&offer)),
    }
    Ok(Outcome::Fine)
}

/// Whether a path leads to something that looks like a skill: a folder with a main file, a file that has the name of one
/// or front matter. What is not there is nobody's guess.
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

fn whole(offer: &Offer) -> Value {
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
