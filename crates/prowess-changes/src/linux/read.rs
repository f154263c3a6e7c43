//! Reads the upper layer of an overlay: what a run changed, and the steps that apply it.
//!
//! The upper layer was written by a program that may be hostile. Everything is opened by descriptor, one name at a time,
//! without following links, and bounded in number, size and depth. The lower layer is only read.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, OFlags};
use rustix::io::Errno;

use super::apply::undo_name;
use super::entry::{self, OpenFolder, State, Time};
use super::run_folder::OpenLayer;
use super::{Action, Operation};
use crate::change::{
    Change, ChangeKind, ChangeSet, Conflict, ConflictReason, Dropped, EntryVersion, Limits,
};

/// Maximum number of bytes that are compared to find files with the same content; the rest counts as changed.
const MAX_COMPARED_BYTES: u64 = 1 << 30;
/// Maximum number of dropped files and conflicts that are listed.
const MAX_LISTED: usize = 1000;

/// Why the changes of a run can't be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// Too many entries.
    #[error("the run changed more than {0} files and folders")]
    Entries(u64),
    /// Too many bytes.
    #[error("the run wrote more than {0} bytes")]
    Bytes(u64),
    /// Folders in folders.
    #[error("`{}` is nested more than {most} folders deep", .path.display())]
    Depth {
        /// The folder.
        path: PathBuf,
        /// The maximum.
        most: usize,
    },
    /// The granted folder is not the one that the run had.
    #[error("`{}` is not the folder that the run had: it was moved or replaced", .0.display())]
    OtherFolder(PathBuf),
    /// An entry can't be read.
    #[error("cannot read `{}`: {source}", .path.display())]
    Entry {
        /// The path below the granted folder.
        path: PathBuf,
        /// The error.
        source: io::Error,
    },
}

/// Reads one layer after the other into one set of changes.
#[derive(Debug)]
pub(crate) struct Reader {
    limits: Limits,
    layer: usize,
    /// The start of the run by the clock of the layer's filesystem.
    since: Time,
    entries: u64,
    bytes: u64,
    compared: u64,
    set: ChangeSet,
}

/// How a folder of the upper layer relates to the user's.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Relation {
    /// It lies over the user's folder, whose other entries stay.
    Merged,
    /// It is applied as a whole.
    Whole,
}

/// A folder in both layers, while it is read.
struct Pair<'p> {
    upper: BorrowedFd<'p>,
    lower: Option<BorrowedFd<'p>>,
    path: &'p Path,
    depth: usize,
}

impl Reader {
    pub(crate) fn new(limits: Limits) -> Self {
        Self {
            limits,
            layer: 0,
            since: (0, 0),
            entries: 0,
            bytes: 0,
            compared: 0,
            set: ChangeSet::default(),
        }
    }

    /// Reads a layer.
    pub(crate) fn layer(
        &mut self,
        layer: usize,
        since: Time,
        open: &OpenLayer,
    ) -> Result<(), ReadError> {
        self.layer = layer;
        self.since = since;
        let top = Path::new("");
        let error = |errno: Errno| failed(top, errno);
        let old = entry::state_of(open.target()).map_err(error)?;
        let new = open.upper_state().map_err(error)?;
        let lower = Some(open.target().as_fd());
        self.folder(&Pair { upper: open.upper(), lower, path: top, depth: 0 }, Relation::Merged)?;
        self.attributes(top, &old, &new);
        Ok(())
    }

