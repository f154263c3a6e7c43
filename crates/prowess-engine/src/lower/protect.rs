//! Places inside granted folders that stay closed or read-only (attack A10, SANDBOX §4).

use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};

use prowess_policy::SandboxSpec;
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
    for (_, place) in allowed.never_write.iter().filter_map(below_home) {
        if !guards.iter().any(|guard| guard.place == place) {
            guards.push(Guard { place, kind: Guarded::ReadOnly });
        }
    }
    guards
}

/// What was found inside writable folders.
#[derive(Debug, Default)]
pub(super) struct Inside {
    /// Files and folders that must stay as they are.
    pub(super) places: Vec<PathBuf>,
    /// Where the search ended early.
    pub(super) warning: Option<String>,
}

/// Looks for places that are protected at any depth, in folders that are opened for writing.
pub(super) fn inside(allowed: &SandboxSpec, writable: &[PathBuf]) -> Inside {
    let rows: Vec<&str> = allowed
        .never_write
        .iter()
        .filter_map(|protected| match protected {
            Protected::AnyDepth(row) => Some(*row),
            Protected::BelowHome(_) => None,
        })
        .collect();
    let mut found = Inside::default();
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
                if !kind.is_symlink() && is_there(&place) && no_link_between(&folder, &place) {
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
    }
}

fn is_there(place: &Path) -> bool {
    fs::symlink_metadata(place).is_ok_and(|data| data.is_dir() || data.is_file())
}

fn no_link_between(folder: &Path, place: &Path) -> bool {
    place
        .ancestors()
        .skip(1)
        .take_while(|above| *above != folder)
        .all(|above| fs::symlink_metadata(above).is_ok_and(|data| data.is_dir()))
}
