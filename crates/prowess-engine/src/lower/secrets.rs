//! Files with keys that may be anywhere, such as `.env`: a folder is opened without them.

use std::collections::{BTreeSet, HashSet, VecDeque};
use std::path::{Path, PathBuf};

use prowess_policy::SandboxSpec;
use prowess_policy::scope::{PathRoot, RootedPath, secret_place};
use prowess_policy::spec::{Action, FileScope};
use prowess_sandbox::FileGrant;

use super::files::SYSTEM;
use super::folder_cache::FolderCache;
use crate::world::World;

/// How far files are looked for before a run, nearest folders first.
pub(super) const MAX_FOLDERS: usize = 8192;
/// Looks for files with keys before a question, which only reports them.
pub(super) const MAX_FOLDERS_TOLD: usize = 256;

/// Files that are hidden although the folder around them is opened.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct HiddenFiles {
    pub(super) files: BTreeSet<PathBuf>,
    /// Whether all folders were looked at.
    pub(super) is_complete: bool,
}

/// Whether the cache of folders may be written: verbs that only report write nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CacheUse {
    ReadOnly,
    Update,
}

/// Looks for files with keys in folders that are opened. A file that a grant names is not hidden: the policy decides that.
pub(super) fn hidden(
    opened: &[FileGrant],
    allowed: &SandboxSpec,
    world: &World,
    most: usize,
    cache_use: CacheUse,
) -> HiddenFiles {
    let mut found = HiddenFiles { files: BTreeSet::new(), is_complete: true };
    let is_opened = |path: &Path| opened.iter().any(|grant| path.starts_with(&grant.path));
    let mut add = |path: PathBuf| {
        if is_hidden(&path, allowed, world) {
            // What a link leads to is the file, and it may be in view under another name.
            let real = path.canonicalize().ok().filter(|real| real.is_file() && is_opened(real));
            found.files.extend(real);
        }
    };
    let mut roots: HashSet<PathBuf> = HashSet::new();
    for grant in opened.iter().filter(|grant| !is_of_system(&grant.path)) {
        if grant.path.is_dir() {
            roots.insert(grant.path.clone());
        } else {
            add(grant.path.clone());
        }
    }
    let mut open: VecDeque<PathBuf> = roots.iter().cloned().collect();
    if open.is_empty() {
        return found;
    }
    let mut cache = FolderCache::load(&world.state.cache, &world.working_directory);
    let mut looked_at = 0;
    while let Some(folder) = open.pop_front() {
        looked_at += 1;
        if looked_at > most {
            found.is_complete = false;
            break;
        }
        let listing = cache.listing(&folder, may_be_secret);
        listing.files.iter().for_each(|name| add(folder.join(name)));
        let inner = listing.folders.iter().map(|name| folder.join(name));
        // A granted folder inside another one is in the queue already.
        open.extend(inner.filter(|path| !roots.contains(path)));
    }
    if cache_use == CacheUse::Update {
        cache.save();
    }
    found
}

/// Whether a name alone is that of a file with keys.
fn may_be_secret(name: &str) -> bool {
    secret_place(PathRoot::Working, &[name.to_owned()]).is_some()
}

/// Whether no rule opens a file with keys by its name, however its path is written.
fn is_hidden(path: &Path, allowed: &SandboxSpec, world: &World) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let rooted = |root: PathRoot, top: &Path| {
        let parts = path.strip_prefix(top).ok()?.iter();
        let parts = parts.map(|part| part.to_string_lossy().into_owned()).collect();
        Some(RootedPath { root, parts })
    };
    let ways = [
        rooted(PathRoot::Working, &world.working_directory),
        rooted(PathRoot::Home, &world.home),
        rooted(PathRoot::Absolute, Path::new("/")),
    ];
    let ways: Vec<RootedPath> = ways.into_iter().flatten().collect();
    // Of a pattern only what matches is in view at all.
    let is_in_view = |scope: &FileScope| match scope {
        FileScope::Everything => true,
        FileScope::Pattern(pattern) => ways.iter().any(|path| pattern.matches(path)),
    };
    may_be_secret(name)
        && allowed.read.iter().chain(&allowed.write).any(is_in_view)
        && !ways.iter().any(|path| allowed.allows(&Action::Read(path.clone())))
}

/// Folders of the system hold no projects.
fn is_of_system(path: &Path) -> bool {
    let top = path.iter().nth(1).and_then(|name| name.to_str());
    top.is_some_and(|top| SYSTEM.contains(&top))
}
