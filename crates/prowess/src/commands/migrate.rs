//! `prowess migrate`: migrates OpenClaw skills to GAIA (GAIA §8.2).

use std::borrow::Cow;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;
use prowess_core::ProblemKind;
use prowess_format::diagnostic::Severity;
use prowess_format::dialect::{self, Dialect};
use prowess_format::migrate::{Migration, migrate};
use prowess_format::{ReadOptions, check_bytes};

use super::Outcome;
use crate::cli::DialectOption;
use crate::error::Error;
use crate::render::full;
use crate::skill::check_report::{self, CheckOptions, Source};
use crate::skill::error_free;
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
/// name. With `--batch`, every skill below PATH is migrated to its own folder in
/// DIR; one that fails does not stop the others.
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
    /// Replace existing files
    #[arg(long, requires = "output")]
    force: bool,
    /// Print the report and write nothing
    #[arg(long)]
    dry_run: bool,
}

pub(crate) fn run(arguments: &Arguments, printer: &mut Printer) -> Result<Outcome, Error> {
    if arguments.batch {
        return run_batch(arguments, printer);
    }
    let migrated = prepare(&arguments.path, arguments, printer)?;
    let Some(output) = &arguments.output else {
        migrated.rehearse(arguments, printer)?;
        if !arguments.dry_run {
            printer.data(&migrated.migration.files[0].1);
        }
        let report = report(&migrated, &[]);
        printer.talk_report(|_| report);
        return Ok(Outcome::Fine);
    };
    let target = skill_writer::skill_folder(output, Some(&migrated.migration.name));
    let files = migrated.finish(&target, arguments, printer)?;
    printer.data(&report(&migrated, &files));
    Ok(Outcome::Fine)
}

fn run_batch(arguments: &Arguments, printer: &mut Printer) -> Result<Outcome, Error> {
    if arguments.output.is_none() && !arguments.dry_run {
        return Err(Error::usage("`--batch` needs a folder to write to")
            .hint("add `--output DIR`, or `--dry-run` to print the report and write nothing"));
    }
    let skills = skills_below(&arguments.path)?;
    if skills.is_empty() {
        return Err(Error::not_found(format!(
            "no skill below `{}`",
            skill_ref::shown(&arguments.path)
        ))
        .hint("name a folder that contains folders with a SKILL.md"));
    }
    let (mut done, mut review) = (0, 0);
    for skill in &skills {
        let result = prepare(skill, arguments, printer).and_then(|migrated| {
            let files = match &arguments.output {
                Some(output) => {
                    migrated.finish(&output.join(&migrated.migration.name), arguments, printer)?
                }
                None => {
                    migrated.rehearse(arguments, printer)?;
                    Vec::new()
                }
            };
            Ok((migrated, files))
        });
        match result {
            Ok((migrated, files)) => {
                done += 1;
                review += migrated.migration.review.len();
                printer.data(&report(&migrated, &files));
            }
            Err(error) => printer.error(&error),
        }
    }
    printer.say(&format!("migrated {done} of {} skills, {review} items to review", skills.len()));
    Ok(if done == skills.len() { Outcome::Fine } else { Outcome::Findings })
}

/// A migration that is ready to be written.
struct Migrated {
    loaded: Loaded,
    migration: Migration,
}

fn prepare(path: &Path, arguments: &Arguments, printer: &mut Printer) -> Result<Migrated, Error> {
    let loaded = skill_ref::load_skill(path, printer)?;
    let dialect = reading_dialect(&loaded, arguments.dialect.dialect)?;
    let listing = loaded.directory.as_deref().map(skill_writer::listing).unwrap_or_default();
    let migration = error_free::with_checked(&loaded, dialect, "migrated", printer, |checked| {
        migrate(checked, &listing, loaded.directory_name().as_deref())
    })?;
    Ok(Migrated { loaded, migration })
}

