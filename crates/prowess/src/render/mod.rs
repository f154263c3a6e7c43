//! Rendering: one file per format of findings; events of runs; changes to a store; problems.

pub(crate) mod capability_text;
pub(crate) mod change_report;
pub(crate) mod change_text;
pub(crate) mod changes_text;
pub(crate) mod concise;
pub(crate) mod excerpt;
pub(crate) mod full;
pub(crate) mod github;
pub(crate) mod inventory_text;
pub(crate) mod json;
pub(crate) mod placement_text;
pub(crate) mod problem_text;
pub(crate) mod run_events;
pub(crate) mod sarif;
pub(crate) mod signature_text;
pub(crate) mod verdicts;
pub(crate) mod wire;

use crate::skill::check_report::{FileReport, Finding};

/// The path of the file a finding is in: the skill's main file, or one beside it.
pub(crate) fn path_of(report: &FileReport, finding: &Finding) -> String {
    let Some(file) = &finding.file else { return report.path.clone() };
    match report.path.rsplit_once('/') {
        Some((folder, _)) => format!("{folder}/{file}"),
        None => file.clone(),
    }
}
