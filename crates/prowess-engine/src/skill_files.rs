//! The files of a skill's directory, as the rules of a check want them.

use std::cell::OnceCell;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Component, Path, PathBuf};

use prowess_format::document::MAX_FILE_BYTES;
use prowess_format::python::{PythonError, PythonModule};
use prowess_format::rules::SkillFiles;
use prowess_format::span::Span;

/// How the main file of a skill is spelt, the usual way first (OC-7).
pub(crate) const SPELLINGS: &[&str] =
    &["SKILL.md", "skill.md", "Skill.md", "skills.md", "SKILLS.md"];

/// The files of a skill's directory. Nothing is looked at before a rule asks.
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

    /// The full path of a file inside the directory; `None` when it is missing, or leads out of it.
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

    /// The text of a file of the skill, where it is UTF-8.
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

/// Reads a file; one byte more than a skill may have, so that its reader sees that it is too large.
pub(crate) fn read_bounded(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(MAX_FILE_BYTES as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}
