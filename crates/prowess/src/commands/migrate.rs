//! `prowess migrate`: migrates OpenClaw skills to GAIA (GAIA §8.2).

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;
use prowess_format::diagnostic::Severity;
use prowess_format::dialect;
use prowess_format::migrate::{Migration, Obstacle, ReviewItem};
use prowess_library::migration::{
    Claim, OtherDialects, PrepareOptions, PreparedSkill, SkippedSource, Target, Transition, assign,
    owner, prepare, survey,
};
use serde_json::{Value, json};

use super::Outcome;
use crate::cli::DialectOption;
use crate::error::Error;
use crate::packages::options::Format;
use crate::render::full;
use crate::skill::check_report::{self, CheckOptions, FindingsReader, Source};
use crate::skill::skill_ref::{self, Loaded};
use crate::skill::skill_writer::{self, Content, NewFile, Overwrite, Staged};
use crate::terminal::printer::{Printer, inline};

/// Migrate OpenClaw skills to GAIA
///
/// Maps fields and actions, expands coarse permissions, resets the security tier
/// to experimental, and writes a tools.py that calls the original handlers. What
/// needs a decision by a person is left out and listed in a report.
///
/// Without `--output`, the new SKILL.md goes to standard output and the report to
/// standard error. With it, all files are written to a folder with the skill's
/// name. A skill without front matter is migrated as instructions, and the version
/// in a `_meta.json` beside it is used.
///
/// With `--batch`, every skill below PATH is migrated to a folder of its own in
/// DIR: NAME, or OWNER/NAME if several skills have that name. Skills that are not
/// for OpenClaw are converted, and GAIA skills are copied. One that is skipped does
/// not stop the others; the report says why it was skipped.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  prowess new weather --dialect openclaw --output old
  prowess migrate old/weather
  prowess migrate old/weather --validate --output weather
  prowess migrate old --batch --output new")]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(crate) struct Arguments {
    /// A skill's folder or file; with `--batch`, a folder of skills
    path: PathBuf,
    #[command(flatten)]
    dialect: DialectOption,
    /// Check the result as a GAIA skill; one with errors is not written
    #[arg(long)]
    validate: bool,
    /// Migrate every skill below PATH
    #[arg(long)]
    batch: bool,
    /// Write all files to DIR, or to DIR/NAME if DIR does not have the skill's name
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Replace a folder that exists, if each of its files is replaced
    #[arg(long, requires = "output")]
    force: bool,
    /// Print the report and write nothing
    #[arg(long)]
    dry_run: bool,
    /// The format of the report
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

pub(crate) fn run(arguments: &Arguments, printer: &mut Printer) -> Result<Outcome, Error> {
    if arguments.batch {
        return run_batch(arguments, printer);
    }
    let loaded = skill_ref::load_skill(&arguments.path, printer)?;
    let options = arguments.prepare_options(OtherDialects::Refused, None);
    let prepared =
        prepare(&loaded, options).map_err(|obstacle| refused(&loaded, &obstacle, printer))?;
    let migrated = Migrated { loaded, prepared, owner: None };
    let Some(output) = &arguments.output else {
        migrated.rehearse(arguments, printer)?;
        match arguments.format {
            Format::Json => {
                let mut value = migrated.wire(None, &[]);
                if !arguments.dry_run {
                    value["text"] = json!(migrated.migration().files[0].1);
                }
                printer.json(&value);
            }
            Format::Text => {
                if !arguments.dry_run {
                    printer.data(&migrated.migration().files[0].1);
                }
                let report = migrated.report(&[]);
                printer.talk_report(|_| report);
            }
        }
        return Ok(Outcome::Fine);
    };
    let target = skill_writer::skill_folder(output, Some(&migrated.migration().name));
    let staged = skill_writer::stage_alone(&target, &migrated.files(), arguments.overwrite())?;
    let files = migrated.finish(staged, &target, arguments, printer)?;
    match arguments.format {
        Format::Json => printer.json(&migrated.wire(Some(&target), &files)),
        Format::Text => printer.data(&migrated.report(&files)),
    }
    Ok(Outcome::Fine)
}