    /// Reads what an applied step has changed: the old version is in the upper layer, or was moved aside.
    pub(crate) fn applied(
        &mut self,
        layer: &OpenLayer,
        operation: &Operation,
    ) -> Result<(), ReadError> {
        let Operation { path, old, new, .. } = operation;
        self.layer = operation.layer;
        // Conflicts are of no interest any more.
        self.since = (i64::MAX, 0);
        let parent = path.parent().unwrap_or(Path::new(""));
        let name = path.file_name().unwrap_or(OsStr::new("."));
        let depth = parent.components().count();
        match (operation.action, old, new) {
            (Action::Attributes, Some(old), Some(new)) => {
                if old.permissions() == new.permissions() {
                    self.set.touched += usize::from(!old.is_folder());
                }
                self.mode_change(path, old, new);
                Ok(())
            }
            (Action::Delete, _, _) => {
                let undo = undo_name(operation);
                self.gone(layer.undo().as_fd(), OsStr::new(&undo), path, depth)
            }
            (action, _, _) => {
                let failed = |errno| failed(path, errno);
                let open = |top: BorrowedFd<'_>| entry::open_below(top, parent).map_err(failed);
                let target = open(layer.target().as_fd())?;
                let upper = match action {
                    Action::Replace => Some(open(layer.upper())?),
                    _ => None,
                };
                let lower = upper.as_ref().map(|upper| upper.as_fd());
                let pair = Pair { upper: target.as_fd(), lower, path: parent, depth };
                self.entry(&pair, name, Relation::Whole)
            }
        }
    }

    /// The changes of all layers.
    pub(crate) fn finish(mut self) -> ChangeSet {
        self.set.limits = self.limits;
        self.set.read_at = Some(std::time::Instant::now());
        self.set
    }

    fn folder(&mut self, pair: &Pair<'_>, relation: Relation) -> Result<(), ReadError> {
        if pair.depth > self.limits.depth {
            let most = self.limits.depth;
            return Err(ReadError::Depth { path: pair.path.to_owned(), most });
        }
        let names = self.names(pair.upper, pair.path)?;
        for name in &names {
            self.entry(pair, name, relation)?;
        }
        if let (Relation::Whole, Some(lower)) = (relation, pair.lower) {
            let replaced: BTreeSet<&OsString> = names.iter().collect();
            for name in self.names(lower, pair.path)? {
                if !replaced.contains(&name) {
                    self.gone(lower, &name, &pair.path.join(&name), pair.depth)?;
                }
            }
        }
        Ok(())
    }

    fn names(&self, folder: BorrowedFd<'_>, path: &Path) -> Result<Vec<OsString>, ReadError> {
        let left = self.limits.entries - self.entries.min(self.limits.entries);
        match entry::names(folder, left) {
            Ok(Some(names)) => Ok(names),
            Ok(None) => Err(ReadError::Entries(self.limits.entries)),
            Err(source) => Err(ReadError::Entry { path: path.to_owned(), source }),
        }
    }

    fn count(&mut self) -> Result<(), ReadError> {
        self.entries += 1;
        if self.entries > self.limits.entries {
            return Err(ReadError::Entries(self.limits.entries));
        }
        Ok(())
    }

    fn entry(
        &mut self,
        pair: &Pair<'_>,
        name: &OsStr,
        relation: Relation,
    ) -> Result<(), ReadError> {
        self.count()?;
        let path = pair.path.join(name);
        let stat = entry::stat_at(pair.upper, name).map_err(|errno| failed(&path, errno))?;
        // Nobody else works there, but it costs nothing to be sure.
        let Some(stat) = stat else { return Ok(()) };
        let new = State::of(&stat);
        let old = match pair.lower {
            Some(lower) => entry::state_at(lower, name).map_err(|errno| failed(&path, errno))?,
            None => None,
        };
        if new.is_whiteout(&stat) {
            if let (Some(lower), Some(old)) = (pair.lower, old) {
                self.gone(lower, name, &path, pair.depth)?;
                if relation == Relation::Merged {
                    self.operation(&path, Action::Delete, Some(old), None);
                }
            }
            return Ok(());
        }
        self.add_bytes(&stat)?;
        match new.kind() {
            FileType::Directory => self.folder_entry(pair, name, &path, old, new, relation),
            FileType::RegularFile => self.file(pair, name, &path, old, new, relation),
            FileType::Symlink => self.link(pair, name, &path, old, new, relation),
            FileType::Fifo => self.special(pair, name, &path, old, "a pipe", relation),
            FileType::Socket => self.special(pair, name, &path, old, "a socket", relation),
            _ => self.special(pair, name, &path, old, "a device", relation),
        }
    }

