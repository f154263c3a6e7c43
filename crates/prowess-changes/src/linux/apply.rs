//! Applies changes, takes them back, and undoes them, one rename at a time. After a crash at any step the next start goes on.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, RenameFlags};
use rustix::io::Errno;

use super::entry::{self, OpenFolder, State};
use super::journal::Direction;
use super::run_folder::OpenLayer;
use super::{Action, Operation, TreeSize, clean, step};
use crate::change::{Conflict, ConflictReason};

/// Maximum number of files that are flushed one by one; for more the whole filesystem is.
const MAX_SINGLE_SYNCS: usize = 16;

/// Whether applied changes survive a power failure. Killing the process never leaves a part of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// They are on disk when applying returns.
    OnDisk,
    /// The operating system writes them later.
    Deferred,
}

/// What was applied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ApplyReport {
    /// The number of listed changes.
    pub changes: usize,
    /// The number of files of which only the modification time changed.
    pub touched: usize,
}

/// Why changes were not applied. Nothing has changed.
#[derive(Debug, thiserror::Error)]
pub enum ApplyError {
    /// Others have changed the same files.
    #[error("{} of the changed files were changed by others too", .0.len())]
    Conflicts(Vec<Conflict>),
    /// The changes are not those that were accepted.
    #[error("the changes are not those that were accepted: look at them again")]
    OtherChanges,
    /// They can't be read.
    #[error(transparent)]
    Read(#[from] super::ReadError),
    /// There is nothing pending.
    #[error("the changes of this run are not pending")]
    NotPending,
    /// A step failed.
    #[error("cannot change `{}`: {source}", .path.display())]
    Step {
        /// The path.
        path: PathBuf,
        /// The error.
        source: io::Error,
    },
    /// The state of the run can't be written.
    #[error("cannot write `{}`: {source}", .path.display())]
    State {
        /// The path.
        path: PathBuf,
        /// The error.
        source: io::Error,
    },
}

/// Why changes were not undone. Nothing has changed.
#[derive(Debug, thiserror::Error)]
pub enum UndoError {
    /// Others have changed files since.
    #[error("{} of the files were changed since", .0.len())]
    Changed(Vec<Conflict>),
    /// There is nothing to undo.
    #[error("the changes of this run were not applied, or were already undone")]
    NotApplied,
    /// A step failed.
    #[error("cannot change `{}`: {source}", .path.display())]
    Step {
        /// The path.
        path: PathBuf,
        /// The error.
        source: io::Error,
    },
    /// The state of the run can't be read or written.
    #[error("cannot use `{}`: {source}", .path.display())]
    State {
        /// The path.
        path: PathBuf,
        /// The error.
        source: io::Error,
    },
}

/// Why a step was not done.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Somebody else has changed the same.
    Conflict(Conflict),
    /// An error.
    Step { path: PathBuf, source: io::Error },
}

impl Failure {
    fn at(layers: &[OpenLayer], operation: &Operation, source: impl Into<io::Error>) -> Self {
        let top = layers.get(operation.layer).map_or(Path::new(""), |layer| layer.target_path());
        Failure::Step { path: top.join(&operation.path), source: source.into() }
    }

    fn conflict(operation: &Operation, reason: ConflictReason) -> Self {
        let Operation { layer, path, .. } = operation;
        Failure::Conflict(Conflict { layer: *layer, path: path.clone(), reason })
    }
}

/// Performs the steps of a journal on the layers of a run.
pub(crate) struct Performer<'p> {
    layers: &'p [OpenLayer],
    /// The folder of the last step, in the user's folder and in the upper layer.
    parents: Option<Parents>,
}

struct Parents {
    layer: usize,
    path: PathBuf,
    target: OwnedFd,
    upper: Option<OwnedFd>,
}

/// The two folders of a step, and the name in both.
struct Place<'p> {
    target: BorrowedFd<'p>,
    upper: Option<BorrowedFd<'p>>,
    undo: BorrowedFd<'p>,
    name: &'p OsStr,
}

impl Place<'_> {
    fn upper(&self) -> Result<BorrowedFd<'_>, Errno> {
        self.upper.ok_or(Errno::NOENT)
    }
}

