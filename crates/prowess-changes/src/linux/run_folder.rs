//! The folder of a run: the upper layers that it writes, its journal, and the old versions of what was applied.

use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use prowess_files::atomic;
use rustix::fs::{AtFlags, CWD, FlockOperation, Gid, Mode, OFlags, StatxFlags, Uid};
use rustix::io::Errno;

use super::apply::{ApplyError, ApplyReport, Durability, Failure, Performer, UndoError, undo_name};
use super::entry::{self, OpenFolder, State, Time};
use super::journal::{self, Direction, Journal};
use super::read::{ReadError, Reader};
use super::{Action, Operation, remove, step};
use crate::change::{Change, ChangeSet, Limits};
use crate::patch::{self, PatchOptions, PatchReport, Side};

/// Files and folders of a run.
const LAYERS: &str = "layers";
const NOTE: &str = "note";
const PENDING: &str = "pending";
const JOURNAL: &str = "journal";
const APPLIED: &str = "applied";
const UNDONE: &str = "undone";
/// Files and folders of a layer.
const UPPER: &str = "up";
const WORK: &str = "work";
const OLD_VERSIONS: &str = "undo";
const MARK: &str = "mark";
/// Maximum size of a note.
const MAX_NOTE_BYTES: u64 = 16 << 20;
/// Maximum size of the list of layers.
const MAX_LAYERS_BYTES: u64 = 1 << 20;
/// Maximum number of layers of a run.
const MAX_LAYERS: usize = 256;
/// Changes that were read longer ago are read again before they are applied.
const FRESH: Duration = Duration::from_millis(100);
/// The first line of the list of layers.
const LAYERS_HEADER: &str = "prowess-layers 1";

/// The folder of a run, locked by this process.
#[derive(Debug)]
pub struct RunFolder {
    home: PathBuf,
    id: String,
    /// Open and locked.
    folder: OwnedFd,
    layers: Vec<Layer>,
    /// When the folder was created, by its filesystem's clock.
    created: Time,
}

/// A granted folder and the place where a run's writes to it go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layer {
    /// The granted folder.
    pub target: PathBuf,
    /// Its device and inode.
    pub identity: (u64, u64),
    /// Whether the run has created the granted folder.
    pub is_created: bool,
    /// The folder of the layer.
    folder: PathBuf,
    /// The start of the run.
    since: Time,
}

impl Layer {
    /// The upper layer.
    pub fn upper(&self) -> PathBuf {
        self.folder.join(UPPER)
    }

    /// The overlay's working folder.
    pub fn work(&self) -> PathBuf {
        self.folder.join(WORK)
    }

    /// The files of a layer, for reading content: those of the user's folder, and the upper self.
    fn open(&self) -> Result<OpenLayer, ReadError> {
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |errno: Errno| ReadError::Entry { path, source: errno.into() }
        };
        let target = entry::open_absolute(&self.target).map_err(failed(&self.target))?;
        let state = entry::state_of(&target).map_err(failed(&self.target))?;
        if (state.device, state.inode) != self.identity {
            return Err(ReadError::OtherFolder(self.target.clone()));
        }
        let staging = entry::open_absolute(&self.folder).map_err(failed(&self.folder))?;
        // The program may have closed the top of its self.
        let upper = OpenFolder::open(staging.as_fd(), OsStr::new(UPPER))
            .map_err(|source| ReadError::Entry { path: self.folder.clone(), source })?;
        let undo = entry::open_below(staging.as_fd(), Path::new(OLD_VERSIONS))
            .map_err(failed(&self.folder))?;
        Ok(OpenLayer { path: self.target.clone(), target, upper, undo })
    }
}

/// A layer whose folders are open.
#[derive(Debug)]
pub(crate) struct OpenLayer {
    path: PathBuf,
    target: OwnedFd,
    upper: OpenFolder,
    undo: OwnedFd,
}

impl OpenLayer {
    pub(crate) fn target_path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn target(&self) -> &OwnedFd {
        &self.target
    }

    pub(crate) fn upper(&self) -> BorrowedFd<'_> {
        self.upper.fd()
    }

    /// The state of the upper layer's top.
    pub(crate) fn upper_state(&self) -> Result<State, Errno> {
        self.upper.state()
    }

    pub(crate) fn undo(&self) -> &OwnedFd {
        &self.undo
    }
}

