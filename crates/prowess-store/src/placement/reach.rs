//! Resolves the path to an agent's folder, which must stay inside the project or the home (attack registry-B14).

use std::collections::BTreeSet;
use std::io;
use std::path::{Component, Path, PathBuf};

use prowess_files::folder::{EntryKind, Folder};

use crate::agents::{self, Agent};
use crate::places::{Location, Places, Scope};

use super::{PlacementError, disk};

/// A folder of an agent, free of symbolic links.
pub(super) struct AgentFolder {
    /// The folder that it must stay in, free of symbolic links.
    pub(super) anchor: PathBuf,
    /// The folder; it need not exist yet.
    pub(super) real: PathBuf,
}

/// Resolves the folder of an agent.
pub(super) fn folder_of(
    agent: &Agent,
    scope: Scope,
    places: &Places,
) -> Result<AgentFolder, PlacementError> {
    if scope == Scope::Project && places.project.is_none() {
        return Err(PlacementError::NoProject);
    }
    let location = agent
        .locate(scope, places)
        .ok_or(PlacementError::NoFolder { agent: agent.title, scope })?;
    resolve(&location)
}

/// The folders of all agents, without duplicates. One that leads outside is omitted: nothing was placed there.
pub(super) fn all_folders(scope: Scope, places: &Places) -> Vec<AgentFolder> {
    let templates: BTreeSet<&str> =
        agents::all().iter().filter_map(|agent| agent.folder(scope)).collect();
    let locations = templates.into_iter().filter_map(|template| places.locate(template));
    locations.filter_map(|location| resolve(&location).ok()).collect()
}

/// The folder of our own files.
pub(super) fn state(scope: Scope, places: &Places) -> Result<AgentFolder, PlacementError> {
    let path = places.state(scope).ok_or(PlacementError::NoProject)?;
    match (scope, &places.project) {
        (Scope::Project, Some(project)) => resolve(&Location { anchor: project.clone(), path }),
        _ => {
            // The user has configured this folder; it may not exist yet.
            std::fs::create_dir_all(&path).map_err(disk("make", &path))?;
            let real = path.canonicalize().map_err(disk("open", &path))?;
            Ok(AgentFolder { anchor: real.clone(), real })
        }
    }
}

/// Resolves symbolic links and checks where the path ends.
pub(super) fn resolve(location: &Location) -> Result<AgentFolder, PlacementError> {
    let anchor = location.anchor.canonicalize().map_err(disk("open", &location.anchor))?;
    if let Some(below) = is_all_missing(location) {
        return Ok(AgentFolder { real: anchor.join(below), anchor });
    }
    let real = real(&location.path).map_err(disk("open", &location.path))?;
    if !real.starts_with(&anchor) {
        return Err(PlacementError::Leaves { path: location.path.clone(), to: real, anchor });
    }
    Ok(AgentFolder { anchor, real })
}

/// The path below the anchor, if not even its first component exists: most agents of the table are not installed.
fn is_all_missing(location: &Location) -> Option<&Path> {
    let below = location.path.strip_prefix(&location.anchor).ok()?;
    let first = location.anchor.join(below.components().next()?);
    let error = first.symlink_metadata().err()?;
    (error.kind() == io::ErrorKind::NotFound).then_some(below)
}

/// Resolves symbolic links in a path whose last components may be missing. A dangling link is an error: creating its
/// target would create an unexpected folder.
fn real(path: &Path) -> io::Result<PathBuf> {
    match path.canonicalize() {
        Ok(real) => Ok(real),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            if path.symlink_metadata().is_ok() {
                return Err(error);
            }
            let (Some(above), Some(name)) = (path.parent(), path.file_name()) else {
                return Err(error);
            };
            Ok(real(above)?.join(name))
        }
        Err(error) => Err(error),
    }
}

impl AgentFolder {
    /// Opens the folder component by component from its anchor, and creates missing ones. A folder that has become a
    /// symbolic link is an error.
    pub(super) fn open(&self) -> Result<Folder, PlacementError> {
        let mut folder = Folder::open(&self.anchor).map_err(disk("open", &self.anchor))?;
        for part in self.parts() {
            folder = folder.folder_or_make(part).map_err(disk("open", &self.real))?;
        }
        Ok(folder)
    }

    /// The folders that opening it would create, the outermost first.
    pub(super) fn missing(&self) -> Result<Vec<PathBuf>, PlacementError> {
        let mut path = self.anchor.clone();
        let mut missing = Vec::new();
        for part in self.parts() {
            path.push(part);
            match path.symlink_metadata() {
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => missing.push(path.clone()),
                Err(error) => return Err(disk("open", &path)(error)),
            }
        }
        Ok(missing)
    }

    /// Opens the folder; `None` if it does not exist.
    pub(super) fn open_existing(&self) -> Result<Option<Folder>, PlacementError> {
        let mut folder = Folder::open(&self.anchor).map_err(disk("open", &self.anchor))?;
        for part in self.parts() {
            match folder.kind(part.as_bytes()).map_err(disk("open", &self.real))? {
                None => return Ok(None),
                Some(EntryKind::Folder | EntryKind::File | EntryKind::Link | EntryKind::Other) => {}
            }
            folder = folder.folder(part).map_err(disk("open", &self.real))?;
        }
        Ok(Some(folder))
    }

    fn parts(&self) -> impl Iterator<Item = &str> {
        let below = self.real.strip_prefix(&self.anchor).unwrap_or(Path::new(""));
        below.components().filter_map(|part| match part {
            Component::Normal(part) => part.to_str(),
            _ => None,
        })
    }
}