    /// Counts the bytes of an entry. A file with several names counts once for each, because each is applied as a copy.
    fn add_bytes(&mut self, stat: &rustix::fs::Stat) -> Result<(), ReadError> {
        /// The unit of `st_blocks`, whatever the filesystem's own is.
        const BLOCK: u64 = 512;
        self.bytes += u64::try_from(stat.st_blocks).unwrap_or_default() * BLOCK;
        if self.bytes > self.limits.bytes {
            return Err(ReadError::Bytes(self.limits.bytes));
        }
        Ok(())
    }

    fn folder_entry(
        &mut self,
        pair: &Pair<'_>,
        name: &OsStr,
        path: &Path,
        old: Option<State>,
        new: State,
        relation: Relation,
    ) -> Result<(), ReadError> {
        let open = OpenFolder::open(pair.upper, name).map_err(|source| at(path, source))?;
        let is_copied = entry::has_mark(pair.upper, name, "origin");
        let is_opaque =
            entry::mark_value(pair.upper, name, "opaque").is_some_and(|value| value == b"y");
        let over_folder = old.filter(State::is_folder);
        let lower = match (pair.lower, over_folder) {
            (Some(lower), Some(_)) => match entry::open_below(lower, Path::new(name)) {
                Ok(lower) => Some(lower),
                // The program could not read it either.
                Err(Errno::ACCESS) => None,
                Err(errno) => return Err(failed(path, errno)),
            },
            _ => None,
        };
        let inner = Pair {
            upper: open.fd(),
            lower: lower.as_ref().map(|lower| lower.as_fd()),
            path,
            depth: pair.depth + 1,
        };
        if relation == Relation::Merged && !is_opaque {
            match (over_folder, is_copied) {
                // Another folder of that name than the one that the program made.
                (Some(old), false) if old.changed >= self.since => {
                    self.conflict(path, ConflictReason::Created);
                }
                (Some(old), _) => {
                    self.folder(&inner, Relation::Merged)?;
                    self.attributes(path, &old, &new);
                    return Ok(());
                }
                (None, true) => self.conflict(
                    path,
                    if old.is_some() { ConflictReason::Changed } else { ConflictReason::Deleted },
                ),
                (None, false) => {}
            }
        }
        match over_folder {
            Some(old) => {
                // Others may have deleted or added something in it.
                self.conflict_if_changed(path, &old);
                self.mode_change(path, &old, &new);
            }
            None => {
                self.replaced(pair, name, path, old)?;
                self.change(path, ChangeKind::Added, None, Some(new.version(None)));
            }
        }
        if relation == Relation::Merged {
            self.place(path, old, new);
        }
        self.folder(&inner, Relation::Whole)
    }

    /// Lists what is removed because something of another kind takes its place.
    fn replaced(
        &mut self,
        pair: &Pair<'_>,
        name: &OsStr,
        path: &Path,
        old: Option<State>,
    ) -> Result<(), ReadError> {
        match (pair.lower, old) {
            (Some(lower), Some(_)) => self.gone(lower, name, path, pair.depth),
            _ => Ok(()),
        }
    }

    fn file(
        &mut self,
        pair: &Pair<'_>,
        name: &OsStr,
        path: &Path,
        old: Option<State>,
        new: State,
        relation: Relation,
    ) -> Result<(), ReadError> {
        let is_file = |old: &State| old.kind() == FileType::RegularFile;
        let Some(old) = old.filter(is_file) else {
            self.deleted_meanwhile(pair, name, path, old, relation);
            self.replaced(pair, name, path, old)?;
            self.change(path, ChangeKind::Added, None, Some(new.version(None)));
            if relation == Relation::Merged {
                self.place(path, old, new);
            }
            return Ok(());
        };
        let has_same_bytes = old.size == new.size && self.has_same_bytes(pair, name, &old);
        if !has_same_bytes {
            let (before, after) = (Some(old.version(None)), Some(new.version(None)));
            self.change(path, ChangeKind::Changed, before, after);
            self.conflict_if_changed(path, &old);
            if relation == Relation::Merged {
                self.place(path, Some(old), new);
            }
            return Ok(());
        }
        match relation {
            // Others have written the same: nothing is left to be done.
            Relation::Merged
                if old.changed >= self.since
                    && old.permissions() == new.settled(&old).permissions() => {}
            Relation::Merged => {
                if self.attributes(path, &old, &new) {
                    self.conflict_if_changed(path, &old);
                }
            }
            Relation::Whole => {
                self.mode_change(path, &old, &new);
                self.conflict_if_changed(path, &old);
            }
        }
        Ok(())
    }

