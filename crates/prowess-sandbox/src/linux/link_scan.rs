//! Scans writable folders before and after a run.
//!
//! Before: files that are hard-linked outside the folder, which could be changed through it (attack
//! sandbox-A08). After: links that the run has created and that point outside the folder, which
//! others may follow. Only small folders are scanned, which takes milliseconds.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FileType, Stat};

use super::grants::TreeGrants;
use super::walk::{self, Next, Stopped};
use super::watchdog::{Counter, Folder, Usage};
use crate::error::SandboxError;
use crate::spec::HardLinks;

/// Maximum number of entries of all writable folders together.
const MAX_ENTRIES: usize = 20_000;
/// Maximum number of paths that are reported of each kind.
const MAX_REPORTED: usize = 100;
/// Maximum number of chained links, as in the kernel.
const MAX_HOPS: usize = 40;

/// Links by path, with their targets.
type Links = BTreeMap<PathBuf, PathBuf>;

/// The state of writable folders before a run.
#[derive(Debug, Default)]
pub(super) struct LinkScan {
    folders: Vec<ScannedFolder>,
    /// Those that were too large to scan, with their read-only paths.
    unknown: Vec<(PathBuf, BTreeSet<PathBuf>)>,
    /// Files that are hard-linked elsewhere.
    pub(super) hard_linked: Vec<PathBuf>,
    /// Whether everything could be scanned.
    is_complete: bool,
}

/// A writable folder.
#[derive(Debug)]
struct ScannedFolder {
    path: PathBuf,
    identity: (u64, u64),
    /// Its read-only paths, relative to it.
    protected: BTreeSet<PathBuf>,
    links: Links,
    usage: Usage,
}

/// Files with several hard links: the number of links seen, their total number, and the first path.
#[derive(Default)]
struct Names(HashMap<(u64, u64), (u64, u64, PathBuf)>);

impl Names {
    fn add(&mut self, stat: &Stat, path: impl FnOnce() -> PathBuf) {
        if stat.st_nlink > 1 {
            let seen = self
                .0
                .entry((stat.st_dev, stat.st_ino))
                .or_insert_with(|| (0, stat.st_nlink, path()));
            seen.0 += 1;
        }
    }

    /// Those with a hard link that was not seen.
    fn shared(self) -> Vec<PathBuf> {
        let elsewhere = self.0.into_values().filter(|(seen, names, _)| seen < names);
        let mut paths: Vec<PathBuf> = elsewhere.map(|(_, _, path)| path).collect();
        paths.sort();
        paths.truncate(MAX_REPORTED);
        paths
    }
}

impl LinkScan {
    /// Scans the writable folders.
    pub(super) fn before(
        grants: &TreeGrants<'_>,
        hard_links: HardLinks,
    ) -> Result<Self, SandboxError> {
        let mut scan = Self { is_complete: true, ..Self::default() };
        let mut names = Names::default();
        let mut entries = MAX_ENTRIES;
        for grant in grants.writable() {
            let stat = rustix::fs::statat(CWD, &grant.path, AtFlags::SYMLINK_NOFOLLOW);
            let kind = stat.as_ref().map(|stat| FileType::from_raw_mode(stat.st_mode));
            match (stat, kind) {
                (Ok(stat), Ok(FileType::RegularFile)) => names.add(&stat, || grant.path.clone()),
                (Ok(_), Ok(FileType::Directory)) => {
                    let protected = grants.protected_below(&grant.path);
                    let looked = ScannedFolder::scan(
                        &grant.path,
                        protected.clone(),
                        &mut entries,
                        &mut names,
                    );
                    if let Ok(watched) = looked {
                        scan.folders.push(watched);
                    } else {
                        scan.is_complete = false;
                        scan.unknown.push((grant.path.clone(), protected));
                    }
                }
                // Anything else is refused when it is mounted.
                _ => {}
            }
        }
        if !scan.is_complete {
            // A link that was not seen may be in the part that was not scanned.
            return Ok(scan);
        }
        let shared = names.shared();
        match (hard_links, shared.first()) {
            (HardLinks::Refuse, Some(first)) => Err(SandboxError::HardLink { path: first.clone() }),
            (HardLinks::Refuse | HardLinks::Report, _) => Ok(Self { hard_linked: shared, ..scan }),
        }
    }

    /// The folders, with their previous usage if known.
    pub(super) fn folders(&self) -> impl Iterator<Item = Folder> {
        let known = self.folders.iter().map(|folder| Folder {
            path: folder.path.clone(),
            protected: folder.protected.clone(),
            before: Some(folder.usage),
        });
        let unknown = self.unknown.iter().map(|(path, protected)| Folder {
            path: path.clone(),
            protected: protected.clone(),
            before: None,
        });
        known.chain(unknown)
    }

