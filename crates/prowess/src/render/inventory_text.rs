//! The skills of this machine, for people and programs.

use std::path::Path;

use prowess_store::discovery::FoundSkill;
use prowess_store::places::Places;
use serde_json::{Value, json};

use crate::terminal::printer::inline;

/// Why a skill is broken, in one line.
pub(crate) fn first_problem(found: &FoundSkill) -> Option<String> {
    let problem = found.summary.errors.first()?;
    let file = found.file.file_name().unwrap_or_default().to_string_lossy();
    Some(format!("{}:{}: {}", inline(&file), problem.line, inline(&problem.message)))
}

/// Why a skill is broken, for programs.
pub(crate) fn problems(found: &FoundSkill) -> Vec<Value> {
    let problems = found.summary.errors.iter();
    problems
        .map(|problem| {
            json!({
                "rule": problem.rule,
                "line": problem.line,
                "message": problem.message,
                "help": problem.help,
            })
        })
        .collect()
}

/// A path for people, safe to show.
pub(crate) fn shown(places: &Places, path: &Path) -> String {
    inline(&places.shown(path)).into_owned()
}
