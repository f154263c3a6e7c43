//! `prowess runs`: the changes of runs, which wait for a decision or can be undone.

use std::fmt::Write as _;
use std::time::UNIX_EPOCH;

use clap::{Args, Subcommand, ValueEnum};
use prowess_core::{ChangeDecision, ChangedFile, ChangesState, Problem, wire};
use prowess_engine::World;
use prowess_engine::changes::{self, ChangesError, KeptRun, RETENTION};
use prowess_policy::approval::date;
use serde_json::{Value, json};

use super::Outcome;
use crate::error::{Error, ErrorKind};
use crate::render::changes_text;
use crate::run::settling;
use crate::run::tool_run;
use crate::session;
use crate::terminal::confirm;
use crate::terminal::printer::{Channel, Printer, inline};

/// Review, apply and undo what tools have changed
///
/// What a tool writes is held back until it has ended. Ordinary changes are applied
/// then, all or none; the others wait for you: files that other programs start or
/// obey, links that lead out of the granted folders, conflicts with changes that
/// somebody else has made meanwhile, and everything that a tool has written before
/// it failed. What was applied can be undone for 7 days, and what waits is kept for
/// 30 days; at most 100 runs are kept.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  prowess runs list
  prowess runs list --format json

Exit codes:
    0  success
    1  somebody else has changed the same files, or the changes can't be used
    2  the arguments are wrong
    3  there are no changes of that run
  125  some changes need a decision, or are never applied: nothing was applied")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// List the runs whose changes are kept, the latest last
    List {
        /// The output format
        #[arg(long, value_enum, default_value_t = Format::Text)]
        format: Format,
    },
    /// Show what a run has changed, and what became of it
    Show {
        #[command(flatten)]
        run: RunName,
        /// The output format
        #[arg(long, value_enum, default_value_t = Format::Text)]
        format: Format,
    },
    /// Print the changes of a run as a patch that `git apply` takes
    ///
    /// Paths are relative to the root of the repository around the current folder.
    Diff {
        #[command(flatten)]
        run: RunName,
    },
    /// Apply the changes of a run that wait
    ///
    /// All of them are applied, or none. Changes that need a decision are asked about,
    /// or accepted with `--accept`. A link in a `.git` folder, and whatever else makes
    /// git start programs, is never applied.
    Apply {
        #[command(flatten)]
        run: RunName,
        /// Also apply changes that need a decision, if their path matches GLOB
        ///
        /// A relative GLOB is relative to the current folder; `*` stays within a name,
        /// `**` matches folders, and a folder stands for everything in it. May be
        /// repeated.
        #[arg(long, value_name = "GLOB")]
        accept: Vec<String>,
        /// Accept such changes of this skill from now on, until one of its files changes
        #[arg(long, requires = "accept")]
        remember: bool,
    },
    /// Forget the changes of a run
    ///
    /// Changes that wait are lost. Those that were applied stay, and can't be undone
    /// any more.
    Discard {
        #[command(flatten)]
        run: RunName,
    },
    /// Restore what was there before a run
    ///
    /// Refused if somebody has changed one of the files since: then nothing changes.
    Undo {
        #[command(flatten)]
        run: RunName,
    },
}

/// A run by its id.
#[derive(Args)]
struct RunName {
    /// The id of the run, as `prowess runs list` shows it, or its first characters
    #[arg(value_name = "RUN")]
    run: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people
    Text,
    /// For programs
    Json,
}

pub(crate) fn run(arguments: &Arguments, printer: &mut Printer) -> Result<Outcome, Error> {
    let world = session::world()?;
    match &arguments.action {
        Action::List { format } => list(&world, *format, printer),
        Action::Show { run, format } => {
            show(&find(&world, run)?, *format, printer);
            Ok(Outcome::Fine)
        }
        Action::Diff { run } => diff(&world, &find(&world, run)?, printer),
        Action::Apply { run, accept, remember } => {
            apply(&world, &find(&world, run)?, accept, *remember, printer)
        }
        Action::Discard { run } => {
            let run = find(&world, run)?;
            changes::discard(&world.state, &run.changes.run)
                .map_err(|error| failed(error, &run))?;
            printer.say(&format!("the changes of `{}` are forgotten", run.changes.run));
            Ok(Outcome::Fine)
        }
        Action::Undo { run } => undo(&world, &find(&world, run)?, printer),
    }
}

