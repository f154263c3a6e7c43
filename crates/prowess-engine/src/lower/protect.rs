//! Paths inside granted folders that stay hidden or read-only (attack sandbox-A10, SANDBOX §4).

use std::collections::{BTreeSet, HashSet, VecDeque};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};

use prowess_policy::protected_places::{NEVER_WRITE, Protected, ProtectedPlace, SECRET_PLACES};
use prowess_policy::spec::{FileScope, is_named};

use super::files;
use super::uses::{MAX_REPOSITORIES, Use, Uses, are_related};
use crate::git_files::is_dot_git;
use crate::planted::{
    Absent, AbsentKind, OPERATIONS, dangerous_operation, is_repository, looks_bare, rest_of_row,
};
use crate::platform;
use crate::world::World;

/// Maximum number of folders that are searched for nested repositories, breadth first.
const MAX_FOLDERS: usize = 32_768;

/// A protected path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ProtectedPath {
    pub(super) place: PathBuf,
    pub(super) kind: Protection,
    /// The reason, as a clause after "because".
    pub(super) why: &'static str,
}

/// The kind of protection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Protection {
    /// No access.
    Closed,
    /// Read-only access.
    ReadOnly,
}

/// The protected paths that a grant does not open: secrets that it does not name, our own state, and startup files of
/// shells, desktops and the machine.
pub(super) fn guards(scope: &FileScope, uses: &Uses<'_>) -> Vec<ProtectedPath> {
    let world = uses.world();
    let base = match scope {
        FileScope::Everything => PathBuf::from("/"),
        FileScope::Pattern(pattern) => files::base(pattern, world),
    };
    // There are hundreds of protected paths, and few are related to the grant.
    let (guards, known) = (Vec::new(), HashSet::new());
    let mut found = Guards { base: &base, uses, guards, known };
    let homes = homes(&base, world);
    for ProtectedPlace { protected, why } in SECRET_PLACES {
        for place in places_of(*protected, &homes) {
            let is_named = match protected {
                Protected::Machine(_) => base.starts_with(&place) || holds_user(&place, world),
                Protected::BelowHome(name) | Protected::AnyDepth(name) => scope.names(name),
            };
            // Another user's home is only protected in parts if it contains keys.
            let is_own =
                !matches!(protected, Protected::BelowHome(_)) || place.starts_with(&world.home);
            if !is_named && (is_own || fs::symlink_metadata(&place).is_ok()) {
                found.add(place, Protection::Closed, why);
            }
        }
    }
    for folder in world.state.folders() {
        found.add(folder.to_owned(), Protection::Closed, "it belongs to prowess");
    }
    for ProtectedPlace { protected, why } in NEVER_WRITE {
        match protected {
            Protected::BelowHome(name) => {
                found.add(world.home.join(name), Protection::ReadOnly, why);
            }
            Protected::Machine(place) => {
                found.add_one(PathBuf::from(place), Protection::ReadOnly, why);
            }
            Protected::AnyDepth(_) => {}
        }
    }
    found.guards
}

struct Guards<'b> {
    base: &'b Path,
    uses: &'b Uses<'b>,
    guards: Vec<ProtectedPath>,
    known: HashSet<PathBuf>,
}

impl Guards<'_> {
    /// Also protects the target of a link: many users keep their dotfiles in one folder and link to them.
    fn add(&mut self, place: PathBuf, kind: Protection, why: &'static str) {
        if self.uses.may_be_there(&place)
            && let Some(real) = behind_link(&place)
        {
            self.add_one(real, kind, why);
        }
        self.add_one(place, kind, why);
    }

    /// A path that is already hidden stays hidden.
    fn add_one(&mut self, place: PathBuf, kind: Protection, why: &'static str) {
        if are_related(&place, self.base) && self.known.insert(place.clone()) {
            self.guards.push(ProtectedPath { place, kind, why });
        }
    }
}

/// The user's own home, and those of others that are related to a path.
fn homes(base: &Path, world: &World) -> Vec<PathBuf> {
    [world.home.clone()].into_iter().chain(world.other_homes(base)).collect()
}

/// The paths of an entry, in these homes or on the machine.
fn places_of(protected: Protected, homes: &[PathBuf]) -> Vec<PathBuf> {
    match protected {
        Protected::BelowHome(name) => homes.iter().map(|home| home.join(name)).collect(),
        Protected::Machine(place) => vec![PathBuf::from(place)],
        Protected::AnyDepth(_) => Vec::new(),
    }
}

/// Whether a path contains the user's home or working directory: root's own home is no secret to root.
fn holds_user(place: &Path, world: &World) -> bool {
    world.home.starts_with(place) || world.working_directory.starts_with(place)
}

