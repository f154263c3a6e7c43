//! Write grants with a pattern: the program works on copies, and matching changes are copied back
//! (attacks sandbox-A15, sandbox-A16).
//!
//! A mount can't distinguish `*.md` from `*.sh`, so the granted folder is replaced by a private one
//! with copies of the files that match. When the whole process tree has ended, changed and new
//! files that match are copied back, each atomically; a file that the program deleted is deleted on
//! the host too. Changes on the host during the run take precedence: a file that changed is left
//! alone, and the program's version is reported as discarded.
//!
//! If the folder is staged, they are copied to the upper layer of an overlay that is never mounted,
//! and the granted folder stays as it is.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{CString, OsStr};
use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, FileType, Gid, Mode, OFlags, RenameFlags, Stat, Timespec, Timestamps, Uid, XattrFlags,
};
use rustix::io::Errno;

use super::scratch;
use super::walk::{self, Found, Next, Stopped};
use crate::error::SandboxError;
use crate::pattern::{MAX_DEPTH, Patterns};
use crate::spec::Discarded;

/// Maximum number of files that are copied, and of other entries that are visible next to them.
pub(super) const MAX_MATCHES: usize = 4096;
/// Maximum number of entries of a folder that are compared with a pattern.
pub(super) const MAX_COMPARED: usize = 100_000;
/// Maximum number of bytes that are copied before a start.
const MAX_BYTES: u64 = 1 << 30;
/// Maximum number of discarded files that are reported.
pub(super) const MAX_REPORTED: usize = 100;

/// A granted folder and the private one that replaces it.
#[derive(Debug)]
pub(super) struct Stage {
    /// The granted path.
    pub(super) path: PathBuf,
    /// The private folder's path on the host.
    pub(super) source: PathBuf,
    patterns: Patterns,
    /// The granted folder, open, so that renames don't matter.
    target: OwnedFd,
    staged: OwnedFd,
    /// Paths that are not copied because other grants cover them.
    protected: BTreeSet<PathBuf>,
    /// The copied files, with the state of both sides.
    copies: BTreeMap<PathBuf, Copied>,
    /// Existing links with their targets.
    links: BTreeMap<PathBuf, Vec<u8>>,
    /// Mount points of other grants.
    places: BTreeSet<PathBuf>,
    /// Where changes go instead of the granted folder.
    upper: Option<UpperLayer>,
}

/// The input for a stage.
pub(super) struct Wanted<'w> {
    pub(super) path: &'w Path,
    pub(super) patterns: Patterns,
    pub(super) target: OwnedFd,
    /// The private folder, open, and its path.
    pub(super) private: (OwnedFd, PathBuf),
    /// Paths, relative to the granted one, that other grants cover.
    pub(super) protected: BTreeSet<PathBuf>,
    /// Whether everything in the folder is readable and visible next to the copies.
    pub(super) shows_others: bool,
    /// Maximum size of a file.
    pub(super) max_size: u64,
    /// Where changes go instead of the granted folder: the upper layer of an overlay.
    pub(super) upper: Option<&'w Path>,
}

/// The state of a file on both sides when it was copied.
#[derive(Debug)]
struct Copied {
    target: LayerState,
    copy: LayerState,
}

/// The state of a file. The last number is the change time, which a program can't set.
type LayerState = (u64, u64, i64, [i64; 4]);

fn state(stat: &Stat) -> LayerState {
    #[expect(clippy::cast_possible_wrap, reason = "nanoseconds are below 2^30")]
    let times =
        [stat.st_mtime, stat.st_mtime_nsec as i64, stat.st_ctime, stat.st_ctime_nsec as i64];
    (stat.st_dev, stat.st_ino, stat.st_size, times)
}

