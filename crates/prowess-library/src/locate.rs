//! From a reference to a file: `name`, `ns/name@^1`, a path, each perhaps with `/tool`.
//!
//! A word without `./` may mean an installed skill or a path. What the user has installed wins over what lies in the current
//! folder, which may be somebody else's; `./name` always is the path. The order is: the project's store as far as the user
//! has agreed to it byte for byte, the user's store, the path, the rest of the project's store.

use std::fs::{File, Metadata};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use prowess_core::{Problem, ProblemKind, Remedy};
use prowess_engine::check_skill;
use prowess_resolve::Range;
use prowess_store::lock::LockEntry;
use prowess_store::places::Scope;
use prowess_store::reference::NamedReference;
use prowess_store::source::Pinned;

use crate::file::{SkillFile, is_archive, is_main_name, main_file, path_problem, shown};
use crate::library::Library;
use crate::packages::is_bare_repository;

/// A skill that a reference leads to.
#[derive(Debug)]
pub struct Located {
    /// Its main file.
    pub file: SkillFile,
    /// The tool that the reference names.
    pub tool: Option<String>,
    /// The store it is installed in; `None` for a path.
    pub installed: Option<Scope>,
    /// What else the reference could mean.
    pub others: Vec<Other>,
}

/// Something that a reference could mean as well.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Other {
    /// A file or folder.
    Path(PathBuf),
    /// An installed skill.
    Installed {
        /// In whose store.
        scope: Scope,
        /// Its folder.
        directory: PathBuf,
    },
}

/// What a path to a file may mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FileMeaning {
    /// A skill of one file.
    Skill,
    /// A skill of one file, or a file of the skill around it.
    SkillOrScript,
}

/// How many folders a script may lie below its skill.
const MAX_DEPTH: usize = 16;

/// Where a reference leads.
#[derive(Debug)]
pub enum Found {
    /// To a skill on this machine.
    Here(Box<Located>),
    /// Perhaps to one that has to be fetched or unpacked first.
    Elsewhere {
        /// Why there is no such skill on this machine; `None` if the reference can't mean one.
        here: Option<Problem>,
    },
}

/// An installed skill that fits a reference.
struct Candidate {
    scope: Scope,
    named: NamedReference,
    tool: Option<String>,
    directory: PathBuf,
    is_agreed: bool,
}

impl Library {
    /// Finds the skill that a reference means, if it is on this machine. Archives, repositories, and everything that is
    /// neither a path nor installed may be [fetched](Library::fetch).
    pub fn find(&self, reference: &Path) -> Result<Found, Problem> {
        self.find_as(reference, FileMeaning::Skill)
    }

    /// Finds the skill that a reference means like [`Self::find`]. It may end with the path of a file of the skill, as in
    /// [`Self::locate_with_scripts`].
    pub fn find_with_scripts(&self, reference: &Path) -> Result<Found, Problem> {
        self.find_as(reference, FileMeaning::SkillOrScript)
    }

    fn find_as(&self, reference: &Path, meaning: FileMeaning) -> Result<Found, Problem> {
        if reference.to_str().is_some_and(is_address) {
            return Ok(Found::Elsewhere { here: None });
        }
        let problem = match self.locate_as(reference, meaning) {
            Ok(located) if located.installed.is_none() && is_archive(&located.file.bytes) => {
                return Ok(Found::Elsewhere { here: None });
            }
            Ok(located) => return Ok(Found::Here(Box::new(located))),
            Err(problem) => problem,
        };
        let metadata = std::fs::metadata(reference);
        let may_be_elsewhere = match &metadata {
            Ok(data) => data.is_dir() && is_repository(reference),
            Err(error) => match error.kind() {
                // In a folder that is there, a name that is not is a typing error and no repository.
                io::ErrorKind::NotFound => !is_below_a_folder(reference),
                _ => false,
            },
        };
        if may_be_elsewhere && problem.kind == ProblemKind::NotFound {
            return Ok(Found::Elsewhere { here: Some(problem) });
        }
        Err(problem)
    }

    /// The installed skill that wins over a path of the same name, if there is one.
    pub fn installed_at(&self, path: &Path) -> Option<Located> {
        path.to_str()?.parse::<NamedReference>().ok().filter(|named| named.namespace.is_none())?;
        self.locate(path).ok().filter(|located| located.installed.is_some())
    }

    /// Finds the skill that a reference means, and reads its main file.
    pub fn locate(&self, reference: &Path) -> Result<Located, Problem> {
        self.locate_as(reference, FileMeaning::Skill)
    }

    /// Finds the skill that a reference means, which may end with the path of a file of the skill: `name/scripts/x.py`.
    /// The path is given as the tool.
    pub fn locate_with_scripts(&self, reference: &Path) -> Result<Located, Problem> {
        self.locate_as(reference, FileMeaning::SkillOrScript)
    }

