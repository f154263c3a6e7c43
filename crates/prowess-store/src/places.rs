//! The base folders: home, project, our own. They are passed in, so that a test has its own home.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

/// The folders of a user and a project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Places {
    /// The user's home.
    pub home: PathBuf,
    /// The root of the project around the current folder, if there is one.
    pub project: Option<PathBuf>,
    /// The current folder: some agents also search the folders between it and the project's root.
    pub current: PathBuf,
    /// The user's data folder: `$XDG_DATA_HOME/prowess` (R24).
    pub data: PathBuf,
    /// The cache folder: `$XDG_CACHE_HOME/prowess`.
    pub cache: PathBuf,
    /// The folder of skills that come with the program.
    pub bundled: Option<PathBuf>,
    /// The root of system-wide folders: `/`.
    pub machine: PathBuf,
    /// Variables that move folders of agents, such as `CODEX_HOME`. Only absolute paths are used.
    pub variables: BTreeMap<String, PathBuf>,
}

/// The scope of an installation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    /// The project, for everyone who works in it.
    Project,
    /// The user, in all projects.
    User,
}

impl Scope {
    /// The name in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Scope::Project => "project",
            Scope::User => "user",
        }
    }
}

/// A folder of the tables, located on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// The folder that it must stay in: the home, the project, or the value of a variable. Nothing is written through a
    /// symbolic link that leads out of it.
    pub anchor: PathBuf,
    /// The folder itself.
    pub path: PathBuf,
}

impl Places {
    /// Locates a folder of the tables: `~/x` in the home, `${NAME:-~/x}/y` by a variable, `/x` as it is, anything else
    /// in the project. `None` if there is no project.
    pub fn locate(&self, template: &str) -> Option<Location> {
        if let Some(rest) = template.strip_prefix("${") {
            let (variable, below) = rest.split_once('}')?;
            let (name, usual) = variable.split_once(":-")?;
            let below = below.trim_start_matches('/');
            let chosen = self.variables.get(name).filter(|path| is_plain(path));
            let Some(chosen) = chosen else {
                let Location { anchor, path } = self.locate(usual)?;
                return Some(Location { anchor, path: path.join(below) });
            };
            let inside_home = chosen.starts_with(&self.home);
            let anchor = if inside_home { &self.home } else { chosen };
            return Some(Location { anchor: anchor.clone(), path: chosen.join(below) });
        }
        if let Some(below) = template.strip_prefix("~/") {
            return Some(Location { anchor: self.home.clone(), path: self.home.join(below) });
        }
        if let Some(below) = template.strip_prefix('/') {
            let path = self.machine.join(below);
            return Some(Location { anchor: path.clone(), path });
        }
        let project = self.project.as_ref()?;
        Some(Location { anchor: project.clone(), path: project.join(template) })
    }

    /// Locates it in every folder from the project's root down to the current one, the nearest last.
    pub fn locate_downwards(&self, template: &str) -> Vec<Location> {
        let Some(project) = &self.project else { return Vec::new() };
        let mut folders: Vec<&Path> =
            self.current.ancestors().take_while(|folder| folder.starts_with(project)).collect();
        if folders.is_empty() {
            folders.push(project);
        }
        let at = |folder: &Path| Location { anchor: project.clone(), path: folder.join(template) };
        folders.into_iter().rev().map(at).collect()
    }

    /// The folder of our own skills.
    pub fn store(&self, scope: Scope) -> Option<PathBuf> {
        self.state(scope).map(|state| state.join("skills"))
    }

    /// The folder of our own files: `.prowess` of a project, the data folder of the user.
    pub fn state(&self, scope: Scope) -> Option<PathBuf> {
        match scope {
            Scope::Project => self.project.as_ref().map(|project| project.join(".prowess")),
            Scope::User => Some(self.data.clone()),
        }
    }

    /// A path for display: `~/…` in the home, relative in the project.
    pub fn shown(&self, path: &Path) -> String {
        let inside = |folder: &Path, before: &str| {
            let rest = path.strip_prefix(folder).ok()?;
            Some(format!("{before}{}", rest.display()))
        };
        let project = self.project.as_ref().and_then(|project| inside(project, ""));
        let shown = project.filter(|shown| !shown.is_empty()).or_else(|| inside(&self.home, "~/"));
        shown.unwrap_or_else(|| path.display().to_string())
    }
}

/// Whether a path is absolute, without `..`.
fn is_plain(path: &Path) -> bool {
    path.is_absolute() && !path.components().any(|part| part == Component::ParentDir)
}

#[cfg(test)]
mod tests;
