//! `prowess check`: finds problems in skills.

use std::io::{self, IsTerminal as _};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use prowess_format::client::{self, Client};
use prowess_format::diagnostic::{FixSafety, Severity};
use prowess_library::{FetchedSkill, Found, Located, SkillChoice, needs_fetch, path_problem};
use prowess_package::name::SkillName;
use prowess_store::source::Pinned;

use super::Outcome;
use crate::cli::DialectOption;
use crate::error::Error;
use crate::render::{concise, full, github, json, sarif, verdicts};
use crate::session;
use crate::skill::check_report::{self, CheckOptions, FileReport, FindingsReader, Source};
use crate::skill::skill_ref::{self, ReferenceOptions};
use crate::terminal::printer::{Channel, Printer, inline};
use crate::terminal::progress::ProgressCounter;
use crate::walk::{self, Root, WalkOptions, Walked};

/// Check skills for problems
///
/// Reads SKILL.md files of every dialect, tool packs (`*.tool.json`,
/// `toolpack.json`) and agent manifests (`AGENT.yaml`), and reports each problem
/// with its position, what to do about it and, if possible, a fix. Folders are
/// walked on all cores, without .git, `node_modules` and what .gitignore excludes,
/// unless git tracks it.
/// `-` reads one skill from standard input. `--files-from` reads the paths from a
/// list, such as the output of `git ls-files` or `find`. Archives and everything
/// else that `prowess install` takes are fetched, checked and not installed; of a
/// source with several skills all are checked.
///
/// Rules are disabled for a project in `prowess.toml` (`[check] disable = ["rule"]`,
/// `[check.per-file-disable] "glob" = ["rule"]`), and for one file by a comment:
/// `<!-- prowess: allow rule -->`, or `# prowess: allow rule` in the front matter.
///
/// The dialect is detected from the fields of each file. `--dialect` checks
/// against one specification, and `--strict` enforces it to the letter. Notes
/// are shown with `--verbose`, and always in `json` and `sarif`.
///
/// `--for` adds a verdict per client: whether that program loads the skill, loads
/// it without its description, or drops it, and why.
///
/// `prowess explain CODE` explains what a finding means.
#[derive(Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
#[command(after_long_help = "\
Examples:
  prowess check examples
  prowess check --dialect agent-skills --strict examples/commit-messages
  prowess check --fix examples/pr-review/SKILL.md
  prowess check --for claude-code,codex examples/commit-messages
  prowess check --format github .
  find . -name SKILL.md -print0 | prowess check --files-from -")]
pub(crate) struct Arguments {
    /// Files and folders to check, or anything that `prowess install` takes; the
    /// current folder if none is given, and `-` is standard input
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    #[command(flatten)]
    reference: ReferenceOptions,
    /// Also check the paths listed in FILE, one per line or separated by NUL; `-` is
    /// standard input
    #[arg(long, value_name = "FILE")]
    files_from: Option<PathBuf>,
    #[command(flatten)]
    dialect: DialectOption,
    /// Enforce the specification to the letter: many warnings become errors
    #[arg(long)]
    strict: bool,
    /// Apply safe fixes, then check again
    #[arg(long)]
    fix: bool,
    /// Also apply fixes that are probably right but may change the meaning; implies
    /// `--fix`
    #[arg(long)]
    unsafe_fixes: bool,
    /// The output format
    #[arg(long, value_enum, default_value_t = Format::Full)]
    format: Format,
    /// Report how these clients treat each skill
    #[arg(long = "for", value_name = "CLIENT", value_delimiter = ',', value_parser = crate::cli::clients::ClientParser)]
    clients: Vec<&'static Client>,
    /// Also check skill.md, Skill.md, skills.md and SKILLS.md in folders
    #[arg(long)]
    all_spellings: bool,
    /// Number of threads; 0 uses every core
    #[arg(long, value_name = "N", default_value_t = 0)]
    threads: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Source lines with the position underlined
    Full,
    /// One line per finding
    Concise,
    /// One JSON object
    Json,
    /// SARIF 2.1.0
    Sarif,
    /// Annotations for GitHub workflows
    Github,
}

