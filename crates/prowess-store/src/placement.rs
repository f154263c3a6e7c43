//! Places skills into the folders of agents, and removes them again.
//!
//! A skill is in our store once. The folder of an agent contains a link to it, or a copy if the agent is reported not
//! to see links. Every placement is recorded, and nothing else is ever replaced or removed.

mod apply;
mod reach;
mod record;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use prowess_files::folder::{EntryKind, Folder};
use prowess_package::content::{FileRole, SIDECAR, role_of};
use prowess_package::digest::{FileHashes, Sha256Digest, content_digest};
use prowess_package::limits::PackageLimits;
use prowess_package::name::SkillName;
use prowess_package::tree::{self, TreeError};

use crate::agents::{Agent, LinkSupport};
use crate::places::{Places, Scope};
use reach::AgentFolder;
use record::Record;

pub use apply::{
    PlacementOwners, RemovalOutcome, RemovedPlacement, apply, apply_all, undo, undo_all,
};
pub use record::{FILE_NAME as RECORD_FILE_NAME, RecordedPlacement, placed};

/// A skill, and the agents that should find it.
#[derive(Clone, Copy, Debug)]
pub struct PlacementRequest<'w> {
    /// Its name, which is the name of the folder that agents see.
    pub skill: &'w SkillName,
    /// Its folder in the store.
    pub directory: &'w Path,
    /// The agents that should find it.
    pub agents: &'w [&'static Agent],
    /// The scope: the project, or the user.
    pub scope: Scope,
    /// Whether to create a link or a copy.
    pub mode: PlacementMode,
}

/// How a skill is placed into a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlacementMode {
    /// As a link, unless an agent that uses the folder is reported not to see links.
    AsSeen,
    /// As a link.
    Link,
    /// As a copy, which is only updated when it is placed again.
    Copy,
}

/// A skill in the folder of one or more agents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placement {
    /// The skill.
    pub skill: SkillName,
    /// The path, free of symbolic links.
    pub path: PathBuf,
    /// The ids of the agents that use it.
    pub owners: Vec<String>,
    /// The form.
    pub form: PlacementForm,
    /// The reason if it is a copy.
    pub why: Option<String>,
    /// The change to make.
    pub change: PlacementChange,
    /// The earlier placement that it replaces.
    pub replaces: Option<PlacementForm>,
}

/// The form of a placement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlacementForm {
    /// A link with this target, relative to the folder.
    Link(PathBuf),
    /// A copy of files with this content digest.
    Copy(Sha256Digest),
}

/// The change that a placement needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlacementChange {
    /// Create it.
    Make,
    /// Replace an earlier placement.
    Replace,
    /// None: it exists already.
    Keep,
    /// None: the same link exists already and was created by someone else, who has to remove it too.
    Theirs,
}

/// Why a placement failed. Nothing has changed then.
#[derive(Debug, thiserror::Error)]
pub enum PlacementError {
    /// There is no project.
    #[error(
        "the current folder is not in a project: change to one, or place the skill for the user"
    )]
    NoProject,
    /// The agent has no folder of that scope.
    #[error("{agent} has no folder of the {}: place the skill in {}", .scope.as_str(), other(*.scope))]
    NoFolder {
        /// The agent.
        agent: &'static str,
        /// The scope.
        scope: Scope,
    },
    /// The path is occupied.
    #[error("`{}` is {what}, which prowess does not manage: move or rename it", .path.display())]
    Occupied {
        /// The path.
        path: PathBuf,
        /// What occupies it.
        what: String,
    },
    /// The folder is outside the project or the home because of a symbolic link (attack registry-B14).
    #[error(
        "`{}` leads to `{}`, outside `{}`, and nothing was written: remove the link, or place the skill by hand",
        .path.display(), .to.display(), .anchor.display()
    )]
    Leaves {
        /// The folder of the agent.
        path: PathBuf,
        /// The target of the link.
        to: PathBuf,
        /// The folder that it must not leave.
        anchor: PathBuf,
    },
    /// The record of placements is invalid (attack registry-B13).
    #[error("`{}` is invalid: {why}; correct it, or remove it and the placements that it lists", .path.display())]
    Record {
        /// The record.
        path: PathBuf,
        /// The reason.
        why: String,
    },
    /// The skill can't be copied.
    #[error("`{}` can't be copied: {source}", .path.display())]
    Copy {
        /// The skill.
        path: PathBuf,
        /// The reason.
        source: TreeError,
    },
    /// An input or output error.
    #[error("cannot {doing} `{}`: {source}{}", .path.display(), prowess_files::advice(.source))]
    Disk {
        /// The operation.
        doing: &'static str,
        /// The path.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
}

