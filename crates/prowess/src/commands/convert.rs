//! `prowess convert`: a skill in another dialect.

use std::path::PathBuf;

use clap::Args;
use prowess_format::ReadOptions;
use prowess_format::convert::{Conversion, ToolPackFile, convert_in, convert_packs};
use prowess_format::diagnostic::Severity;
use prowess_format::dialect::Dialect;
use prowess_trust::Scheme;
use serde_json::{Value, json};

use super::Outcome;
use crate::cli::{DialectOption, dialect_parser};
use crate::error::Error;
use crate::packages::options::Format;
use crate::skill::error_free;
use crate::skill::skill_ref::{self, Loaded};
use crate::skill::skill_writer::{self, Content, NewFile, Overwrite};
use crate::terminal::printer::Printer;

/// Convert a skill to another dialect
///
/// Writes the skill in another dialect and lists what that dialect can't express.
/// Fields that no dialect knows are kept, with their comments. Several tool packs
/// in one folder become one skill.
///
/// Without `--output`, the main file goes to standard output. With it, all files
/// are written to a folder with the skill's name: those that the dialect needs, and
/// the other files of the skill. A signature is not copied, because it would not
/// hold. A skill with errors is not converted.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  prowess convert examples/git-insights --to agent-skills
  prowess convert examples/git-insights --to gaia --dry-run
  prowess convert examples/git-insights --to tool-pack --output packs")]
