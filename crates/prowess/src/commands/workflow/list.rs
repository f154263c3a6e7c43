//! `prowess workflow list`: which runs there are, and which of them can go on.

use std::fmt::Write as _;
use std::path::Path;
use std::time::UNIX_EPOCH;

use clap::{Args, ValueEnum};
use prowess_engine::workflow::{self, FileRuns, KeptRun, RunState, RunStore};
use prowess_policy::approval::date;
use serde_json::{Value, json};

use super::not_kept;
use crate::commands::Outcome;
use crate::error::Error;
use crate::session;
use crate::terminal::printer::{Printer, inline};

/// Names that a hint offers: enough to recognise one.
const MOST_OFFERED: usize = 5;

/// List runs, and which of them can be resumed
///
/// Those that were stopped stay until they have ended well. Of those that have,
/// the last hundred are kept.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  prowess workflow list
  prowess workflow list --format json

Exit codes:
  0  all is well, also when there are none
  1  they can't be read
  2  the arguments are wrong")]
pub(super) struct Arguments {
    /// How the list is written
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
    let runs = FileRuns::of(&session::world()?.state).list().map_err(|error| not_kept(&error))?;
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

/// The same error with the names of runs that can go on.
pub(super) fn offer(error: Error, store: &dyn RunStore) -> Error {
    // Without a list there is still the error.
    let runs = store.list().unwrap_or_default();
    let stopped: Vec<&KeptRun> = runs.iter().filter(|run| run.state == RunState::Stopped).collect();
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

fn line(run: &KeptRun) -> String {
    let nodes = match workflow::read(&run.record.text).0 {
        Some(workflow) => format!("{} of {} nodes", run.ended_nodes, workflow.nodes.len()),
        None => format!("{} nodes", run.ended_nodes),
    };
    let file = inline(run.record.settings["file"].as_str().unwrap_or("-")).into_owned();
    format!("{:7}  {}  {nodes}  {file}", state(run.state), date(changed(run)))
}

fn state(state: RunState) -> &'static str {
    match state {
        RunState::Running => "running",
        RunState::Stopped => "stopped",
        RunState::Ended => "ended",
    }
}

/// Seconds since 1970; a clock before that is wrong by so much that 0 is as good as any.
fn changed(run: &KeptRun) -> u64 {
    run.changed.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

fn wire(run: &KeptRun) -> Value {
    let file = run.record.settings["file"].as_str().map(Path::new);
    json!({
        "run_id": run.id.as_str(),
        "state": state(run.state),
        "ended_nodes": run.ended_nodes,
        "file": file,
        "changed_at": changed(run),
    })
}
