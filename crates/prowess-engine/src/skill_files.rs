//! The files of a skill's directory, as the rules of a check need them.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Component, Path, PathBuf};

use prowess_format::diagnostic::Diagnostic;
use prowess_format::dialect::Dialect;
use prowess_format::document::{Form, MAX_FILE_BYTES};
use prowess_format::python::{PythonError, PythonModule};
use prowess_format::rules::{SkillFiles, SkillLocation};
use prowess_format::skill::Skill;
use prowess_format::span::Span;
use prowess_format::{ReadOptions, check_bytes, declared_quizzes, form_of};

/// The spellings of the main file, the preferred one first (OC-7).
pub const SPELLINGS: &[&str] = &["SKILL.md", "skill.md", "Skill.md", "skills.md", "SKILLS.md"];

/// The files of a skill's directory, read on demand.
#[derive(Debug)]
pub struct DirectoryFiles<'d> {
    directory: &'d Path,
    python: OnceCell<Option<Result<PythonModule, PythonError>>>,
}

impl<'d> DirectoryFiles<'d> {
    /// The files of a directory.
    pub fn new(directory: &'d Path) -> Self {
        Self { directory, python: OnceCell::new() }
    }

    /// The full path of a file inside the directory; `None` if it is missing, or leads out of it.
    fn inside(&self, path: &str) -> Option<PathBuf> {
        let relative = Path::new(path);
        let stays = relative
            .components()
            .all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
        if !stays || path.is_empty() {
            return None;
        }
        let target = self.directory.join(relative).canonicalize().ok()?;
        let directory = self.directory.canonicalize().ok()?;
        target.starts_with(directory).then_some(target)
    }

    /// The text of a file of the skill, if it is UTF-8.
    pub fn text(&self, path: &str) -> Option<String> {
        String::from_utf8(read_bounded(&self.inside(path)?).ok()?).ok()
    }
}

impl SkillFiles for DirectoryFiles<'_> {
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

/// The main file of a skill's directory, if it has one.
pub(crate) fn main_file(directory: &Path) -> Option<PathBuf> {
    SPELLINGS.iter().map(|name| directory.join(name)).find(|file| file.is_file())
}

/// Parses a main file as a skill, and checks it together with the files of its directory.
pub fn check_skill(
    bytes: &[u8],
    form: Form,
    dialect: Option<&'static Dialect>,
    directory: Option<&Path>,
) -> (Skill, Vec<Diagnostic>) {
    let files = directory.map(DirectoryFiles::new);
    let files = files.as_ref().map(|files| files as &dyn SkillFiles);
    let place = SkillLocation { directory: None, files };
    let mut text = Cow::Borrowed("");
    let mut checked = check_bytes(bytes, &mut text, ReadOptions { form, dialect, place });
    // A gate holds for every reader, also for one that was told another dialect.
    if checked.skill.quiz.is_empty() {
        checked.skill.quiz = declared_quizzes(&checked.document);
    }
    (checked.skill, checked.diagnostics)
}

/// Reads a main file, parses and checks it.
pub(crate) fn read_skill(
    file: &Path,
    directory: &Path,
    dialect: Option<&'static Dialect>,
) -> io::Result<(Skill, Vec<Diagnostic>)> {
    let bytes = read_bounded(file)?;
    let form = form_of(&file.file_name().unwrap_or_default().to_string_lossy());
    Ok(check_skill(&bytes, form, dialect, Some(directory)))
}

/// Reads a file up to one byte above the size limit, so that the parser can detect a file that is too large.
pub(crate) fn read_bounded(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(MAX_FILE_BYTES as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}
