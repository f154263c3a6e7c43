//! Places inside granted folders that stay closed or read-only (attack A10, SANDBOX §4).

use std::collections::{BTreeSet, VecDeque};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};

use prowess_policy::SandboxSpec;
use prowess_policy::scope::{PathPattern, SECRET_PLACES};
use prowess_policy::spec::{FileScope, Protected, is_named};

use crate::git_settings::{self, Named};
use crate::lookout::{Absent, AbsentKind, is_repository, looks_bare, settings_of};
use crate::world::World;

/// How far nested repositories are looked for, nearest folders first.
const MOST_FOLDERS: usize = 32_768;
/// Of how many repositories the settings are read.
const MOST_REPOSITORIES: usize = 1024;

/// A known place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Guard {
    pub(super) place: PathBuf,
    pub(super) kind: Guarded,
}

/// What stays possible there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Guarded {
    /// Nothing.
    Closed,
    /// Reading.
    ReadOnly,
}

/// The known places that a rule does not open: secrets that it does not name, our own state, files that shells and
/// desktops run.
pub(super) fn guards(allowed: &SandboxSpec, scope: &FileScope, world: &World) -> Vec<Guard> {
    let mut guards = Vec::new();
    let below_home = |protected: &Protected| match protected {
        Protected::BelowHome(place) => Some((*place, world.home.join(place))),
        Protected::AnyDepth(_) => None,
    };
    for (name, place) in allowed.never_read.iter().filter_map(below_home) {
        if !scope.names(name) {
            guards.push(Guard { place, kind: Guarded::Closed });
        }
    }
    for folder in world.state.folders() {
        guards.push(Guard { place: folder.to_owned(), kind: Guarded::Closed });
    }
    // People keep their start files in one folder and link to them: what the link leads to is the file.
    let closed: Vec<PathBuf> =
        guards.iter().filter_map(|guard| behind_link(&guard.place)).collect();
    guards.extend(closed.into_iter().map(|place| Guard { place, kind: Guarded::Closed }));
    for (_, place) in allowed.never_write.iter().filter_map(below_home) {
        if let Some(place) = behind_link(&place) {
            guards.push(Guard { place, kind: Guarded::ReadOnly });
        }
        if !guards.iter().any(|guard| guard.place == place) {
            guards.push(Guard { place, kind: Guarded::ReadOnly });
        }
    }
    guards
}

/// Something in a skill's folder that is never shown. The folder is in view of its tools as a whole, so it must not be the
/// home, nor hold places of secrets or our own files.
pub(super) fn never_shown_in(folder: &Path, world: &World) -> Option<PathBuf> {
    if world.home.starts_with(folder) {
        return Some(world.home.clone());
    }
    let secrets = SECRET_PLACES.iter().map(|place| world.home.join(place));
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
pub(super) struct Inside {
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

/// The protected row that everything of a pattern lies in, such as `.git/hooks` of `./.git/hooks/**`.
pub(super) fn row_around(allowed: &SandboxSpec, pattern: &PathPattern) -> Option<&'static str> {
    let parts = pattern.literal_prefix();
    let parts: Vec<&OsStr> = parts.iter().map(OsStr::new).collect();
    rows(&allowed.never_write).into_iter().find(|row| holds_row(&parts, row))
}

/// What is left of a row for a folder that is in the middle of it: `hooks` of `.git/hooks` for one called `.git`.
fn rest_of_row<'r>(row: &'r str, folder: &Path) -> Option<&'r str> {
    row.match_indices('/')
        .find(|(at, _)| folder.ends_with(&row[..*at]))
        .map(|(at, _)| &row[at + 1..])
}

/// Looks for places that are protected at any depth, in folders that are opened for writing.
pub(super) fn inside(allowed: &SandboxSpec, writable: &[PathBuf], world: &World) -> Inside {
    let rows = rows(&allowed.never_write);
    let mut found = Inside::default();
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
        if looked_at > MOST_FOLDERS {
            found.warning = Some(format!(
                "the granted folders hold more than {MOST_FOLDERS} folders: what is deep inside is not protected, and only what changes there is looked at afterwards"
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
            if name.eq_ignore_ascii_case(".git") {
                // Inside a repository's own folder there is nothing more to find.
                found.protect_repository(&entry.path());
            } else if kind.is_dir() {
                open.push_back(entry.path());
            }
        }
    }
    found.protect_named(writable, world);
    found.protect_search_path(writable, world);
    // A place inside another one is covered by it.
    found.places.sort();
    found.places.dedup_by(|later, earlier| later.starts_with(&*earlier));
    found
}

/// Rows of names that are protected at any depth.
fn rows(never_write: &[Protected]) -> Vec<&'static str> {
    let row = |protected: &Protected| match protected {
        Protected::AnyDepth(row) => Some(*row),
        Protected::BelowHome(_) => None,
    };
    never_write.iter().filter_map(row).collect()
}