/// Why the writes to a folder can't be staged.
#[derive(Debug, thiserror::Error)]
pub enum StageError {
    /// Other filesystems are mounted below it.
    #[error("`{}` contains mount points (`{}`), which an overlay would hide", .target.display(), .mount.display())]
    Mounts {
        /// The granted folder.
        target: PathBuf,
        /// The first of them.
        mount: PathBuf,
    },
    /// The place for staged files is in the folder itself.
    #[error("`{}` contains the folder in which changes are kept", .0.display())]
    Around(PathBuf),
    /// The folder, or something in it, belongs to another user or group. An ordinary user has one of each in a sandbox, so
    /// an overlay can't copy it.
    #[error("`{}` belongs to another user or group", .0.display())]
    Foreign(PathBuf),
    /// There is no place on the folder's filesystem.
    #[error("there is no place for staged files on the filesystem of `{}`: {source}", .target.display())]
    NoPlace {
        /// The granted folder.
        target: PathBuf,
        /// The error.
        source: io::Error,
    },
    /// An error.
    #[error("cannot use `{}`: {source}", .path.display())]
    Io {
        /// The path.
        path: PathBuf,
        /// The error.
        source: io::Error,
    },
}

/// How a program writes to a layer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LayerKind {
    /// Through an overlay.
    Overlay,
    /// To copies, of which those that changed are put into the layer afterwards.
    Copies,
}

/// The state of a run's changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunStatus {
    /// The run has not ended, or its process was killed: nothing was applied.
    Unfinished,
    /// The changes wait to be accepted.
    Pending,
    /// They were applied, and can be undone.
    Applied,
    /// They were applied and undone.
    Undone,
}