/// The dialect to read a skill as. Many published OpenClaw skills have only a name and a description, which detection does
/// not recognise.
fn reading_dialect(
    loaded: &Loaded,
    named: Option<&'static Dialect>,
) -> Result<Option<&'static Dialect>, Error> {
    if named.is_some() {
        return Ok(named);
    }
    let read = ReadOptions { form: loaded.form, ..ReadOptions::DETECT };
    let mut text = Cow::Borrowed("");
    let checked = check_bytes(&loaded.bytes, &mut text, read);
    if checked.skill.has_layer("openclaw") {
        return Ok(None);
    }
    if checked.skill.dialect.id == "gaia" {
        return Err(Error::failed(format!("`{}` is already a GAIA skill", loaded.shown))
            .hint("`--dialect openclaw` reads it as an OpenClaw skill anyway"));
    }
    // Tools of another dialect would be dropped silently.
    if !checked.skill.tools.is_empty() {
        let id = checked.skill.dialect.id;
        return Err(Error::failed(format!(
            "`{}` is written in {id}, not for OpenClaw",
            loaded.shown
        ))
        .hint("convert it instead: `prowess convert PATH --to gaia`"));
    }
    Ok(dialect::by_id("openclaw"))
}

impl Migrated {
    fn files(&self) -> Vec<NewFile> {
        let mut files = NewFile::texts(self.migration.files.clone());
        let directory = self.loaded.directory.clone().unwrap_or_default();
        let copied = self.migration.copied.iter().map(|path| (path, path));
        let renamed = self.migration.renamed.iter().map(|(from, to)| (from, to));
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
        self.validate(&staged, Path::new(&self.migration.name), printer)
    }

    /// Writes the skill, unless it is a dry run or the result has errors.
    fn finish(
        &self,
        target: &Path,
        arguments: &Arguments,
        printer: &mut Printer,
    ) -> Result<Vec<PathBuf>, Error> {
        let overwrite = if arguments.force { Overwrite::Allowed } else { Overwrite::Refused };
        let staged = skill_writer::stage(target, &self.files(), overwrite)?;
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
        let options = CheckOptions {
            dialect: dialect::by_id("gaia"),
            strict: false,
            least: Severity::Warning,
            clean_files: false,
            excerpts: true,
            clients: &[],
        };
        let source = Source {
            path: &target.join(main),
            form: prowess_format::document::Form::Markdown,
            bytes: self.migration.files[0].1.as_bytes(),
            directory: Some(staged.path()),
            directory_name: Some(&self.migration.name),
            disabled: &[],
        };
        let examined = check_report::examine(&source, &options, None);
        let reports: Vec<_> = examined.report.into_iter().collect();
        printer.talk_report(|colour| full::render(&reports, colour));
        if examined.errors > 0 {
            return Err(Error::failed(format!(
                "the migrated `{}` has errors and was not written",
                self.migration.name
            ))
            .hint("run without `--validate` to see the result"));
        }
        printer.say(&format!("`{}` is a valid GAIA skill", self.migration.name));
        Ok(())
    }
}

/// The report: what was done, and what a person should review (GAIA §8.2, step 6).
fn report(migrated: &Migrated, files: &[PathBuf]) -> String {
    let Migration { review, name, .. } = &migrated.migration;
    let mut text = format!("migrated {} as {}\n", inline(&migrated.loaded.shown), inline(name));
    for file in files {
        let _ = writeln!(text, "  wrote {}", inline(&skill_ref::shown(file)));
    }
    for item in review {
        let _ = writeln!(text, "  review {}: {}", inline(&item.what), inline(&item.why));
    }
    text
}

/// The folders with a skill, below a folder or that folder itself.
fn skills_below(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    /// The deepest nesting at which agents look for skills.
    const DEPTH: usize = 6;
    let mut found = Vec::new();
    let mut open = vec![(folder.to_owned(), 0)];
    while let Some((folder, depth)) = open.pop() {
        match skill_ref::main_file(&folder) {
            Ok(Some(_)) => {
                found.push(folder);
                continue;
            }
            Ok(None) => {}
            Err(problem) if depth == 0 || problem.kind == ProblemKind::Failed => {
                return Err(problem.into());
            }
            Err(_) => continue,
        }
        let entries = std::fs::read_dir(&folder)
            .map_err(|source| Error::io("list", &folder, &source))?
            .flatten();
        for entry in entries {
            let name = entry.file_name();
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if is_folder && depth < DEPTH && name != ".git" && name != "node_modules" {
                open.push((entry.path(), depth + 1));
            }
        }
    }
    found.sort();
    Ok(found)
}