impl<'p> Performer<'p> {
    pub(crate) fn new(layers: &'p [OpenLayer]) -> Self {
        Self { layers, parents: None }
    }

    /// Completes the steps with what they will put into place: the upper layer is cleaned, and folders that are closed
    /// to their owner get a step that restores their permissions.
    pub(crate) fn plan(&mut self, operations: &[Operation]) -> Result<Vec<Operation>, Failure> {
        let mut planned: Vec<Operation> = Vec::with_capacity(operations.len());
        let mut closed: Vec<Operation> = Vec::new();
        for wanted in operations {
            let mut operation = wanted.clone();
            if operation.action == Action::Attributes {
                planned.push(operation);
                continue;
            }
            let layers = self.layers;
            let failed = |error: io::Error| Failure::at(layers, wanted, error);
            if operation.new.is_some() {
                let (tree, new) = self.prepare(&operation).map_err(failed)?;
                operation.tree = tree;
                operation.new = new;
            }
            let place = match self.place(&operation) {
                Ok(place) => place,
                Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::XDEV) => {
                    return Err(Failure::conflict(wanted, ConflictReason::Deleted));
                }
                Err(errno) => return Err(failed(errno.into())),
            };
            let state = entry::state_of(place.target).map_err(|it| failed(it.into()))?;
            let parent = operation.path.parent().unwrap_or(Path::new("")).to_owned();
            let is_known = closed
                .last()
                .is_some_and(|last| (last.layer, &last.path) == (operation.layer, &parent));
            if state.is_closed() && !is_known {
                closed.push(Operation {
                    layer: operation.layer,
                    path: parent,
                    action: Action::Attributes,
                    old: Some(state),
                    new: Some(state),
                    tree: None,
                });
            }
            planned.push(operation);
        }
        // Innermost first, as in the rest of the list.
        closed.sort_by_key(|folder| std::cmp::Reverse(folder.path.components().count()));
        let known: BTreeSet<(usize, PathBuf)> = planned
            .iter()
            .filter(|it| it.action == Action::Attributes)
            .map(|it| (it.layer, it.path.clone()))
            .collect();
        closed.retain(|folder| !known.contains(&(folder.layer, folder.path.clone())));
        closed.dedup_by_key(|folder| (folder.layer, folder.path.clone()));
        planned.extend(closed);
        Ok(planned)
    }

    /// Cleans what a step will put into place; returns its size and its state.
    fn prepare(&self, operation: &Operation) -> io::Result<(Option<TreeSize>, Option<State>)> {
        let layer = self.layers.get(operation.layer).ok_or(Errno::INVAL)?;
        let path = operation.path.parent().unwrap_or(Path::new(""));
        let name = operation.path.file_name().ok_or(Errno::INVAL)?;
        let clean = |folder: BorrowedFd<'_>| -> io::Result<_> {
            let tree = clean::prepare(folder, name, layer.undo().as_fd())?;
            Ok((tree, entry::state_at(folder, name)?))
        };
        match open_parent(layer.upper(), path) {
            Ok(folder) => match clean(folder.as_fd()) {
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {}
                done => return done,
            },
            Err(Errno::ACCESS) => {}
            Err(errno) => return Err(errno.into()),
        }
        // A folder that the program has closed is opened for a moment.
        let mut open: Vec<OpenFolder> = Vec::new();
        for part in path {
            let above = open.last().map_or(layer.upper(), OpenFolder::fd);
            let inner = OpenFolder::open(above, part)?;
            open.push(inner);
        }
        clean(open.last().map_or(layer.upper(), OpenFolder::fd))
    }

    /// Flushes the content of what will be put into place.
    pub(crate) fn sync(&mut self, operations: &[Operation]) -> io::Result<()> {
        if self.sync_few(operations).unwrap_or(false) {
            return Ok(());
        }
        for layer in self.layers {
            step("syncfs");
            rustix::fs::syncfs(layer.upper())?;
        }
        Ok(())
    }

    /// Flushes files one by one, if there are few of them; returns whether that was done.
    fn sync_few(&mut self, operations: &[Operation]) -> io::Result<bool> {
        let files: Vec<&Operation> = operations
            .iter()
            .filter(|it| it.new.is_some() && it.action != Action::Attributes)
            .collect();
        let is_single = files.len() <= MAX_SINGLE_SYNCS
            && files.iter().all(|it| it.new.is_some_and(|new| !new.is_folder()));
        if !is_single {
            return Ok(false);
        }
        for operation in files {
            if operation.new.is_some_and(|new| new.kind() != FileType::RegularFile) {
                continue;
            }
            let place = self.place(operation)?;
            step("fdatasync");
            rustix::fs::fdatasync(entry::open_own_file(place.upper()?, place.name)?)?;
        }
        Ok(true)
    }

    /// Performs all steps of a journal. Steps that are already done are skipped. Returns the steps with the states that they
    /// have left, by which later changes are noticed.
    pub(crate) fn forward(&mut self, operations: &[Operation]) -> Result<Vec<Operation>, Failure> {
        self.open_folders(operations)?;
        for operation in operations {
            self.forward_one(operation)?;
        }
        self.settle(operations, Direction::Apply)
    }

    /// Takes all steps back. Steps that are not done are skipped. Returns what could not be restored, because others have
    /// put something in its place.
    pub(crate) fn back(&mut self, operations: &[Operation]) -> Result<Vec<PathBuf>, Failure> {
        self.open_folders(operations)?;
        let mut left = Vec::new();
        for operation in operations.iter().rev() {
            match self.back_one(operation) {
                Ok(()) => {}
                Err(Failure::Conflict(conflict)) => left.push(conflict.path),
                Err(failure) => return Err(failure),
            }
        }
        self.settle(operations, Direction::Undo)?;
        Ok(left)
    }

    fn place<'s>(&'s mut self, operation: &'s Operation) -> Result<Place<'s>, Errno> {
        let layer = self.layers.get(operation.layer).ok_or(Errno::INVAL)?;
        let path = operation.path.parent().unwrap_or(Path::new(""));
        let is_known = self
            .parents
            .as_ref()
            .is_some_and(|known| known.layer == operation.layer && known.path == path);
        if !is_known {
            let target = open_parent(layer.target().as_fd(), path)?;
            let upper = match open_parent(layer.upper(), path) {
                Ok(upper) => Some(upper),
                // Nothing of this folder is in the upper layer: a closed folder that is only opened and closed.
                Err(Errno::NOENT) => None,
                Err(errno) => return Err(errno),
            };
            self.parents =
                Some(Parents { layer: operation.layer, path: path.to_owned(), target, upper });
        }
        let parents = self.parents.as_ref().ok_or(Errno::INVAL)?;
        Ok(Place {
            target: parents.target.as_fd(),
            upper: parents.upper.as_ref().map(|upper| upper.as_fd()),
            undo: layer.undo().as_fd(),
            name: operation.path.file_name().unwrap_or(OsStr::new(".")),
        })
    }

    /// Opens closed folders to their owner, in both layers, so that entries can be moved.
    fn open_folders(&mut self, operations: &[Operation]) -> Result<(), Failure> {
        for operation in operations.iter().filter(|it| it.action == Action::Attributes) {
            let (Some(old), Some(new)) = (operation.old, operation.new) else { continue };
            if !old.is_folder() {
                continue;
            }
            let Some(layer) = self.layers.get(operation.layer) else { continue };
            let tops = [
                (layer.target().as_fd(), old.is_closed() || new.is_closed()),
                (layer.upper(), new.is_closed()),
            ];
            for (top, is_closed) in tops {
                if is_closed {
                    open_to_owner(top, &operation.path)
                        .map_err(|error| Failure::at(self.layers, operation, error))?;
                }
            }
        }
        Ok(())
    }

    fn forward_one(&mut self, operation: &Operation) -> Result<(), Failure> {
        let layers = self.layers;
        let number = undo_name(operation);
        let place = match self.place(operation) {
            Ok(place) => place,
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::XDEV) => {
                return Err(Failure::conflict(operation, ConflictReason::Deleted));
            }
            Err(errno) => return Err(Failure::at(layers, operation, errno)),
        };
        let failed = |errno: Errno| Failure::at(layers, operation, errno);
        let now = entry::state_at(place.target, place.name).map_err(failed)?;
        match (operation.action, operation.old, operation.new) {
            (Action::Add, _, Some(new)) => match now {
                Some(now) if now.is_same_entry(&new) => Ok(()),
                Some(_) => Err(Failure::conflict(operation, ConflictReason::Created)),
                None => {
                    let upper = place.upper().map_err(failed)?;
                    move_entry(upper, place.name, place.target, place.name, &new).map_err(|errno| {
                        match errno {
                            Errno::EXIST => Failure::conflict(operation, ConflictReason::Created),
                            errno => failed(errno),
                        }
                    })
                }
            },
            (Action::Replace, Some(old), Some(new)) => {
                let Some(now) = now else {
                    return Err(Failure::conflict(operation, ConflictReason::Deleted));
                };
                if now.is_same_entry(&new) {
                    return Ok(());
                }
                if !is_as_planned(&now, &old) {
                    return Err(Failure::conflict(operation, ConflictReason::Changed));
                }
                let upper = place.upper().map_err(failed)?;
                exchange(upper, place.target, place.name, &old, &new).map_err(failed)?;
                // Between the check and the exchange somebody may have been faster.
                let out = entry::state_at(upper, place.name).map_err(failed)?;
                if out.is_some_and(|out| out.is_unchanged(&old)) {
                    return Ok(());
                }
                exchange(upper, place.target, place.name, &new, &old).map_err(failed)?;
                Err(Failure::conflict(operation, ConflictReason::Changed))
            }
            (Action::Delete, Some(old), _) => {
                let Some(now) = now else {
                    let moved = entry::state_at(place.undo, number.as_ref()).map_err(failed)?;
                    return match moved {
                        Some(moved) if moved.is_same_entry(&old) => Ok(()),
                        _ => Err(Failure::conflict(operation, ConflictReason::Deleted)),
                    };
                };
                if !is_as_planned(&now, &old) {
                    return Err(Failure::conflict(operation, ConflictReason::Changed));
                }
                let undo = OsStr::new(&number);
                move_entry(place.target, place.name, place.undo, undo, &old).map_err(failed)?;
                let out = entry::state_at(place.undo, undo).map_err(failed)?;
                if out.is_some_and(|out| out.is_unchanged(&old)) {
                    return Ok(());
                }
                move_entry(place.undo, undo, place.target, place.name, &old).map_err(failed)?;
                Err(Failure::conflict(operation, ConflictReason::Changed))
            }
            (Action::Attributes, Some(old), _) => match now {
                Some(now) if now.is_same_entry(&old) => Ok(()),
                Some(_) => Err(Failure::conflict(operation, ConflictReason::Changed)),
                None => Err(Failure::conflict(operation, ConflictReason::Deleted)),
            },
            _ => Err(failed(Errno::INVAL)),
        }
    }

    fn back_one(&mut self, operation: &Operation) -> Result<(), Failure> {
        let layers = self.layers;
        let number = undo_name(operation);
        let place = match self.place(operation) {
            Ok(place) => place,
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::XDEV) => {
                return Err(Failure::conflict(operation, ConflictReason::Deleted));
            }
            Err(errno) => return Err(Failure::at(layers, operation, errno)),
        };
        let failed = |errno: Errno| Failure::at(layers, operation, errno);
        let now = entry::state_at(place.target, place.name).map_err(failed)?;
        match (operation.action, operation.old, operation.new) {
            (Action::Add, _, Some(new)) => match now {
                Some(now) if now.is_same_entry(&new) => {
                    let upper = place.upper().map_err(failed)?;
                    move_entry(place.target, place.name, upper, place.name, &new).map_err(failed)
                }
                // Not there yet, or somebody else's.
                _ => Ok(()),
            },
            (Action::Replace, Some(old), Some(new)) => match now {
                Some(now) if now.is_same_entry(&new) => {
                    let upper = place.upper().map_err(failed)?;
                    exchange(upper, place.target, place.name, &new, &old).map_err(failed)
                }
                Some(now) if now.is_same_entry(&old) => Ok(()),
                _ => {
                    // Somebody else's, and the old version is not needed by anybody as long as it was never moved.
                    let kept = place.upper().and_then(|upper| entry::state_at(upper, place.name));
                    match kept {
                        Ok(Some(kept)) if kept.is_same_entry(&old) => {
                            Err(Failure::conflict(operation, ConflictReason::Changed))
                        }
                        _ => Ok(()),
                    }
                }
            },
            (Action::Delete, Some(old), _) => {
                let undo = OsStr::new(&number);
                let moved = entry::state_at(place.undo, undo).map_err(failed)?;
                match (now, moved) {
                    (None, Some(moved)) if moved.is_same_entry(&old) => {
                        move_entry(place.undo, undo, place.target, place.name, &old).map_err(failed)
                    }
                    (Some(_), Some(_)) => {
                        Err(Failure::conflict(operation, ConflictReason::Created))
                    }
                    _ => Ok(()),
                }
            }
            _ => Ok(()),
        }
    }

    /// Removes the overlay's marks from what was put into place, and sets permissions and times: those of folders last and
    /// innermost first, because they may close them.
    fn settle(
        &mut self,
        operations: &[Operation],
        direction: Direction,
    ) -> Result<Vec<Operation>, Failure> {
        let is_folder = |it: &&Operation| {
            it.action == Action::Attributes && it.old.is_some_and(|old| old.is_folder())
        };
        let (folders, others): (Vec<&Operation>, Vec<&Operation>) =
            operations.iter().partition(is_folder);
        let layers = self.layers;
        for operation in &others {
            self.settle_one(operation, direction)
                .map_err(|error| Failure::at(layers, operation, error))?;
        }
        let mut done = Vec::with_capacity(operations.len());
        for operation in others {
            done.push(self.outcome(operation)?);
        }
        for operation in folders {
            self.settle_one(operation, direction)
                .map_err(|error| Failure::at(layers, operation, error))?;
            done.push(self.outcome(operation)?);
        }
        Ok(done)
    }

    /// A step with the state that it has left.
    fn outcome(&mut self, operation: &Operation) -> Result<Operation, Failure> {
        let layers = self.layers;
        let failed = |errno: Errno| Failure::at(layers, operation, errno);
        let mut tree = operation.tree;
        let now = match self.place(operation) {
            Ok(place) => {
                let now = entry::state_at(place.target, place.name).map_err(failed)?;
                // Moving one name of a file changes its other names too.
                if let Some(known) = &mut tree
                    && now.is_some_and(|now| !now.is_closed())
                    && let Ok(size) = clean::tree_size(place.target, place.name, known.entries)
                {
                    known.latest = known.latest.max(size.latest);
                }
                now
            }
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::XDEV) => None,
            Err(errno) => return Err(failed(errno)),
        };
        Ok(Operation { new: operation.new.and(now), tree, ..operation.clone() })
    }

    fn settle_one(&mut self, operation: &Operation, direction: Direction) -> io::Result<()> {
        let is_forward = direction == Direction::Apply;
        let place = match self.place(operation) {
            Ok(place) => place,
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::XDEV) => return Ok(()),
            Err(errno) => return Err(errno.into()),
        };
        if !is_forward {
            close_upper(&place, operation)?;
        }
        let wanted = if is_forward { operation.new } else { operation.old };
        let now = entry::state_at(place.target, place.name)?;
        let (Some(wanted), Some(now)) = (wanted, now) else { return Ok(()) };
        if operation.action == Action::Attributes {
            if operation.old.is_some_and(|old| now.is_same_entry(&old)) {
                set_attributes(&place, &now, &wanted)?;
            }
            return Ok(());
        }
        if !now.is_same_entry(&wanted) {
            return Ok(());
        }
        if is_forward {
            clean::strip_marks(place.target, place.name)?;
        }
        if wanted.is_closed() {
            set_attributes(&place, &now, &wanted)?;
        }
        Ok(())
    }

    /// What others have changed since the steps were done.
    pub(crate) fn changed_since(&mut self, operations: &[Operation]) -> Vec<Conflict> {
        let mut found = Vec::new();
        // Folders that were closed are opened for a moment, outermost first.
        let mut open: Vec<Reopened> = Vec::new();
        for operation in operations.iter().rev() {
            if operation.action == Action::Attributes
                && operation.new.is_some_and(|new| new.is_closed())
                && let Ok(place) = self.place(operation)
                && let Ok(Some(now)) = entry::state_at(place.target, place.name)
                && operation.new.is_some_and(|new| now.is_same_entry(&new))
                && now.is_closed()
                && let Ok(handle) = entry::handle(place.target, place.name)
                && entry::set_permissions(&handle, now.permissions() | 0o700).is_ok()
            {
                let path = (operation.layer, operation.path.clone());
                open.push(Reopened { handle, mode: now.permissions(), path });
            }
        }
        for operation in operations {
            let known = (operation.layer, operation.path.clone());
            if let Some(folder) = open.iter().find(|folder| folder.path == known) {
                if operation.new.is_none_or(|new| new.permissions() != folder.mode) {
                    let (layer, path) = known;
                    found.push(Conflict { layer, path, reason: ConflictReason::Changed });
                }
                continue;
            }
            let reason = match self.change_since(operation) {
                Ok(reason) => reason,
                // What can't be examined is not touched.
                Err(_) => Some(ConflictReason::Changed),
            };
            if let Some(reason) = reason {
                let Operation { layer, path, .. } = operation;
                found.push(Conflict { layer: *layer, path: path.clone(), reason });
            }
        }
        found
    }

    /// The regular file that is where a step has put one.
    pub(crate) fn file_now(&mut self, operation: &Operation) -> Option<State> {
        let is_file = |state: &State| state.kind() == FileType::RegularFile;
        operation.new.as_ref().filter(|new| is_file(new))?;
        if !matches!(operation.action, Action::Add | Action::Replace) {
            return None;
        }
        let place = self.place(operation).ok()?;
        if let Some(old) = operation.old {
            // Without the old version there is nothing to restore.
            let kept = entry::state_at(place.upper().ok()?, place.name).ok()??;
            kept.is_same_entry(&old).then_some(())?;
        }
        entry::state_at(place.target, place.name).ok()?.filter(is_file)
    }

    fn change_since(&mut self, operation: &Operation) -> io::Result<Option<ConflictReason>> {
        let number = undo_name(operation);
        let place = match self.place(operation) {
            Ok(place) => place,
            Err(Errno::NOENT | Errno::NOTDIR) => return Ok(Some(ConflictReason::Deleted)),
            Err(errno) => return Err(errno.into()),
        };
        let now = entry::state_at(place.target, place.name)?;
        let Some(new) = operation.new else {
            let kept = entry::state_at(place.undo, number.as_ref())?;
            return Ok(match (now, kept) {
                (Some(_), _) => Some(ConflictReason::Created),
                (None, Some(_)) => None,
                // The old version is gone.
                (None, None) => Some(ConflictReason::Deleted),
            });
        };
        let Some(now) = now else { return Ok(Some(ConflictReason::Deleted)) };
        let is_same = if new.is_folder() {
            now.is_same_entry(&new) && now.permissions() == new.permissions()
        } else {
            // Another name of the file changes nothing that matters.
            now.is_unchanged(&new)
                && now.mode == new.mode
                && (now.changed == new.changed || now.links != new.links)
        };
        if !is_same {
            return Ok(Some(ConflictReason::Changed));
        }
        if let Some(tree) = &operation.tree
            && !new.is_closed()
        {
            let size = clean::tree_size(place.target, place.name, tree.entries)?;
            let is_same = (size.entries, size.bytes) == (tree.entries, tree.bytes)
                && size.latest <= tree.latest;
            if !is_same {
                return Ok(Some(ConflictReason::Changed));
            }
        }
        if operation.action == Action::Replace {
            let kept = entry::state_at(place.upper()?, place.name)?;
            if !kept.zip(operation.old).is_some_and(|(kept, old)| kept.is_same_entry(&old)) {
                return Ok(Some(ConflictReason::Deleted));
            }
        }
        Ok(None)
    }
}