/// A skill that the user named and that is not migrated. Its problems are printed with their lines.
fn refused(loaded: &Loaded, obstacle: &Obstacle, printer: &mut Printer) -> Error {
    let shown = &loaded.shown;
    let reason = obstacle.reason.as_str();
    if let Some(reason) = reason.strip_prefix("it is ") {
        let error = Error::failed(format!("`{shown}` is {reason}"));
        return if reason.contains("GAIA") {
            error.hint("`--dialect openclaw` reads it as an OpenClaw skill anyway")
        } else {
            error.hint("convert it instead: `prowess convert PATH --to gaia`")
        };
    }
    check_report::print_problems(loaded, dialect::by_id("openclaw"), printer);
    Error::failed(format!("`{shown}` can't be migrated: {reason}"))
        .hint("correct it first, or try `prowess check --fix`")
}

impl Arguments {
    fn prepare_options<'o>(
        &self,
        others: OtherDialects,
        name: Option<&'o str>,
    ) -> PrepareOptions<'o> {
        PrepareOptions { dialect: self.dialect.dialect, others, name }
    }

    fn overwrite(&self) -> Overwrite {
        if self.force { Overwrite::Allowed } else { Overwrite::Refused }
    }
}

/// What became of one skill of a batch.
enum BatchEntry {
    Done { migrated: Box<Migrated>, target: Option<PathBuf>, files: Vec<PathBuf> },
    Skipped(SkippedSource),
}

fn run_batch(arguments: &Arguments, printer: &mut Printer) -> Result<Outcome, Error> {
    if arguments.output.is_none() && !arguments.dry_run {
        return Err(Error::usage("`--batch` needs a folder to write to")
            .hint("add `--output DIR`, or `--dry-run` to print the report and write nothing"));
    }
    let found = survey(&arguments.path, arguments.output.as_deref())?;
    if found.skills.is_empty() && found.skipped.is_empty() {
        return Err(Error::not_found(format!(
            "no skill below `{}`",
            skill_ref::shown(&arguments.path)
        ))
        .hint("name a folder that contains folders with a SKILL.md"));
    }
    let total = found.skills.len() + found.skipped.len();
    let mut entries = Vec::new();
    let mut totals = Totals { total, ..Totals::default() };
    for skipped in found.skipped {
        totals.add(BatchEntry::Skipped(skipped), arguments, &mut entries, printer);
    }
    // Names are claimed first: where a skill goes depends on all the others. Their texts are not kept meanwhile.
    let mut claimed = Vec::new();
    for folder in found.skills {
        match claim(&folder, arguments) {
            Ok(claim) => claimed.push((folder, claim)),
            Err(skipped) => {
                totals.add(BatchEntry::Skipped(skipped), arguments, &mut entries, printer);
            }
        }
    }
    let claims: Vec<Claim> = claimed.iter().map(|(_, claim)| claim.clone()).collect();
    for ((folder, claim), target) in claimed.into_iter().zip(assign(&claims)) {
        let entry = match one_of_batch(&folder, claim, &target, arguments, printer) {
            Ok(entry) => entry,
            Err(skipped) => BatchEntry::Skipped(skipped),
        };
        totals.add(entry, arguments, &mut entries, printer);
    }
    if arguments.format == Format::Json {
        printer.json(&totals.wire(entries, arguments.dry_run));
    }
    printer.say(&totals.summary());
    Ok(if totals.done == totals.total { Outcome::Fine } else { Outcome::Findings })
}

fn load(folder: &Path) -> Result<Loaded, SkippedSource> {
    Loaded::at(folder).map_err(|problem| SkippedSource {
        path: folder.to_owned(),
        reason: problem.message,
        help: None,
    })
}

fn skipped(loaded: &Loaded, obstacle: Obstacle) -> SkippedSource {
    SkippedSource { path: loaded.path.clone(), reason: obstacle.reason, help: obstacle.help }
}

fn claim(folder: &Path, arguments: &Arguments) -> Result<Claim, SkippedSource> {
    let loaded = load(folder)?;
    let options = arguments.prepare_options(OtherDialects::Included, None);
    let prepared = prepare(&loaded, options).map_err(|obstacle| skipped(&loaded, obstacle))?;
    Ok(Claim {
        name: prepared.migration.name,
        owner: owner(&arguments.path, folder, prepared.published.as_ref()),
        folder: loaded.directory_name().unwrap_or_default().into_owned(),
    })
}