/// The reasons for discarding files.
pub(super) mod reason {
    pub(in super::super) const NO_MATCH: &str = "it does not match the grant";
    pub(in super::super) const NO_FILE: &str = "it is not a regular file";
    pub(in super::super) const TOO_LARGE: &str = "it is larger than the limit for files";
    pub(in super::super) const PROTECTED: &str = "another grant protects it";
    pub(in super::super) const TARGET_NO_FILE: &str =
        "the existing entry on the host is not a regular file";
    pub(in super::super) const LINK_ON_THE_WAY: &str = "its path contains a symbolic link";
    pub(in super::super) const CHANGED: &str = "the host's file changed during the run";
    pub(in super::super) const UNREADABLE: &str = "it can't be read";
    pub(in super::super) const UNWRITABLE: &str = "it can't be written";
    pub(in super::super) const UNDELETABLE: &str = "it can't be deleted";
    pub(in super::super) const TOO_MANY: &str = "there are too many files to check";
    pub(in super::super) const TOO_DEEP: &str = "it is nested too deeply";
}

impl Stage {
    /// Copies the matching files. The second value lists what is visible next to the copies,
    /// relative to the granted folder.
    pub(super) fn new(wanted: Wanted<'_>) -> Result<(Self, Vec<PathBuf>), SandboxError> {
        let (staged, source) = wanted.private;
        let upper =
            wanted.upper.map(UpperLayer::open).transpose().map_err(|errno| {
                SandboxError::Staging { cause: io::Error::from(errno).to_string() }
            })?;
        let mut stage = Self {
            path: wanted.path.to_owned(),
            source,
            patterns: wanted.patterns,
            target: wanted.target,
            staged,
            protected: wanted.protected,
            copies: BTreeMap::new(),
            links: BTreeMap::new(),
            places: BTreeSet::new(),
            upper,
        };
        let found = stage.survey(wanted.shows_others, wanted.max_size)?;
        stage.copy_all(&found).map_err(|error| stage.refuse(&error))?;
        Ok((stage, found.others))
    }

    fn refuse(&self, error: &io::Error) -> SandboxError {
        SandboxError::Grant { path: self.path.clone(), reason: error.to_string() }
    }

    /// Whether a path of the host is a writable file.
    pub(super) fn writes(&self, path: &Path) -> bool {
        path.strip_prefix(&self.path)
            .is_ok_and(|relative| self.patterns.matches(relative) && !self.is_protected(relative))
    }

    fn is_protected(&self, relative: &Path) -> bool {
        relative.ancestors().any(|above| self.protected.contains(above))
    }

    /// Scans the granted folder and checks the limits before anything is copied.
    fn survey(&self, shows_others: bool, max_size: u64) -> Result<Survey, SandboxError> {
        let mut survey = Survey::default();
        let mut bytes = 0;
        let mut refused = None;
        let mut refuse = |what, most: u64| {
            refused = Some((what, usize::try_from(most).unwrap_or(usize::MAX)));
            Err(Stopped::TooLarge)
        };
        let mut entries = MAX_COMPARED;
        let walked = walk::walk(self.target.as_fd(), &mut entries, &mut |found| {
            if self.is_protected(found.relative) {
                return Ok(Next::Pass);
            }
            let relative = found.relative.to_owned();
            match found.kind {
                FileType::RegularFile if self.patterns.matches(found.relative) => {
                    let stat =
                        rustix::fs::statat(found.folder, found.name, AtFlags::SYMLINK_NOFOLLOW)?;
                    let size = stat.st_size.cast_unsigned();
                    bytes += size;
                    survey.files.push(relative);
                    if survey.files.len() > MAX_MATCHES {
                        return refuse("files match its pattern", MAX_MATCHES as u64);
                    }
                    if size > max_size {
                        return refuse("bytes are in one of its files", max_size);
                    }
                    if bytes > MAX_BYTES {
                        return refuse("bytes match its pattern", MAX_BYTES);
                    }
                }
                FileType::Directory if self.patterns.may_match_in(found.relative) => {
                    survey.folders.push(relative);
                    return Ok(Next::Enter);
                }
                FileType::Symlink if shows_others => {
                    let target = rustix::fs::readlinkat(found.folder, found.name, Vec::new())?;
                    survey.links.push((relative, target));
                }
                FileType::RegularFile | FileType::Directory if shows_others => {
                    survey.others.push(relative);
                    if survey.others.len() > MAX_MATCHES {
                        let what = "other files and folders are next to what its pattern matches";
                        return refuse(what, MAX_MATCHES as u64);
                    }
                }
                _ => {}
            }
            Ok(Next::Pass)
        });
        let too_large = |what, most| SandboxError::TooLarge { path: self.path.clone(), what, most };
        match (walked, refused) {
            (Ok(()), _) => Ok(survey),
            (Err(_), Some((what, most))) => Err(too_large(what, most)),
            (Err(Stopped::TooLarge), None) => {
                Err(too_large("entries would have to be compared with its pattern", MAX_COMPARED))
            }
            (Err(Stopped::Failed(error)), None) => Err(self.refuse(&error)),
        }
    }

