//! Places inside granted folders that stay closed or read-only (attack sandbox-A10, SANDBOX §4).

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

/// How far nested repositories are looked for, nearest folders first.
const MAX_FOLDERS: usize = 32_768;

/// A known place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ProtectedPath {
    pub(super) place: PathBuf,
    pub(super) kind: Protection,
    /// Why, as a clause: "because …".
    pub(super) why: &'static str,
}

/// What stays possible there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Protection {
    /// Nothing.
    Closed,
    /// Reading.
    ReadOnly,
}

/// The known places that a rule does not open: secrets that it does not name, our own state, files that shells, desktops and
/// the machine run.
pub(super) fn guards(scope: &FileScope, uses: &Uses<'_>) -> Vec<ProtectedPath> {
    let world = uses.world();
    let base = match scope {
        FileScope::Everything => PathBuf::from("/"),
        FileScope::Pattern(pattern) => files::base(pattern, world),
    };
    // There are hundreds of places, and hardly any has to do with the rule.
    let (guards, known) = (Vec::new(), HashSet::new());
    let mut found = Guards { base: &base, uses, guards, known };
    let homes = homes(&base, world);
    for ProtectedPlace { protected, why } in SECRET_PLACES {
        for place in places_of(*protected, &homes) {
            let is_named = match protected {
                Protected::Machine(_) => base.starts_with(&place) || holds_user(&place, world),
                Protected::BelowHome(name) | Protected::AnyDepth(name) => scope.names(name),
            };
            // A folder of which others have made their home is opened piece by piece only if there are keys in it.
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
    /// People keep their start files in one folder and link to them: what the link leads to is the file.
    fn add(&mut self, place: PathBuf, kind: Protection, why: &'static str) {
        if self.uses.may_be_there(&place)
            && let Some(real) = behind_link(&place)
        {
            self.add_one(real, kind, why);
        }
        self.add_one(place, kind, why);
    }

    /// What was closed before stays so.
    fn add_one(&mut self, place: PathBuf, kind: Protection, why: &'static str) {
        if are_related(&place, self.base) && self.known.insert(place.clone()) {
            self.guards.push(ProtectedPath { place, kind, why });
        }
    }
}

/// The user's own home, and those of others that have to do with a path.
fn homes(base: &Path, world: &World) -> Vec<PathBuf> {
    [world.home.clone()].into_iter().chain(world.other_homes(base)).collect()
}

/// Where a place is, in these homes or on the machine.
fn places_of(protected: Protected, homes: &[PathBuf]) -> Vec<PathBuf> {
    match protected {
        Protected::BelowHome(name) => homes.iter().map(|home| home.join(name)).collect(),
        Protected::Machine(place) => vec![PathBuf::from(place)],
        Protected::AnyDepth(_) => Vec::new(),
    }
}

/// Whether the user's home or work lies in a place: root's own home is no secret to root.
fn holds_user(place: &Path, world: &World) -> bool {
    world.home.starts_with(place) || world.working_directory.starts_with(place)
}

/// Something in a skill's folder that is never shown. The folder is in view of its tools as a whole, so it must not be the
/// home, nor hold places of secrets or our own files.
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

/// Where a link leads; `None` for anything else.
fn behind_link(place: &Path) -> Option<PathBuf> {
    let is_link = fs::symlink_metadata(place).is_ok_and(|data| data.is_symlink());
    is_link.then(|| place.canonicalize().ok()).flatten()
}

/// What was found inside writable folders.
#[derive(Debug, Default)]
pub(super) struct ProtectedPaths {
    /// Files and folders that must stay as they are.
    pub(super) places: Vec<PathBuf>,
    /// Links where such files and folders should be, which can't be protected.
    pub(super) links: Vec<PathBuf>,
    /// Places that are not there yet: what a run puts there is worth a word, or is taken away again.
    pub(super) absent: BTreeSet<Absent>,
    /// Folders of git, and files that lead to one.
    pub(super) repositories: BTreeSet<PathBuf>,
    /// Where the search ended early.
    pub(super) warning: Option<String>,
}

/// Looks for places that are protected at any depth, in folders that are opened for writing.
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
            // One look at the folder tells which rows can begin here.
            for row in rows.iter().filter(|row| begins(row, name)) {
                let place = match row.split_once('/') {
                    Some((_, rest)) => entry.path().join(rest),
                    None => entry.path(),
                };
                found.protect(&folder, place);
            }
            // Where upper and lower case are one, so are these.
            if is_dot_git(&platform::bytes(name)) {
                // ProtectedPaths a repository's own folder there is nothing more to find.
                found.protect_repository(&entry.path());
            } else if kind.is_dir() {
                open.push_back(entry.path());
            }
        }
    }
    found.protect_used(writable, uses);
    // A place inside another one is covered by it.
    found.places.sort();
    found.places.dedup_by(|later, earlier| later.starts_with(&*earlier));
    found
}