    /// A file that was copied from the user's folder, where it is no more. It may also have been renamed by the program;
    /// then nobody has touched the user's folder.
    fn deleted_meanwhile(
        &mut self,
        pair: &Pair<'_>,
        name: &OsStr,
        path: &Path,
        old: Option<State>,
        relation: Relation,
    ) {
        if relation == Relation::Whole || old.is_some() {
            return;
        }
        let Some(lower) = pair.lower else { return };
        if entry::has_mark(pair.upper, name, "origin")
            && entry::state_of(lower).is_ok_and(|state| state.changed >= self.since)
        {
            self.conflict(path, ConflictReason::Deleted);
        }
    }

    fn link(
        &mut self,
        pair: &Pair<'_>,
        name: &OsStr,
        path: &Path,
        old: Option<State>,
        new: State,
        relation: Relation,
    ) -> Result<(), ReadError> {
        let target = entry::target_of(pair.upper, name).map_err(|errno| failed(path, errno))?;
        let old_target = match (pair.lower, old) {
            (Some(lower), Some(old)) if old.kind() == FileType::Symlink => {
                entry::target_of(lower, name).ok()
            }
            _ => None,
        };
        if old_target.as_ref() == Some(&target) {
            if let (Some(old), Relation::Whole) = (old, relation) {
                self.conflict_if_changed(path, &old);
            }
            return Ok(());
        }
        let before = match (old, old_target) {
            (Some(old), Some(target)) => {
                self.conflict_if_changed(path, &old);
                Some(old.version(Some(target)))
            }
            _ => {
                self.replaced(pair, name, path, old)?;
                None
            }
        };
        self.change(path, ChangeKind::Link, before, Some(new.version(Some(target))));
        if relation == Relation::Merged {
            self.place(path, old, new);
        }
        Ok(())
    }

    /// Something that is never applied. What was there before goes all the same, as it did for the program.
    fn special(
        &mut self,
        pair: &Pair<'_>,
        name: &OsStr,
        path: &Path,
        old: Option<State>,
        what: &'static str,
        relation: Relation,
    ) -> Result<(), ReadError> {
        if self.set.dropped.len() < MAX_LISTED {
            self.set.dropped.push(Dropped { layer: self.layer, path: path.to_owned(), what });
        }
        self.replaced(pair, name, path, old)?;
        if let (Some(old), Relation::Merged) = (old, relation) {
            self.operation(path, Action::Delete, Some(old), None);
        }
        Ok(())
    }

    /// Lists a deleted entry and everything below it.
    fn gone(
        &mut self,
        lower: BorrowedFd<'_>,
        name: &OsStr,
        path: &Path,
        depth: usize,
    ) -> Result<(), ReadError> {
        let Some(old) = entry::state_at(lower, name).map_err(|errno| failed(path, errno))? else {
            return Ok(());
        };
        self.count()?;
        self.conflict_if_changed(path, &old);
        let target = match old.kind() {
            FileType::Symlink => entry::target_of(lower, name).ok(),
            _ => None,
        };
        self.change(path, ChangeKind::Deleted, Some(old.version(target)), None);
        if !old.is_folder() {
            return Ok(());
        }
        if depth >= self.limits.depth {
            return Err(ReadError::Depth { path: path.to_owned(), most: self.limits.depth });
        }
        let inner = match entry::open_below(lower, Path::new(name)) {
            Ok(inner) => inner,
            // The program could not read it either.
            Err(Errno::ACCESS | Errno::NOENT) => return Ok(()),
            Err(errno) => return Err(failed(path, errno)),
        };
        for name in self.names(inner.as_fd(), path)? {
            self.gone(inner.as_fd(), &name, &path.join(&name), depth + 1)?;
        }
        Ok(())
    }

