//! Declared tools against the functions of `tools.py` (GAIA §5.4), without running anything.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Component, Path};

use prowess_format::diagnostic::{Diagnostic, Severity};
use prowess_format::dialect::Dialect;
use prowess_format::document::MAX_FILE_BYTES;
use prowess_format::python::{PythonError, PythonModule};
use prowess_format::rules::{Place, SkillFiles};
use prowess_format::skill::Skill;
use prowess_format::span::Span;
use prowess_format::{ReadOptions, check_bytes, form_of};

use super::steps::LoadStep;

/// Rules about `tools.py`, and the step that they belong to.
const RULES: &[(&str, LoadStep)] = &[
    ("missing-tools-file", LoadStep::Import),
    ("invalid-python", LoadStep::Import),
    ("missing-tool-function", LoadStep::Verify),
    ("missing-docstring", LoadStep::Verify),
    ("parameter-mismatch", LoadStep::Verify),
    ("unserializable-return", LoadStep::Verify),
];

/// A skill as its files say, with what is wrong about it.
pub(super) struct Read {
    pub(super) skill: Skill,
    /// Each error with the step that it stops.
    pub(super) problems: Vec<(LoadStep, String)>,
}

/// Reads a skill's main file and checks it together with its `tools.py`.
pub(super) fn read(
    file: &Path,
    directory: &Path,
    dialect: Option<&'static Dialect>,
) -> io::Result<Read> {
    let bytes = read_bounded(file)?;
    let files = Files { directory, python: OnceCell::new() };
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let mut text = Cow::Borrowed("");
    let place = Place { directory: None, files: Some(&files) };
    let options = ReadOptions { form: form_of(&name), dialect, place };
    let checked = check_bytes(&bytes, &mut text, options);
    let errors = checked.diagnostics.iter().filter(|found| found.severity == Severity::Error);
    let problems = errors.map(|found| (step_of(found), words(found))).collect();
    Ok(Read { skill: checked.skill, problems })
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

/// The files of a skill's folder, as the rules want them.
struct Files<'f> {
    directory: &'f Path,
    python: OnceCell<Option<Result<PythonModule, PythonError>>>,
}

impl Files<'_> {
    fn inside(&self, path: &str) -> Option<std::path::PathBuf> {
        let stays = Path::new(path)
            .components()
            .all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
        let target = self.directory.join(path).canonicalize().ok()?;
        (stays && !path.is_empty() && target.starts_with(self.directory)).then_some(target)
    }
}

impl SkillFiles for Files<'_> {
    fn exists(&self, path: &str) -> bool {
        self.inside(path).is_some()
    }

    fn python(&self) -> Option<&Result<PythonModule, PythonError>> {
        self.python
            .get_or_init(|| {
                let bytes = read_bounded(&self.inside("tools.py")?).ok()?;
                Some(match String::from_utf8(bytes) {
                    Ok(text) => prowess_python::read(&text),
                    Err(error) => Err(PythonError {
                        message: "it is not UTF-8".to_owned(),
                        span: Span::at(error.utf8_error().valid_up_to()),
                    }),
                })
            })
            .as_ref()
    }
}

/// One byte more than a skill may have, so that its reader sees that it is too large.
fn read_bounded(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(MAX_FILE_BYTES as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// What is wrong about one step.
pub(super) fn joined(problems: &[(LoadStep, String)], step: LoadStep) -> String {
    let of_step = problems.iter().filter(|(its, _)| *its == step);
    of_step.map(|(_, words)| words.as_str()).collect::<Vec<_>>().join("; ")
}