    fn copy_all(&mut self, survey: &Survey) -> io::Result<()> {
        for folder in &survey.folders {
            rustix::fs::mkdirat(&self.staged, folder, Mode::RWXU)?;
        }
        for (relative, target) in &survey.links {
            rustix::fs::symlinkat(target, &self.staged, relative)?;
            self.links.insert(relative.clone(), target.as_bytes().to_owned());
        }
        survey.files.iter().try_for_each(|relative| self.copy_in(relative))
    }

    fn copy_in(&mut self, relative: &Path) -> io::Result<()> {
        let mut source = match open_file(self.target.as_fd(), relative) {
            Ok(source) => source,
            // Not readable for us, so not for the program; or removed or replaced in the meantime.
            Err(Errno::ACCESS | Errno::NOENT | Errno::LOOP | Errno::NOTDIR | Errno::NXIO) => {
                return Ok(());
            }
            Err(errno) => return Err(errno.into()),
        };
        let stat = rustix::fs::fstat(&source)?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Ok(());
        }
        let size = stat.st_size.cast_unsigned();
        let mode = Mode::from_raw_mode(stat.st_mode & 0o666);
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let copy = rustix::fs::openat(&self.staged, relative, flags, Mode::RUSR | Mode::WUSR)?;
        let mut copy = File::from(copy);
        // A file that grows during the copy is truncated to its original size.
        io::copy(&mut source.by_ref().take(size), &mut copy)?;
        rustix::fs::fchmod(&copy, mode)?;
        // Programs use modification times, and a write is detected by it.
        let times = Timestamps {
            last_access: Timespec {
                tv_sec: stat.st_atime,
                tv_nsec: nanoseconds(stat.st_atime_nsec),
            },
            last_modification: Timespec {
                tv_sec: stat.st_mtime,
                tv_nsec: nanoseconds(stat.st_mtime_nsec),
            },
        };
        rustix::fs::futimens(&copy, &times)?;
        let copied = Copied { target: state(&stat), copy: state(&rustix::fs::fstat(&copy)?) };
        self.copies.insert(relative.to_owned(), copied);
        Ok(())
    }

    /// Creates a mount point in the private folder for a path below the granted one.
    pub(super) fn create_mount_point(
        &mut self,
        relative: &Path,
        is_folder: bool,
    ) -> Result<(), SandboxError> {
        let made = self.try_create_mount_point(relative, is_folder);
        made.map_err(|errno| self.refuse(&errno.into()))?;
        self.places.insert(relative.to_owned());
        Ok(())
    }

    fn try_create_mount_point(&self, relative: &Path, is_folder: bool) -> Result<(), Errno> {
        let folder = match relative.parent() {
            Some(above) => descend(self.staged.as_fd(), above)?,
            None => return Ok(()),
        };
        let name = relative.file_name().unwrap_or_default();
        let made = if is_folder {
            rustix::fs::mkdirat(&folder, name, Mode::RWXU)
        } else {
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
            rustix::fs::openat(&folder, name, flags, Mode::RUSR | Mode::WUSR).map(drop)
        };
        match made {
            Err(Errno::EXIST) => Ok(()),
            made => made,
        }
    }

    /// Copies the files of the program back. All of its processes must have ended.
    pub(super) fn copy_back_all(&self, max_size: u64, discarded: &mut Vec<Discarded>) {
        let mut report = |relative: &Path, reason: &'static str| {
            if discarded.len() < MAX_REPORTED {
                discarded.push(Discarded { path: self.path.join(relative), reason });
            }
        };
        let mut entries = MAX_COMPARED;
        let mut kept = 0;
        let walked = walk::walk(self.staged.as_fd(), &mut entries, &mut |found| {
            if self.places.contains(found.relative) {
                return Ok(Next::Pass);
            }
            match self.consider(found, max_size, &mut kept) {
                Ok(next) => Ok(next),
                Err(reason) => {
                    report(found.relative, reason);
                    Ok(Next::Pass)
                }
            }
        });
        if walked.is_err() {
            report(Path::new(""), reason::TOO_MANY);
        }
        for (relative, copied) in &self.copies {
            if let Err(reason) = self.delete_if_deleted(relative, copied) {
                report(relative, reason);
            }
        }
    }

    fn consider(
        &self,
        found: &Found<'_>,
        max_size: u64,
        kept: &mut usize,
    ) -> Result<Next, &'static str> {
        match found.kind {
            FileType::Directory if found.relative.components().count() > MAX_DEPTH => {
                Err(reason::TOO_DEEP)
            }
            FileType::Directory => {
                scratch::open_up(found.folder, found.name);
                Ok(Next::Enter)
            }
            FileType::Symlink if self.is_known_link(found) => Ok(Next::Pass),
            FileType::RegularFile if self.is_protected(found.relative) => Err(reason::PROTECTED),
            FileType::RegularFile if !self.patterns.matches(found.relative) => {
                Err(reason::NO_MATCH)
            }
            FileType::RegularFile => {
                if *kept == MAX_MATCHES {
                    return Err(reason::TOO_MANY);
                }
                *kept += 1;
                self.copy_back(found, max_size).map(|()| Next::Pass)
            }
            _ => Err(reason::NO_FILE),
        }
    }

    fn is_known_link(&self, found: &Found<'_>) -> bool {
        let target = rustix::fs::readlinkat(found.folder, found.name, Vec::new());
        target.is_ok_and(|target| {
            self.links.get(found.relative).is_some_and(|known| known == target.as_bytes())
        })
    }

    /// Replaces one file atomically.
    fn copy_back(&self, found: &Found<'_>, max_size: u64) -> Result<(), &'static str> {
        let source =
            open_file(found.folder, Path::new(found.name)).map_err(|errno| match errno {
                Errno::LOOP | Errno::NXIO => reason::NO_FILE,
                _ => reason::UNREADABLE,
            })?;
        let stat = rustix::fs::fstat(&source).map_err(|_| reason::UNREADABLE)?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err(reason::NO_FILE);
        }
        let known = self.copies.get(found.relative);
        if known.is_some_and(|known| known.copy == state(&stat)) {
            return Ok(());
        }
        let size = stat.st_size.cast_unsigned();
        if size > max_size {
            return Err(reason::TOO_LARGE);
        }
        let above = found.relative.parent().unwrap_or(Path::new(""));
        let on_the_way = |errno| match errno {
            Errno::LOOP | Errno::NOTDIR => reason::LINK_ON_THE_WAY,
            _ => reason::UNWRITABLE,
        };
        if let Some(upper) = &self.upper {
            let before = stat_below(self.target.as_fd(), found.relative).map_err(on_the_way)?;
            // What others have replaced or changed is a conflict, which the reader of the layer finds. That they have deleted
            // the file does not show there.
            if before.is_none() && known.is_some() {
                return Err(reason::CHANGED);
            }
            let folder =
                upper.descend(self.target.as_fd(), above).map_err(|_| reason::UNWRITABLE)?;
            let copy = Replacement { source, size, mode: stat.st_mode & 0o644, before };
            return copy.fill_new(folder.as_fd(), found.name).map_err(|_| reason::UNWRITABLE);
        }
        let folder = descend(self.target.as_fd(), above).map_err(on_the_way)?;
        let before = match rustix::fs::statat(&folder, found.name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(before) => Some(before),
            Err(Errno::NOENT) => None,
            Err(_) => return Err(reason::UNWRITABLE),
        };
        let is_file = |stat: &Stat| FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
        if before.as_ref().is_some_and(|before| !is_file(before)) {
            return Err(reason::TARGET_NO_FILE);
        }
        if before.as_ref().map(state) != known.map(|known| known.target) {
            return Err(reason::CHANGED);
        }
        let copy = Replacement { source, size, mode: stat.st_mode & 0o644, before };
        copy.put(folder.as_fd(), found.name).map_err(|errno| match errno {
            Errno::EXIST => reason::CHANGED,
            _ => reason::UNWRITABLE,
        })
    }

    /// Deletes a file whose copy was deleted by the program, if it has not changed.
    fn delete_if_deleted(&self, relative: &Path, copied: &Copied) -> Result<(), &'static str> {
        let above = relative.parent().unwrap_or(Path::new(""));
        let name = relative.file_name().unwrap_or_default();
        let copy = walk::open_below(self.staged.as_fd(), above)
            .and_then(|folder| rustix::fs::statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW));
        match copy {
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => {}
            // It still exists, or was replaced by something that has been reported.
            Ok(_) | Err(_) => return Ok(()),
        }
        let Ok(folder) = walk::open_below(self.target.as_fd(), above) else { return Ok(()) };
        match rustix::fs::statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => Ok(()),
            Ok(_) if self.upper.is_some() => self.mark_deleted(above, name),
            Ok(stat) if state(&stat) == copied.target => {
                rustix::fs::unlinkat(&folder, name, AtFlags::empty())
                    .map_err(|_| reason::UNDELETABLE)
            }
            Ok(_) => Err(reason::CHANGED),
            Err(_) => Err(reason::UNDELETABLE),
        }
    }

    /// Marks a file as deleted in the upper layer. That others have changed it is found by whoever reads the layer.
    fn mark_deleted(&self, above: &Path, name: &OsStr) -> Result<(), &'static str> {
        let Some(upper) = &self.upper else { return Ok(()) };
        upper
            .descend(self.target.as_fd(), above)
            .and_then(|folder| {
                rustix::fs::mknodat(&folder, name, FileType::CharacterDevice, Mode::empty(), 0)
            })
            .map_err(|_| reason::UNDELETABLE)
    }
}