/// A path in a skill's folder that must never be visible. Tools see the whole folder of their skill, so it must not be
/// the home, nor contain secrets or our own files.
pub(super) fn never_shown_in(folder: &Path, world: &World) -> Option<PathBuf> {
    if world.home.starts_with(folder) {
        return Some(world.home.clone());
    }
    let homes = homes(folder, world);
    let secrets = SECRET_PLACES
        .iter()
        .flat_map(|place| places_of(place.protected, &homes))
        .filter(|place| !holds_user(place, world));
    let state = world.state.folders().map(Path::to_owned);
    let mut inside = secrets.chain(state).filter(|place| place.starts_with(folder));
    inside.find(|place| fs::symlink_metadata(place).is_ok())
}

/// The target of a link; `None` for anything else.
fn behind_link(place: &Path) -> Option<PathBuf> {
    let is_link = fs::symlink_metadata(place).is_ok_and(|data| data.is_symlink());
    is_link.then(|| place.canonicalize().ok()).flatten()
}

/// The protected paths inside writable folders.
#[derive(Debug, Default)]
pub(super) struct ProtectedPaths {
    /// Files and folders that must not change.
    pub(super) places: Vec<PathBuf>,
    /// Links in place of such files and folders, which can't be protected.
    pub(super) links: Vec<PathBuf>,
    /// Paths that do not exist yet: if a run creates them, this is reported, or they are renamed.
    pub(super) absent: BTreeSet<Absent>,
    /// Git folders, and files that refer to one.
    pub(super) repositories: BTreeSet<PathBuf>,
    /// A warning if the search was incomplete.
    pub(super) warning: Option<String>,
}

/// Finds paths that are protected at any depth in writable folders.
pub(super) fn inside(writable: &[PathBuf], uses: &Uses<'_>) -> ProtectedPaths {
    let rows = rows();
    let mut found = ProtectedPaths::default();
    for folder in writable {
        // A repository's own folder may be granted by its name.
        for place in
            rows.iter().filter_map(|row| rest_of_row(row, folder)).map(|rest| folder.join(rest))
        {
            found.protect(folder, place);
        }
        if folder.ends_with(".git") {
            found.protect_repository(folder);
        }
    }
    let mut open: VecDeque<PathBuf> = writable.iter().cloned().collect();
    let mut looked_at = 0;
    while let Some(folder) = open.pop_front() {
        looked_at += 1;
        if looked_at > MAX_FOLDERS {
            found.warning = Some(format!(
                "the granted folders contain more than {MAX_FOLDERS} folders: deeply nested folders are not protected, and only changes in them are examined afterwards"
            ));
            break;
        }
        let Ok(entries) = fs::read_dir(&folder) else { continue };
        let entries: Vec<fs::DirEntry> = entries.flatten().collect();
        let names: Vec<OsString> = entries.iter().map(fs::DirEntry::file_name).collect();
        if looks_bare(names.iter().map(OsString::as_os_str)) {
            found.protect_repository(&folder);
        }
        for (entry, name) in entries.iter().zip(&names) {
            let Ok(kind) = entry.file_type() else { continue };
            // The name of the folder tells which entries can begin here.
            for row in rows.iter().filter(|row| begins(row, name)) {
                let place = match row.split_once('/') {
                    Some((_, rest)) => entry.path().join(rest),
                    None => entry.path(),
                };
                found.protect(&folder, place);
            }
            // On case-insensitive file systems these are the same.
            if is_dot_git(&platform::bytes(name)) {
                // Nothing else is protected inside a repository's own folder.
                found.protect_repository(&entry.path());
            } else if kind.is_dir() {
                open.push_back(entry.path());
            }
        }
    }
    found.protect_used(writable, uses);
    // A path inside a protected one is covered by it.
    found.places.sort();
    found.places.dedup_by(|later, earlier| later.starts_with(&*earlier));
    found
}

/// The names that are protected at any depth.
fn rows() -> Vec<&'static str> {
    let row = |place: &ProtectedPlace| match place.protected {
        Protected::AnyDepth(row) => Some(row),
        Protected::BelowHome(_) | Protected::Machine(_) => None,
    };
    NEVER_WRITE.iter().filter_map(row).collect()
}

fn begins(row: &str, name: &OsStr) -> bool {
    let first = row.split('/').next().unwrap_or(row);
    name.to_str().is_some_and(|name| is_named(name, first))
}