/// The run of an id, or of the beginning of one.
fn find(world: &World, name: &RunName) -> Result<KeptRun, Error> {
    /// Fewer characters fit too many runs.
    const MIN_CHARACTERS: usize = 4;
    match changes::get(&world.state, &name.run) {
        Ok(run) => return Ok(run),
        Err(ChangesError::Unknown(_)) => {}
        Err(error) => return Err(Problem::from(error).into()),
    }
    let runs = changes::list(&world.state).map_err(|error| Error::from(Problem::from(error)))?;
    let mut found = runs
        .into_iter()
        .filter(|run| name.run.len() >= MIN_CHARACTERS && run.changes.run.starts_with(&name.run));
    match (found.next(), found.next()) {
        (Some(run), None) => Ok(run),
        (Some(_), Some(_)) => {
            Err(Error::usage(format!("several runs begin with `{}`", inline(&name.run)))
                .hint("`prowess runs list` shows the whole ids"))
        }
        (None, _) => {
            Err(Error::not_found(format!("there are no changes of a run `{}`", inline(&name.run)))
                .hint("`prowess runs list` shows the runs whose changes are kept"))
        }
    }
}

fn list(world: &World, format: Format, printer: &mut Printer) -> Result<Outcome, Error> {
    let runs = changes::list(&world.state).map_err(|error| Error::from(Problem::from(error)))?;
    match format {
        Format::Json => {
            let runs: Vec<Value> = runs
                .iter()
                .map(|run| {
                    json!({
                        "run": run.changes.run,
                        "tool": run.title,
                        "state": run.changes.state.as_str(),
                        "started": seconds(run),
                        "changes": run.changes.changes.len(),
                    })
                })
                .collect();
            printer.json(&json!({ "runs": runs }));
        }
        Format::Text if runs.is_empty() => {
            printer.note("there are no changes of runs");
        }
        Format::Text => {
            printer.report(&runs.iter().fold(String::new(), |mut text, run| {
                let count = count(run.changes.changes.len());
                let state = run.changes.state.as_str();
                let (id, day) = (&run.changes.run, date(seconds(run)));
                let _ = writeln!(text, "{id}  {state:7}  {day}  {count}  {}", inline(&run.title));
                text
            }));
        }
    }
    Ok(Outcome::Fine)
}

fn show(run: &KeptRun, format: Format, printer: &mut Printer) {
    match format {
        Format::Json => printer.json(&json!({
            "run": run.changes.run,
            "tool": run.title,
            "state": run.changes.state.as_str(),
            "started": seconds(run),
            "changes": wire::changes(&run.changes),
            "changes_applied": run.changes.state == ChangesState::Applied,
        })),
        Format::Text => {
            let mut page = format!("{} ({})\n", inline(&run.title), run.changes.state.as_str());
            page.push_str(&changes_text::list(&run.changes.changes));
            printer.report(&page);
            let id = &run.changes.run;
            match run.changes.state {
                ChangesState::Pending => {
                    printer.hint(&format!("`prowess runs apply {id}` applies the changes"));
                }
                ChangesState::Applied => {
                    let days = RETENTION.applied.as_secs() / (24 * 60 * 60);
                    printer.hint(&format!(
                        "`prowess runs undo {id}` restores what was there, for {days} days"
                    ));
                }
                ChangesState::None | ChangesState::Undone => {}
            }
        }
    }
}