/// The upper layer of an overlay that is never mounted: it is filled as one would be.
#[derive(Debug)]
struct UpperLayer {
    top: OwnedFd,
    /// The name of the mark of a folder that was there before.
    mark: &'static str,
}

impl UpperLayer {
    fn open(path: &Path) -> Result<Self, Errno> {
        let is_root = rustix::process::geteuid().is_root();
        let mark = if is_root { "trusted.overlay.origin" } else { "user.overlay.origin" };
        Ok(Self { top: walk::open_folder(path)?, mark })
    }

    /// Opens a folder in the layer, with the folders on the way. Those that are in the granted folder too get its
    /// permissions, and the mark by which they differ from new ones.
    fn descend(&self, target: BorrowedFd<'_>, relative: &Path) -> Result<OwnedFd, Errno> {
        let mut folder = walk::open_below(self.top.as_fd(), Path::new(""))?;
        let mut lower = walk::open_below(target, Path::new("")).ok();
        for part in relative {
            lower = lower.and_then(|lower| walk::open_below(lower.as_fd(), Path::new(part)).ok());
            match rustix::fs::mkdirat(&folder, part, Mode::RWXU) {
                Ok(()) => {
                    folder = walk::open_below(folder.as_fd(), Path::new(part))?;
                    let mode = match &lower {
                        Some(lower) => {
                            rustix::fs::fsetxattr(&folder, self.mark, b"", XattrFlags::empty())?;
                            rustix::fs::fstat(lower)?.st_mode & 0o7777
                        }
                        None => 0o755,
                    };
                    rustix::fs::fchmod(&folder, Mode::from_raw_mode(mode))?;
                }
                Err(Errno::EXIST) => {
                    folder = walk::open_below(folder.as_fd(), Path::new(part))?;
                }
                Err(errno) => return Err(errno),
            }
        }
        Ok(folder)
    }
}