impl Format {
    /// Whether it is for people, who see notes only with `--verbose`.
    fn is_for_people(self) -> bool {
        matches!(self, Format::Full | Format::Concise | Format::Github)
    }
}

impl Arguments {
    /// The least safety of the fixes to apply; `None` applies none.
    fn least_safety(&self) -> Option<FixSafety> {
        match (self.unsafe_fixes, self.fix) {
            (true, _) => Some(FixSafety::Suggested),
            (false, true) => Some(FixSafety::Safe),
            (false, false) => None,
        }
    }
}

pub(crate) fn run(arguments: &Arguments, printer: &mut Printer) -> Result<Outcome, Error> {
    let quiet_notes = arguments.format.is_for_people() && !printer.is_verbose();
    let from_stdin = arguments.paths == [Path::new("-")] && arguments.files_from.is_none();
    let check = CheckOptions {
        dialect: arguments.dialect.dialect,
        strict: arguments.strict,
        least: if quiet_notes { Severity::Warning } else { Severity::Info },
        clean_files: from_stdin || arguments.format == Format::Json,
        excerpts: arguments.format == Format::Full,
        reader: if printer.is_terminal(Channel::Out) && io::stdin().is_terminal() {
            FindingsReader::Author
        } else {
            FindingsReader::Anyone
        },
        clients: &arguments.clients,
    };
    let checked = if from_stdin {
        check_stdin(arguments, &check).map(|walked| (walked, false))
    } else {
        check_paths(arguments, &check, printer)
    };
    let (walked, is_walk) = checked.inspect_err(|error| {
        // Programs get their object whatever happens.
        if arguments.format == Format::Json {
            printer.json(&json::failed(error));
        }
    })?;
    print(arguments, &walked, is_walk, printer);
    // If a client that was named drops the skill, the check has failed.
    let dropped = walked.reports.iter().any(is_dropped);
    let failed = walked.errors > 0 || dropped || !walked.failures.is_empty();
    Ok(if failed { Outcome::Findings } else { Outcome::Fine })
}

fn is_dropped(report: &FileReport) -> bool {
    report.verdicts.iter().any(|verdict| verdict.outcome == client::ClientOutcome::Dropped)
}

/// Whether a finding says that clients don't see the skill, or drop it: then the file is not "ok". A text without any front
/// matter is valid prose, for which skillrt documents the line.
fn is_overlooked(report: &FileReport) -> bool {
    const RULES: &[&str] = &[
        "blank-lines-before-fence",
        "byte-order-mark",
        "dropped-by-client",
        "misplaced-front-matter",
        "wrong-file-name",
    ];
    report.findings.iter().any(|found| RULES.contains(&found.rule.name))
}

fn check_stdin(arguments: &Arguments, check: &CheckOptions<'_>) -> Result<Walked, Error> {
    if arguments.least_safety().is_some() {
        return Err(Error::usage("`--fix` can't change standard input")
            .hint("name the file, as in `prowess check --fix SKILL.md`"));
    }
    let loaded = skill_ref::load_stdin()?;
    let examined = check_report::examine(&Source::from(&loaded), check, None);
    Ok(Walked::of_one(examined))
}

fn check_paths(
    arguments: &Arguments,
    check: &CheckOptions<'_>,
    printer: &mut Printer,
) -> Result<(Walked, bool), Error> {
    let listed = arguments.files_from.as_deref().map(skill_ref::path_list).transpose()?;
    let mut is_walk = arguments.paths.len() > 1 || listed.is_some();
    let mut roots: Vec<Root> = Vec::new();
    let mut fetched: Vec<FetchedSkill> = Vec::new();
    let here = [PathBuf::from(".")];
    let is_bare = arguments.paths.is_empty() && listed.is_none();
    for path in if is_bare { &here[..] } else { &arguments.paths } {
        if path == Path::new("-") {
            return Err(Error::usage("`-` is standard input and must be the only path")
                .hint("check the other paths separately"));
        }
        match target(path, arguments, printer)? {
            Target::Path { path, is_folder } => {
                is_walk |= is_folder;
                roots.push(Root { path, is_folder: Some(is_folder) });
            }
            Target::Fetched(skills) => {
                is_walk |= skills.len() > 1;
                for skill in &skills {
                    roots.push(Root { path: skill.directory.clone(), is_folder: Some(true) });
                }
                fetched.extend(skills);
            }
        }
    }
    // A list may be long, and one missing file does not stop the others.
    roots.extend(listed.into_iter().flatten().map(|path| {
        let name = path.file_name().and_then(|name| name.to_str());
        let is_folder =
            if name.is_some_and(skill_ref::is_main_name) { None } else { Some(path.is_dir()) };
        Root { path, is_folder }
    }));
    roots.sort_by(|a, b| a.path.cmp(&b.path));
    roots.dedup_by(|a, b| skill_ref::shown(&a.path) == skill_ref::shown(&b.path));
    let progress = ProgressCounter::new(printer, "files checked");
    let options = WalkOptions {
        roots,
        all_spellings: arguments.all_spellings,
        fix: arguments.least_safety(),
        threads: arguments.threads,
    };
    let mut walked = walk::walk(&options, check, &progress);
    progress.finish();
    name_sources(&mut walked, &fetched);
    if walked.files == 0 && walked.failures.is_empty() {
        return Err(nothing_found(&options.roots, walked.other_spellings));
    }
    Ok((walked, is_walk))
}