/// A closed folder of the user that is open for a moment.
struct Reopened {
    handle: OwnedFd,
    mode: u32,
    path: (usize, PathBuf),
}

impl Drop for Reopened {
    fn drop(&mut self) {
        let _ = entry::set_permissions(&self.handle, self.mode);
    }
}

/// Whether an entry is the one that was read: its content, and for files that nobody has changed anything else.
fn is_as_planned(now: &State, old: &State) -> bool {
    now.is_unchanged(old) && (now.is_folder() || now.changed == old.changed)
}

/// The name of a deleted entry in the folder of old versions. It has to be the same on every attempt.
pub(crate) fn undo_name(operation: &Operation) -> String {
    operation.old.map_or_else(String::new, |old| format!("{}-{}", old.device, old.inode))
}

/// A handle of the folder of a path.
fn open_parent(top: BorrowedFd<'_>, path: &Path) -> Result<OwnedFd, Errno> {
    entry::open_beneath(top, path, OFlags::PATH | OFlags::DIRECTORY)
}

/// Gives the owner access to a folder and those above it.
fn open_to_owner(top: BorrowedFd<'_>, path: &Path) -> io::Result<()> {
    let mut above = PathBuf::new();
    for part in std::iter::once(OsStr::new(".")).chain(path.iter()) {
        above.push(part);
        let handle = match open_parent(top, &above) {
            Ok(handle) => handle,
            Err(Errno::NOENT | Errno::NOTDIR) => return Ok(()),
            Err(errno) => return Err(errno.into()),
        };
        let state = entry::state_of(&handle)?;
        if state.is_closed() {
            step("chmod");
            entry::set_permissions(&handle, state.permissions() | 0o700)?;
        }
    }
    Ok(())
}