/// The content of a granted folder, with relative paths.
#[derive(Default)]
struct Survey {
    files: Vec<PathBuf>,
    /// Parents come first.
    folders: Vec<PathBuf>,
    links: Vec<(PathBuf, CString)>,
    others: Vec<PathBuf>,
}

/// A file that is being copied to the host.
struct Replacement {
    source: File,
    size: u64,
    mode: u32,
    before: Option<Stat>,
}

impl Replacement {
    fn put(mut self, folder: BorrowedFd<'_>, name: &OsStr) -> Result<(), Errno> {
        let temporary = format!(".prowess-{:016x}.tmp", scratch::random());
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let copy = rustix::fs::openat(folder, &temporary, flags, Mode::RUSR | Mode::WUSR)?;
        let result = self.fill(File::from(copy)).and_then(|()| {
            let flags = match self.before {
                Some(_) => RenameFlags::empty(),
                None => RenameFlags::NOREPLACE,
            };
            rustix::fs::renameat_with(folder, &temporary, folder, name, flags)
        });
        if result.is_err() {
            let _ = rustix::fs::unlinkat(folder, &temporary, AtFlags::empty());
        }
        result
    }

    /// Writes it to a file that does not exist yet.
    fn fill_new(mut self, folder: BorrowedFd<'_>, name: &OsStr) -> Result<(), Errno> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let copy = rustix::fs::openat(folder, name, flags, Mode::RUSR | Mode::WUSR)?;
        self.fill(File::from(copy))
    }