/// What an argument means.
enum Target {
    /// A path on this machine.
    Path { path: PathBuf, is_folder: bool },
    /// Skills that were fetched to be checked.
    Fetched(Vec<FetchedSkill>),
}

fn target(path: &Path, arguments: &Arguments, printer: &mut Printer) -> Result<Target, Error> {
    let is_chosen = arguments.reference.skill.is_some();
    let is_main_file =
        path.file_name().and_then(|name| name.to_str()).is_some_and(skill_ref::is_main_name);
    let here = match std::fs::metadata(path) {
        Ok(metadata) if !is_chosen && (is_main_file || !needs_fetch(path, metadata.is_dir())) => {
            // Installed skills win over folders of the same name, as for every other verb.
            match installed_instead_of(path) {
                Some(located) => Found::Here(Box::new(located)),
                None => {
                    let is_folder = metadata.is_dir();
                    return Ok(Target::Path { path: path.to_owned(), is_folder });
                }
            }
        }
        Ok(_) => Found::Elsewhere { here: None },
        // A link without a target is a finding.
        Err(_) if path.is_symlink() => {
            return Ok(Target::Path { path: path.to_owned(), is_folder: false });
        }
        Err(source) => match skill_ref::find(path, &arguments.reference) {
            Ok(Found::Elsewhere { here: Some(_) }) => {
                Found::Elsewhere { here: Some(path_problem("read", path, &source)) }
            }
            Ok(found) => found,
            Err(_) => return Err(Error::io("read", path, &source)),
        },
    };
    let fixed = |what: &str| {
        Error::usage(format!("`--fix` changes files, and `{}` is {what}", path.display()))
    };
    let problem = match here {
        Found::Here(located) => {
            if arguments.least_safety().is_some() {
                let error = fixed("an installed skill");
                return Err(if path.exists() {
                    error.hint(format!("`./{}` is the path here", path.display()))
                } else {
                    error.hint("change the skill where it comes from, and install it again")
                });
            }
            skill_ref::note_others(path, &located, printer)?;
            return Ok(Target::Path { path: located.file.place().to_owned(), is_folder: true });
        }
        Found::Elsewhere { here } => here,
    };
    if arguments.least_safety().is_some() {
        return Err(match problem {
            Some(problem) => problem.into(),
            None => fixed("only fetched to be read").hint("run it without `--fix`"),
        });
    }
    let choice = arguments.reference.choice(SkillChoice::All);
    let reference = if path.exists() { skill_ref::as_path(path) } else { path.to_owned() };
    let fetched = skill_ref::fetch(&reference, &choice, problem, &arguments.reference, printer)?;
    for skill in &fetched.skills {
        skill_ref::announce(skill, printer);
    }
    Ok(Target::Fetched(fetched.skills))
}

/// The installed skill of a name, if a path has that name and nothing more.
fn installed_instead_of(path: &Path) -> Option<Located> {
    // Most paths are no names, and need not wait for the library.
    path.to_str().filter(|text| text.parse::<SkillName>().is_ok())?;
    session::library().ok()?.installed_at(path)
}

