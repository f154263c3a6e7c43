//! The files of a skill as a check sees them: whether each exists, in which spelling, and whether it is packed.

use std::fs;
use std::path::Path;

use prowess_engine::DirectoryFiles;
use prowess_format::python::{PythonError, PythonModule};
use prowess_format::rules::{FileState, SkillFiles};
use prowess_package::content::{FileRole, role_of, role_of_folder};
use prowess_package::path::PackagePath;

/// The most entries of a folder that are searched for another spelling.
const MOST_ENTRIES: usize = 10_000;

/// The files of a skill's directory.
#[derive(Debug)]
pub struct PackagedFiles<'d> {
    directory: &'d Path,
    files: DirectoryFiles<'d>,
}

impl<'d> PackagedFiles<'d> {
    /// The files of a directory. Nothing is read before a rule asks.
    pub fn new(directory: &'d Path) -> Self {
        Self { directory, files: DirectoryFiles::new(directory) }
    }

    /// The text of a file of the skill, where it is UTF-8.
    pub fn text(&self, path: &str) -> Option<String> {
        self.files.text(path)
    }

    /// The path as the folders spell it; `None` if there is no such file in any spelling.
    fn spelling(&self, path: &str) -> Option<String> {
        let mut folder = self.directory.to_owned();
        let mut spelt: Vec<String> = Vec::new();
        for part in path.split('/').filter(|part| !matches!(*part, "" | ".")) {
            if part == ".." {
                folder = self.directory.join(spelt[..spelt.len().checked_sub(1)?].join("/"));
                spelt.pop();
                continue;
            }
            let entries = fs::read_dir(&folder).ok()?.flatten().take(MOST_ENTRIES);
            let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
            let mut near = None;
            for name in names {
                if name == part {
                    near = Some(name);
                    break;
                }
                if name.to_lowercase() == part.to_lowercase() {
                    near = Some(name);
                }
            }
            let name = near?;
            folder.push(&name);
            spelt.push(name);
        }
        Some(spelt.join("/"))
    }
}

impl SkillFiles for PackagedFiles<'_> {
    fn exists(&self, path: &str) -> bool {
        self.files.exists(path)
    }

    fn state(&self, path: &str) -> FileState {
        let plain: Vec<&str> = path.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
        let Some(spelt) = self.spelling(path) else { return FileState::Missing };
        if spelt.is_empty() {
            return FileState::Present;
        }
        if !path.contains("..") && spelt != plain.join("/") {
            return FileState::OtherCase(spelt);
        }
        if !self.files.exists(&spelt) {
            return FileState::LeftOut("it is a link out of the skill's folder");
        }
        match role(&spelt, self.directory.join(&spelt).is_dir()) {
            FileRole::Content => FileState::Present,
            FileRole::Sidecar => FileState::LeftOut("a lock file is never packed"),
            FileRole::Litter => FileState::LeftOut("such files are left out"),
            FileRole::Hidden => FileState::LeftOut("hidden files are left out"),
        }
    }

    fn python(&self) -> Option<&Result<PythonModule, PythonError>> {
        self.files.python()
    }
}

fn role(path: &str, is_folder: bool) -> FileRole {
    if is_folder {
        let roles = path.split('/').map(role_of_folder);
        return roles
            .into_iter()
            .find(|role| *role != FileRole::Content)
            .unwrap_or(FileRole::Content);
    }
    path.parse::<PackagePath>().map_or(FileRole::Content, |path| role_of(&path))
}