/// The entry that covers a grant, such as `.git/hooks`, and the reason. `parts` are the names below the folder that the
/// grant is relative to: a project may be inside a folder that would be protected elsewhere.
pub(super) fn row_around(parts: &[&OsStr]) -> Option<(&'static str, &'static str)> {
    NEVER_WRITE.iter().find_map(|place| match place.protected {
        Protected::AnyDepth(row) if holds_row(parts, row) => Some((row, place.why)),
        Protected::AnyDepth(_) | Protected::BelowHome(_) | Protected::Machine(_) => None,
    })
}

/// Whether the names of an entry are consecutive.
fn holds_row(parts: &[&OsStr], row: &str) -> bool {
    let row: Vec<&str> = row.split('/').collect();
    parts.windows(row.len()).any(|window| {
        let mut pairs = window.iter().zip(&row);
        pairs.all(|(name, wanted)| name.to_str().is_some_and(|name| is_named(name, wanted)))
    })
}

impl ProtectedPaths {
    /// Protects a path below a folder, unless there is a link on the way.
    fn protect(&mut self, folder: &Path, place: PathBuf) {
        if let Some(link) = first_link(folder, &place) {
            // A link can be replaced, and its target can be anywhere.
            self.links.push(link);
        } else if is_there(&place) {
            self.places.push(place);
        }
    }

    /// Protects the settings and hooks in a git folder: `.git`, that of a submodule or worktree, or a bare repository.
    /// The `.git` file of a worktree refers to the repository and must not change.
    fn protect_repository(&mut self, repository: &Path) {
        let Ok(data) = fs::symlink_metadata(repository) else { return };
        if data.is_file() {
            self.places.push(repository.to_owned());
            self.repositories.insert(repository.to_owned());
        }
        if !data.is_dir() {
            return;
        }
        // Without `HEAD` it is not a repository yet, but `git init` would make it one, with everything in it.
        self.repositories.insert(repository.to_owned());
        for operation in OPERATIONS {
            let place = repository.join(operation);
            // A pending rebase of the user that starts programs must not be changed by a tool.
            if fs::symlink_metadata(&place).is_ok() && dangerous_operation(&place).is_some() {
                self.protect(repository, place);
            }
        }
        let hooks = repository.join("hooks");
        if is_repository(repository) && fs::symlink_metadata(&hooks).is_err() {
            // Missing hooks could be created. An empty folder, which git creates itself, can be protected.
            let _ = fs::create_dir(&hooks);
        }
        for (name, kind) in [
            ("hooks", AbsentKind::Hooks),
            ("config", AbsentKind::Settings),
            ("commondir", AbsentKind::OfGit),
            ("config.worktree", AbsentKind::OfGit),
        ] {
            let place = repository.join(name);
            if fs::symlink_metadata(&place).is_ok() {
                self.protect(repository, place);
            } else {
                self.absent.insert(Absent { place, kind });
            }
        }
    }

    /// Protects paths because of their use: hooks elsewhere, included settings, programs.
    fn protect_used(&mut self, writable: &[PathBuf], uses: &Uses<'_>) {
        if self.repositories.len() > MAX_REPOSITORIES {
            self.warning.get_or_insert_with(|| format!(
                "the granted folders contain more than {MAX_REPOSITORIES} repositories: hooks in other folders are not protected for all of them"
            ));
        }
        let found = uses.of(writable, &self.repositories);
        for it in found.iter().filter(|it| it.is_meant()) {
            let around = writable.iter().filter(|folder| it.place.starts_with(folder)).max();
            if let Some(folder) = around {
                self.protect_use(folder, it);
            }
        }
    }

    fn protect_use(&mut self, folder: &Path, used: &Use) {
        let place = &used.place;
        match first_link(folder, place) {
            // A link can be replaced, and its target can be anywhere.
            Some(link) if used.must_be_straight() => self.links.push(link),
            Some(_) => {}
            None if is_there(place) => self.places.push(place.clone()),
            None if fs::symlink_metadata(place).is_err() => {
                self.absent.insert(Absent { place: place.clone(), kind: used.absent_kind() });
            }
            None => {}
        }
    }
}

fn is_there(place: &Path) -> bool {
    fs::symlink_metadata(place).is_ok_and(|data| data.is_dir() || data.is_file())
}

/// The first symbolic link on the way from a folder to a path below it.
fn first_link(folder: &Path, place: &Path) -> Option<PathBuf> {
    let mut way: Vec<&Path> = place.ancestors().take_while(|above| *above != folder).collect();
    way.reverse();
    let is_link = |path: &&&Path| fs::symlink_metadata(path).is_ok_and(|data| data.is_symlink());
    way.iter().find(is_link).map(|link| link.to_path_buf())
}