    fn locate_as(&self, reference: &Path, meaning: FileMeaning) -> Result<Located, Problem> {
        let mut installed = Vec::new();
        let mut refused = None;
        for (named, tool) in names_in(reference, meaning) {
            for scope in [Scope::Project, Scope::User] {
                match self.candidate(scope, &named, tool.as_deref()) {
                    Ok(found) => installed.extend(found),
                    Err(problem) => {
                        refused.get_or_insert(problem);
                    }
                }
            }
        }
        let metadata = std::fs::metadata(reference);
        let script = match meaning {
            FileMeaning::Skill => None,
            FileMeaning::SkillOrScript => script_in(reference, metadata.as_ref().ok()),
        };
        let is_skill = match &metadata {
            Ok(data) => {
                !data.is_dir()
                    || script.is_some()
                    || main_file(reference).is_ok_and(|file| file.is_some())
            }
            Err(_) => false,
        };
        if let Some(position) = self.own(&installed, is_skill) {
            let chosen = installed.remove(position);
            let path = is_skill.then(|| Other::Path(reference.to_owned()));
            return located(chosen, path, &installed);
        }
        if is_skill {
            let others = installed.iter().map(Candidate::as_other).collect();
            let (place, tool) = match script {
                Some((folder, path)) => (folder, Some(path)),
                None => (reference.to_owned(), None),
            };
            let file = SkillFile::at(&place)?;
            return Ok(Located { file, tool, installed: None, others });
        }
        let whole = installed.iter().position(|candidate| candidate.tool.is_none());
        if let Some(position) = whole {
            let chosen = installed.remove(position);
            return located(chosen, None, &installed);
        }
        // A folder without a skill says which skills are below it.
        let Err(source) = metadata else { return SkillFile::at(reference).map(path_only) };
        let depth = match meaning {
            FileMeaning::Skill => 1,
            FileMeaning::SkillOrScript => MAX_DEPTH,
        };
        let folders = reference.ancestors().skip(1).take(depth);
        for skill in folders.filter(|folder| !folder.as_os_str().is_empty()) {
            let Ok(tool) = reference.strip_prefix(skill) else { break };
            if let Ok(file) = SkillFile::at(skill) {
                let others = installed.iter().map(Candidate::as_other).collect();
                let tool = Some(tool.to_string_lossy().into_owned());
                return Ok(Located { file, tool, installed: None, others });
            }
        }
        if !installed.is_empty() {
            let chosen = installed.remove(0);
            return located(chosen, None, &installed);
        }
        Err(refused.unwrap_or_else(|| not_there(reference, &source)))
    }

    /// The candidate that the user has chosen for this machine, if there is one. A path is meant where the skill has no
    /// tool of the name that follows the slash.
    fn own(&self, installed: &[Candidate], is_path: bool) -> Option<usize> {
        let user = installed.iter().position(|candidate| candidate.scope == Scope::User);
        let project = installed.iter().position(|candidate| {
            candidate.scope == Scope::Project
                && candidate.is_agreed
                && (user.is_none() || self.is_unchanged(candidate))
        });
        let position = project.or(user)?;
        let candidate = &installed[position];
        let is_meant = match &candidate.tool {
            Some(tool) if is_path => has_tool(&candidate.directory, tool),
            _ => true,
        };
        is_meant.then_some(position)
    }

    /// An installed skill of a name. One of another version is a problem that says so.
    fn candidate(
        &self,
        scope: Scope,
        named: &NamedReference,
        tool: Option<&str>,
    ) -> Result<Option<Candidate>, Problem> {
        let root = self.store_root(scope);
        let Some(lock) = self.lock_of(&root)? else { return Ok(None) };
        let Some(entry) = lock.skills.get(&named.name) else { return Ok(None) };
        let namespace = entry.source.as_ref().and_then(Pinned::namespace);
        if named.namespace.is_some() && namespace != named.namespace.as_ref() {
            return Ok(None);
        }
        require_version(named, entry)?;
        let is_agreed =
            scope == Scope::User || self.agreements().cover_skill(&named.name, &entry.integrity);
        Ok(Some(Candidate {
            scope,
            directory: root.join("skills").join(named.name.as_str()),
            named: named.clone(),
            tool: tool.map(str::to_owned),
            is_agreed,
        }))
    }

    fn is_unchanged(&self, candidate: &Candidate) -> bool {
        let root = self.store_root(candidate.scope);
        let lock = self.lock_of(&root).ok().flatten();
        let entry = lock.as_ref().and_then(|lock| lock.skills.get(&candidate.named.name));
        entry.is_some_and(|entry| self.is_whole(&root, &candidate.named.name, entry))
    }
}

impl Candidate {
    fn as_other(&self) -> Other {
        Other::Installed { scope: self.scope, directory: self.directory.clone() }
    }
}

fn located(
    chosen: Candidate,
    path: Option<Other>,
    others: &[Candidate],
) -> Result<Located, Problem> {
    let others = others
        .iter()
        .filter(|other| other.directory != chosen.directory)
        .map(Candidate::as_other)
        .chain(path)
        .collect();
    let file = SkillFile::at(&chosen.directory)?;
    Ok(Located { file, tool: chosen.tool, installed: Some(chosen.scope), others })
}

