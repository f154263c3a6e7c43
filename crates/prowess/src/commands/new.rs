//! `prowess new`: creates a skill from a template.

use std::path::PathBuf;

use clap::Args;
use prowess_format::dialect::{self, Dialect};
use prowess_format::formats::check_name;
use prowess_format::scaffold::scaffold;
use prowess_format::text::slug;
use prowess_format::{ReadOptions, check, form_of};
use serde_json::json;

use super::Outcome;
use crate::cli::dialect_parser;
use crate::error::Error;
use crate::packages::options::Format;
use crate::skill::skill_ref;
use crate::skill::skill_writer::{self, NewFile, Overwrite};
use crate::terminal::printer::Printer;

/// Create a new skill
///
/// Creates a folder NAME with everything that a skill of the dialect needs. It
/// passes `prowess check --strict` as it is. An existing folder is not changed.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  prowess new disk-usage
  prowess new disk-usage --dialect gibberish --output skills")]
pub(crate) struct Arguments {
    /// The skill's name: lowercase letters, digits and single hyphens
    name: String,
    /// The dialect to write
    #[arg(long, value_name = "DIALECT", default_value = "agent-skills", value_parser = dialect_parser())]
    dialect: &'static Dialect,
    /// The folder in which the skill's folder is created
    #[arg(long, value_name = "DIR", default_value = ".")]
    output: PathBuf,
    /// The output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

pub(crate) fn run(arguments: &Arguments, printer: &mut Printer) -> Result<Outcome, Error> {
    let name = &arguments.name;
    if let Err(problem) = check_name(name) {
        let error = Error::usage(format!("`{name}` is not a valid name for a skill: {problem}"));
        return Err(error.hint(format!("try `prowess new {}`", slug(name))));
    }
    let files = scaffold(name, arguments.dialect);
    if let Some(other) = other_name(name, arguments.dialect, &files) {
        let title = arguments.dialect.title;
        return Err(Error::usage(format!("`{name}` is not a name that {title} allows"))
            .hint(format!("try `prowess new {other} --dialect {}`", arguments.dialect.id)));
    }
    let folder = arguments.output.join(name);
    if folder.symlink_metadata().is_ok() {
        return Err(Error::failed(format!("`{}` already exists", skill_ref::shown(&folder)))
            .hint("choose another name, or another folder with `--output`"));
    }
    let files = NewFile::texts(files);
    let written = skill_writer::stage(&folder, &files, Overwrite::Refused)?.commit()?;
    let written: Vec<String> = written.iter().map(|path| skill_ref::shown(path)).collect();
    if arguments.format == Format::Json {
        printer.json(&json!({
            "name": name,
            "dialect": arguments.dialect.id,
            "directory": skill_ref::shown(&folder),
            "files": written,
        }));
        return Ok(Outcome::Fine);
    }
    for path in &written {
        printer.data(&format!("{path}\n"));
    }
    printer.say(&format!("edit it, then run `prowess check {}`", skill_ref::shown(&folder)));
    Ok(Outcome::Fine)
}

/// The name that was written, if the dialect does not allow the given one.
fn other_name(name: &str, dialect: &'static Dialect, files: &[(String, String)]) -> Option<String> {
    let (path, text) = files.first()?;
    // A tool pack has the name of a tool, and prose has none.
    let named = dialect::by_id(dialect.id)
        .filter(|dialect| dialect.fields.iter().any(|field| field.name == "name"))
        .filter(|dialect| dialect.id != "tool-pack")?;
    let read = ReadOptions { form: form_of(path), dialect: Some(named), ..ReadOptions::DETECT };
    let written = check(text, read).skill.name_text().map(str::to_owned);
    written.filter(|written| written != name)
}