/// Replaces temporary folders in reports by where the skills come from.
fn name_sources(walked: &mut Walked, fetched: &[FetchedSkill]) {
    for skill in fetched.iter().filter(|skill| skill.temporary().is_some()) {
        let folder = skill.directory.display().to_string();
        let place = match &skill.pinned {
            // The address of a registry says nothing about the skill.
            Pinned::Registry { .. } => skill.reference.clone(),
            pinned => pinned.to_string(),
        };
        let place = place.trim_end_matches('/');
        for report in &mut walked.reports {
            if let Some(rest) = report.path.strip_prefix(&folder) {
                report.path = format!("{place}{rest}");
            }
        }
        for failure in &mut walked.failures {
            failure.message = failure.message.replace(&folder, place);
        }
    }
}

fn nothing_found(roots: &[Root], other_spellings: usize) -> Error {
    let places: Vec<String> =
        roots.iter().map(|root| format!("`{}`", skill_ref::shown(&root.path))).collect();
    if places.is_empty() {
        return Error::not_found("the list contains no paths")
            .hint("list one path per line, or end each with a NUL byte");
    }
    let error = Error::not_found(format!("no skill in {}", places.join(", ")));
    if other_spellings > 0 {
        return error.hint(format!(
            "{} spelt differently, such as skill.md: add `--all-spellings`",
            count(other_spellings, "file is", "files are")
        ));
    }
    error.hint("a skill is a folder with a SKILL.md; `prowess check FILE` checks any file")
}

fn print(arguments: &Arguments, walked: &Walked, is_walk: bool, printer: &mut Printer) {
    let colour = printer.colour();
    match arguments.format {
        Format::Full => {
            printer.report(&full::render(&walked.reports, colour));
            printer.report(&verdicts::render(&walked.reports, colour));
        }
        Format::Concise => {
            printer.report(&concise::render(&walked.reports, colour));
            printer.report(&verdicts::render(&walked.reports, colour));
        }
        Format::Json => printer.json(&json::render(walked, arguments.least_safety().is_some())),
        Format::Sarif => printer.json(&sarif::render(&walked.reports)),
        Format::Github => printer.report(&github::render(&walked.reports)),
    }
    for failure in &walked.failures {
        printer.error(failure);
    }
    let for_people = matches!(arguments.format, Format::Full | Format::Concise);
    if for_people
        && let [report] = walked.reports.as_slice()
        && walked.files == 1
        && walked.errors == 0
        && walked.failures.is_empty()
        && !is_dropped(report)
        && !is_overlooked(report)
        && !printer.is_quiet()
    {
        printer.report(&format!("{}\n", ok_line(report)));
    }
    let (problems, files) = walked.fixed;
    if problems > 0 {
        let problems = count(problems, "problem", "problems");
        printer.say(&format!("fixed {problems} in {}", count(files, "file", "files")));
    }
    let copies = walked.reports.iter().filter(|report| report.copy_of.is_some()).count();
    if copies > 0 && for_people {
        let files = count(copies, "identical copy has", "identical copies have");
        printer.note(&format!("{files} the same findings, which are reported once"));
    }
    if is_walk {
        printer.say(&summary(walked));
        if walked.other_spellings > 0 {
            printer.note(&format!(
                "{} not checked; add `--all-spellings`",
                count(
                    walked.other_spellings,
                    "file spelt like skill.md was",
                    "files spelt like skill.md were"
                )
            ));
        }
    }
}

/// The line for a file without errors (SRT, appendix A).
fn ok_line(report: &FileReport) -> String {
    let path = inline(&report.path);
    if !report.structured {
        return format!("{path}: ok (prose, {} bytes)", report.bytes);
    }
    let name = inline(report.name.as_deref().unwrap_or("unnamed"));
    match &report.version {
        Some(version) => format!("{path}: ok (structured) {name}@{}", inline(version)),
        None => format!("{path}: ok (structured) {name}"),
    }
}

fn summary(walked: &Walked) -> String {
    format!(
        "checked {}: {}, {}",
        count(walked.files, "file", "files"),
        count(walked.errors, "error", "errors"),
        count(walked.warnings, "warning", "warnings")
    )
}

/// A number with its noun.
fn count(number: usize, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}
