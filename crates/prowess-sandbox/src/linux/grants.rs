//! Granted files and folders: what is visible in the sandbox, and what happens after the run.
//!
//! Grants are cumulative, and the nearest one decides: a read grant inside a writable folder
//! protects what it names, a write grant inside a readable one opens it. A write pattern inside a
//! folder that may be written anyway adds nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType, Mode};
use rustix::io::Errno;

use super::link_scan::LinkScan;
use super::scratch::Scratch;
use super::set_up;
use super::stage::{MAX_COMPARED, MAX_MATCHES, Stage, Wanted};
use super::view::{Rights, View};
use super::walk::{self, Next, Stopped};
use super::watchdog::{Folder, Usage, WatchedFolders};
use crate::check;
use crate::error::SandboxError;
use crate::pattern::Patterns;
use crate::spec::{Discarded, FileAccess, FileGrant, Spec, StagedFolder};

/// What to do after the run.
#[derive(Debug)]
pub(super) struct Cleanup {
    created: Created,
    stages: Vec<Stage>,
    /// Declared after the stages, so that it is removed last.
    scratch: Option<Scratch>,
    link_scan: LinkScan,
    /// The upper layers of overlays.
    upper_layers: Vec<PathBuf>,
    max_size: u64,
}

/// Findings after the run.
#[derive(Debug, Default)]
pub(super) struct Findings {
    pub(super) discarded: Vec<Discarded>,
    pub(super) outside_links: Vec<PathBuf>,
    pub(super) hard_linked: Vec<PathBuf>,
    pub(super) scan_incomplete: bool,
}

impl Cleanup {
    /// Creates mount points in private folders for everything else that is visible below them.
    pub(super) fn create_mount_points(&mut self, view: &View) -> Result<(), SandboxError> {
        for stage in &mut self.stages {
            for (relative, is_folder) in view.mount_points_below(&stage.path) {
                stage.create_mount_point(&relative, is_folder)?;
            }
        }
        Ok(())
    }

    /// The folders on the host that the run may fill: granted ones, and private ones that replace
    /// them.
    pub(super) fn watched(&self) -> WatchedFolders {
        let private = self.stages.iter().map(|stage| Folder {
            path: stage.source.clone(),
            protected: BTreeSet::new(),
            before: None,
        });
        // Everything in an upper layer is of the run.
        let staged = self.upper_layers.iter().map(|path| Folder {
            path: path.clone(),
            protected: BTreeSet::new(),
            before: Some(Usage::default()),
        });
        WatchedFolders::new(self.link_scan.folders().chain(private).chain(staged).collect())
    }

    /// Copies files back and cleans up. Every process of the run has ended.
    pub(super) fn finish(mut self) -> Findings {
        let mut findings = Findings::default();
        self.created.0.clear();
        for stage in &self.stages {
            stage.copy_back_all(self.max_size, &mut findings.discarded);
        }
        findings.discarded.sort_by(|a, b| a.path.cmp(&b.path));
        let (outside_links, is_complete) = self.link_scan.after();
        findings.outside_links = outside_links;
        findings.scan_incomplete = !is_complete;
        findings.hard_linked = std::mem::take(&mut self.link_scan.hard_linked);
        findings
    }
}

/// Adds granted files to the view.
pub(super) fn show(view: &mut View, spec: &Spec) -> Result<Cleanup, SandboxError> {
    let mut created = Created::default();
    let mut grants = Vec::new();
    for grant in &spec.files {
        if !check::is_plain(&grant.path) {
            return Err(refuse(grant, "it is not an absolute path without `.` and `..`"));
        }
        let is_there = is_there(grant)?;
        if !is_there && grant.create {
            created.create(grant)?;
        }
        if is_there || grant.create {
            grants.push(grant);
        }
    }
    let overlays = Overlays::new(spec, &grants)?;
    let live: Vec<&FileGrant> =
        grants.iter().copied().filter(|grant| overlays.place(grant) == Place::Live).collect();
    let mut afterwards = Cleanup {
        created,
        stages: Vec::new(),
        scratch: None,
        // Through an overlay nothing is changed that has another name.
        link_scan: LinkScan::before(&TreeGrants::new(&live), spec.hard_links)?,
        upper_layers: spec.staged.iter().map(|staged| staged.upper.clone()).collect(),
        max_size: spec.limits.file_size,
    };
    for group in staged(&grants) {
        let stage = afterwards.stage(view, &group, spec)?;
        afterwards.stages.push(stage);
    }
    for grant in grants {
        match (&grant.pattern, grant.access) {
            (None, access) => match overlays.place(grant) {
                Place::Overlay(staged) => view.overlay(&grant.path, &staged.upper, &staged.work),
                Place::Inside => {}
                Place::Live => view.host(&grant.path, &grant.path, rights(access)),
            },
            (Some(pattern), FileAccess::Read | FileAccess::Execute) => {
                show_matches(view, grant, pattern, &afterwards.stages)?;
            }
            // Staged above.
            (Some(_), FileAccess::Write) => {}
        }
    }
    Ok(afterwards)
}