    /// New links that point outside their folder, and whether everything could be scanned.
    pub(super) fn after(&self) -> (Vec<PathBuf>, bool) {
        let mut outside_links = Vec::new();
        let mut is_complete = self.is_complete;
        let mut entries = MAX_ENTRIES;
        for before in &self.folders {
            if !self.is_complete {
                break;
            }
            let protected = before.protected.clone();
            let names = &mut Names::default();
            match ScannedFolder::scan(&before.path, protected, &mut entries, names) {
                Ok(after) if after.identity == before.identity => {
                    outside_links.extend(new_outside_links(
                        &before.path,
                        &before.links,
                        &after.links,
                    ));
                }
                Ok(_) | Err(_) => is_complete = false,
            }
        }
        outside_links.sort();
        outside_links.truncate(MAX_REPORTED);
        (outside_links, is_complete)
    }
}

impl ScannedFolder {
    fn scan(
        path: &Path,
        protected: BTreeSet<PathBuf>,
        entries: &mut usize,
        names: &mut Names,
    ) -> Result<Self, Stopped> {
        let folder: OwnedFd = walk::open_folder(path)?;
        let stat = rustix::fs::fstat(&folder)?;
        let mut links = Links::new();
        let mut counter = Counter::default();
        walk::walk(folder.as_fd(), entries, &mut |found| {
            if protected.contains(found.relative) {
                return Ok(Next::Pass);
            }
            let stat = rustix::fs::statat(found.folder, found.name, AtFlags::SYMLINK_NOFOLLOW).ok();
            counter.add(found, stat.as_ref());
            match found.kind {
                FileType::Symlink => {
                    // It was removed in the meantime.
                    if let Ok(target) = rustix::fs::readlinkat(found.folder, found.name, Vec::new())
                    {
                        let target = std::ffi::OsStr::from_bytes(target.as_bytes());
                        links.insert(found.relative.to_owned(), target.into());
                    }
                }
                FileType::RegularFile => {
                    if let Some(stat) = stat {
                        names.add(&stat, || path.join(found.relative));
                    }
                }
                _ => {}
            }
            Ok(Next::Enter)
        })?;
        let identity = (stat.st_dev, stat.st_ino);
        let usage = counter.usage();
        Ok(Self { path: path.to_owned(), identity, protected, links, usage })
    }
}

/// New or changed links that point outside their folder.
fn new_outside_links(folder: &Path, before: &Links, after: &Links) -> Vec<PathBuf> {
    after
        .iter()
        .filter(|(link, target)| before.get(*link) != Some(*target))
        .filter(|(link, target)| points_outside(folder, after, link, target))
        .map(|(link, _)| folder.join(link))
        .collect()
}

/// Whether a link points outside the folder, possibly through other links in it.
fn points_outside(folder: &Path, links: &Links, link: &Path, target: &Path) -> bool {
    let mut place = step(folder, link, target);
    for _ in 0..MAX_HOPS {
        let Some(inside) = place else { return true };
        let mut prefixes: Vec<&Path> = inside.ancestors().collect();
        prefixes.reverse();
        let Some((next, target)) = prefixes.iter().find_map(|prefix| links.get_key_value(*prefix))
        else {
            return false;
        };
        let rest = inside.strip_prefix(next).unwrap_or(Path::new(""));
        place = step(folder, next, target).map(|place| place.join(rest));
    }
    // A cycle leads nowhere.
    false
}

/// The target of a link, relative to its folder; `None` if it is outside, or depends on other
/// links.
fn step(folder: &Path, link: &Path, target: &Path) -> Option<PathBuf> {
    let mut place = match target.strip_prefix(folder) {
        Ok(_) if target.is_absolute() => PathBuf::new(),
        _ if target.is_absolute() => return None,
        _ => link.parent()?.to_owned(),
    };
    let rest = target.strip_prefix(folder).unwrap_or(target);
    let mut is_down = target.is_absolute();
    for part in rest.components() {
        match part {
            Component::CurDir => {}
            Component::Normal(name) => {
                is_down = true;
                place.push(name);
            }
            // `..` after a component: the result depends on whether that is a link.
            Component::ParentDir if is_down => return None,
            Component::ParentDir => {
                if !place.pop() {
                    return None;
                }
            }
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(place)
}

#[cfg(test)]
mod tests;