fn one_of_batch(
    folder: &Path,
    claim: Claim,
    target: &Target,
    arguments: &Arguments,
    printer: &mut Printer,
) -> Result<BatchEntry, SkippedSource> {
    let loaded = load(folder)?;
    let name = (target.name != claim.name).then_some(target.name.as_str());
    let options = arguments.prepare_options(OtherDialects::Included, name);
    let mut prepared = prepare(&loaded, options).map_err(|obstacle| skipped(&loaded, obstacle))?;
    prepared.migration.review.extend(owner_mismatch(&prepared, claim.owner.as_deref()));
    let failed = |error: Error, loaded: &Loaded| SkippedSource {
        path: loaded.path.clone(),
        help: (!error.hints.is_empty()).then(|| error.hints.join("; ")),
        reason: error.message,
    };
    let migrated = Migrated { loaded, prepared, owner: claim.owner };
    let Some(output) = &arguments.output else {
        migrated.rehearse(arguments, printer).map_err(|error| failed(error, &migrated.loaded))?;
        return Ok(BatchEntry::Done {
            migrated: Box::new(migrated),
            target: None,
            files: Vec::new(),
        });
    };
    let target = output.join(&target.folder);
    let files = skill_writer::stage_alone(&target, &migrated.files(), arguments.overwrite())
        .and_then(|staged| migrated.finish(staged, &target, arguments, printer))
        .map_err(|error| failed(error, &migrated.loaded))?;
    Ok(BatchEntry::Done { migrated: Box::new(migrated), target: Some(target), files })
}

/// Reports a `_meta.json` that names another owner than the archive does.
fn owner_mismatch(prepared: &PreparedSkill, owner: Option<&str>) -> Option<ReviewItem> {
    let said = prepared.published.as_ref()?.owner.as_deref()?;
    let owner = owner.filter(|owner| !owner.eq_ignore_ascii_case(said))?;
    Some(ReviewItem {
        what: "owner".to_owned(),
        why: format!("`_meta.json` says `{said}`, but the folder belongs to `{owner}`"),
    })
}

/// The counts of a batch.
#[derive(Default)]
struct Totals {
    total: usize,
    done: usize,
    review: usize,
}

impl Totals {
    /// Counts an entry and reports it; in JSON all entries are one result.
    fn add(
        &mut self,
        entry: BatchEntry,
        arguments: &Arguments,
        entries: &mut Vec<(PathBuf, Value)>,
        printer: &mut Printer,
    ) {
        let (path, value, text) = match entry {
            BatchEntry::Done { migrated, target, files } => {
                self.done += 1;
                self.review += migrated.migration().review.len();
                let value = migrated.wire(target.as_deref(), &files);
                (migrated.loaded.path.clone(), value, migrated.report(&files))
            }
            BatchEntry::Skipped(skipped) => {
                (skipped.path.clone(), skipped_wire(&skipped), skipped_report(&skipped))
            }
        };
        match arguments.format {
            Format::Text => printer.data(&text),
            Format::Json => entries.push((path, value)),
        }
    }

    fn summary(&self) -> String {
        let Self { total, done, review } = self;
        let skipped = total - done;
        let tail = if skipped == 0 { String::new() } else { format!(", {skipped} skipped") };
        format!("migrated {done} of {total} skills{tail}, {review} items to review")
    }

    fn wire(&self, mut entries: Vec<(PathBuf, Value)>, is_dry_run: bool) -> Value {
        entries.sort_by(|one, other| one.0.cmp(&other.0));
        let skills: Vec<Value> = entries.into_iter().map(|(_, value)| value).collect();
        json!({
            "total": self.total,
            "migrated": self.done,
            "skipped": self.total - self.done,
            "review": self.review,
            "dry_run": is_dry_run,
            "skills": skills,
        })
    }
}

fn skipped_report(skipped: &SkippedSource) -> String {
    let shown = skill_ref::shown(&skipped.path);
    let mut text = format!("skipped {}: {}\n", inline(&shown), inline(&skipped.reason));
    if let Some(help) = &skipped.help {
        let _ = writeln!(text, "  hint: {}", inline(help));
    }
    text
}

fn skipped_wire(skipped: &SkippedSource) -> Value {
    json!({
        "source": skill_ref::shown(&skipped.path),
        "status": "skipped",
        "reason": skipped.reason,
        "help": skipped.help,
    })
}

/// A migration that is ready to be written.
struct Migrated {
    loaded: Loaded,
    prepared: PreparedSkill,
    owner: Option<String>,
}

impl Migrated {
    fn migration(&self) -> &Migration {
        &self.prepared.migration
    }

