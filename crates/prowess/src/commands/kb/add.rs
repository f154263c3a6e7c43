//! `prowess kb add`: adds files to a knowledge base.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::time::{Duration, Instant};

use clap::Args;
use prowess_knowledge::extract::{self, ExtractError};
use prowess_knowledge::{AddOutcome, BaseName, BaseWriter, KnowledgeBases, ReclaimSpace, digest};
use serde_json::json;

use super::{Format, count, failed, parse_name, parse_own_field, waiting};
use crate::commands::Outcome;
use crate::error::Error;
use crate::run::tool_run::Interrupt;
use crate::terminal::printer::{Printer, inline};
use crate::terminal::progress::ProgressCounter;

/// The interval between commits. A commit takes some hundredths of a second, and keeps what was added before it.
const COMMIT_EVERY: Duration = Duration::from_secs(5);
/// The most files of one call, in case somebody names `/` by mistake.
const MOST_FILES: usize = 1_000_000;
/// The deepest nesting of folders.
const MOST_DEPTH: usize = 64;

/// Add documents to a knowledge base
///
/// Reads .txt, .md, .html, .pdf and .docx files. A folder is searched for them
/// recursively, except for names that start with a dot. An unchanged file is
/// skipped, a changed one is replaced. Documents are named by the path that you
/// type, so run the command from the same folder every time.
///
/// A file that can't be read is reported and does not stop the others. On Ctrl-C
/// the current file is finished and everything read so far is kept. A second
/// Ctrl-C ends the command at once, and keeps what was saved every few seconds.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  prowess kb add papers report.pdf notes
  prowess kb add papers notes --field team=search --field year=2026
  prowess kb add papers notes --prune

Exit codes:
  0  all files are in the base
  1  some files could not be read
  129, 130, 143
     ended by SIGHUP, Ctrl-C or SIGTERM; what was read is kept")]