impl RunFolder {
    /// Creates the folder of a run.
    pub fn create(home: &Path, id: &str) -> Result<Self, StageError> {
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |source: io::Error| StageError::Io { path, source }
        };
        let path = home.join(id);
        if !is_id(id) {
            let source = io::Error::from(io::ErrorKind::InvalidInput);
            return Err(StageError::Io { path, source });
        }
        prowess_files::private::private_folder(home).map_err(failed(home))?;
        let home = home.canonicalize().map_err(failed(home))?;
        let path = home.join(id);
        fs::DirBuilder::new().mode(0o700).create(&path).map_err(failed(&path))?;
        let folder = entry::open_absolute(&path).map_err(|it| failed(&path)(it.into()))?;
        rustix::fs::flock(&folder, FlockOperation::NonBlockingLockExclusive)
            .map_err(|it| failed(&path)(it.into()))?;
        let created = entry::state_of(&folder).map_err(|it| failed(&path)(it.into()))?.changed;
        let layers = Vec::new();
        Ok(Self { home, id: id.to_owned(), folder, layers, created })
    }

    /// Sets when the run has begun, if that is before its folder was created: the start of the program only has to be later
    /// than that, which saves waiting for the filesystem's clock.
    #[must_use]
    pub fn begun_at(mut self, time: SystemTime) -> Self {
        let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let begun = (i64::try_from(since.as_secs()), i64::from(since.subsec_nanos()));
        if let (Ok(seconds), nanoseconds) = begun {
            self.created = self.created.min((seconds, nanoseconds));
        }
        self
    }

    /// Opens the folder of a run, unless another process uses it, and finishes what a killed process has begun: `None` if
    /// it does not exist.
    pub fn open(home: &Path, id: &str) -> io::Result<Option<Self>> {
        if !is_id(id) {
            return Ok(None);
        }
        let home = match home.canonicalize() {
            Ok(home) => home,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let folder = match entry::open_absolute(&home.join(id)) {
            Ok(folder) => folder,
            Err(Errno::NOENT) => return Ok(None),
            Err(errno) => return Err(errno.into()),
        };
        must_be_own(&folder)?;
        match rustix::fs::flock(&folder, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => {
                return Err(io::Error::new(io::ErrorKind::ResourceBusy, "another process uses it"));
            }
            Err(errno) => return Err(errno.into()),
        }
        let created = entry::state_of(&folder)?.changed;
        let mut run = Self { home, id: id.to_owned(), folder, layers: Vec::new(), created };
        if let Some(text) = run.text(LAYERS, MAX_LAYERS_BYTES)? {
            run.layers = read_layers(&text)
                .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "it is damaged"))?;
        }
        run.resume()?;
        Ok(Some(run))
    }

    /// The id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The path.
    pub fn path(&self) -> PathBuf {
        self.home.join(&self.id)
    }

    /// The layers.
    pub fn layers(&self) -> &[Layer] {
        &self.layers
    }

    /// The state.
    pub fn status(&self) -> RunStatus {
        if self.has(UNDONE) {
            RunStatus::Undone
        } else if self.has(APPLIED) {
            RunStatus::Applied
        } else if self.has(PENDING) {
            RunStatus::Pending
        } else {
            RunStatus::Unfinished
        }
    }

    /// Makes a layer for a granted folder over which an overlay is mounted, on its filesystem.
    pub fn add_layer(&mut self, target: &Path, is_created: bool) -> Result<&Layer, StageError> {
        self.layer(target, is_created, LayerKind::Overlay)
    }

    /// Makes a layer for a granted folder of which the program gets copies of single files. No overlay is mounted, so mount
    /// points below the folder and the place for staged files in it don't matter.
    pub fn add_copies_layer(
        &mut self,
        target: &Path,
        is_created: bool,
    ) -> Result<&Layer, StageError> {
        self.layer(target, is_created, LayerKind::Copies)
    }

    fn layer(
        &mut self,
        target: &Path,
        is_created: bool,
        kind: LayerKind,
    ) -> Result<&Layer, StageError> {
        let failed = |source: io::Error| StageError::Io { path: target.to_owned(), source };
        if self.layers.len() == MAX_LAYERS {
            return Err(failed(io::Error::other("too many folders are granted")));
        }
        let folder = entry::open_absolute(target).map_err(|it| failed(it.into()))?;
        if kind == LayerKind::Overlay {
            if let Some(mount) = mounts_below(target).map_err(failed)?.into_iter().next() {
                return Err(StageError::Mounts { target: target.to_owned(), mount });
            }
            if let Some(path) = foreign_entry(target, &folder).map_err(failed)? {
                return Err(StageError::Foreign(path));
            }
        }
        let state = entry::state_of(&folder).map_err(|it| failed(it.into()))?;
        let number = self.layers.len();
        let place = self.place(target, &folder, number, kind)?;
        let made = |source: io::Error| StageError::NoPlace { target: target.to_owned(), source };
        for name in ["", UPPER, WORK, OLD_VERSIONS] {
            fs::DirBuilder::new().mode(0o700).create(place.join(name)).map_err(made)?;
        }
        // The top of an overlay has the owner and the permissions of its upper layer. For ordinary users only their own
        // group exists inside, so the layer keeps that.
        let upper = entry::open_absolute(&place.join(UPPER)).map_err(|it| failed(it.into()))?;
        if rustix::process::geteuid().is_root() {
            let stat = rustix::fs::fstat(&folder).map_err(|it| failed(it.into()))?;
            let owner = (Uid::from_raw(stat.st_uid), Gid::from_raw(stat.st_gid));
            rustix::fs::fchown(&upper, Some(owner.0), Some(owner.1))
                .map_err(|it| failed(it.into()))?;
        }
        rustix::fs::fchmod(&upper, Mode::from_raw_mode(state.permissions()))
            .map_err(|it| failed(it.into()))?;
        self.layers.push(Layer {
            target: target.to_owned(),
            identity: (state.device, state.inode),
            is_created,
            folder: place,
            since: (0, 0),
        });
        Ok(&self.layers[number])
    }

    /// The folder for a layer: in the run's folder if things can be renamed from there to the granted folder, or at the
    /// top of the granted folder's mount.
    fn place(
        &self,
        target: &Path,
        folder: &OwnedFd,
        number: usize,
        kind: LayerKind,
    ) -> Result<PathBuf, StageError> {
        // A program must not see in an overlay what it writes to that.
        let is_refused = |place: &Path| kind == LayerKind::Overlay && place.starts_with(target);
        let failed = |source: io::Error| StageError::NoPlace { target: target.to_owned(), source };
        let mount = mount_of(folder).map_err(failed)?;
        let place = if mount_of(&self.folder).map_err(failed)? == mount {
            self.path().join(format!("layer-{number}"))
        } else {
            let top = top_of_mount(target, mount).map_err(failed)?;
            let shared = top.join(format!(".prowess-{}", rustix::process::geteuid().as_raw()));
            if is_refused(&shared) {
                return Err(StageError::Around(target.to_owned()));
            }
            match fs::DirBuilder::new().mode(0o700).create(&shared) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                    return Err(failed(error));
                }
                _ => {}
            }
            let opened = entry::open_absolute(&shared).map_err(|it| failed(it.into()))?;
            must_be_own(&opened).map_err(failed)?;
            shared.join(format!("{}-{number}", self.id))
        };
        if is_refused(&place) {
            return Err(StageError::Around(target.to_owned()));
        }
        Ok(place)
    }

    /// Records the start of the run: what others change from now on is a conflict. Called just before the program starts.
    pub fn mark_start(&mut self) -> Result<(), StageError> {
        for index in 0..self.layers.len() {
            let layer = &self.layers[index];
            let path = layer.folder.join(MARK);
            let since = mark(&path, self.created)
                .map_err(|source| StageError::Io { path: path.clone(), source })?;
            self.layers[index].since = since;
        }
        let text = write_layers(&self.layers);
        self.write(LAYERS, text.as_bytes(), Durability::Deferred)
            .map_err(|source| StageError::Io { path: self.path().join(LAYERS), source })
    }

    /// What the caller has noted about the run.
    pub fn note(&self) -> io::Result<Option<Vec<u8>>> {
        self.bytes(NOTE, MAX_NOTE_BYTES)
    }

    /// Notes something about the run.
    pub fn set_note(&self, bytes: &[u8]) -> io::Result<()> {
        self.write(NOTE, bytes, Durability::Deferred)
    }

    /// Reads the changes. The program must have ended.
    pub fn read(&self, limits: Limits) -> Result<ChangeSet, ReadError> {
        let mut reader = Reader::new(limits);
        for (index, layer) in self.layers.iter().enumerate() {
            let open = layer.open()?;
            reader.layer(index, layer.since, &open)?;
        }
        Ok(reader.finish())
    }

    fn open_layers(&self) -> Result<Vec<OpenLayer>, ReadError> {
        self.layers.iter().map(Layer::open).collect()
    }

    /// Reads the changes that were applied, as far as others have not changed them since.
    pub fn read_applied(&self, limits: Limits) -> Result<ChangeSet, ReadError> {
        let failed = |source| ReadError::Entry { path: self.path().join(APPLIED), source };
        let journal = self.journal(APPLIED).map_err(failed)?;
        let layers = self.open_layers()?;
        let mut reader = Reader::new(limits);
        for operation in journal.iter().flat_map(|journal| &journal.operations) {
            let Some(layer) = layers.get(operation.layer) else { continue };
            reader.applied(layer, operation)?;
        }
        Ok(reader.finish())
    }

    /// Writes changes as a patch that `git apply` takes. The set is from [`Self::read`], or from [`Self::read_applied`] for
    /// applied ones.
    pub fn write_patch(
        &self,
        set: &ChangeSet,
        options: PatchOptions<'_>,
        out: &mut dyn io::Write,
    ) -> io::Result<PatchReport> {
        let layers = self.open_layers().map_err(io::Error::other)?;
        let applied = self.journal(APPLIED)?;
        let mut content = |change: &Change, side: Side| {
            let layer = layers.get(change.layer).ok_or(Errno::INVAL)?;
            let steps = applied.iter().flat_map(|journal| &journal.operations);
            let step =
                steps.filter(|it| it.layer == change.layer && it.action != Action::Attributes);
            let step = step.clone().find(|it| change.path.starts_with(&it.path));
            let (top, path) = match (&applied, side, step) {
                (None, Side::Before, _) | (Some(_), Side::After, _) | (Some(_), _, None) => {
                    // The user's folder: what can't be read stays as it is.
                    let file =
                        entry::open_beneath(layer.target.as_fd(), &change.path, OFlags::RDONLY)?;
                    return atomic::read_open(file.into(), options.max_file_bytes);
                }
                (None, Side::After, _) => (layer.upper.fd(), change.path.clone()),
                (Some(_), Side::Before, Some(step)) if step.action == Action::Delete => {
                    let rest = change.path.strip_prefix(&step.path).unwrap_or(Path::new(""));
                    (layer.undo.as_fd(), Path::new(&undo_name(step)).join(rest))
                }
                (Some(_), Side::Before, Some(_)) => (layer.upper.fd(), change.path.clone()),
            };
            read_content(top, &path, options.max_file_bytes)
        };
        patch::write(set, options, &mut content, out)
    }

    /// Keeps the changes until somebody applies or discards them.
    pub fn keep_pending(&self) -> io::Result<()> {
        self.write(PENDING, b"", Durability::OnDisk)
    }

    /// Applies the changes, all or nothing.
    pub fn apply(
        &self,
        set: &ChangeSet,
        durability: Durability,
    ) -> Result<ApplyReport, ApplyError> {
        if matches!(self.status(), RunStatus::Applied | RunStatus::Undone) {
            return Err(ApplyError::NotPending);
        }
        let fresh;
        let set = if set.read_at.is_some_and(|read| read.elapsed() < FRESH) {
            set
        } else {
            fresh = self.read(set.limits)?;
            if fresh.conflicts.is_empty() && fresh.changes != set.changes {
                return Err(ApplyError::OtherChanges);
            }
            &fresh
        };
        if !set.conflicts.is_empty() {
            return Err(ApplyError::Conflicts(set.conflicts.clone()));
        }
        let report = ApplyReport { changes: set.changes.len(), touched: set.touched };
        let layers = self.open_layers()?;
        let mut performer = Performer::new(&layers);
        let state = |path: &str| {
            let path = self.path().join(path);
            move |source: io::Error| ApplyError::State { path, source }
        };
        let operations = performer.plan(&set.operations).map_err(apply_error)?;
        if durability == Durability::OnDisk {
            performer.sync(&operations).map_err(state(""))?;
        }
        let mut journal = Journal { direction: Direction::Apply, operations };
        // With its new name in place the decision is made.
        self.write(JOURNAL, journal.write().as_bytes(), durability).map_err(state(JOURNAL))?;
        let done = match performer.forward(&journal.operations) {
            Ok(done) => done,
            Err(failure) => {
                journal.direction = Direction::RollBack;
                self.write(JOURNAL, journal.write().as_bytes(), durability)
                    .map_err(state(JOURNAL))?;
                performer.back(&journal.operations).map_err(apply_error)?;
                self.delete(JOURNAL).map_err(state(JOURNAL))?;
                return Err(apply_error(failure));
            }
        };
        self.applied(done, durability).map_err(state(APPLIED))?;
        Ok(report)
    }

    /// Notes that everything was applied.
    fn applied(&self, operations: Vec<Operation>, durability: Durability) -> io::Result<()> {
        let record = Journal { direction: Direction::Undo, operations };
        self.write(APPLIED, record.write().as_bytes(), durability)?;
        self.delete(JOURNAL)?;
        self.delete(PENDING)
    }

    /// Undoes what was applied, unless others have changed it since.
    pub fn undo(&self) -> Result<(), UndoError> {
        self.undo_unless(&|_| false)
    }

    /// The same. `is_equivalent` tells of a path below a granted folder, with that before it, whether what others have
    /// written there means the same as what was applied; then it is replaced too.
    pub fn undo_unless(&self, is_equivalent: &dyn Fn(&Path) -> bool) -> Result<(), UndoError> {
        let state = |path: &str| {
            let path = self.path().join(path);
            move |source: io::Error| UndoError::State { path, source }
        };
        if self.status() != RunStatus::Applied {
            return Err(UndoError::NotApplied);
        }
        let mut journal =
            self.journal(APPLIED).map_err(state(APPLIED))?.ok_or(UndoError::NotApplied)?;
        let layers = self.open_layers().map_err(|error| UndoError::State {
            path: self.path(),
            source: io::Error::other(error),
        })?;
        let mut performer = Performer::new(&layers);
        let mut changed = performer.changed_since(&journal.operations);
        changed.retain(|conflict| {
            let operation = journal
                .operations
                .iter_mut()
                .find(|it| it.layer == conflict.layer && it.path == conflict.path);
            let top = self.layers.get(conflict.layer);
            let (Some(operation), Some(top)) = (operation, top) else { return true };
            let now = performer.file_now(operation);
            let is_same = now.is_some() && is_equivalent(&top.target.join(&conflict.path));
            if is_same && performer.file_now(operation) == now {
                operation.new = now;
                return false;
            }
            true
        });
        if !changed.is_empty() {
            return Err(UndoError::Changed(changed));
        }
        self.write(JOURNAL, journal.write().as_bytes(), Durability::OnDisk)
            .map_err(state(JOURNAL))?;
        let left = performer.back(&journal.operations).map_err(|failure| match failure {
            Failure::Conflict(conflict) => UndoError::Changed(vec![conflict]),
            Failure::Step { path, source } => UndoError::Step { path, source },
        })?;
        if let Some(path) = left.into_iter().next() {
            let source = io::Error::other("others changed it while it was undone");
            return Err(UndoError::Step { path, source });
        }
        self.undone().map_err(state(UNDONE))
    }

    fn undone(&self) -> io::Result<()> {
        for layer in self.layers.iter().filter(|layer| layer.is_created) {
            // Only an empty one goes.
            let _ = fs::remove_dir(&layer.target);
        }
        self.write(UNDONE, b"", Durability::OnDisk)?;
        self.delete(APPLIED)?;
        self.delete(JOURNAL)
    }

    /// Finishes what a killed process has begun: on, or back.
    fn resume(&self) -> io::Result<()> {
        let Some(mut journal) = self.journal(JOURNAL)? else { return Ok(()) };
        let layers = self.open_layers().map_err(io::Error::other)?;
        let mut performer = Performer::new(&layers);
        if journal.direction == Direction::Apply {
            match performer.forward(&journal.operations) {
                Ok(done) => return self.applied(done, Durability::OnDisk),
                Err(Failure::Conflict(_)) => {
                    journal.direction = Direction::RollBack;
                    self.write(JOURNAL, journal.write().as_bytes(), Durability::OnDisk)?;
                }
                Err(failure) => return Err(io_error(failure)),
            }
        }
        performer.back(&journal.operations).map_err(io_error)?;
        match journal.direction {
            Direction::Undo => self.undone(),
            Direction::Apply | Direction::RollBack => {
                if !self.has(PENDING) {
                    self.keep_pending()?;
                }
                self.delete(JOURNAL)
            }
        }
    }

    /// Removes the run's folder with everything in it, and granted folders that it has created and that are empty.
    /// Applied changes stay, and can't be undone any more.
    pub fn remove(self) -> io::Result<()> {
        if self.has(JOURNAL) {
            return Err(io::Error::other("its changes are only partly applied"));
        }
        for layer in &self.layers {
            if layer.is_created {
                // Only an empty one goes.
                let _ = fs::remove_dir(&layer.target);
            }
            remove_folder(&layer.folder);
        }
        let home = entry::open_absolute(&self.home)?;
        remove::remove_tree(home.as_fd(), OsStr::new(&self.id))
    }

    /// When the run's folder was created.
    pub fn created(&self) -> SystemTime {
        let data = fs::metadata(self.path());
        data.and_then(|data| data.created().or_else(|_| data.modified()))
            .unwrap_or(SystemTime::UNIX_EPOCH)
    }

    fn has(&self, name: &str) -> bool {
        rustix::fs::statat(&self.folder, name, AtFlags::SYMLINK_NOFOLLOW).is_ok()
    }

    fn bytes(&self, name: &str, most: u64) -> io::Result<Option<Vec<u8>>> {
        match entry::open_beneath(self.folder.as_fd(), Path::new(name), OFlags::RDONLY) {
            Ok(file) => {
                must_be_own(&file)?;
                atomic::read_open(file.into(), most).map(Some)
            }
            Err(Errno::NOENT) => Ok(None),
            Err(errno) => Err(errno.into()),
        }
    }

    fn text(&self, name: &str, most: u64) -> io::Result<Option<String>> {
        let Some(bytes) = self.bytes(name, most)? else { return Ok(None) };
        let text = String::from_utf8(bytes);
        text.map(Some).map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is damaged"))
    }

    fn journal(&self, name: &str) -> io::Result<Option<Journal>> {
        let Some(text) = self.text(name, journal::MAX_BYTES)? else { return Ok(None) };
        let damaged = || io::Error::new(io::ErrorKind::InvalidData, "the journal is damaged");
        let journal = Journal::read(&text).ok_or_else(damaged)?;
        let is_known = journal.operations.iter().all(|it| it.layer < self.layers.len());
        if is_known { Ok(Some(journal)) } else { Err(damaged()) }
    }

    /// Writes a file of the run's folder, so that it is there whole or not at all.
    fn write(&self, name: &str, bytes: &[u8], durability: Durability) -> io::Result<()> {
        let path = self.path().join(name);
        let temporary = path.with_extension("new");
        step("write");
        let mut file = fs::OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&temporary)?;
        file.write_all(bytes)?;
        if durability == Durability::OnDisk {
            file.sync_all()?;
        }
        step("rename state");
        fs::rename(&temporary, &path)?;
        if durability == Durability::OnDisk {
            rustix::fs::fsync(&self.folder)?;
        }
        Ok(())
    }

    fn delete(&self, name: &str) -> io::Result<()> {
        step("unlink state");
        match rustix::fs::unlinkat(&self.folder, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(errno) => Err(errno.into()),
        }
    }
}