    fn files(&self) -> Vec<NewFile> {
        let migration = self.migration();
        let mut files = NewFile::texts(migration.files.clone());
        let directory = self.loaded.directory.clone().unwrap_or_default();
        let copied = migration.copied.iter().map(|path| (path, path));
        let renamed = migration.renamed.iter().map(|(from, to)| (from, to));
        for (from, to) in copied.chain(renamed) {
            let content = Content::Copy(directory.join(from));
            files.push(NewFile { path: to.clone(), content });
        }
        files
    }

    /// With `--validate`, checks the result in a temporary folder: the checks need the other files of the skill.
    fn rehearse(&self, arguments: &Arguments, printer: &mut Printer) -> Result<(), Error> {
        if !arguments.validate {
            return Ok(());
        }
        let place = std::env::temp_dir().join(".prowess-migrated");
        let staged = skill_writer::stage(&place, &self.files(), Overwrite::Allowed)?;
        self.validate(&staged, Path::new(&self.migration().name), printer)
    }

    /// Writes the skill, unless it is a dry run or the result has errors.
    fn finish(
        &self,
        staged: Staged,
        target: &Path,
        arguments: &Arguments,
        printer: &mut Printer,
    ) -> Result<Vec<PathBuf>, Error> {
        if arguments.validate {
            self.validate(&staged, target, printer)?;
        }
        if arguments.dry_run {
            return Ok(Vec::new());
        }
        staged.commit()
    }

    /// Checks the result in its temporary folder, and reports it under its final path.
    fn validate(&self, staged: &Staged, target: &Path, printer: &mut Printer) -> Result<(), Error> {
        let main = Path::new("SKILL.md");
        let name = &self.migration().name;
        let options = CheckOptions {
            dialect: dialect::by_id("gaia"),
            strict: false,
            least: Severity::Warning,
            clean_files: false,
            excerpts: true,
            reader: FindingsReader::Anyone,
            clients: &[],
        };
        let source = Source {
            path: &target.join(main),
            form: prowess_format::document::Form::Markdown,
            bytes: self.migration().files[0].1.as_bytes(),
            directory: Some(staged.path()),
            directory_name: Some(name),
            disabled: &[],
        };
        let examined = check_report::examine(&source, &options, None);
        let reports: Vec<_> = examined.report.into_iter().collect();
        printer.talk_report(|colour| full::render(&reports, colour));
        if examined.errors > 0 {
            let findings = reports.iter().flat_map(|report| &report.findings);
            let first = findings.into_iter().find(|found| found.severity == Severity::Error);
            let reason = first.map_or_else(String::new, |found| format!(": {}", found.message));
            return Err(Error::failed(format!(
                "the migrated `{name}` has errors and was not written{reason}"
            ))
            .hint("run without `--validate` to see the result"));
        }
        printer.say(&format!("`{name}` is a valid GAIA skill"));
        Ok(())
    }

    /// The report: what was done, and what a person should review (GAIA §8.2, step 6).
    fn report(&self, files: &[PathBuf]) -> String {
        let Migration { review, name, .. } = self.migration();
        let done = match self.prepared.transition {
            Transition::Migrated => "migrated",
            Transition::Converted(_) => "converted",
            Transition::Copied => "copied",
        };
        let mut text = format!("{done} {} as {}\n", inline(&self.loaded.shown), inline(name));
        for file in files {
            let _ = writeln!(text, "  wrote {}", inline(&skill_ref::shown(file)));
        }
        for item in review {
            let _ = writeln!(text, "  review {}: {}", inline(&item.what), inline(&item.why));
        }
        text
    }

    fn wire(&self, target: Option<&Path>, files: &[PathBuf]) -> Value {
        let Migration { review, name, .. } = self.migration();
        let (status, from) = match self.prepared.transition {
            Transition::Migrated => ("migrated", "openclaw"),
            Transition::Converted(dialect) => ("converted", dialect),
            Transition::Copied => ("copied", "gaia"),
        };
        let review: Vec<Value> =
            review.iter().map(|item| json!({ "what": item.what, "why": item.why })).collect();
        let files: Vec<String> = files.iter().map(|file| skill_ref::shown(file)).collect();
        json!({
            "source": self.loaded.shown,
            "status": status,
            "dialect": from,
            "name": name,
            "owner": self.owner,
            "folder": target.map(skill_ref::shown),
            "files": files,
            "review": review,
        })
    }
}
