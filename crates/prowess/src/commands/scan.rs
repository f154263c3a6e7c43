//! `prowess scan`: finds malicious skills.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use prowess_format::span::{LineIndex, Position, Span};
use prowess_library::{
    CheckSettings, FetchedSkill, Found, Opinion, ScanBasis, ScannedSkill, SkillChoice, needs_fetch,
    path_problem, run_scan_tools, scan_path_with, second_opinion, skill_folders,
};
use prowess_scan::{Finding as ScanFinding, ScanTier, Severity, Verdict, shown_severity};
use serde_json::{Map, Value, json};

use super::Outcome;
use crate::error::Error;
use crate::packages::author_scan;
use crate::render::excerpt::Excerpt;
use crate::render::{concise, full, github, sarif};
use crate::run::prompt_run;
use crate::session;
use crate::skill::check_report::{FileReport, Finding};
use crate::skill::skill_ref::{self, ReferenceOptions};
use crate::terminal::printer::{Printer, inline};

/// Find malicious skills
///
/// Reads every file of a skill, runs nothing, and judges what the text orders and
/// what the code does: lures that end in execution, reverse shells, secrets that
/// leave the machine, hidden instructions, persistence and more. Links are not
/// followed. What could not be analysed is listed and never counts as clean.
///
/// The verdict is ALLOW, REVIEW or BLOCK, and depends on the tier that the skill
/// is meant for. The exit code is that of the worst skill: 0 for ALLOW, 5 for
/// REVIEW, 6 for BLOCK, and 4 if there is nothing that can be read as a skill.
///
/// Excerpts of what was found are withheld, because they may be instructions or
/// secrets; `--excerpts` shows them, with invisible characters as escapes.
///
/// If Bandit or detect-secrets are installed, they run too, in a sandbox without a
/// network, and their findings are added by name.
///
/// A project allows findings that somebody has looked at in its `prowess.toml`:
/// `[[scan.allow]]` with `rule`, `path` and `reason`. A skill can't allow its own.
///
/// `prowess explain RULE` explains a rule.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  prowess scan examples
  prowess scan --tier verified --format concise examples
  prowess scan --format sarif examples")]