/// The folders whose writes are staged, and the grants around and in them.
struct Overlays<'s> {
    staged: &'s [StagedFolder],
    grants: TreeGrants<'s>,
}

/// Where what is written through a grant goes.
#[derive(Debug, PartialEq, Eq)]
enum Place<'s> {
    /// To the upper layer of its own overlay.
    Overlay(&'s StagedFolder),
    /// To that of a folder around it.
    Inside,
    /// To the host.
    Live,
}

impl<'s> Overlays<'s> {
    fn new(spec: &'s Spec, grants: &[&'s FileGrant]) -> Result<Self, SandboxError> {
        for staged in &spec.staged {
            let mut writing = grants
                .iter()
                .filter(|grant| grant.path == staged.path && grant.access == FileAccess::Write);
            let grant = writing.clone().next();
            // Without a pattern an overlay is mounted there.
            let is_mounted = writing.any(|grant| grant.pattern.is_none());
            let folders = [&staged.path, &staged.upper, &staged.work];
            let is_around = |path: &Path| is_mounted && path.starts_with(&staged.path);
            let is_apart = !is_around(&staged.upper)
                && !is_around(&staged.work)
                && folders.iter().all(|path| check::is_plain(path));
            if grant.is_none() || !is_apart || !staged.path.is_dir() {
                return Err(SandboxError::Invalid(format!(
                    "`{}` is staged, but it is not a folder with a grant for writing, or contains its own upper layer",
                    staged.path.display()
                )));
            }
        }
        Ok(Self { staged: &spec.staged, grants: TreeGrants::new(grants) })
    }

    fn place(&self, grant: &FileGrant) -> Place<'s> {
        // What matches a pattern is copied.
        if grant.access != FileAccess::Write || grant.pattern.is_some() {
            return Place::Live;
        }
        if let Some(staged) = self.staged.iter().find(|staged| staged.path == grant.path) {
            return Place::Overlay(staged);
        }
        // The nearest grant around it decides: one for reading in between closes the overlay.
        let around = grant.path.parent().and_then(|parent| self.grants.of(parent));
        match around {
            Some(around) if around.access == FileAccess::Write => match self.place(around) {
                Place::Overlay(_) | Place::Inside => Place::Inside,
                Place::Live => Place::Live,
            },
            _ => Place::Live,
        }
    }
}

fn refuse(grant: &FileGrant, reason: impl Into<String>) -> SandboxError {
    SandboxError::Grant { path: grant.path.clone(), reason: reason.into() }
}

fn rights(access: FileAccess) -> Rights {
    match access {
        FileAccess::Read => Rights::Read,
        FileAccess::Execute => Rights::Execute,
        FileAccess::Write => Rights::Write,
    }
}

/// Whether a granted path exists: a missing one is not visible, a link is refused (attack
/// sandbox-A05).
fn is_there(grant: &FileGrant) -> Result<bool, SandboxError> {
    match std::fs::symlink_metadata(&grant.path) {
        Ok(data) if data.file_type().is_symlink() => {
            Err(refuse(grant, "it is a symbolic link, which could point anywhere"))
        }
        Ok(_) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(refuse(grant, error.to_string())),
    }
}

/// Folders that were created for a run, each as its parent and its name. Unless the run is
/// reported, they are removed again when dropped, if they are empty.
#[derive(Debug, Default)]
struct Created(Vec<(OwnedFd, OsString)>);