    /// Whether a file has the same bytes in both layers. What can't be read counts as different.
    fn has_same_bytes(&mut self, pair: &Pair<'_>, name: &OsStr, old: &State) -> bool {
        self.compared = self.compared.saturating_add(old.size);
        if self.compared > MAX_COMPARED_BYTES {
            return false;
        }
        let Some(lower) = pair.lower else { return false };
        let Ok(lower) = entry::open_beneath(lower, Path::new(name), OFlags::RDONLY) else {
            return false;
        };
        let Ok(upper) = entry::open_own_file(pair.upper, name) else { return false };
        are_equal(upper, lower.into()).unwrap_or(false)
    }

    /// A change of permissions, as an entry of the list.
    fn mode_change(&mut self, path: &Path, old: &State, new: &State) {
        let new = new.settled(old);
        if old.permissions() != new.permissions() {
            let (before, after) = (Some(old.version(None)), Some(new.version(None)));
            self.change(path, ChangeKind::Mode, before, after);
        }
    }

    /// A change of permissions and times of something that stays in place; returns whether there is one.
    fn attributes(&mut self, path: &Path, old: &State, new: &State) -> bool {
        let new = new.settled(old);
        let mode = old.permissions() != new.permissions();
        let time = !old.is_folder() && old.modified != new.modified;
        if mode {
            self.mode_change(path, old, &new);
        } else if time {
            self.set.touched += 1;
        }
        if mode || time {
            self.operation(path, Action::Attributes, Some(*old), Some(new));
        }
        mode || time
    }

    /// The step that puts something new into place.
    fn place(&mut self, path: &Path, old: Option<State>, new: State) {
        let action = if old.is_some() { Action::Replace } else { Action::Add };
        self.operation(path, action, old, Some(new));
    }

    fn operation(&mut self, path: &Path, action: Action, old: Option<State>, new: Option<State>) {
        let (layer, path) = (self.layer, path.to_owned());
        self.set.operations.push(Operation { layer, path, action, old, new, tree: None });
    }

    fn change(
        &mut self,
        path: &Path,
        kind: ChangeKind,
        before: Option<EntryVersion>,
        after: Option<EntryVersion>,
    ) {
        let (layer, path) = (self.layer, path.to_owned());
        self.set.changes.push(Change { layer, path, kind, before, after });
    }

    fn conflict_if_changed(&mut self, path: &Path, old: &State) {
        if old.changed >= self.since {
            self.conflict(path, ConflictReason::Changed);
        }
    }

    fn conflict(&mut self, path: &Path, reason: ConflictReason) {
        let is_known = self
            .set
            .conflicts
            .last()
            .is_some_and(|last| last.layer == self.layer && last.path == path);
        if !is_known && self.set.conflicts.len() < MAX_LISTED {
            let (layer, path) = (self.layer, path.to_owned());
            self.set.conflicts.push(Conflict { layer, path, reason });
        }
    }
}

fn failed(path: &Path, errno: Errno) -> ReadError {
    at(path, errno.into())
}

fn at(path: &Path, source: io::Error) -> ReadError {
    ReadError::Entry { path: path.to_owned(), source }
}

/// Compares two files to their ends.
fn are_equal(mut one: File, mut other: File) -> io::Result<bool> {
    const PIECE: usize = 64 << 10;
    let (mut first, mut second) = (vec![0; PIECE], vec![0; PIECE]);
    loop {
        let count = one.read(&mut first)?;
        if count == 0 {
            return Ok(other.read(&mut second)? == 0);
        }
        if let Err(error) = other.read_exact(&mut second[..count]) {
            return match error.kind() {
                io::ErrorKind::UnexpectedEof => Ok(false),
                _ => Err(error),
            };
        }
        if first[..count] != second[..count] {
            return Ok(false);
        }
    }
}