fn diff(world: &World, run: &KeptRun, printer: &mut Printer) -> Result<Outcome, Error> {
    let mut patch = Vec::new();
    let folder = settling::patch_folder(world);
    let report = changes::write_patch(&world.state, &run.changes.run, folder, &mut patch)
        .map_err(|error| failed(error, run))?;
    if printer.is_terminal(Channel::Out) {
        let text = String::from_utf8_lossy(&patch).into_owned();
        printer.report(&changes_text::diff(&text, printer.colour()));
    } else {
        printer.piece(Channel::Out, &patch);
    }
    for omitted in &report.omitted {
        let shown = omitted.display().to_string();
        printer.warning(&format!("`{}` is too large for a patch", inline(&shown)));
    }
    Ok(Outcome::Fine)
}

fn apply(
    world: &World,
    run: &KeptRun,
    accept: &[String],
    remember: bool,
    printer: &mut Printer,
) -> Result<Outcome, Error> {
    let id = &run.changes.run;
    let patterns = settling::patterns(accept, world)?;
    let accepts = |path: &std::path::Path| patterns.iter().any(|pattern| pattern.covers(path));
    let open: Vec<ChangedFile> = run
        .changes
        .changes
        .iter()
        .filter(|file| file.decision == ChangeDecision::Ask && !accepts(&file.path))
        .cloned()
        .collect();
    let is_pending = run.changes.state == ChangesState::Pending;
    let mut is_confirmed = false;
    if is_pending && !open.is_empty() && confirm::can_ask(printer) {
        printer.talk_report(|_| changes_text::list(&open));
        let question = "Apply these changes? [y]es / [N]o: ";
        is_confirmed = confirm::confirm(question, printer) == Some(true);
    }
    changes::apply(&world.state, id, &|path| is_confirmed || accepts(path))
        .map_err(|error| failed(error, run))?;
    if remember {
        changes::remember(&world.state, id, &patterns).map_err(|error| failed(error, run))?;
    }
    printer.say(&format!("applied {}", count(run.changes.changes.len())));
    printer.hint(&format!("`prowess runs undo {id}` restores what was there"));
    Ok(Outcome::Fine)
}

fn undo(world: &World, run: &KeptRun, printer: &mut Printer) -> Result<Outcome, Error> {
    changes::undo(&world.state, &run.changes.run).map_err(|error| failed(error, run))?;
    printer.say(&format!("undid {}", count(run.changes.changes.len())));
    Ok(Outcome::Fine)
}

fn failed(error: ChangesError, run: &KeptRun) -> Error {
    let id = &run.changes.run;
    match error {
        ChangesError::Undecided(open) => {
            let first = open.first().map(changes_text::not_applied).unwrap_or_default();
            let error =
                Error { kind: ErrorKind::NotRun(tool_run::REFUSED), ..Error::failed(first) };
            error.hint(format!(
                "`prowess runs show {id}` lists the changes; accept some with `--accept GLOB`, or answer on a terminal"
            ))
        }
        ChangesError::Refused(refused) => {
            let first = refused.first().map(changes_text::not_applied).unwrap_or_default();
            let error =
                Error { kind: ErrorKind::NotRun(tool_run::REFUSED), ..Error::failed(first) };
            error.hint(format!("`prowess runs diff {id}` prints the changes as a patch; `prowess runs discard {id}` forgets them"))
        }
        ChangesError::Apply(changes::ApplyError::Conflicts(conflicts)) => {
            conflicting("applied", &conflicts, id)
        }
        ChangesError::Undo(changes::UndoError::Changed(conflicts)) => {
            conflicting("undone", &conflicts, id)
        }
        error => Problem::from(error).into(),
    }
}

fn conflicting(done: &str, conflicts: &[changes::Conflict], id: &str) -> Error {
    let first = conflicts.first().map_or_else(String::new, |conflict| {
        let path = conflict.path.display().to_string();
        format!(": `{}`, because {}", inline(&path), conflict.reason.as_str())
    });
    Error::failed(format!("nothing was {done}{first}"))
        .hint(format!("`prowess runs diff {id}` prints the changes as a patch"))
}

fn count(number: usize) -> String {
    match number {
        1 => "1 change".to_owned(),
        number => format!("{number} changes"),
    }
}

/// Seconds since 1970; 0 for a clock before that.
fn seconds(run: &KeptRun) -> u64 {
    run.started.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