pub(super) struct Arguments {
    /// The name of the base
    #[arg(value_name = "NAME", value_parser = parse_name)]
    name: BaseName,
    /// Files, or folders of files
    #[arg(value_name = "FILE|FOLDER", required = true)]
    paths: Vec<PathBuf>,
    /// A field of these documents that searches can filter by; without it, existing
    /// documents keep theirs
    #[arg(long = "field", value_name = "NAME=VALUE", value_parser = parse_own_field)]
    fields: Vec<(String, String)>,
    /// Remove documents of these folders whose files no longer exist
    #[arg(long)]
    prune: bool,
    /// The output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

/// The files by what was done with them.
#[derive(Default)]
struct AddReport {
    added: Vec<String>,
    updated: Vec<String>,
    unchanged: Vec<String>,
    removed: Vec<String>,
    failed: Vec<(String, String)>,
}

pub(super) fn run(
    bases: &KnowledgeBases,
    arguments: &Arguments,
    printer: &mut Printer,
) -> Result<Outcome, Error> {
    let name = &arguments.name;
    let (mut files, mut passed_by) = (Vec::new(), Vec::new());
    for path in &arguments.paths {
        let metadata = fs::metadata(path).map_err(|error| Error::io("read", path, &error))?;
        if metadata.is_dir() {
            collect(path, 0, &mut files, &mut passed_by)?;
        } else {
            files.push(path.clone());
        }
    }
    files.sort();
    files.dedup();
    warn_of(&mut passed_by, printer);
    let mut writer =
        bases.writer(name, || waiting(name, printer)).map_err(|error| failed(&error))?;
    let fields: Option<BTreeMap<String, String>> =
        (!arguments.fields.is_empty()).then(|| arguments.fields.iter().cloned().collect());
    let mut tally = AddReport::default();
    let interrupt = Interrupt::listen();
    let progress = ProgressCounter::new(printer, "files read");
    let mut committed = Instant::now();
    let mut read = 0;
    for file in &files {
        if interrupt.signal().is_some() {
            break;
        }
        read += 1;
        let id = id_of(file);
        match add(&mut writer, &id, file, fields.as_ref()) {
            Ok(AddOutcome::New) => tally.added.push(id),
            Ok(AddOutcome::Updated) => tally.updated.push(id),
            Ok(AddOutcome::Same) => tally.unchanged.push(id),
            Err(AddError::File(reason)) => tally.failed.push((file.display().to_string(), reason)),
            Err(AddError::Base(error)) => {
                progress.finish();
                return Err(*error);
            }
        }
        progress.step();
        if committed.elapsed() >= COMMIT_EVERY {
            writer.commit().map_err(|error| failed(&error))?;
            committed = Instant::now();
        }
    }
    if let Some(signal) = interrupt.signal() {
        // Without pruning and without compacting, because the user is waiting.
        writer.commit().map_err(|error| failed(&error))?;
        progress.finish();
        report(arguments, &tally, printer);
        let all = files.len();
        printer.note(&format!(
            "stopped after {read} of {all} files, which are kept; run the same command again to continue"
        ));
        return Ok(Outcome::Ended(signal.saturating_add(128)));
    }
    if arguments.prune {
        tally.removed = prune(&mut writer, &arguments.paths, &files)?;
    }
    writer.finish(ReclaimSpace::GiveBack).map_err(|error| failed(&error))?;
    progress.finish();
    report(arguments, &tally, printer);
    Ok(if tally.failed.is_empty() { Outcome::Fine } else { Outcome::Findings })
}

/// Why a file was not added.
enum AddError {
    /// The file can't be read; the others go on.
    File(String),
    /// The base failed.
    Base(Box<Error>),
}

fn add(
    writer: &mut BaseWriter,
    id: &str,
    file: &Path,
    fields: Option<&BTreeMap<String, String>>,
) -> Result<AddOutcome, AddError> {
    let of_file = |error: ExtractError| AddError::File(error.to_string());
    let of_base = |error: &_| AddError::Base(Box::new(failed(error)));
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let format = prowess_knowledge::DocumentFormat::of_name(&name);
    let format = format.ok_or_else(|| of_file(ExtractError::UnknownFormat))?;
    let bytes = extract::read_file(file).map_err(of_file)?;
    let before = writer.committed(id).map_err(|error| of_base(&error))?;
    // Without fields on the command line, the document keeps those it has.
    let kept = before.as_ref().map(|before| &before.fields);
    let fields = fields.or(kept).cloned().unwrap_or_default();
    // Reading a PDF takes a thousand times as long as its digest.
    if before.is_some_and(|before| before.digest == digest(&bytes, &fields)) {
        return Ok(AddOutcome::Same);
    }
    let document = extract::document(id, format, &bytes, fields).map_err(of_file)?;
    match writer.add(&document) {
        Err(prowess_knowledge::BaseError::TooMuch(reason)) => Err(AddError::File(reason)),
        Err(error) => Err(of_base(&error)),
        Ok(added) => Ok(added),
    }
}

/// Warns about links and pipes that were skipped, and names a few.
fn warn_of(passed_by: &mut [PathBuf], printer: &mut Printer) {
    const MOST_NAMED: usize = 3;
    passed_by.sort();
    if passed_by.is_empty() {
        return;
    }
    let names = passed_by.iter().take(MOST_NAMED).map(|path| format!("`{}`", path.display()));
    let mut names = names.collect::<Vec<String>>().join(", ");
    if passed_by.len() > MOST_NAMED {
        let more = passed_by.len() - MOST_NAMED;
        let _ = write!(names, " and {more} more");
    }
    printer.warning(&inline(&format!(
        "skipped links and pipes in folders: {names}; a link that you name yourself is read"
    )));
}

/// Collects the files of known formats below a folder. Links are not followed, because they may form cycles.
fn collect(
    folder: &Path,
    depth: usize,
    files: &mut Vec<PathBuf>,
    passed_by: &mut Vec<PathBuf>,
) -> Result<(), Error> {
    let entries = fs::read_dir(folder).map_err(|error| Error::io("list", folder, &error))?;
    for entry in entries {
        let entry = entry.map_err(|error| Error::io("list", folder, &error))?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let kind = entry.file_type().map_err(|error| Error::io("read", folder, &error))?;
        if name.starts_with('.') {
            continue;
        }
        if kind.is_dir() && depth < MOST_DEPTH {
            collect(&entry.path(), depth + 1, files, passed_by)?;
        } else if kind.is_file() && prowess_knowledge::DocumentFormat::of_name(&name).is_some() {
            files.push(entry.path());
        } else if !kind.is_file() && !kind.is_dir() {
            passed_by.push(entry.path());
        }
        if files.len() > MOST_FILES {
            return Err(Error::failed(format!("there are more than {MOST_FILES} files"))
                .hint("name subfolders instead"));
        }
    }
    Ok(())
}

/// The name of a document: its path as typed, without `./`.
fn id_of(file: &Path) -> String {
    let parts = file.components().filter(|part| *part != Component::CurDir);
    parts.collect::<PathBuf>().to_string_lossy().into_owned()
}

/// Removes documents below the folders whose files no longer exist.
fn prune(
    writer: &mut BaseWriter,
    paths: &[PathBuf],
    files: &[PathBuf],
) -> Result<Vec<String>, Error> {
    let there: std::collections::HashSet<String> = files.iter().map(|file| id_of(file)).collect();
    let folders: Vec<PathBuf> =
        paths.iter().filter(|path| path.is_dir()).map(|path| PathBuf::from(id_of(path))).collect();
    let mut removed = Vec::new();
    for record in writer.base().documents().map_err(|error| failed(&error))? {
        let is_below = folders.iter().any(|folder| Path::new(&record.id).starts_with(folder));
        if is_below && !there.contains(&record.id) {
            writer.remove(&record.id).map_err(|error| failed(&error))?;
            removed.push(record.id);
        }
    }
    Ok(removed)
}

fn report(arguments: &Arguments, tally: &AddReport, printer: &mut Printer) {
    let AddReport { added, updated, unchanged, removed, failed } = tally;
    match arguments.format {
        Format::Json => {
            let failed: Vec<_> = failed
                .iter()
                .map(|(file, reason)| json!({ "file": file, "reason": reason }))
                .collect();
            printer.json(&json!({
                "base": arguments.name.as_str(),
                "added": added,
                "updated": updated,
                "unchanged": unchanged,
                "removed": removed,
                "failed": failed,
            }));
        }
        Format::Text => {
            for (file, reason) in failed {
                printer.warning(&format!("skipped `{file}`: {reason}"));
            }
            let mut parts = vec![format!("added {}", count(added.len() as u64, "document"))];
            for (what, list) in
                [("updated", updated), ("unchanged", unchanged), ("removed", removed)]
            {
                if !list.is_empty() {
                    parts.push(format!("{} {what}", list.len()));
                }
            }
            if !failed.is_empty() {
                parts.push(format!("{} left out", failed.len()));
            }
            printer.say(&parts.join(", "));
        }
    }
}