/// Gives a folder of the upper layer its permissions back, so that it is read the same again.
fn close_upper(place: &Place<'_>, operation: &Operation) -> io::Result<()> {
    let Some(new) = operation.new.filter(State::is_closed) else { return Ok(()) };
    let Ok(upper) = place.upper() else { return Ok(()) };
    let Some(now) = entry::state_at(upper, place.name)? else { return Ok(()) };
    let is_new = operation.action == Action::Attributes || now.is_same_entry(&new);
    if !is_new || now.permissions() == new.permissions() {
        return Ok(());
    }
    entry::set_permissions(entry::handle(upper, place.name)?, new.permissions())
}

/// Sets permissions, and the modification time of a file, if they differ.
fn set_attributes(place: &Place<'_>, now: &State, wanted: &State) -> io::Result<()> {
    let mode = wanted.permissions();
    let sets_time = !wanted.is_folder() && now.modified != wanted.modified;
    if now.permissions() == mode && !sets_time {
        return Ok(());
    }
    if now.kind() == FileType::Symlink {
        return Ok(());
    }
    let handle = entry::handle(place.target, place.name)?;
    if now.permissions() != mode {
        step("chmod");
        entry::set_permissions(&handle, mode)?;
    }
    if sets_time {
        step("utimensat");
        entry::set_modified(&handle, wanted.modified)?;
    }
    Ok(())
}

