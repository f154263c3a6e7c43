//! Compares declared tools with the functions of `tools.py` (GAIA §5.4), without running anything.

use std::io;
use std::path::Path;

use prowess_format::diagnostic::{Diagnostic, Severity};
use prowess_format::dialect::Dialect;
use prowess_format::skill::Skill;

use super::steps::LoadStep;
use crate::skill_files::read_skill;

/// Rules about `tools.py`, and the steps that they belong to.
const RULES: &[(&str, LoadStep)] = &[
    ("missing-tools-file", LoadStep::Import),
    ("invalid-python", LoadStep::Import),
    ("missing-tool-function", LoadStep::Verify),
    ("missing-docstring", LoadStep::Verify),
    ("parameter-mismatch", LoadStep::Verify),
    ("unserializable-return", LoadStep::Verify),
];

/// A parsed skill with its problems.
pub(super) struct Read {
    pub(super) skill: Skill,
    /// The errors, each with the step that it stops.
    pub(super) problems: Vec<(LoadStep, String)>,
}

/// Reads a skill's main file and checks it together with its `tools.py`.
pub(super) fn read(
    file: &Path,
    directory: &Path,
    dialect: Option<&'static Dialect>,
) -> io::Result<Read> {
    let (skill, diagnostics) = read_skill(file, directory, dialect)?;
    let errors = diagnostics.iter().filter(|found| found.severity == Severity::Error);
    let problems = errors.map(|found| (step_of(found), words(found))).collect();
    Ok(Read { skill, problems })
}

fn step_of(found: &Diagnostic) -> LoadStep {
    let known = RULES.iter().find(|(rule, _)| *rule == found.rule.name);
    known.map_or(LoadStep::Parse, |(_, step)| *step)
}

fn words(found: &Diagnostic) -> String {
    match &found.help {
        Some(help) => format!("{} ({help})", found.message),
        None => found.message.clone(),
    }
}

/// The problems of one step.
pub(super) fn joined(problems: &[(LoadStep, String)], step: LoadStep) -> String {
    let of_step = problems.iter().filter(|(its, _)| *its == step);
    of_step.map(|(_, words)| words.as_str()).collect::<Vec<_>>().join("; ")
}
