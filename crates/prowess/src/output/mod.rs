//! How findings look: one file per format.

pub(crate) mod concise;
pub(crate) mod full;
pub(crate) mod github;
pub(crate) mod json;
pub(crate) mod sarif;
pub(crate) mod verdicts;

use crate::checking::{FileReport, Finding};

/// The path of the file a finding is in: the skill's main file, or one beside it.
pub(crate) fn path_of(report: &FileReport, finding: &Finding) -> String {
    let Some(file) = &finding.file else { return report.path.clone() };
    match report.path.rsplit_once('/') {
        Some((folder, _)) => format!("{folder}/{file}"),
        None => file.clone(),
    }
}