/// Moves an entry to a free name in another folder.
fn move_entry(
    from: BorrowedFd<'_>,
    name: &OsStr,
    to: BorrowedFd<'_>,
    new_name: &OsStr,
    moved: &State,
) -> Result<(), Errno> {
    open_for_move(from, name, moved)?;
    step("rename");
    rustix::fs::renameat_with(from, name, to, new_name, RenameFlags::NOREPLACE)
}

/// Exchanges an entry of the upper layer with one of the user's folder.
fn exchange(
    upper: BorrowedFd<'_>,
    target: BorrowedFd<'_>,
    name: &OsStr,
    at_target: &State,
    at_upper: &State,
) -> Result<(), Errno> {
    open_for_move(target, name, at_target)?;
    open_for_move(upper, name, at_upper)?;
    step("exchange");
    rustix::fs::renameat_with(upper, name, target, name, RenameFlags::EXCHANGE)
}

/// A folder that is moved to another one has its `..` changed, which needs permission to write it.
fn open_for_move(folder: BorrowedFd<'_>, name: &OsStr, state: &State) -> Result<(), Errno> {
    if !state.is_closed() {
        return Ok(());
    }
    step("chmod");
    let mode = Mode::from_raw_mode(state.permissions() | 0o700);
    rustix::fs::chmodat(folder, name, mode, AtFlags::empty())
}