    fn fill(&mut self, mut copy: File) -> Result<(), Errno> {
        let number = |error: io::Error| Errno::from_io_error(&error).unwrap_or(Errno::IO);
        io::copy(&mut self.source.by_ref().take(self.size), &mut copy).map_err(number)?;
        if let Some(before) = &self.before {
            // Root may replace a file of another user, which keeps its owner. Ordinary users can't
            // change owners.
            let owner = (Uid::from_raw(before.st_uid), Gid::from_raw(before.st_gid));
            let _ = rustix::fs::fchown(&copy, Some(owner.0), Some(owner.1));
        }
        rustix::fs::fchmod(&copy, Mode::from_raw_mode(self.mode))
    }
}

/// Opens a file below a folder for reading: without following links or blocking on a pipe.
fn open_file(folder: BorrowedFd<'_>, relative: &Path) -> Result<File, Errno> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    walk::open_at(folder, relative, flags).map(File::from)
}

/// The status of something below a folder, without following links; `None` if it does not exist.
fn stat_below(top: BorrowedFd<'_>, relative: &Path) -> Result<Option<Stat>, Errno> {
    let above = relative.parent().unwrap_or(Path::new(""));
    let folder = match walk::open_below(top, above) {
        Ok(folder) => folder,
        Err(Errno::NOENT) => return Ok(None),
        Err(errno) => return Err(errno),
    };
    match rustix::fs::statat(
        &folder,
        relative.file_name().unwrap_or_default(),
        AtFlags::SYMLINK_NOFOLLOW,
    ) {
        Ok(stat) => Ok(Some(stat)),
        Err(Errno::NOENT) => Ok(None),
        Err(errno) => Err(errno),
    }
}

/// Opens a folder below another one without following links, creating missing parts.
fn descend(top: BorrowedFd<'_>, relative: &Path) -> Result<OwnedFd, Errno> {
    let mut folder = walk::open_below(top, Path::new(""))?;
    for part in relative {
        folder = match walk::open_below(folder.as_fd(), Path::new(part)) {
            Err(Errno::NOENT) => {
                match rustix::fs::mkdirat(&folder, part, Mode::from_raw_mode(0o755)) {
                    Ok(()) | Err(Errno::EXIST) => {}
                    Err(errno) => return Err(errno),
                }
                walk::open_below(folder.as_fd(), Path::new(part))?
            }
            opened => opened?,
        };
    }
    Ok(folder)
}

fn nanoseconds(value: u64) -> i64 {
    i64::try_from(value).unwrap_or_default()
}

#[cfg(test)]
mod tests;
