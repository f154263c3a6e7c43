//! The skills that an agent is offered: every skill that is visible here, or those that references and folders name.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use prowess_core::{Problem, ProblemKind, Remedy};
use prowess_engine::LoadedSkill;
use prowess_format::dialect::Dialect;
use prowess_format::document::Form;
use prowess_format::form_of;
use prowess_store::discovery::{FoundSkill, RootKind};
use prowess_store::places::Scope;

use crate::file::{
    SkillFile, TOOL_PACK_ENDING, is_main_name, main_file, path_problem, read, shown,
};
use crate::library::Library;
use crate::packages::SkillState;

/// Maximum depth of a skill below a folder of skills, as in discovery.
const MOST_DEPTH: usize = 6;
/// Maximum number of folders that are searched below a folder of skills.
const MOST_FOLDERS: usize = 20_000;
/// A large folder that never contains skills.
const SKIPPED: &str = "node_modules";

/// Skills without errors, and those that were left out.
#[derive(Debug, Default)]
pub struct SkillSelection {
    /// The skills, each once, in order of precedence.
    pub skills: Vec<Arc<LoadedSkill>>,
    /// Skills that can't be used, with the reason. Copies that another skill of the same name shadows are not listed.
    pub left_out: Vec<LeftOutSkill>,
    /// What could not be read, in words.
    pub warnings: Vec<String>,
}

/// A skill that is not offered.
#[derive(Clone, Debug)]
pub struct LeftOutSkill {
    /// Its name, or the name of its folder.
    pub name: String,
    /// Its folder, or its file if it has no folder.
    pub path: PathBuf,
    /// Whether a reference named this skill, and not a folder around it.
    pub is_named: bool,
    /// Why it is not offered. The code `not-a-skill` means that there is no skill at the path.
    pub problem: Problem,
}

impl SkillSelection {
    fn leave_out(&mut self, path: &Path, is_named: bool, problem: Problem) {
        let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
        self.left_out.push(LeftOutSkill { name, path: path.to_owned(), is_named, problem });
    }
}

impl Library {
    /// Every skill that is visible from the current folder: those that [the inventory] calls active, with their trust.
    /// With a scope, only those that are installed in its store.
    ///
    /// Broken, changed and missing skills are [left out](SkillSelection::left_out) with a reason. A skill that only
    /// lenient clients load has errors, and is left out too.
    ///
    /// [the inventory]: crate::packages::PackageManager::inventory
    pub fn visible_skills(&self, only: Option<Scope>) -> SkillSelection {
        let inventory = self.packages().inventory();
        let mut selection =
            SkillSelection { warnings: inventory.warnings.clone(), ..SkillSelection::default() };
        let notes = inventory.listing.notes.iter();
        let notes = notes.map(|note| format!("`{}`: {}", note.path.display(), note.why));
        selection.warnings.extend(notes);
        for found in &inventory.listing.skills {
            if !is_in_scope(inventory.listing.roots[found.root].kind, only) {
                continue;
            }
            let problem = match inventory.state(found) {
                SkillState::Shadowed | SkillState::Placed => continue,
                SkillState::Missing => missing(&found.name),
                SkillState::Broken | SkillState::Flawed => broken(found),
                SkillState::Active | SkillState::Changed => {
                    match SkillFile::at(&found.directory).and_then(|file| self.load(&file, None)) {
                        Ok(skill) => {
                            selection.skills.push(skill);
                            continue;
                        }
                        Err(problem) => problem,
                    }
                }
            };
            let (name, path) = (found.name.clone(), found.directory.clone());
            selection.left_out.push(LeftOutSkill { name, path, is_named: false, problem });
        }
        for lost in inventory.missing.iter().filter(|lost| only.is_none_or(|it| it == lost.scope)) {
            let (name, path) = (lost.name.to_string(), lost.directory.clone());
            let problem = missing(&name);
            selection.left_out.push(LeftOutSkill { name, path, is_named: false, problem });
        }
        selection
    }

    /// The skills that references name: paths, installed skills, and folders of skills. Nothing is fetched.
    ///
    /// A reference that leads nowhere is a problem. Of several references, those that are there and are not skills are
    /// left out, because a shell may have expanded a pattern to them. Skills with errors are left out.
    pub fn select_skills(
        &self,
        references: &[PathBuf],
        dialect: Option<&'static Dialect>,
    ) -> Result<SkillSelection, Problem> {
        let mut selection = SkillSelection::default();
        for reference in references {
            // A name may mean an installed skill, whatever is at the path.
            let installed = self.installed_at(reference).filter(|it| it.tool.is_none());
            if let Some(located) = installed {
                self.include(&located.file, dialect, true, &mut selection);
            } else if reference.is_dir() && main_file(reference)?.is_none() {
                let files = skills_below(reference, &mut selection.warnings)?;
                if files.is_empty() && references.len() == 1 {
                    return Err(SkillFile::at(reference)
                        .err()
                        .unwrap_or_else(|| no_skill(reference)));
                }
                if files.is_empty() {
                    selection.leave_out(reference, true, no_skill(reference));
                }
                for file in files {
                    self.include(&file, dialect, false, &mut selection);
                }
            } else if references.len() > 1 && !may_be_skill(reference)? {
                selection.leave_out(reference, true, no_skill(reference));
            } else {
                let located = self.locate(reference)?;
                if located.tool.is_some() {
                    let source = std::io::ErrorKind::NotFound.into();
                    return Err(path_problem("read", reference, &source));
                }
                self.include(&located.file, dialect, true, &mut selection);
            }
        }
        let mut seen = HashSet::new();
        selection.skills.retain(|skill| seen.insert(skill.file.clone()));
        Ok(selection)
    }

