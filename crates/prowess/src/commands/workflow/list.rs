//! `prowess workflow list`: lists runs, and which of them can be resumed.

use std::fmt::Write as _;
use std::path::Path;
use std::time::UNIX_EPOCH;

use clap::{Args, ValueEnum};
use prowess_engine::workflow::{self, FileRuns, RunStore, StoredRun, StoredRunState};
use prowess_policy::approval::date;
use serde_json::{Value, json};

use super::store_error;
use crate::commands::Outcome;
use crate::error::Error;
use crate::session;
use crate::terminal::printer::{Printer, inline};

/// The most runs that a hint names.
const MOST_OFFERED: usize = 5;

/// List runs, and which of them can be resumed
///
/// A stopped run is kept until it has succeeded. Of the runs that have succeeded,
/// the last hundred are kept.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  prowess workflow list
  prowess workflow list --format json

Exit codes:
  0  success, also if there are no runs
  1  the runs can't be read
  2  the arguments are wrong")]
pub(super) struct Arguments {
    /// The output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people
    Text,
    /// For programs
    Json,
}

pub(super) fn run(arguments: &Arguments, printer: &mut Printer) -> Result<Outcome, Error> {
    let runs =
        FileRuns::of(&session::world()?.state).list().map_err(|error| store_error(&error))?;
    match arguments.format {
        Format::Json => {
            let runs: Vec<Value> = runs.iter().map(wire).collect();
            printer.json(&json!({ "runs": runs }));
        }
        Format::Text if runs.is_empty() => {
            printer.note("there are no runs; `prowess workflow run FILE` starts one");
        }
        Format::Text => {
            let width = runs.iter().map(|run| run.id.as_str().len()).max().unwrap_or_default();
            printer.report(&runs.iter().fold(String::new(), |mut text, run| {
                let _ = writeln!(text, "{:width$}  {}", run.id.as_str(), line(run));
                text
            }));
        }
    }
    Ok(Outcome::Fine)
}

/// Adds the names of runs that can be resumed to an error.
pub(super) fn offer(error: Error, store: &dyn RunStore) -> Error {
    // If the list can't be read, the error stays without it.
    let runs = store.list().unwrap_or_default();
    let stopped: Vec<&StoredRun> =
        runs.iter().filter(|run| run.state == StoredRunState::Stopped).collect();
    if stopped.is_empty() {
        return error.hint("no run can be resumed; `prowess workflow run FILE` starts one");
    }
    let names = stopped.iter().take(MOST_OFFERED).map(|run| format!("`{}`", run.id.as_str()));
    let names = names.collect::<Vec<_>>().join(", ");
    let error = error.hint(format!("these can be resumed, the latest first: {names}"));
    match stopped.len().saturating_sub(MOST_OFFERED) {
        0 => error,
        others => error.hint(format!("`prowess workflow list` shows {others} more")),
    }
}

fn line(run: &StoredRun) -> String {
    let nodes = match workflow::read(&run.record.text).0 {
        Some(workflow) => format!("{} of {} nodes", run.ended_nodes, workflow.nodes.len()),
        None => format!("{} nodes", run.ended_nodes),
    };
    let file = inline(run.record.settings["file"].as_str().unwrap_or("-")).into_owned();
    format!("{:7}  {}  {nodes}  {file}", state(run.state), date(changed(run)))
}

fn state(state: StoredRunState) -> &'static str {
    match state {
        StoredRunState::Running => "running",
        StoredRunState::Stopped => "stopped",
        StoredRunState::Ended => "ended",
    }
}

/// Seconds since 1970; 0 for a clock before that.
fn changed(run: &StoredRun) -> u64 {
    run.changed.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

fn wire(run: &StoredRun) -> Value {
    let file = run.record.settings["file"].as_str().map(Path::new);
    json!({
        "run_id": run.id.as_str(),
        "state": state(run.state),
        "ended_nodes": run.ended_nodes,
        "file": file,
        "changed_at": changed(run),
    })
}