pub(crate) struct Arguments {
    /// Folders and files to scan, or anything that `prowess install` takes; the
    /// current folder if none is given
    #[arg(value_name = "PATH|REF")]
    paths: Vec<PathBuf>,
    #[command(flatten)]
    reference: ReferenceOptions,
    /// An older version of the skill: what its scripts can do is no news
    #[arg(long, value_name = "PATH")]
    since: Option<PathBuf>,
    /// Ask this model about skills that need a review; it can raise a verdict and
    /// never lower one
    #[arg(long, value_name = "PROVIDER/NAME")]
    model: Option<String>,
    /// Don't run Bandit and detect-secrets, even if they are installed
    #[arg(long)]
    no_tools: bool,
    /// The tier that the skill is judged for
    #[arg(long, value_enum, default_value_t = Tier::Community)]
    tier: Tier,
    /// Show the text that was found
    #[arg(long)]
    excerpts: bool,
    /// The output format
    #[arg(long, value_enum, default_value_t = Format::Full)]
    format: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Tier {
    /// Nobody vouches for it
    Experimental,
    /// Its publisher is known
    Community,
    /// A reviewer vouches for it; nothing is cleared automatically
    Verified,
}

impl From<Tier> for ScanTier {
    fn from(tier: Tier) -> Self {
        match tier {
            Tier::Experimental => ScanTier::Experimental,
            Tier::Community => ScanTier::Community,
            Tier::Verified => ScanTier::Verified,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// A verdict per skill, with its findings
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

/// A skill with the name that it is shown under.
struct Shown {
    path: String,
    scanned: ScannedSkill,
}

pub(crate) fn run(arguments: &Arguments, printer: &mut Printer) -> Result<Outcome, Error> {
    let tier = ScanTier::from(arguments.tier);
    let settings = CheckSettings::around(Path::new("."))?;
    let known_bad = author_scan::known_bad();
    let basis = ScanBasis {
        settings: settings.as_ref(),
        known_bad: &known_bad,
        before: arguments.since.as_deref(),
    };
    let here = [PathBuf::from(".")];
    let paths = if arguments.paths.is_empty() { &here[..] } else { &arguments.paths };
    let mut skills: Vec<Shown> = Vec::new();
    let mut failures: Vec<Error> = Vec::new();
    for path in paths {
        match scan_one(path, arguments, &basis, printer) {
            Ok(found) => skills.extend(found),
            Err(error) if paths.len() == 1 => return Err(error),
            Err(error) => failures.push(error),
        }
    }
    if !arguments.no_tools {
        run_tools(&mut skills, printer)?;
    }
    if let Some(model) = &arguments.model {
        ask(model, tier, &mut skills, printer)?;
    }
    let verdict = skills.iter().map(|skill| skill.scanned.report.verdict(tier)).max();
    print(arguments, &skills, verdict, printer);
    for failure in &failures {
        printer.error(failure);
    }
    let failed = failures.iter().map(|failure| failure.kind.exit_code()).max().unwrap_or(0);
    let code = match verdict {
        Some(Verdict::Block) => 6,
        Some(Verdict::Review) => 5,
        Some(Verdict::Allow) | None => 0,
    };
    Ok(Outcome::Ended(failed.max(code)))
}

/// Runs the other scanners that are installed on folders of this machine.
fn run_tools(skills: &mut [Shown], printer: &mut Printer) -> Result<(), Error> {
    let world = session::world()?;
    let path = world.environment.iter().find(|(name, _)| name == "PATH");
    let folders: Vec<PathBuf> =
        path.map(|(_, value)| std::env::split_paths(value).collect()).unwrap_or_default();
    let mut ran: Vec<&str> = Vec::new();
    for skill in skills.iter_mut().filter(|skill| skill.scanned.path.is_dir()) {
        ran.extend(run_scan_tools(&mut skill.scanned, &folders));
    }
    ran.sort_unstable();
    ran.dedup();
    if !ran.is_empty() {
        printer.note(&format!("{} ran in a sandbox, too", ran.join(" and ")));
    }
    Ok(())
}

/// Asks a model about the skills that the rules send to review.
fn ask(
    name: &str,
    tier: ScanTier,
    skills: &mut [Shown],
    printer: &mut Printer,
) -> Result<(), Error> {
    let world = session::world()?;
    let model = prowess_models::choose(Some(name), &world.environment, &world.state.config)
        .map_err(Error::from)?;
    let runtime = prompt_run::runtime()?;
    for skill in skills {
        let opinion = second_opinion(&mut skill.scanned, tier, model.as_ref());
        match runtime.block_on(opinion) {
            Ok(Opinion::Malicious) => {
                printer.note(&format!("{name} calls `{}` malicious", inline(&skill.path)));
            }
            Ok(Opinion::Unchanged) => {
                printer.note(&format!(
                    "{name} does not change the verdict of `{}`",
                    inline(&skill.path)
                ));
            }
            Ok(Opinion::NotAsked) => {}
            // A model that does not answer leaves the verdict of the rules.
            Err(error) => printer.warning(&format!("{name} gave no opinion: {error}")),
        }
    }
    Ok(())
}

fn scan_one(
    path: &Path,
    arguments: &Arguments,
    basis: &ScanBasis<'_>,
    printer: &mut Printer,
) -> Result<Vec<Shown>, Error> {
    if path == Path::new("-") {
        return Err(Error::usage("standard input can't be scanned")
            .hint("put the text into a file, and name that"));
    }
    let is_chosen = arguments.reference.skill.is_some();
    let problem = match std::fs::metadata(path) {
        // What is neither a file nor a folder is never opened: a pipe would be waited for.
        Ok(metadata) if !metadata.is_dir() && !metadata.is_file() => {
            return scan_folders(path, basis, skill_ref::shown);
        }
        Ok(metadata) if !is_chosen && !needs_fetch(path, metadata.is_dir()) => {
            return scan_folders(path, basis, skill_ref::shown);
        }
        Ok(_) => None,
        Err(source) => match skill_ref::find(path, &arguments.reference) {
            Ok(Found::Here(located)) => {
                return scan_folders(located.file.place(), basis, |_| path.display().to_string());
            }
            Ok(Found::Elsewhere { here: Some(_) }) => Some(path_problem("read", path, &source)),
            Ok(Found::Elsewhere { here: None }) => None,
            Err(_) => return Err(Error::io("read", path, &source)),
        },
    };
    let choice = arguments.reference.choice(SkillChoice::All);
    let reference = if path.exists() { skill_ref::as_path(path) } else { path.to_owned() };
    let fetched = skill_ref::fetch(&reference, &choice, problem, &arguments.reference, printer)?;
    let mut found = Vec::new();
    for skill in &fetched.skills {
        // The project allows nothing in what comes from elsewhere.
        let basis = ScanBasis { settings: None, ..*basis };
        found.extend(scan_folders(&skill.directory, &basis, |_| fetched_name(skill))?);
    }
    Ok(found)
}

fn fetched_name(skill: &FetchedSkill) -> String {
    skill.reference.clone()
}

fn scan_folders(
    path: &Path,
    basis: &ScanBasis<'_>,
    name: impl Fn(&Path) -> String,
) -> Result<Vec<Shown>, Error> {
    let folders = skill_folders(path)?;
    if folders.is_empty() {
        return Err(Error::refused(format!("no skill in `{}`", skill_ref::shown(path)))
            .hint("a skill is a folder with a SKILL.md"));
    }
    let mut found = Vec::new();
    for folder in folders {
        let scanned = scan_path_with(&folder, basis)?;
        found.push(Shown { path: name(&folder), scanned });
    }
    Ok(found)
}

fn print(arguments: &Arguments, skills: &[Shown], verdict: Option<Verdict>, printer: &mut Printer) {
    let tier = ScanTier::from(arguments.tier);
    let colour = printer.colour();
    match arguments.format {
        Format::Json => {
            let skills: Vec<Value> =
                skills.iter().map(|skill| skill_json(skill, tier, arguments.excerpts)).collect();
            let verdict = verdict.unwrap_or(Verdict::Allow).as_str();
            printer.json(&json!({ "verdict": verdict, "skills": skills }));
        }
        Format::Sarif => printer.json(&sarif::render(&reports(skills, arguments.excerpts))),
        Format::Github => printer.report(&github::render(&reports(skills, false))),
        Format::Concise => printer.report(&concise::render(&reports(skills, false), colour)),
        Format::Full => {
            for skill in skills {
                printer.report(&heading(skill, tier));
                if arguments.excerpts {
                    printer
                        .report(&full::render(&reports(std::slice::from_ref(skill), true), colour));
                } else {
                    printer.report(&lines(skill, printer.is_verbose()));
                }
            }
        }
    }
    let allowed: usize = skills.iter().map(|skill| skill.scanned.allowed).sum();
    if allowed > 0 {
        let findings =
            if allowed == 1 { "1 finding is" } else { &format!("{allowed} findings are") };
        printer.note(&format!("{findings} allowed by prowess.toml"));
    }
    if skills.len() > 1 {
        let of = |wanted| {
            skills.iter().filter(|skill| skill.scanned.report.verdict(tier) == wanted).count()
        };
        printer.say(&format!(
            "scanned {} skills: {} to block, {} to review, {} without objection",
            skills.len(),
            of(Verdict::Block),
            of(Verdict::Review),
            of(Verdict::Allow),
        ));
    }
}

/// The line with the verdict.
fn heading(skill: &Shown, tier: ScanTier) -> String {
    let report = &skill.scanned.report;
    let verdict = report.verdict(tier);
    let path = inline(&skill.path);
    let why = if report.findings.is_empty() && verdict == Verdict::Review {
        " (the verified tier is never given automatically)"
    } else {
        ""
    };
    format!("{verdict} {path}{why}\n")
}

/// The findings of a skill without any of its text.
fn lines(skill: &Shown, is_verbose: bool) -> String {
    let mut out = String::new();
    let report = &skill.scanned.report;
    let least = if is_verbose { Severity::Info } else { Severity::Medium };
    for finding in report.findings.iter().filter(|finding| finding.severity >= least) {
        let place = place(skill, finding).0;
        let _ = out.write_fmt(format_args!(
            "  {:8} {} {}:{}:{} {}\n",
            finding.severity.as_str(),
            finding.rule.rule.name,
            inline(&finding.file),
            place.line,
            place.column,
            inline(&finding.message),
        ));
    }
    if is_verbose {
        for skipped in &report.not_analysed {
            let _ = out.write_fmt(format_args!(
                "  not analysed: {}: {}\n",
                inline(&skipped.file),
                inline(&skipped.reason)
            ));
        }
    }
    out
}

/// Where a finding starts and ends, and its line.
fn place(skill: &Shown, finding: &ScanFinding) -> (Position, Position, Option<Excerpt>) {
    let file = skill.scanned.files.iter().find(|file| file.path == finding.file);
    let text = file.map(|file| String::from_utf8_lossy(&file.bytes)).unwrap_or_default();
    let index = LineIndex::new(&text);
    let floor = |mut offset: usize| {
        offset = offset.min(text.len());
        while !text.is_char_boundary(offset) {
            offset -= 1;
        }
        offset
    };
    let span = Span::new(floor(finding.range.start), floor(finding.range.end));
    let start = index.position(&text, span.range().start);
    let end = index.position(&text, span.range().end);
    (start, end, Some(Excerpt::new(&text, &index, span)))
}

/// The findings in the shape that the formats of `check` take.
fn reports(skills: &[Shown], excerpts: bool) -> Vec<FileReport> {
    skills
        .iter()
        .map(|skill| {
            let findings = skill.scanned.report.findings.iter().map(|finding| {
                let (start, end, excerpt) = place(skill, finding);
                Finding {
                    rule: &finding.rule.rule,
                    severity: shown_severity(finding.severity),
                    message: format!("{} ({})", finding.message, finding.severity),
                    help: None,
                    fix: None,
                    file: (finding.file != "SKILL.md").then(|| finding.file.clone()),
                    start,
                    end,
                    edits: Vec::new(),
                    excerpt: excerpt.filter(|_| excerpts),
                }
            });
            let is_file = skill.scanned.path.is_file();
            FileReport {
                path: if is_file { skill.path.clone() } else { join(&skill.path) },
                bytes: 0,
                content: 0,
                copy_of: None,
                dialect: "prose",
                layers: Vec::new(),
                kind: "skill",
                structured: true,
                name: skill.scanned.report.name.clone(),
                version: None,
                findings: findings.collect(),
                verdicts: Vec::new(),
            }
        })
        .collect()
}

fn join(folder: &str) -> String {
    match folder {
        "." => "SKILL.md".to_owned(),
        folder => format!("{}/SKILL.md", folder.trim_end_matches('/')),
    }
}

fn skill_json(skill: &Shown, tier: ScanTier, excerpts: bool) -> Value {
    let report = &skill.scanned.report;
    let findings: Vec<Value> =
        report.findings.iter().map(|finding| finding_json(skill, finding, excerpts)).collect();
    let skipped: Vec<Value> = report
        .not_analysed
        .iter()
        .map(|skipped| json!({ "file": skipped.file, "reason": skipped.reason }))
        .collect();
    json!({
        "path": skill.path,
        "name": report.name,
        "verdict": report.verdict(tier).as_str(),
        "findings": findings,
        "not_analysed": skipped,
    })
}

fn finding_json(skill: &Shown, finding: &ScanFinding, excerpts: bool) -> Value {
    let (start, _, excerpt) = place(skill, finding);
    let mut map = Map::new();
    map.insert("rule".to_owned(), json!(finding.rule.rule.name));
    map.insert("category".to_owned(), json!(finding.rule.category.as_str()));
    map.insert("severity".to_owned(), json!(finding.severity.as_str()));
    map.insert("file".to_owned(), json!(finding.file));
    map.insert("line".to_owned(), json!(start.line));
    map.insert("column".to_owned(), json!(start.column));
    map.insert("message".to_owned(), json!(finding.message));
    if excerpts && let Some(excerpt) = excerpt {
        map.insert("excerpt".to_owned(), json!(excerpt.line));
    }
    Value::Object(map)
}