/// Reads a file of a layer, also in folders that a program has closed.
fn read_content(top: BorrowedFd<'_>, path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let name = path.file_name().ok_or(Errno::INVAL)?;
    let mut open: Vec<OpenFolder> = Vec::new();
    for part in path.parent().unwrap_or(Path::new("")) {
        let above = open.last().map_or(top, OpenFolder::fd);
        let inner = OpenFolder::open(above, part)?;
        open.push(inner);
    }
    let folder = open.last().map_or(top, OpenFolder::fd);
    atomic::read_open(entry::open_own_file(folder, name)?, most)
}

fn apply_error(failure: Failure) -> ApplyError {
    match failure {
        Failure::Conflict(conflict) => ApplyError::Conflicts(vec![conflict]),
        Failure::Step { path, source } => ApplyError::Step { path, source },
    }
}

fn io_error(failure: Failure) -> io::Error {
    match failure {
        Failure::Conflict(conflict) => io::Error::other(conflict.reason.as_str()),
        Failure::Step { path, source } => {
            io::Error::new(source.kind(), format!("{}: {source}", path.display()))
        }
    }
}

/// Whether a text can be the name of a run's folder.
fn is_id(id: &str) -> bool {
    (1..=64).contains(&id.len())
        && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

/// Removes the folder of a layer. What can't be removed is tried again when the run expires.
fn remove_folder(path: &Path) {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { return };
    if let Ok(parent) = entry::open_absolute(parent) {
        let _ = remove::remove_tree(parent.as_fd(), name);
    }
}

/// Refuses what belongs to another user or that others can change.
fn must_be_own(file: &OwnedFd) -> io::Result<()> {
    let stat = rustix::fs::fstat(file)?;
    let is_own = stat.st_uid == rustix::process::geteuid().as_raw() && stat.st_mode & 0o022 == 0;
    let refuse = || {
        let reason = "it belongs to another user, or others can write it";
        io::Error::new(io::ErrorKind::PermissionDenied, reason)
    };
    if is_own { Ok(()) } else { Err(refuse()) }
}

/// Whether changes to a folder could be staged, as far as that is known without trying: the mounts below it, its owner, and
/// where staged files would be. `home` is the folder of all runs, which need not exist.
pub fn check_folder(home: &Path, target: &Path) -> Result<(), StageError> {
    let failed = |source: io::Error| StageError::Io { path: target.to_owned(), source };
    let folder = entry::open_absolute(target).map_err(|it| failed(it.into()))?;
    if let Some(mount) = mounts_below(target).map_err(failed)?.into_iter().next() {
        return Err(StageError::Mounts { target: target.to_owned(), mount });
    }
    if let Some(path) = foreign_entry(target, &folder).map_err(failed)? {
        return Err(StageError::Foreign(path));
    }
    let place = home.ancestors().find_map(|above| above.canonicalize().ok());
    let place = place.ok_or_else(|| failed(io::ErrorKind::NotFound.into()))?;
    let near = entry::open_absolute(&place).map_err(|it| failed(it.into()))?;
    let mount = mount_of(&folder).map_err(failed)?;
    let is_around = if mount_of(&near).map_err(failed)? == mount {
        home.starts_with(target) || place.starts_with(target)
    } else {
        top_of_mount(target, mount).map_err(failed)? == target
    };
    if is_around { Err(StageError::Around(target.to_owned())) } else { Ok(()) }
}

/// The mount and filesystem of something: within both, things can be renamed.
fn mount_of(file: &OwnedFd) -> io::Result<(u64, u64)> {
    let wanted = StatxFlags::BASIC_STATS | StatxFlags::MNT_ID;
    let stat = rustix::fs::statx(file, "", AtFlags::EMPTY_PATH, wanted)?;
    let device = rustix::fs::fstat(file)?.st_dev;
    if stat.stx_mask & StatxFlags::MNT_ID.bits() == 0 {
        return Err(io::Error::from(io::ErrorKind::Unsupported));
    }
    Ok((stat.stx_mnt_id, device))
}

/// The folder itself or an entry of it that belongs to another user or group, unless this process is root's. Deeper ones are
/// not looked for: a program that changes them is told so by the kernel.
fn foreign_entry(target: &Path, folder: &OwnedFd) -> io::Result<Option<PathBuf>> {
    /// Maximum number of entries that are looked at.
    const MAX_ENTRIES: u64 = 4096;
    let user = rustix::process::geteuid();
    if user.is_root() {
        return Ok(None);
    }
    let own = (user.as_raw(), rustix::process::getegid().as_raw());
    let stat = rustix::fs::fstat(folder)?;
    if (stat.st_uid, stat.st_gid) != own {
        return Ok(Some(target.to_owned()));
    }
    let Some(names) = entry::names(folder.as_fd(), MAX_ENTRIES)? else { return Ok(None) };
    for name in names {
        let stat = entry::stat_at(folder.as_fd(), &name)?;
        if stat.is_some_and(|stat| (stat.st_uid, stat.st_gid) != own) {
            return Ok(Some(target.join(name)));
        }
    }
    Ok(None)
}

/// The topmost folder of the mount of a path.
fn top_of_mount(path: &Path, mount: (u64, u64)) -> io::Result<PathBuf> {
    let mut top = path;
    for above in path.ancestors().skip(1) {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let folder = rustix::fs::openat(CWD, above, flags, Mode::empty())?;
        if mount_of(&folder)? != mount {
            break;
        }
        top = above;
    }
    Ok(top.to_owned())
}

/// The mount points below a folder, from the kernel's list.
fn mounts_below(target: &Path) -> io::Result<Vec<PathBuf>> {
    let list = fs::read("/proc/self/mountinfo")?;
    let points = list.split(|byte| *byte == b'\n').filter_map(|line| {
        let point = line.split(|byte| *byte == b' ').nth(4)?;
        Some(PathBuf::from(OsString::from_vec(unescape_octal(point))))
    });
    Ok(points.filter(|point| point != target && point.starts_with(target)).collect())
}

/// Blanks and line breaks are `\040` and the like there.
fn unescape_octal(text: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((byte, after)) = rest.split_first() {
        rest = after;
        let digits = rest.get(..3).and_then(|digits| std::str::from_utf8(digits).ok());
        match digits.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(value) if *byte == b'\\' => {
                bytes.push(value);
                rest = &rest[3..];
            }
            _ => bytes.push(*byte),
        }
    }
    bytes
}

