//! Places inside granted folders that stay closed or read-only (attack A10, SANDBOX §4).

use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};

use prowess_policy::SandboxSpec;
use prowess_policy::scope::PathPattern;
use prowess_policy::spec::{FileScope, Protected};

use crate::world::World;

/// How far nested repositories are looked for, nearest folders first.
const MOST_FOLDERS: usize = 32_768;

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
    pub(super) missing: Vec<PathBuf>,
    /// Where the search ended early.
    pub(super) warning: Option<String>,
}

/// The names in a row that are protected at any depth.
fn rows(allowed: &SandboxSpec) -> impl Iterator<Item = &'static str> {
    allowed.never_write.iter().filter_map(|protected| match protected {
        Protected::AnyDepth(row) => Some(*row),
        Protected::BelowHome(_) => None,
    })
}

/// The protected row that everything of a pattern lies in, such as `.git/hooks` of `./.git/hooks/**`.
pub(super) fn row_around(allowed: &SandboxSpec, pattern: &PathPattern) -> Option<&'static str> {
    let parts = pattern.literal_prefix();
    rows(allowed).find(|row| {
        let row: Vec<&str> = row.split('/').collect();
        parts.windows(row.len()).any(|window| window.iter().eq(row.iter()))
    })
}

/// What is left of a row for a folder that is in the middle of it: `hooks` of `.git/hooks` for one called `.git`.
fn rest_of_row<'r>(row: &'r str, folder: &Path) -> Option<&'r str> {
    row.match_indices('/')
        .find(|(at, _)| folder.ends_with(&row[..*at]))
        .map(|(at, _)| &row[at + 1..])
}

/// Looks for places that are protected at any depth, in folders that are opened for writing.
pub(super) fn inside(allowed: &SandboxSpec, writable: &[PathBuf]) -> Inside {
    let rows: Vec<&str> = rows(allowed).collect();
    let mut found = Inside::default();
    for folder in writable {
        // A repository's own folder may be granted by its name.
        for place in
            rows.iter().filter_map(|row| rest_of_row(row, folder)).map(|rest| folder.join(rest))
        {
            if let Some(link) = first_link(folder, &place) {
                found.links.push(link);
            } else if is_there(&place) {
                found.places.push(place);
            } else {
                found.missing.push(place);
            }
        }
        if folder.ends_with(".git") {
            protect_repository(folder, &mut found);
        }
    }
    let mut open: VecDeque<PathBuf> = writable.iter().cloned().collect();
    let mut looked_at = 0;
    while let Some(folder) = open.pop_front() {
        looked_at += 1;
        if looked_at > MOST_FOLDERS {
            found.warning = Some(format!(
                "the granted folders hold more than {MOST_FOLDERS} folders: repositories deep inside are not protected"
            ));
            break;
        }
        let Ok(entries) = fs::read_dir(&folder) else { continue };
        for entry in entries.flatten() {
            let Ok(kind) = entry.file_type() else { continue };
            let name = entry.file_name();
            // One look at the folder tells which rows can begin here.
            for row in
                rows.iter().filter(|row| row.split('/').next().is_some_and(|first| name == first))
            {
                let place = folder.join(row);
                if let Some(link) = first_link(&folder, &place) {
                    // A link can be replaced, and what it leads to can be anywhere.
                    found.links.push(link);
                } else if is_there(&place) {
                    found.places.push(place);
                }
            }
            if name == ".git" {
                // Inside a repository's own folder there is nothing more to find.
                protect_repository(&entry.path(), &mut found);
            } else if kind.is_dir() {
                open.push_back(entry.path());
            }
        }
    }
    let at_the_top = writable.iter().flat_map(|folder| rows.iter().map(|row| folder.join(row)));
    found.missing.extend(at_the_top.filter(|place| fs::symlink_metadata(place).is_err()));
    found.missing.sort();
    found.missing.dedup();
    // A place inside another one is covered by it.
    found.places.sort();
    found.places.dedup_by(|later, earlier| later.starts_with(&*earlier));
    found
}

/// Hooks that are not there could be made. An empty folder is what git makes itself, and it can be protected.
/// The `.git` of a worktree is a file that says where the repository is: it must not say something else.
fn protect_repository(repository: &Path, found: &mut Inside) {
    let Ok(data) = fs::symlink_metadata(repository) else { return };
    if data.is_file() {
        found.places.push(repository.to_owned());
    } else if data.is_dir() && repository.join("HEAD").is_file() {
        let hooks = repository.join("hooks");
        if !is_there(&hooks) && fs::create_dir(&hooks).is_ok() {
            found.places.push(hooks);
        }
        let settings = ["commondir", "config.worktree"].map(|name| repository.join(name));
        found
            .missing
            .extend(settings.into_iter().filter(|place| fs::symlink_metadata(place).is_err()));
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

/// Looks at places that were not there before a run. What git would follow at its next call is moved aside; about the
/// rest the user is told.
pub(super) fn planted(missing: &[PathBuf]) -> Vec<String> {
    let new = missing.iter().filter(|place| fs::symlink_metadata(place).is_ok());
    new.map(|place| {
        let shown = place.display();
        let above = |steps| place.ancestors().nth(steps).and_then(Path::file_name);
        let is_of_git = above(1).is_some_and(|name| name == ".git")
            || above(2).is_some_and(|name| name == "worktrees");
        if !is_of_git {
            return format!(
                "`{shown}` is new, and other programs may run what it says: look at it"
            );
        }
        let mut aside = place.clone().into_os_string();
        aside.push(".planted");
        match fs::rename(place, &aside) {
            Ok(()) => format!(
                "`{shown}` is new and would decide what git runs: it is called `.planted` now"
            ),
            Err(error) => {
                format!("`{shown}` is new and decides what git runs: remove it ({error})")
            }
        }
    })
    .collect()
}