impl Created {
    /// Creates exactly the granted folder (attack sandbox-A26).
    fn create(&mut self, grant: &FileGrant) -> Result<(), SandboxError> {
        let (Some(parent), Some(name)) = (grant.path.parent(), grant.path.file_name()) else {
            return Err(refuse(grant, "it can't be created"));
        };
        let parent = walk::open_folder(parent).map_err(|errno| match errno {
            Errno::NOENT | Errno::NOTDIR => refuse(grant, "its parent folder does not exist"),
            Errno::LOOP => {
                refuse(grant, "a part of it is a symbolic link, which could point anywhere")
            }
            errno => refuse(grant, errno.to_string()),
        })?;
        match rustix::fs::mkdirat(&parent, name, Mode::RWXU) {
            Ok(()) => self.0.push((parent, name.to_owned())),
            // Another process was faster; its kind is checked later.
            Err(Errno::EXIST) => {}
            Err(errno) => return Err(refuse(grant, errno.to_string())),
        }
        Ok(())
    }
}

impl Drop for Created {
    fn drop(&mut self) {
        // The last may be inside the first.
        for (parent, name) in self.0.iter().rev() {
            let _ = rustix::fs::unlinkat(parent, name, AtFlags::REMOVEDIR);
        }
    }
}

/// Adds the files that match now, one by one; their folder is a tmpfs (attack sandbox-A14).
fn show_matches(
    view: &mut View,
    grant: &FileGrant,
    pattern: &str,
    stages: &[Stage],
) -> Result<(), SandboxError> {
    let patterns =
        Patterns::new([(Path::new(""), pattern)]).map_err(|reason| refuse(grant, reason))?;
    view.folder(&grant.path);
    for relative in matches(grant, &patterns)? {
        let path = grant.path.join(relative);
        // Writable files have been copied.
        if !stages.iter().any(|stage| stage.writes(&path)) {
            view.host(&path, &path, rights(grant.access));
        }
    }
    Ok(())
}

/// The regular files below a granted folder that match, relative to it.
fn matches(grant: &FileGrant, patterns: &Patterns) -> Result<Vec<PathBuf>, SandboxError> {
    let folder = open(grant)?;
    let mut found = Vec::new();
    let mut entries = MAX_COMPARED;
    let mut crowded = false;
    let walked = walk::walk(folder.as_fd(), &mut entries, &mut |entry| {
        if entry.kind == FileType::RegularFile && patterns.matches(entry.relative) {
            crowded = found.len() == MAX_MATCHES;
            if crowded {
                return Err(Stopped::TooLarge);
            }
            found.push(entry.relative.to_owned());
        }
        Ok(if patterns.may_match_in(entry.relative) { Next::Enter } else { Next::Pass })
    });
    let too_large = |what, most| SandboxError::TooLarge { path: grant.path.clone(), what, most };
    match walked {
        Ok(()) => Ok(found),
        Err(Stopped::TooLarge) if crowded => Err(too_large("files match its pattern", MAX_MATCHES)),
        Err(Stopped::TooLarge) => {
            Err(too_large("entries would have to be compared with its pattern", MAX_COMPARED))
        }
        Err(Stopped::Failed(error)) => Err(refuse(grant, error.to_string())),
    }
}

/// Opens a granted folder.
fn open(grant: &FileGrant) -> Result<OwnedFd, SandboxError> {
    walk::open_folder(&grant.path).map_err(|errno| match errno {
        Errno::LOOP => refuse(grant, "a part of it is a symbolic link, which could point anywhere"),
        Errno::NOTDIR => refuse(grant, "it is not a folder, so its pattern matches nothing"),
        errno => refuse(grant, errno.to_string()),
    })
}

/// Write patterns that share one private folder.
struct Group<'g> {
    /// The topmost of them.
    first: &'g FileGrant,
    /// Each with its folder, relative to the topmost one's.
    patterns: Vec<(&'g Path, &'g str)>,
    /// The access to everything else there.
    cover: Option<&'g FileGrant>,
}

