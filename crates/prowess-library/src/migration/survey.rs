//! The skills below a folder, each with its main file.

use std::fs;
use std::path::{Path, PathBuf};

use prowess_core::{Problem, ProblemKind};

use crate::{is_main_name, main_file, path_problem};

/// The deepest nesting. Links are not followed, so there are no loops; this bounds only strange trees.
const MOST_DEPTH: usize = 32;
/// The most skills of one survey; the public archive has some thousands.
const MOST_SKILLS: usize = 100_000;

/// The skills below a folder, sorted by path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Survey {
    /// The folders with a main file.
    pub skills: Vec<PathBuf>,
    /// What looks like a skill and is not read.
    pub skipped: Vec<SkippedSource>,
}

/// A skill that is not migrated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkippedSource {
    /// Its folder or main file.
    pub path: PathBuf,
    /// Why: a lowercase phrase without a full stop.
    pub reason: String,
    /// What would help.
    pub help: Option<String>,
}

/// Finds the skills below a folder, or in that folder itself. The folder `without` is not searched: results of an earlier
/// run may be in it.
pub fn survey(root: &Path, without: Option<&Path>) -> Result<Survey, Problem> {
    if root.is_file() {
        let message = format!("`{}` is a file, not a folder of skills", crate::shown(root));
        return Err(Problem::new("not-a-folder", ProblemKind::InvalidInput, message)
            .advice("name the folder that has the skills below it"));
    }
    let without = without.and_then(|path| path.canonicalize().ok());
    let real_root = root.canonicalize().map_err(|source| path_problem("list", root, &source))?;
    let mut found = Survey::default();
    let mut open = vec![(root.to_owned(), 0)];
    while let Some((folder, depth)) = open.pop() {
        if depth > 0 && without.is_some() && folder.canonicalize().ok() == without {
            continue;
        }
        match main_file(&folder) {
            Ok(Some(main)) if !is_within(&main, &real_root) => {
                found.skip(main, "it is a symbolic link that leaves the folder of skills");
                continue;
            }
            Ok(Some(_)) => {
                if found.skills.len() == MOST_SKILLS {
                    let message = format!("more than {MOST_SKILLS} skills in one folder");
                    return Err(Problem::new(
                        "too-many-skills",
                        ProblemKind::InvalidInput,
                        message,
                    )
                    .advice("name the folders below it one by one"));
                }
                found.skills.push(folder);
                continue;
            }
            Ok(None) => {}
            Err(problem) if depth == 0 => return Err(problem),
            Err(problem) => {
                found.skip(folder, &problem.message);
                continue;
            }
        }
        let entries = match fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(source) => {
                let problem = path_problem("list", &folder, &source);
                found.skip(folder, &problem.message);
                continue;
            }
        };
        for entry in entries.flatten() {
            let (name, path) = (entry.file_name(), entry.path());
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_symlink() {
                note_link(&path, &name.to_string_lossy(), &mut found);
            } else if kind.is_dir() && name != ".git" && name != "node_modules" {
                if depth == MOST_DEPTH {
                    found.skip(path, "it is nested too deeply");
                } else {
                    open.push((path, depth + 1));
                }
            }
        }
    }
    found.skills.sort();
    found.skipped.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(found)
}

/// A link to a skill is reported; other links are of no interest.
fn note_link(path: &Path, name: &str, found: &mut Survey) {
    if main_file(path).is_ok_and(|main| main.is_some()) {
        found.skip(path.to_owned(), "the folder is a symbolic link, which is not followed");
    } else if is_main_name(name) && !path.exists() {
        found.skip(path.to_owned(), "it is a symbolic link to a file that does not exist");
    }
}

/// Whether a file lies below a folder after following links.
fn is_within(file: &Path, root: &Path) -> bool {
    file.canonicalize().is_ok_and(|real| real.starts_with(root))
}

impl Survey {
    fn skip(&mut self, path: PathBuf, reason: &str) {
        self.skipped.push(SkippedSource { path, reason: reason.to_owned(), help: None });
    }
}
