//! The folders that everything else starts from: home, project, our own. They are handed in, so that a test has a home of
//! its own.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

/// Where a user and a project keep things.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Places {
    /// The user's home.
    pub home: PathBuf,
    /// The root of the project around the current folder, where there is one.
    pub project: Option<PathBuf>,
    /// The current folder: some agents also look in the folders between it and the project's root.
    pub current: PathBuf,
    /// Our own data of the user: `$XDG_DATA_HOME/prowess` (R24).
    pub data: PathBuf,
    /// What can be made again: `$XDG_CACHE_HOME/prowess`.
    pub cache: PathBuf,
    /// Skills that come with the program.
    pub bundled: Option<PathBuf>,
    /// Where the folders of the whole machine start: `/`.
    pub machine: PathBuf,
    /// Variables that move folders of agents, such as `CODEX_HOME`. Only absolute paths count.
    pub variables: BTreeMap<String, PathBuf>,
}

/// For whom a skill is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    /// For whoever works in the project.
    Project,
    /// For the user, in all projects.
    User,
}

impl Scope {
    /// The word on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Scope::Project => "project",
            Scope::User => "user",
        }
    }
}

/// A folder of the tables at its place on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// The folder whose owner has chosen what is below it: the home, the project, or where a variable leads. Nothing
    /// is written by a way that leaves it.
    pub anchor: PathBuf,
    /// The folder itself.
    pub path: PathBuf,
}

impl Places {
    /// Where a folder of the tables is: `~/x` in the home, `${NAME:-~/x}/y` where a variable says, `/x` where it says,
    /// anything else in the project. `None` when there is no project.
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

    /// The same in every folder from the project's root down to the current one, the nearest last.
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

    /// A path as people write it: `~/…` in the home, relative in the project.
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

/// Absolute, and without `..`.
fn is_plain(path: &Path) -> bool {
    path.is_absolute() && !path.components().any(|part| part == Component::ParentDir)
}

#[cfg(test)]
mod tests;
