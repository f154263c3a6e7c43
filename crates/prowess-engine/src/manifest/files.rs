//! The files of a skill that a model reads on demand: level 3 of progressive disclosure.

use std::io;
use std::path::{Component, Path};

use prowess_core::{Problem, ProblemKind, system_reason};
use prowess_files::atomic::read_open;
use prowess_files::folder::{EntryKind, Folder};
use prowess_format::tokens::estimated_tokens;

use crate::loaded::LoadedSkill;
use crate::quiz::{NOT_PASSED, Quizzes};

/// Maximum number of files that are listed, as SEP-2640 recommends.
const MOST_FILES: usize = 512;
/// Maximum depth of folders below the skill.
const MOST_DEPTH: usize = 16;
/// Maximum size of a file that is served.
const MOST_BYTES: u64 = 1 << 20;
/// Folders of generated files.
const SKIPPED: &[&str] = &["node_modules", "__pycache__"];

/// A file of a skill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkillResource {
    /// Its path below the skill's folder, with `/` between the parts.
    pub path: String,
    /// Its size.
    pub bytes: u64,
    /// Its estimated number of tokens; `None` if it was not counted, is not text, or is too large to be served.
    pub tokens: Option<usize>,
}

/// The files of a skill that can be read, sorted by path. Links, hidden files and the main file are not among them.
pub(super) fn resources(skill: &LoadedSkill, count_tokens: bool) -> Vec<SkillResource> {
    let mut found = Vec::new();
    if let Some(directory) = skill.directory.as_deref()
        && let Ok(folder) = Folder::open(directory)
    {
        let _ = walk(&folder, "", 0, &mut |folder, name, path| {
            if skill.file == directory.join(&path) {
                return found.len() < MOST_FILES;
            }
            if let Ok(file) = folder.file(name)
                && let Ok(data) = file.metadata()
            {
                let bytes = data.len();
                let text = || String::from_utf8(read_open(file, MOST_BYTES).ok()?).ok();
                let text = count_tokens.then(text).flatten();
                let tokens = text.as_deref().map(estimated_tokens);
                found.push(SkillResource { path, bytes, tokens });
            }
            found.len() < MOST_FILES
        });
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found
}

/// Visits the files of a folder until `visit` returns false.
fn walk(
    folder: &Folder,
    prefix: &str,
    depth: usize,
    visit: &mut dyn FnMut(&Folder, &[u8], String) -> bool,
) -> io::Result<bool> {
    for entry in folder.entries()? {
        let Ok(name) = std::str::from_utf8(&entry.name) else { continue };
        if name.starts_with('.') || SKIPPED.contains(&name) {
            continue;
        }
        let path = format!("{prefix}{name}");
        let goes_on = match entry.kind {
            EntryKind::File => visit(folder, &entry.name, path),
            EntryKind::Folder if depth < MOST_DEPTH => match folder.folder(name) {
                Ok(inner) => walk(&inner, &format!("{path}/"), depth + 1, visit).unwrap_or(true),
                Err(_) => true,
            },
            EntryKind::Folder | EntryKind::Link | EntryKind::Other => true,
        };
        if !goes_on {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Reads a file of a skill by its path below the skill's folder. Links are not followed, and nothing outside of the folder
/// can be reached. The main file is not served here: it may contain the answers of a quiz. A skill whose quiz is not passed
/// has no files to read, also where its folder is in that of another skill.
pub fn read_resource(
    skill: &LoadedSkill,
    path: &str,
    quizzes: &Quizzes,
) -> Result<Vec<u8>, Problem> {
    let name = &skill.name;
    quizzes.require_passed(skill).map_err(|problem| {
        let message = format!("the files of `{name}` are withheld until its quiz is passed");
        if problem.code == NOT_PASSED { Problem { message, ..problem } } else { problem }
    })?;
    let not_there = || {
        let message = format!("`{name}` has no file `{path}`");
        let names: Vec<String> =
            resources(skill, false).into_iter().map(|file| file.path).collect();
        let problem = Problem::new("file-not-found", ProblemKind::NotFound, message);
        match names.as_slice() {
            [] => problem.advice("it has no files besides its main file"),
            names => problem.advice(format!("its files: {}", crate::scripts::listed(names))),
        }
    };
    let directory = skill.directory.as_deref().ok_or_else(not_there)?;
    let parts: Option<Vec<&str>> = Path::new(path)
        .components()
        .filter(|part| *part != Component::CurDir)
        .map(|part| match part {
            Component::Normal(part) => part.to_str().filter(|part| !part.starts_with('.')),
            _ => None,
        })
        .collect();
    let parts = parts.unwrap_or_default();
    let [folders @ .., last] = parts.as_slice() else { return Err(not_there()) };
    if skill.file == directory.join(parts.join("/")) {
        return Err(not_there());
    }
    if let Some(closed) = quizzes.closed_below(directory, folders) {
        let name = closed.file_name().unwrap_or_default().to_string_lossy();
        return Err(Quizzes::not_passed(&name, &closed));
    }
    let read = || {
        let mut folder = Folder::open(directory)?;
        for part in folders {
            folder = folder.folder(part)?;
        }
        if folder.kind(last.as_bytes())? != Some(EntryKind::File) {
            return Err(io::ErrorKind::NotFound.into());
        }
        read_open(folder.file(last.as_bytes())?, MOST_BYTES)
    };
    read().map_err(|error: io::Error| match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => not_there(),
        _ => {
            let message = format!("cannot read `{path}` of `{name}`: {}", system_reason(&error));
            Problem::new("file-error", ProblemKind::Failed, message)
        }
    })
}