fn other(scope: Scope) -> &'static str {
    match scope {
        Scope::Project => "the user's",
        Scope::User => "a project",
    }
}

fn disk(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> PlacementError {
    let path = path.to_owned();
    move |source| PlacementError::Disk { doing, path, source }
}

/// Plans what [`apply`] would do. Nothing is written.
pub fn plan(
    places: &Places,
    request: &PlacementRequest<'_>,
) -> Result<Vec<Placement>, PlacementError> {
    let record = Record::read(places, request.scope)?;
    let planned = plan_with(places, request, &record)?;
    Ok(planned.into_iter().map(|(_, placement)| placement).collect())
}

/// Checks that the destinations are free or ours, for skills that are not in the store yet. Nothing is written.
///
/// The destinations may change after that: [`apply`] checks again.
pub fn check(
    places: &Places,
    scope: Scope,
    requests: &[PlacementRequest<'_>],
) -> Result<(), PlacementError> {
    let record = Record::read(places, scope)?;
    for request in requests {
        let source = Source::expect(request.directory);
        for (reached, agents) in folders_of(places, request)? {
            let Place { path, there, why, is_recorded, .. } =
                Place::look(request, &record, &reached.real, &agents)?;
            match there {
                There::Nothing | There::Ours(_) => {}
                There::Theirs(Theirs::Link(target))
                    if why.is_none() && target == source.seen_from(&reached.real) => {}
                There::Theirs(theirs) => return Err(occupied(path, &theirs, is_recorded)),
            }
        }
    }
    Ok(())
}

/// The destination of a skill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlacementDestination {
    /// The skill.
    pub skill: SkillName,
    /// The path, free of symbolic links.
    pub path: PathBuf,
    /// The ids of the agents that would use it.
    pub owners: Vec<String>,
    /// Whether it would be a copy.
    pub is_copy: bool,
    /// What occupies the path, such as "a folder".
    pub in_the_way: Option<String>,
}

/// The destinations of a skill that is not in the store yet, and what occupies them. Nothing is written.
pub fn destinations(
    places: &Places,
    request: &PlacementRequest<'_>,
) -> Result<Vec<PlacementDestination>, PlacementError> {
    let record = Record::read(places, request.scope)?;
    let source = Source::expect(request.directory);
    let mut destinations = Vec::new();
    for (reached, agents) in folders_of(places, request)? {
        let Place { path, there, owners, why, is_recorded } =
            Place::look(request, &record, &reached.real, &agents)?;
        let is_copy = why.is_some();
        let in_the_way = match there {
            There::Nothing | There::Ours(_) => None,
            There::Theirs(Theirs::Link(target))
                if !is_copy && target == source.seen_from(&reached.real) =>
            {
                None
            }
            There::Theirs(theirs) => match occupied(path.clone(), &theirs, is_recorded) {
                PlacementError::Occupied { what, .. } => Some(what),
                other => return Err(other),
            },
        };
        let skill = request.skill.clone();
        destinations.push(PlacementDestination { skill, path, owners, is_copy, in_the_way });
    }
    Ok(destinations)
}

/// The folders of the agents of a request. Agents that share a folder share its content, also if the folder is shared
/// through a symbolic link.
fn folders_of(
    places: &Places,
    request: &PlacementRequest<'_>,
) -> Result<Vec<(AgentFolder, Vec<&'static Agent>)>, PlacementError> {
    let mut folders: BTreeMap<PathBuf, (AgentFolder, Vec<&'static Agent>)> = BTreeMap::new();
    for &agent in request.agents {
        let reached = reach::folder_of(agent, request.scope, places)?;
        let (_, sharing) =
            folders.entry(reached.real.clone()).or_insert_with(|| (reached, Vec::new()));
        sharing.push(agent);
    }
    Ok(folders.into_values().collect())
}

fn plan_with(
    places: &Places,
    request: &PlacementRequest<'_>,
    record: &Record,
) -> Result<Vec<(AgentFolder, Placement)>, PlacementError> {
    let folders = folders_of(places, request)?;
    let source = Source::look(request.directory)?;
    folders
        .into_iter()
        .map(|(reached, agents)| {
            let placement = plan_one(request, record, &source, &reached.real, &agents)?;
            Ok((reached, placement))
        })
        .collect()
}

fn plan_one(
    request: &PlacementRequest<'_>,
    record: &Record,
    source: &Source,
    folder: &Path,
    agents: &[&'static Agent],
) -> Result<Placement, PlacementError> {
    let Place { path, there, owners, why, is_recorded } =
        Place::look(request, record, folder, agents)?;
    let form = match why {
        Some(_) => PlacementForm::Copy(source.digest()?),
        None => PlacementForm::Link(source.seen_from(folder)),
    };
    let mut replaces = None;
    let change = match there {
        There::Nothing => PlacementChange::Make,
        There::Ours(known) if known == form => PlacementChange::Keep,
        There::Ours(known) => {
            replaces = Some(known);
            PlacementChange::Replace
        }
        There::Theirs(Theirs::Link(target)) if form == PlacementForm::Link(target.clone()) => {
            PlacementChange::Theirs
        }
        There::Theirs(theirs) => return Err(occupied(path, &theirs, is_recorded)),
    };
    Ok(Placement { skill: request.skill.clone(), path, owners, form, why, change, replaces })
}

/// A destination and its current content.
struct Place {
    path: PathBuf,
    there: There,
    /// The ids of all agents that would use it.
    owners: Vec<String>,
    /// The reason if it would be a copy.
    why: Option<String>,
    is_recorded: bool,
}

impl Place {
    fn look(
        request: &PlacementRequest<'_>,
        record: &Record,
        folder: &Path,
        agents: &[&'static Agent],
    ) -> Result<Self, PlacementError> {
        let path = folder.join(request.skill.as_str());
        let recorded = record.at(&path);
        let there = there(folder, request.skill, recorded)?;
        let mut owners: Vec<String> =
            recorded.map(|known| known.owners.clone()).unwrap_or_default();
        owners.extend(agents.iter().map(|agent| agent.id.to_owned()));
        owners.sort();
        owners.dedup();
        let blind = owners
            .iter()
            .filter_map(|id| crate::agents::by_id(id))
            .find(|agent| agent.sees_links(request.scope) == LinkSupport::No);
        let why = match (request.mode, blind, &there) {
            (PlacementMode::Link, ..) => None,
            (PlacementMode::Copy, ..) => Some("a copy was requested".to_owned()),
            (PlacementMode::AsSeen, Some(agent), _) => {
                let source = agent.links.source.unwrap_or_default();
                Some(format!("{} is reported not to see links ({source})", agent.title))
            }
            // A copy was requested earlier.
            (PlacementMode::AsSeen, None, There::Ours(PlacementForm::Copy(_))) => {
                Some("it is already a copy".to_owned())
            }
            (PlacementMode::AsSeen, None, _) => None,
        };
        Ok(Self { path, there, owners, why, is_recorded: recorded.is_some() })
    }
}

/// The error for an occupied path.
fn occupied(path: PathBuf, theirs: &Theirs, is_recorded: bool) -> PlacementError {
    let what = match theirs {
        Theirs::Link(target) => format!("a link to `{}`", target.display()),
        Theirs::Folder if is_recorded => "a folder that was changed after it was placed".to_owned(),
        Theirs::Folder => "a folder".to_owned(),
        Theirs::Other => "a file".to_owned(),
    };
    PlacementError::Occupied { path, what }
}

/// The skill to place.
struct Source {
    folder: PathBuf,
}

impl Source {
    /// Its folder, free of symbolic links except for the last component, whose target a store may exchange.
    fn look(directory: &Path) -> Result<Self, PlacementError> {
        let missing = || disk("find", directory)(io::ErrorKind::NotFound.into());
        let (Some(above), Some(name)) = (directory.parent(), directory.file_name()) else {
            return Err(missing());
        };
        let above = above.canonicalize().map_err(disk("find", directory))?;
        let folder = above.join(name);
        if !folder.join(prowess_package::content::MANIFEST).is_file() {
            return Err(missing());
        }
        Ok(Self { folder })
    }

    /// Its future folder before it is installed. Missing folders will be created without links.
    fn expect(directory: &Path) -> Self {
        let known = directory.ancestors().skip(1).find_map(|above| {
            let rest = directory.strip_prefix(above).ok()?;
            Some(above.canonicalize().ok()?.join(rest))
        });
        Self { folder: known.unwrap_or_else(|| directory.to_owned()) }
    }

    fn digest(&self) -> Result<Sha256Digest, PlacementError> {
        let opened = Folder::open(&self.folder).map_err(disk("open", &self.folder))?;
        digest(&opened).map_err(|source| PlacementError::Copy { path: self.folder.clone(), source })
    }

    /// The relative path from a folder to it.
    fn seen_from(&self, folder: &Path) -> PathBuf {
        let (mut from, mut to) = (folder.components(), self.folder.components());
        let shared = folder.components().zip(self.folder.components());
        for _ in shared.take_while(|(a, b)| a == b) {
            from.next();
            to.next();
        }
        from.map(|_| std::path::Component::ParentDir).chain(to).collect()
    }
}

/// The content of a path.
enum There {
    Nothing,
    /// A recorded placement.
    Ours(PlacementForm),
    /// Anything else.
    Theirs(Theirs),
}

/// Content that we did not create.
enum Theirs {
    Link(PathBuf),
    Folder,
    Other,
}

fn there(
    folder: &Path,
    skill: &SkillName,
    recorded: Option<&RecordedPlacement>,
) -> Result<There, PlacementError> {
    let opened = match Folder::open(folder) {
        Ok(opened) => opened,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(There::Nothing),
        Err(error) => return Err(disk("open", folder)(error)),
    };
    found_in(&opened, skill, recorded).map_err(disk("look at", &folder.join(skill.as_str())))
}

fn found_in(
    folder: &Folder,
    skill: &SkillName,
    recorded: Option<&RecordedPlacement>,
) -> io::Result<There> {
    let name = skill.as_str();
    let is_ours =
        |form: &PlacementForm| recorded.is_some_and(|known| known.forms().any(|it| it == form));
    Ok(match folder.kind(name.as_bytes())? {
        None => There::Nothing,
        Some(EntryKind::Link) => {
            let target = folder.link(name)?;
            let form = PlacementForm::Link(target.clone());
            if is_ours(&form) { There::Ours(form) } else { There::Theirs(Theirs::Link(target)) }
        }
        Some(EntryKind::Folder) if recorded.is_some() => {
            // A folder that can't be hashed contains links or special files, which we never copy.
            match digest(&folder.folder(name)?).map(PlacementForm::Copy) {
                Ok(form) if is_ours(&form) => There::Ours(form),
                _ => There::Theirs(Theirs::Folder),
            }
        }
        Some(EntryKind::Folder) => There::Theirs(Theirs::Folder),
        Some(EntryKind::File | EntryKind::Other) => There::Theirs(Theirs::Other),
    })
}

/// Whether a file of a skill is copied: caches from running it are not.
fn is_copied(path: &str) -> bool {
    path != SIDECAR && path.parse().is_ok_and(|path| role_of(&path) != FileRole::Litter)
}

/// The digest of the copied files.
fn digest(folder: &Folder) -> Result<Sha256Digest, TreeError> {
    let mut hashes: FileHashes = tree::hash_folder(folder, &PackageLimits::PACKAGE)?;
    hashes.retain(|path, _| is_copied(path.as_str()));
    Ok(content_digest(&hashes))
}