/// Rows of names that are protected at any depth.
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

/// The row that a grant is for, such as `.git/hooks`, and why it is protected. `parts` are the names below the folder that the
/// grant is written for: a project may lie in a folder that would be protected in another one.
pub(super) fn row_around(parts: &[&OsStr]) -> Option<(&'static str, &'static str)> {
    NEVER_WRITE.iter().find_map(|place| match place.protected {
        Protected::AnyDepth(row) if holds_row(parts, row) => Some((row, place.why)),
        Protected::AnyDepth(_) | Protected::BelowHome(_) | Protected::Machine(_) => None,
    })
}

/// Whether the names of a row stand behind each other.
fn holds_row(parts: &[&OsStr], row: &str) -> bool {
    let row: Vec<&str> = row.split('/').collect();
    parts.windows(row.len()).any(|window| {
        let mut pairs = window.iter().zip(&row);
        pairs.all(|(name, wanted)| name.to_str().is_some_and(|name| is_named(name, wanted)))
    })
}

impl ProtectedPaths {
    /// Something that must stay as it is, below a folder that has no link on its own way.
    fn protect(&mut self, folder: &Path, place: PathBuf) {
        if let Some(link) = first_link(folder, &place) {
            // A link can be replaced, and what it leads to can be anywhere.
            self.links.push(link);
        } else if is_there(&place) {
            self.places.push(place);
        }
    }

    /// What git reads settings and hooks from, in a folder of git's: `.git`, that of a submodule or worktree, or a bare
    /// repository. The `.git` of a worktree is a file that says where the repository is: it must not say something else.
    fn protect_repository(&mut self, repository: &Path) {
        let Ok(data) = fs::symlink_metadata(repository) else { return };
        if data.is_file() {
            self.places.push(repository.to_owned());
            self.repositories.insert(repository.to_owned());
        }
        if !data.is_dir() {
            return;
        }
        // Without `HEAD` it is not a repository yet, and `git init` would make it one with all that is in it.
        self.repositories.insert(repository.to_owned());
        for operation in OPERATIONS {
            let place = repository.join(operation);
            // A rebase of the user's that starts programs is not left to a tool to change.
            if fs::symlink_metadata(&place).is_ok() && dangerous_operation(&place).is_some() {
                self.protect(repository, place);
            }
        }
        let hooks = repository.join("hooks");
        if is_repository(repository) && fs::symlink_metadata(&hooks).is_err() {
            // Hooks that are not there could be made. An empty folder is what git makes itself, and it can be protected.
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

    /// What is protected for what it is used for: hooks elsewhere, more settings, programs.
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
            // A link can be replaced, and what it leads to can be anywhere.
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

/// The first symbolic link on the way from a folder to a place below it.
fn first_link(folder: &Path, place: &Path) -> Option<PathBuf> {
    let mut way: Vec<&Path> = place.ancestors().take_while(|above| *above != folder).collect();
    way.reverse();
    let is_link = |path: &&&Path| fs::symlink_metadata(path).is_ok_and(|data| data.is_symlink());
    way.iter().find(is_link).map(|link| link.to_path_buf())
}