fn begins(row: &str, name: &OsStr) -> bool {
    let first = row.split('/').next().unwrap_or(row);
    name.to_str().is_some_and(|name| is_named(name, first))
}

/// Whether a grant is for a protected place itself. `parts` are the names below the folder that the grant is written for:
/// a project may lie in a folder that would be protected in another one.
pub(super) fn is_protected(never_write: &[Protected], parts: &[&OsStr]) -> bool {
    rows(never_write).iter().any(|row| holds_row(parts, row))
}

/// Whether the names of a row stand behind each other.
fn holds_row(parts: &[&OsStr], row: &str) -> bool {
    let row: Vec<&str> = row.split('/').collect();
    parts.windows(row.len()).any(|window| {
        let mut pairs = window.iter().zip(&row);
        pairs.all(|(name, wanted)| name.to_str().is_some_and(|name| is_named(name, wanted)))
    })
}

impl Inside {
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
        if !data.is_dir() || !is_repository(repository) {
            return;
        }
        self.repositories.insert(repository.to_owned());
        let hooks = repository.join("hooks");
        if fs::symlink_metadata(&hooks).is_err() {
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

    /// What settings of repositories and of the user name: hooks elsewhere, more settings, programs.
    fn protect_named(&mut self, writable: &[PathBuf], world: &World) {
        let of_user = [".gitconfig", ".config/git/config"].map(|name| world.home.join(name));
        let elsewhere = world.environment.iter().find(|(name, _)| name == "XDG_CONFIG_HOME");
        let elsewhere = elsewhere.map(|(_, folder)| Path::new(folder).join("git/config"));
        let common: Vec<PathBuf> =
            of_user.into_iter().chain(elsewhere).chain(["/etc/gitconfig".into()]).collect();
        let mut named = Vec::new();
        for repository in self.repositories.iter().take(MOST_REPOSITORIES) {
            let is_inner = repository.file_name().is_some_and(|name| name == ".git");
            let top = if is_inner { repository.parent() } else { None }.unwrap_or(repository);
            let own = settings_of(repository);
            let worktree =
                own.iter().flat_map(|file| git_settings::of_file(file).unwrap_or_default());
            let worktree = worktree
                .filter_map(|setting| git_settings::normal(&repository.join(setting.worktree()?)));
            let tops: BTreeSet<PathBuf> = worktree.chain([top.to_owned()]).collect();
            let files: Vec<PathBuf> = own.iter().chain(&common).cloned().collect();
            for top in &tops {
                let sources = git_settings::Sources { files: &files, top, home: &world.home };
                named.extend(git_settings::named(sources));
            }
        }
        if self.repositories.len() > MOST_REPOSITORIES {
            self.warning.get_or_insert_with(|| format!(
                "the granted folders hold more than {MOST_REPOSITORIES} repositories: hooks that their settings keep elsewhere are not protected in all of them"
            ));
        }
        for Named { path, is_certain } in named {
            let around = writable.iter().filter(|folder| path.starts_with(folder)).max();
            let Some(folder) = around else {
                // A way from outside into the folder.
                let real = path.canonicalize().ok();
                let real = real.filter(|real| writable.iter().any(|it| real.starts_with(it)));
                self.places.extend(real.filter(|real| is_there(real)));
                continue;
            };
            match fs::symlink_metadata(&path) {
                // A word of a command that is a folder is hardly a program.
                Ok(_) if !is_certain && path.is_dir() => {}
                Ok(_) => self.protect(folder, path),
                Err(_) if is_certain => match first_link(folder, &path) {
                    Some(link) => self.links.push(link),
                    None => {
                        self.absent.insert(Absent { place: path, kind: AbsentKind::OfGit });
                    }
                },
                Err(_) => {}
            }
        }
    }

    /// Folders in which programs are looked for: what is put there is started by its name.
    fn protect_search_path(&mut self, writable: &[PathBuf], world: &World) {
        for folder in &world.search_path {
            let real = folder.canonicalize().ok();
            for place in [Some(folder.clone()), real].into_iter().flatten() {
                if !writable.iter().any(|it| place.starts_with(it)) {
                    continue;
                }
                if is_there(&place) {
                    self.places.push(place);
                } else if fs::symlink_metadata(&place).is_err() {
                    self.absent.insert(Absent { place, kind: AbsentKind::OfSearchPath });
                }
            }
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