/// The groups of write patterns. One inside another's folder joins it, unless there is a grant for
/// a whole folder in between.
fn staged<'g>(grants: &[&'g FileGrant]) -> Vec<Group<'g>> {
    let mut wanted: Vec<(&FileGrant, &str)> = grants
        .iter()
        .filter(|grant| grant.access == FileAccess::Write)
        .filter_map(|grant| Some((*grant, grant.pattern.as_deref()?)))
        .collect();
    wanted.sort_by(|(a, _), (b, _)| a.path.cmp(&b.path));
    let covers = TreeGrants::new(grants);
    let mut groups: Vec<Group<'g>> = Vec::new();
    for (grant, pattern) in wanted {
        let cover = covers.of(&grant.path);
        if cover.is_some_and(|cover| cover.access == FileAccess::Write) {
            continue;
        }
        let joined = groups.iter_mut().find_map(|group| {
            let below = grant.path.strip_prefix(&group.first.path).ok()?;
            let same = group.cover.map(|cover| &cover.path) == cover.map(|cover| &cover.path);
            same.then_some((group, below))
        });
        match joined {
            Some((group, below)) => group.patterns.push((below, pattern)),
            None => {
                let patterns = vec![(Path::new(""), pattern)];
                groups.push(Group { first: grant, patterns, cover });
            }
        }
    }
    groups
}

/// Grants for whole folders and files by path; the strongest of several for one path.
pub(super) struct TreeGrants<'g>(BTreeMap<&'g Path, &'g FileGrant>);

impl<'g> TreeGrants<'g> {
    fn new(grants: &[&'g FileGrant]) -> Self {
        let mut covers: BTreeMap<&Path, &FileGrant> = BTreeMap::new();
        for grant in grants.iter().filter(|grant| grant.pattern.is_none()) {
            let known = covers.entry(&grant.path).or_insert(grant);
            if known.access < grant.access {
                *known = grant;
            }
        }
        Self(covers)
    }

    /// The grant that applies to a path: for the path itself, or the nearest above.
    fn of(&self, path: &Path) -> Option<&'g FileGrant> {
        path.ancestors().find_map(|above| self.0.get(above).copied())
    }

    /// The writable ones, without those inside another one.
    pub(super) fn writable(&self) -> impl Iterator<Item = &'g FileGrant> {
        self.0.values().copied().filter(|grant| {
            let above = grant.path.parent().and_then(|above| self.of(above));
            grant.access == FileAccess::Write
                && above.is_none_or(|above| above.access != FileAccess::Write)
        })
    }

    /// Read-only paths below a writable path, relative to it.
    pub(super) fn protected_below(&self, path: &Path) -> BTreeSet<PathBuf> {
        self.0
            .range(path..)
            .take_while(|(below, _)| below.starts_with(path))
            .filter(|(_, grant)| grant.access != FileAccess::Write)
            .filter_map(|(below, _)| below.strip_prefix(path).ok())
            .filter(|relative| !relative.as_os_str().is_empty())
            .map(Path::to_owned)
            .collect()
    }
}

impl Cleanup {
    fn stage(
        &mut self,
        view: &mut View,
        group: &Group<'_>,
        spec: &Spec,
    ) -> Result<Stage, SandboxError> {
        let grant = group.first;
        let upper = spec.staged.iter().find(|staged| staged.path == grant.path);
        let patterns = Patterns::new(group.patterns.iter().copied())
            .map_err(|reason| refuse(grant, reason))?;
        let target = open(grant)?;
        let scratch = match &mut self.scratch {
            Some(scratch) => scratch,
            empty => empty.insert(Scratch::new().map_err(|error| set_up("private folder", error))?),
        };
        let private = scratch
            .folder(&self.stages.len().to_string())
            .map_err(|error| set_up("private folder", error))?;
        // Includes paths that don't exist yet: a program must not create what it may not change.
        // Writable folders are mounted next to the copies, if they exist.
        let protected = spec
            .files
            .iter()
            .filter(|other| other.pattern.is_none())
            .filter(|other| other.access != FileAccess::Write || other.path.exists())
            .filter_map(|other| other.path.strip_prefix(&grant.path).ok())
            .filter(|relative| !relative.as_os_str().is_empty())
            .map(Path::to_owned)
            .collect();
        let (stage, others) = Stage::new(Wanted {
            path: &grant.path,
            patterns,
            target,
            private,
            protected,
            shows_others: group.cover.is_some(),
            max_size: self.max_size,
            upper: upper.map(|staged| staged.upper.as_path()),
        })?;
        view.host(&stage.path, &stage.source, Rights::Write);
        if let Some(cover) = group.cover {
            for relative in others {
                let path = grant.path.join(relative);
                view.host(&path, &path, rights(cover.access));
            }
        }
        Ok(stage)
    }
}

#[cfg(test)]
mod tests;