    fn include(
        &self,
        file: &SkillFile,
        dialect: Option<&'static Dialect>,
        is_named: bool,
        selection: &mut SkillSelection,
    ) {
        let loaded = match file.form {
            Form::Yaml => {
                let message = format!("`{}` is an agent manifest, not a skill", file.shown);
                Err(Problem::new("not-a-skill", ProblemKind::InvalidInput, message))
            }
            Form::Markdown | Form::Json => self.load(file, dialect),
        };
        match loaded {
            Ok(skill) => selection.skills.push(skill),
            Err(problem) => selection.leave_out(file.place(), is_named, problem),
        }
    }
}

fn is_in_scope(kind: RootKind, only: Option<Scope>) -> bool {
    match (only, kind) {
        (None, _)
        | (Some(Scope::Project), RootKind::Project)
        | (Some(Scope::User), RootKind::User) => true,
        (Some(_), _) => false,
    }
}

fn missing(name: &str) -> Problem {
    let message = format!("the lock file lists `{name}`, which is not on disk");
    Problem::new("missing-skill", ProblemKind::NotFound, message)
}

fn broken(found: &FoundSkill) -> Problem {
    let directory = found.directory.display().to_string();
    let reason = match found.summary.errors.first() {
        Some(error) => format!("`{directory}` has errors: {}", error.message),
        None => format!("`{directory}` has errors"),
    };
    Problem::new("invalid-skill", ProblemKind::InvalidInput, reason).remedy(Remedy::Fix(directory))
}

fn no_skill(path: &Path) -> Problem {
    let message = format!("`{}` is not a skill", shown(path));
    Problem::new("not-a-skill", ProblemKind::NotFound, message)
}

/// Whether a path looks like a skill: a folder with a main file, or a file with the name of one or with front matter.
///
/// A path that does not exist counts too, so that loading it reports the error.
fn may_be_skill(path: &Path) -> Result<bool, Problem> {
    if path.is_dir() {
        return Ok(true);
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    if !path.exists() || is_main_name(&name) || name.ends_with(TOOL_PACK_ENDING) {
        return Ok(true);
    }
    let bytes = read(path).map_err(|source| path_problem("read", path, &source))?;
    Ok(form_of(&name) == Form::Markdown && bytes.starts_with(b"---"))
}

/// The main files of the skills in a folder and its subfolders, sorted by path. Skills are not searched for skills, and
/// hidden folders are skipped. Links to folders are followed in the folder itself only, which also ends cycles.
fn skills_below(folder: &Path, warnings: &mut Vec<String>) -> Result<Vec<SkillFile>, Problem> {
    let mut files = Vec::new();
    let mut count = 0;
    let mut open: Vec<(PathBuf, usize)> = vec![(folder.to_owned(), 0)];
    while let Some((directory, depth)) = open.pop() {
        let found = main_file(&directory).and_then(|file| match file {
            Some(_) if depth > 0 => SkillFile::at(&directory).map(|file| vec![file]),
            // Tool packs may share a folder. One without any is searched.
            _ => Ok(SkillFile::all_at(&directory).unwrap_or_default()),
        });
        let below = match found {
            Ok(found) if found.is_empty() && depth < MOST_DEPTH => {
                subfolders(&directory, depth == 0)
            }
            Ok(found) => {
                // A folder of skills may lie beside an agent that uses them.
                files.extend(found.into_iter().filter(|file| file.form != Form::Yaml));
                continue;
            }
            Err(problem) => Err(problem),
        };
        let mut below = match below {
            Ok(below) => below,
            Err(problem) if depth == 0 => return Err(problem),
            Err(problem) => {
                warnings.push(problem.message);
                continue;
            }
        };
        if count + below.len() > MOST_FOLDERS {
            below.truncate(MOST_FOLDERS - count);
            warnings.push(format!(
                "`{}` has more than {MOST_FOLDERS} folders: the others were not searched",
                shown(folder)
            ));
        }
        count += below.len();
        // A stack, so the folders are pushed in reverse order of their names.
        open.extend(below.into_iter().rev().map(|path| (path, depth + 1)));
    }
    Ok(files)
}

fn subfolders(directory: &Path, follow_links: bool) -> Result<Vec<PathBuf>, Problem> {
    let entries =
        fs::read_dir(directory).map_err(|error| path_problem("list", directory, &error))?;
    let is_searched = |entry: &fs::DirEntry| {
        let name = entry.file_name();
        let is_skipped = name.as_encoded_bytes().starts_with(b".") || name == SKIPPED;
        let is_folder = entry.file_type().is_ok_and(|kind| {
            kind.is_dir() || (kind.is_symlink() && follow_links && entry.path().is_dir())
        });
        is_folder && !is_skipped
    };
    let mut folders: Vec<PathBuf> =
        entries.flatten().filter(is_searched).map(|entry| entry.path()).collect();
    folders.sort();
    Ok(folders)
}