pub(crate) struct Arguments {
    /// A skill's folder or file, or a folder of tool packs; `-` is standard
    /// input
    path: PathBuf,
    /// The target dialect
    #[arg(long, value_name = "DIALECT", value_parser = dialect_parser())]
    to: &'static Dialect,
    #[command(flatten)]
    dialect: DialectOption,
    /// Write all files to DIR, or to DIR/NAME if DIR does not have the skill's name
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Replace existing files
    #[arg(long, requires = "output")]
    force: bool,
    /// Show what would be written and lost, and write nothing
    #[arg(long)]
    dry_run: bool,
    /// The output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

pub(crate) fn run(arguments: &Arguments, printer: &mut Printer) -> Result<Outcome, Error> {
    let loaded = skill_ref::load_skills(&arguments.path, printer)?;
    let conversion = convert(&loaded, arguments, printer)?;
    let first = &loaded[0];
    let shown =
        if loaded.len() == 1 { first.shown.clone() } else { skill_ref::shown(&arguments.path) };
    if conversion.files.is_empty() {
        let error = Error::failed(format!("`{shown}` can't be written as {}", arguments.to.id));
        return Err(conversion.notes.iter().fold(error, Error::hint));
    }
    refuse_broken(&conversion, &shown, arguments)?;
    deliver(conversion, &loaded, arguments, printer)
}

fn convert(
    loaded: &[Loaded],
    arguments: &Arguments,
    printer: &mut Printer,
) -> Result<Conversion, Error> {
    let (dialect, to) = (arguments.dialect.dialect, arguments.to);
    let directory = loaded[0].directory_name();
    if let [loaded] = loaded {
        return error_free::with_checked(loaded, dialect, "converted", printer, |checked| {
            convert_in(checked, to, directory.as_deref())
        });
    }
    let joined = error_free::with_all_checked(loaded, dialect, "converted", printer, |checked| {
        let names = loaded.iter().map(|loaded| loaded.file_name.clone());
        let packs =
            names.zip(checked).map(|(file_name, checked)| ToolPackFile { file_name, checked });
        convert_packs(packs.collect(), to, directory.as_deref().unwrap_or("skill"))
    })?;
    joined.map_err(|error| {
        let folder = skill_ref::shown(&arguments.path);
        let first = &loaded[0].shown;
        Error::failed(format!("the tool packs of `{folder}` can't become one skill: {error}"))
            .hint(format!("convert them one by one: `prowess convert {first} --to {}`", to.id))
    })
}

/// Refuses a result with errors in its own dialect: the source lacks something that the target requires.
fn refuse_broken(conversion: &Conversion, shown: &str, arguments: &Arguments) -> Result<(), Error> {
    let (name, text) = &conversion.files[0];
    let options = ReadOptions {
        form: prowess_format::form_of(name),
        dialect: Some(arguments.to),
        ..ReadOptions::DETECT
    };
    let checked = prowess_format::check(text, options);
    let errors = checked.diagnostics.iter().filter(|found| found.severity == Severity::Error);
    let reasons: Vec<&str> = errors.map(|found| found.message.as_str()).collect();
    if reasons.is_empty() {
        return Ok(());
    }
    let message =
        format!("`{shown}` can't be written as {}: {}", arguments.to.id, reasons.join("; "));
    let error = Error::failed(message).hint("nothing was written");
    Err(conversion.notes.iter().fold(error, Error::hint))
}

/// Why a signature is left out of a conversion.
const SIGNATURE_LOSS: &str =
    "the signature is not copied: it covers the files as they were; sign the result again";

fn deliver(
    conversion: Conversion,
    loaded: &[Loaded],
    arguments: &Arguments,
    printer: &mut Printer,
) -> Result<Outcome, Error> {
    for note in &conversion.notes {
        printer.note(note);
    }
    for loss in &conversion.losses {
        printer.loss(&loss.field, &loss.detail);
    }
    let (along, signatures) = companions(loaded, &conversion.files);
    for signature in &signatures {
        printer.loss(signature, SIGNATURE_LOSS);
    }
    let is_json = arguments.format == Format::Json;
    let losses = conversion.losses.iter().map(|loss| (loss.field.as_str(), loss.detail.as_str()));
    let losses = losses.chain(signatures.iter().map(|path| (path.as_str(), SIGNATURE_LOSS)));
    let mut report = json!({
        "name": conversion.name,
        "to": arguments.to.id,
        "written": arguments.output.is_some() && !arguments.dry_run,
        "files": conversion.files.iter().map(|(path, _)| path).chain(&along).collect::<Vec<_>>(),
        "losses": losses
            .map(|(field, detail)| json!({ "field": field, "detail": detail }))
            .collect::<Vec<Value>>(),
        "notes": conversion.notes,
    });
    match &arguments.output {
        None if is_json => {
            if !arguments.dry_run {
                report["text"] = conversion.files[0].1.as_str().into();
            }
        }
        None if arguments.dry_run => {
            let names = conversion.files.iter().map(|(path, _)| path).chain(&along);
            names.for_each(|path| printer.data(&format!("{path}\n")));
        }
        None => {
            let more = conversion.files.len() - 1 + along.len();
            printer.data(&conversion.files[0].1);
            if more > 0 {
                let noun = if more == 1 { "file belongs" } else { "files belong" };
                printer.note(&format!(
                    "{more} more {noun} to the skill: `--output DIR` writes all of them"
                ));
            }
        }
        Some(output) => {
            let overwrite = if arguments.force { Overwrite::Allowed } else { Overwrite::Refused };
            let output = &skill_writer::skill_folder(output, conversion.name.as_deref());
            let mut files = NewFile::texts(conversion.files);
            files.extend(copies(loaded, along));
            let paths: Vec<PathBuf> = if arguments.dry_run {
                skill_writer::refuse_collisions(output, &files, overwrite)?;
                files.iter().map(|file| output.join(&file.path)).collect()
            } else {
                skill_writer::stage(output, &files, overwrite)?.commit()?
            };
            let paths: Vec<String> = paths.iter().map(|path| skill_ref::shown(path)).collect();
            if is_json {
                report["files"] = paths.into();
            } else {
                paths.iter().for_each(|path| printer.data(&format!("{path}\n")));
            }
        }
    }
    if is_json {
        printer.json(&report);
    }
    Ok(Outcome::Fine)
}

/// The other files of the skill, which are copied, without those that the conversion writes; and the signatures, which
/// are not. A signature covers the main file, so it holds only if that stays as it is.
fn companions(loaded: &[Loaded], written: &[(String, String)]) -> (Vec<String>, Vec<String>) {
    let Some(directory) = &loaded[0].directory else { return (Vec::new(), Vec::new()) };
    let is_source = |path: &String| loaded.iter().any(|loaded| loaded.file_name == *path);
    let is_unchanged = match (loaded, written) {
        ([loaded], [(name, text)]) => loaded.file_name == *name && loaded.bytes == text.as_bytes(),
        _ => false,
    };
    let is_signature = |path: &String| {
        let may_be = !is_unchanged && Scheme::FILE_NAMES.contains(&path.as_str());
        may_be
            && skill_ref::read(&directory.join(path))
                .is_ok_and(|bytes| Scheme::of_file(path, &bytes).is_some())
    };
    skill_writer::listing(directory)
        .into_iter()
        .filter(|path| !is_source(path) && written.iter().all(|(file, _)| file != path))
        .partition(|path| !is_signature(path))
}

fn copies(loaded: &[Loaded], paths: Vec<String>) -> Vec<NewFile> {
    let directory = loaded[0].directory.clone().unwrap_or_default();
    paths
        .into_iter()
        .map(|path| NewFile { content: Content::Copy(directory.join(&path)), path })
        .collect()
}