/// Creates a file whose change time is later than `created`: the filesystem's clock is coarse, and what changed in the tick
/// in which this process started is not of the run.
fn mark(path: &Path, created: Time) -> io::Result<Time> {
    /// Maximum number of waits, a millisecond each; a tick has at most ten.
    const MAX_WAITS: usize = 100;
    let mut options = fs::OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600);
    let file = options.open(path)?;
    for _ in 0..MAX_WAITS {
        rustix::fs::fchmod(&file, Mode::from_raw_mode(0o600))?;
        let changed = entry::state_of(&file)?.changed;
        if changed > created {
            return Ok(changed);
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    Err(io::Error::other("the clock of the filesystem stands still"))
}

fn write_layers(layers: &[Layer]) -> String {
    let mut text = format!("{LAYERS_HEADER}\n");
    for layer in layers {
        // Writing to a string can't fail.
        let _ = writeln!(
            text,
            "{} {} {} {} {} {} {}",
            journal::escape(&layer.target),
            layer.identity.0,
            layer.identity.1,
            if layer.is_created { "created" } else { "existing" },
            journal::escape(&layer.folder),
            layer.since.0,
            layer.since.1
        );
    }
    text + "end\n"
}

fn read_layers(text: &str) -> Option<Vec<Layer>> {
    let mut lines = text.lines();
    if lines.next()? != LAYERS_HEADER {
        return None;
    }
    let mut layers = Vec::new();
    loop {
        let line = lines.next()?;
        if line == "end" {
            return lines.next().is_none().then_some(layers);
        }
        let fields: Vec<&str> = line.split(' ').collect();
        let [target, device, inode, created, folder, seconds, nanoseconds] = fields[..] else {
            return None;
        };
        layers.push(Layer {
            target: journal::unescape(target)?,
            identity: (device.parse().ok()?, inode.parse().ok()?),
            is_created: created == "created",
            folder: journal::unescape(folder)?,
            since: (seconds.parse().ok()?, nanoseconds.parse().ok()?),
        });
    }
}

/// The ids of all runs, oldest first.
pub fn list(home: &Path) -> io::Result<Vec<String>> {
    /// Maximum number of runs that are listed.
    const MAX_RUNS: u64 = 100_000;
    let home = match home.canonicalize() {
        Ok(home) => home,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let folder = entry::open_absolute(&home)?;
    let names = entry::names(folder.as_fd(), MAX_RUNS)?
        .ok_or_else(|| io::Error::other(format!("there are more than {MAX_RUNS} runs")))?;
    let mut found: Vec<(Time, String)> = Vec::new();
    for name in names {
        let Ok(name) = name.into_string() else { continue };
        let state: Option<State> = entry::state_at(folder.as_fd(), OsStr::new(&name))?;
        if let Some(state) = state.filter(|state| is_id(&name) && state.is_folder()) {
            found.push((state.modified, name));
        }
    }
    found.sort();
    Ok(found.into_iter().map(|(_, name)| name).collect())
}

/// Finishes what killed processes have begun; returns the runs for which that failed, with the error.
pub fn recover(home: &Path) -> Vec<(String, io::Error)> {
    let ids = list(home).unwrap_or_default();
    let begun = ids.into_iter().filter(|id| home.join(id).join(JOURNAL).exists());
    begun
        .filter_map(|id| match RunFolder::open(home, &id) {
            // Another process does it.
            Err(error) if error.kind() == io::ErrorKind::ResourceBusy => None,
            Err(error) => Some((id, error)),
            Ok(_) => None,
        })
        .collect()
}

/// How long runs are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retention {
    /// The age after which applied and undone runs are removed.
    pub applied: Duration,
    /// The age after which pending runs are removed.
    pub pending: Duration,
    /// Maximum number of runs; the oldest are removed first.
    pub most: usize,
}

/// The age after which an unlocked folder was left by a killed process.
const ABANDONED: Duration = Duration::from_mins(1);

/// Removes runs that are too old, or too many, and those of killed processes. Returns how many.
pub fn expire(home: &Path, retention: Retention, now: SystemTime) -> io::Result<usize> {
    let ids = list(home)?;
    let surplus = ids.len().saturating_sub(retention.most);
    let mut removed = 0;
    for (index, id) in ids.iter().enumerate() {
        // Opening one finishes or fails; then it stays.
        let Ok(Some(run)) = RunFolder::open(home, id) else { continue };
        let age = now.duration_since(run.created()).unwrap_or_default();
        let is_old = match run.status() {
            // Its process was killed, or has just made the folder and not locked it yet.
            RunStatus::Unfinished => age >= ABANDONED,
            RunStatus::Pending => index < surplus || age >= retention.pending,
            RunStatus::Applied | RunStatus::Undone => index < surplus || age >= retention.applied,
        };
        if is_old && run.remove().is_ok() {
            removed += 1;
        }
    }
    Ok(removed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layers_are_read_as_they_were_written() {
        let layer = Layer {
            target: PathBuf::from(OsString::from_vec(b"/a b\n\xff".to_vec())),
            identity: (1, 2),
            is_created: true,
            folder: PathBuf::from("/x/layer-0"),
            since: (3, 4),
        };
        let text = write_layers(std::slice::from_ref(&layer));
        assert_eq!(read_layers(&text), Some(vec![layer]));
        for cut in 0..text.len() - 1 {
            assert_eq!(read_layers(&text[..cut]), None, "{cut}");
        }
    }

    #[test]
    fn mount_points_are_read_with_their_escapes() {
        assert_eq!(unescape_octal(b"/a\\040b\\134"), b"/a b\\");
        assert_eq!(unescape_octal(b"/a\\x"), b"/a\\x");
    }
}