/// Whether something that is there has to be fetched or unpacked before it can be read: an archive, or a repository
/// without a working folder.
pub fn needs_fetch(path: &Path, is_folder: bool) -> bool {
    if is_folder {
        return is_bare_repository(path);
    }
    let mut start = Vec::new();
    let read = File::open(path).and_then(|file| file.take(4).read_to_end(&mut start));
    read.is_ok() && is_archive(&start)
}

/// Whether a reference is an address and can't be a path.
fn is_address(text: &str) -> bool {
    text.contains("://") || text.starts_with("github:") || text.starts_with("git+")
}

fn is_repository(folder: &Path) -> bool {
    is_bare_repository(folder) || folder.join(".git").exists()
}

/// Whether the first part of a path is a folder here, or the path starts with `./`, `../`, `~` or `/`. A repository may be
/// followed by `#revision`.
fn is_below_a_folder(reference: &Path) -> bool {
    let text = reference.to_string_lossy();
    if let Some((path, _)) = text.split_once('#')
        && is_repository(Path::new(path))
    {
        return false;
    }
    if text.starts_with(['.', '/', '~']) {
        return !text.starts_with("~/");
    }
    match text.split_once('/') {
        Some((first, _)) => Path::new(first).is_dir(),
        None => false,
    }
}

fn path_only(file: SkillFile) -> Located {
    Located { file, tool: None, installed: None, others: Vec::new() }
}

/// How a reference can be read as a name: all of it, or all but a tool after the last slash, or all but the path of a
/// script after an earlier one.
fn names_in(reference: &Path, meaning: FileMeaning) -> Vec<(NamedReference, Option<String>)> {
    let Some(text) = reference.to_str() else { return Vec::new() };
    let whole = text.parse().ok().map(|named| (named, None));
    let splits = match meaning {
        FileMeaning::Skill => 1,
        FileMeaning::SkillOrScript => MAX_DEPTH,
    };
    let slashes = text.rmatch_indices('/').take(splits).map(|(at, _)| text.split_at(at));
    let with_tool = slashes.filter_map(|(skill, tool)| {
        let tool = tool.strip_prefix('/').filter(|tool| !tool.is_empty())?;
        Some((skill.parse().ok()?, Some(tool.to_owned())))
    });
    whole.into_iter().chain(with_tool).collect()
}

/// The skill around a file that is not a skill itself, and the path of the file in it. Of folders only `scripts` counts:
/// others may contain skills.
fn script_in(reference: &Path, metadata: Option<&Metadata>) -> Option<(PathBuf, String)> {
    let name = reference.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let is_meant = if metadata?.is_dir() {
        name == "scripts"
    } else {
        let extension = Path::new(name).extension().and_then(|it| it.to_str());
        let is_text = matches!(extension, Some("md" | "json" | "yaml" | "yml"));
        !is_text && !is_main_name(name)
    };
    if !is_meant {
        return None;
    }
    let whole = std::path::absolute(reference).ok()?;
    let folder = whole
        .ancestors()
        .skip(1)
        .take(MAX_DEPTH)
        .find(|folder| main_file(folder).is_ok_and(|file| file.is_some()))?;
    let path = whole.strip_prefix(folder).ok()?.to_str()?.to_owned();
    Some((folder.to_owned(), path))
}

fn require_version(named: &NamedReference, entry: &LockEntry) -> Result<(), Problem> {
    let Some(text) = &named.range else { return Ok(()) };
    let range = Range::parse(text).map_err(|error| {
        let message = format!("`{named}` names no versions: {error}");
        Problem::new("invalid-range", ProblemKind::InvalidInput, message)
    })?;
    if range.contains(&entry.version) {
        return Ok(());
    }
    let message =
        format!("`{}` {} is installed, which is not in `{text}`", named.name, entry.version);
    Err(Problem::new("other-version-installed", ProblemKind::NotFound, message)
        .remedy(Remedy::Install(named.to_string())))
}

/// Whether a skill has a tool of a name, or a file at a path.
fn has_tool(directory: &Path, tool: &str) -> bool {
    if tool.contains('/') && directory.join(tool).is_file() {
        return true;
    }
    SkillFile::at(directory).is_ok_and(|file| {
        let (skill, _) = check_skill(&file.bytes, file.form, None, Some(directory));
        skill.tool(tool).is_some()
    })
}

/// A reference that is neither a path nor an installed skill.
fn not_there(reference: &Path, source: &io::Error) -> Problem {
    let is_name = reference.to_str().is_some_and(|text| text.parse::<NamedReference>().is_ok());
    if source.kind() != io::ErrorKind::NotFound || !is_name {
        return path_problem("read", reference, source);
    }
    let message =
        format!("`{}` is neither a file or folder nor an installed skill", shown(reference));
    Problem::new("skill-not-found", ProblemKind::NotFound, message)
        .advice("check the spelling; a path is relative to the current folder")
        .remedy(Remedy::ListInstalled)
}
