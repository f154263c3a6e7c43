//! Linked worktrees: the working directory is granted, but its repository is elsewhere. Git can't work without it, so
//! it is opened too, for programs that are git.
//!
//! The file `.git` of a worktree refers to its repository, and anyone may have written it: an unpacked archive may
//! refer to any repository of the user. So the repository has to confirm it. Git keeps a folder for each worktree,
//! `.git/worktrees/NAME`, whose file `gitdir` refers to the worktree; only a folder with such a back reference is
//! opened.

use std::fs;
use std::path::{Path, PathBuf};

use prowess_policy::spec::FileScope;
use prowess_sandbox::{FileAccess, FileGrant};

use super::grant;
use super::protect::{self, Protection};
use super::uses::Uses;
use crate::git_files::path_in;
use crate::planted::{Absent, AbsentKind};
use crate::programs::Images;
use crate::world::World;

/// The shared paths that git changes when it commits or fetches. Settings and hooks are not included, and neither is
/// the folder itself, so they can't be replaced.
const CHANGED: &[&str] = &["objects", "refs", "logs"];
/// Files of a worktree's own part that refer to other paths, or to programs.
const FIXED: &[&str] = &["gitdir", "commondir", "config.worktree"];

/// The paths that are opened in addition to the worktree.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct OpenedRepository {
    pub(super) grants: Vec<FileGrant>,
    /// Missing settings of the worktree.
    pub(super) absent: Vec<Absent>,
    /// The worktree's own part of the repository and the shared part, if they are writable.
    pub(super) repositories: Vec<PathBuf>,
}

/// Opens the repository of the working directory, if that is a linked worktree which is granted as a whole.
pub(super) fn open(images: &Images, grants: &[FileGrant], world: &World) -> OpenedRepository {
    let is_git = |image: &PathBuf| image.file_name().is_some_and(|name| name == "git");
    let top = world.working_directory.as_path();
    let covers =
        |path: &Path, grant: &FileGrant| grant.pattern.is_none() && path.starts_with(&grant.path);
    let Some(access) =
        grants.iter().filter(|grant| covers(top, grant)).map(|grant| grant.access).max()
    else {
        return OpenedRepository::default();
    };
    if !images.programs.iter().any(is_git) {
        return OpenedRepository::default();
    }
    let Some(own) = repository_of(top) else { return OpenedRepository::default() };
    // `repository_of` has checked that both parent folders exist.
    let Some(shared) = own.ancestors().nth(2) else { return OpenedRepository::default() };
    if grants.iter().any(|grant| covers(shared, grant)) || is_secret(shared, world) {
        return OpenedRepository::default();
    }
    let grants = vec![grant(shared, FileAccess::Read)];
    let mut opened = OpenedRepository { grants, ..OpenedRepository::default() };
    if access == FileAccess::Write {
        opened.repositories = vec![own.clone(), shared.to_owned()];
        let changed = CHANGED.iter().map(|name| shared.join(name)).chain([own.clone()]);
        let changed = changed.filter(|place| is_folder(place));
        opened.grants.extend(changed.map(|place| grant(&place, FileAccess::Write)));
        let (there, missing): (Vec<PathBuf>, Vec<PathBuf>) = FIXED
            .iter()
            .map(|name| own.join(name))
            .partition(|place| fs::symlink_metadata(place).is_ok());
        opened.grants.extend(there.iter().map(|place| grant(place, FileAccess::Read)));
        let kind = AbsentKind::OfGit;
        opened.absent = missing.into_iter().map(|place| Absent { place, kind }).collect();
    }
    opened
}

/// The worktree's own part of its repository, if both refer to each other.
fn repository_of(worktree: &Path) -> Option<PathBuf> {
    let link = worktree.join(".git");
    let named = path_in(&link, b"gitdir: ")?;
    let own = worktree.join(named).canonicalize().ok()?;
    let shared = own.ancestors().nth(2)?;
    let worktrees = own.parent()?;
    let is_named_so = worktrees.file_name()? == "worktrees" && shared.file_name()? == ".git";
    let points_back = own.join(path_in(&own.join("gitdir"), b"")?).canonicalize().ok()? == link;
    let is_shared = own.join(path_in(&own.join("commondir"), b"")?).canonicalize().ok()? == shared;
    let is_repository = shared.join("HEAD").is_file() && is_folder(&shared.join("objects"));
    (is_named_so && points_back && is_shared && is_repository).then_some(own)
}

fn is_folder(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|data| data.is_dir())
}

/// Whether a repository is in a place that needs a separate grant.
fn is_secret(path: &Path, world: &World) -> bool {
    let guards = protect::guards(&FileScope::Everything, &Uses::new(world));
    guards.iter().any(|guard| guard.kind == Protection::Closed && path.starts_with(&guard.place))
}
