//! A store on disk: where installed skills are kept, who may change it, and crash recovery.

use std::fmt;
use std::io::{self, Read as _};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use prowess_files::advice;
use prowess_files::atomic::folder_of;
use prowess_files::folder::{EntryKind, Folder, flock, try_flock};
use prowess_package::content::MANIFEST;
use prowess_package::digest::FileHashes;
use prowess_package::limits::PackageLimits;
use prowess_package::name::SkillName;
use prowess_package::tree::{TreeError, hash_folder};

use crate::agreement::Agreements;
use crate::commit;
use crate::journal;
use crate::lock::{LockError, LockFile};
use crate::project_root::ProjectRoot;

/// The lock file of a store (GAIA §7.3).
pub const LOCK_FILE: &str = "skill-lock.json";
/// The subfolder with one folder per installed skill.
const SKILLS: &str = "skills";
/// The subfolder with the staging folders.
const STAGING: &str = "staging";
/// The file for the writer lock. It stays empty.
const WRITERS: &str = "store.lock";
/// In the store of a project: the paths that version control ignores.
const IGNORED_FILE: &str = ".gitignore";
/// The lock file records which bytes belong in `skills`, so these can be restored. Everything else is local to this
/// machine: staging folders, the writer lock, and where skills were placed for its agents.
const IGNORED: &str = "\
# Written by prowess. Commit skill-lock.json and this file; `prowess install`
# restores the skills from the lock file. Remove the line `/skills/` to commit
# the skills as well: this file is not written again.
/skills/
/staging/
/store.lock
/placements.json
/placements.json.new
/skill-lock.json.conflict
";
/// The journal of a change, in its staging folder.
pub(crate) const JOURNAL: &str = "journal";
/// The maximum size of a journal in bytes; no change writes a longer one.
const MOST_JOURNAL_BYTES: u64 = 4 << 20;

/// A folder with installed skills.
///
/// Reading a store creates nothing, not even the folder itself, and works on read-only file systems.
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    shared: Option<ProjectStore>,
    /// A function that is called at each phase of a change.
    on_phase: Option<fn(&Path, ChangePhase)>,
    /// The open folders, which the first change creates.
    folders: OnceLock<Folders>,
}

/// A phase of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangePhase {
    /// Another process is changing the store, and this one is waiting for it.
    Waiting,
    /// Files are being changed, and the change should not be interrupted. Before this phase, nothing has changed.
    Started,
    /// The change is complete, or was rolled back.
    Finished,
    /// Something outside the store is being changed, such as the folders of agents.
    Placing,
}

/// The properties of a project's store, whose lock file is shared and may come from someone else.
#[derive(Debug)]
pub struct ProjectStore {
    /// The folder that the paths in the lock file are relative to.
    pub ground: ProjectRoot,
    /// What this user has agreed to.
    pub agreements: Agreements,
}

/// An entry in the place of a skill that the lock file does not list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Occupant {
    /// Its path.
    pub path: PathBuf,
    /// Its kind.
    pub kind: EntryKind,
    /// The names of its entries, if it is a folder.
    pub names: Vec<String>,
}

impl fmt::Display for Occupant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        /// The maximum number of names that are listed; the others are counted.
        const MOST_NAMES: usize = 5;
        let path = self.path.display();
        match self.kind {
            EntryKind::Folder if self.names.is_empty() => write!(f, "`{path}`, an empty folder"),
            EntryKind::Folder => {
                let shown: Vec<String> =
                    self.names.iter().take(MOST_NAMES).map(|name| format!("`{name}`")).collect();
                write!(f, "`{path}`, which contains {}", shown.join(", "))?;
                match self.names.len().saturating_sub(MOST_NAMES) {
                    0 => Ok(()),
                    more => write!(f, " and {more} more"),
                }
            }
            EntryKind::File => write!(f, "the file `{path}`"),
            EntryKind::Link => write!(f, "the symbolic link `{path}`"),
            EntryKind::Other => write!(f, "`{path}`, which is a pipe, device or socket"),
        }
    }
}

/// The open folders of a store that changes need.
#[derive(Debug)]
pub(crate) struct Folders {
    pub(crate) root: Folder,
    pub(crate) skills: Folder,
    pub(crate) staging: Folder,
}

/// A store with the writer lock held, so that no other process can change it.
#[derive(Debug)]
pub struct StoreGuard<'a> {
    pub(crate) store: &'a Store,
    pub(crate) folders: &'a Folders,
    /// Released when it is closed, including by the end of the process.
    _writers: OwnedFd,
    finished: usize,
}

/// The advice for an error. Write permission doesn't help if the file can't be read.
fn advice_on(doing: &str, source: &io::Error) -> &'static str {
    if doing == "read" && source.kind() == io::ErrorKind::PermissionDenied {
        return "; make it readable for you and try again";
    }
    advice(source)
}

/// Why a store can't be used. Nothing has changed.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// An operation of the operating system failed.
    #[error("cannot {doing} `{}`: {source}{}", .path.display(), advice_on(.doing, .source))]
    Access {
        /// The operation.
        doing: &'static str,
        /// The path.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The store of a project is a symbolic link.
    #[error(
        "the project's store `{}` is a symbolic link to `{}`, which is not followed; replace the link with a folder",
        .path.display(),
        .target.display()
    )]
    Link {
        /// The store.
        path: PathBuf,
        /// The target of the link.
        target: PathBuf,
    },
    /// A change was interrupted, and its journal can't be read.
    #[error(
        "an interrupted change left `{}`, which this version can't complete; complete it with the version that started it, or \
         remove that folder",
        .0.display()
    )]
    UnknownJournal(PathBuf),
    /// A change was interrupted and can't be completed.
    #[error("an interrupted change of `{}` can't be completed: {source}{}", .path.display(), advice(.source))]
    Unfinished {
        /// The store.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
}

impl Store {
    /// Opens a user's own store. If it doesn't exist, the first change creates it.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        Self { path: path.to_owned(), shared: None, on_phase: None, folders: OnceLock::new() }
            .opened()
    }

    /// Opens the store of a project. Unlike a user's own store, it may come from someone else. A symbolic link is
    /// refused, because every change would be made to its target.
    pub fn open_project(path: &Path, shared: ProjectStore) -> Result<Self, StoreError> {
        let shared = Some(shared);
        Self { path: path.to_owned(), shared, on_phase: None, folders: OnceLock::new() }.opened()
    }

    fn opened(self) -> Result<Self, StoreError> {
        if_there(self.root()).map_err(|source| self.root_error("open the store", source))?;
        // With a symbolic link here, every change would be made to its target.
        for name in [SKILLS, STAGING] {
            self.look_into(name).map_err(|source| self.access("open", name, source))?;
        }
        Ok(self)
    }

    /// Opens the root folder. A project's root folder is opened without following a symbolic link.
    fn root(&self) -> io::Result<Folder> {
        match self.shared_name() {
            Some((parent, name)) => Folder::open(parent)?.folder(name),
            None => Folder::open(&self.path),
        }
    }

    /// The parent folder of a project's store, and the store's name in it.
    fn shared_name(&self) -> Option<(&Path, &str)> {
        self.shared.as_ref()?;
        let name = self.path.file_name()?.to_str()?;
        Some((folder_of(&self.path), name))
    }

    /// The error for a root folder that can't be opened or created.
    fn root_error(&self, doing: &'static str, source: io::Error) -> StoreError {
        match std::fs::read_link(&self.path) {
            Ok(target) if self.shared.is_some() => {
                StoreError::Link { path: self.path.clone(), target }
            }
            _ => self.access(doing, "", source),
        }
    }

    /// Sets a function that is called with the store's path at each phase of a change.
    #[must_use]
    pub fn on_phase(mut self, tell: fn(&Path, ChangePhase)) -> Self {
        self.on_phase = Some(tell);
        self
    }

    pub(crate) fn report_phase(&self, moment: ChangePhase) {
        if let Some(tell) = self.on_phase {
            tell(&self.path, moment);
        }
    }

    /// The properties of a project's store; `None` for a user's own.
    pub(crate) fn project(&self) -> Option<&ProjectStore> {
        self.shared.as_ref()
    }

    /// Whether this is a project's store.
    pub fn is_shared(&self) -> bool {
        self.shared.is_some()
    }

    /// Parses the text of its lock file.
    pub(crate) fn parse_lock(&self, text: &str) -> Result<LockFile, LockError> {
        let lock = LockFile::parse(text)?;
        match &self.shared {
            Some(shared) => shared.ground.resolve(lock),
            None => Ok(lock),
        }
    }

    /// The text of a lock file as it is written in this store.
    pub fn lock_text(&self, lock: &LockFile) -> String {
        match &self.shared {
            Some(shared) => shared.ground.written_lock(lock).to_text(),
            None => lock.to_text(),
        }
    }

    /// Opens the folders that a change needs, creating missing ones.
    pub(crate) fn folders(&self) -> Result<&Folders, StoreError> {
        if let Some(folders) = self.folders.get() {
            return Ok(folders);
        }
        let root =
            self.root_or_make().map_err(|source| self.root_error("create the store", source))?;
        let below =
            |name| root.folder_or_make(name).map_err(|source| self.access("open", name, source));
        let (skills, staging) = (below(SKILLS)?, below(STAGING)?);
        if self.is_shared() {
            write_ignored(&root).map_err(|source| self.access("write", IGNORED_FILE, source))?;
        }
        Ok(self.folders.get_or_init(|| Folders { root, skills, staging }))
    }

    fn root_or_make(&self) -> io::Result<Folder> {
        let Some((parent, name)) = self.shared_name() else {
            std::fs::create_dir_all(&self.path)?;
            return Folder::open(&self.path);
        };
        std::fs::create_dir_all(parent)?;
        Folder::open(parent)?.folder_or_make(name)
    }

    /// Opens a folder of the store for reading; `None` if no change has created it yet.
    fn look_into(&self, name: &str) -> io::Result<Option<Folder>> {
        if_there(self.root().and_then(|root| root.folder(name)))
    }

    /// Opens the folder of a skill for reading.
    fn skill(&self, name: &SkillName) -> io::Result<Folder> {
        let skills = self.look_into(SKILLS)?.ok_or(io::ErrorKind::NotFound)?;
        skills.folder(name.as_str())
    }

    /// The path of the store.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The folder of a skill when it is installed.
    pub fn skill_path(&self, name: &SkillName) -> PathBuf {
        self.path.join(SKILLS).join(name.as_str())
    }

    /// The names of the installed skills, sorted. Entries other than folders with a `SKILL.md` are ignored.
    pub fn installed(&self) -> Result<Vec<SkillName>, StoreError> {
        let access = |source| self.access("list", SKILLS, source);
        let mut names = Vec::new();
        let Some(skills) = self.look_into(SKILLS).map_err(access)? else { return Ok(names) };
        for entry in skills.entries().map_err(access)? {
            let name = std::str::from_utf8(&entry.name).ok().and_then(|name| name.parse().ok());
            let (Some(name), EntryKind::Folder) = (name, entry.kind) else { continue };
            // Another process may have removed it since it was listed.
            let folder = if_there(skills.folder_bytes(&entry.name)).map_err(access)?;
            let Some(folder) = folder else { continue };
            if folder.kind(MANIFEST.as_bytes()).map_err(access)? == Some(EntryKind::File) {
                names.push(name);
            }
        }
        Ok(names)
    }

    /// The entry in the place of a skill, of whatever kind: a file, a link, or a folder with the names in it. `None`
    /// if there is none.
    pub fn occupant(&self, name: &SkillName) -> Result<Option<Occupant>, StoreError> {
        let access = |source| self.access("list", SKILLS, source);
        let Some(skills) = self.look_into(SKILLS).map_err(access)? else { return Ok(None) };
        let Some(kind) = skills.kind(name.as_str().as_bytes()).map_err(access)? else {
            return Ok(None);
        };
        let mut names = Vec::new();
        if kind == EntryKind::Folder {
            let folder = skills.folder(name.as_str()).map_err(access)?;
            let entries = folder.entries().map_err(access)?;
            names = entries
                .iter()
                .map(|entry| String::from_utf8_lossy(&entry.name).into_owned())
                .collect();
            names.sort();
        }
        Ok(Some(Occupant { path: self.skill_path(name), kind, names }))
    }

    /// Whether the store has a folder of that name.
    pub fn is_installed(&self, name: &SkillName) -> Result<bool, StoreError> {
        let access = |source| self.access("list", SKILLS, source);
        let Some(skills) = self.look_into(SKILLS).map_err(access)? else { return Ok(false) };
        let kind = skills.kind(name.as_str().as_bytes()).map_err(access)?;
        Ok(kind == Some(EntryKind::Folder))
    }

    /// The `SKILL.md` of an installed skill.
    pub fn manifest(&self, name: &SkillName) -> Result<Vec<u8>, StoreError> {
        let access = |source| StoreError::Access {
            doing: "read",
            path: self.skill_path(name).join(MANIFEST),
            source,
        };
        let folder = self.skill(name).map_err(access)?;
        let file = folder.file(MANIFEST.as_bytes()).map_err(access)?;
        let mut bytes = Vec::new();
        file.take(PackageLimits::PACKAGE.file_bytes).read_to_end(&mut bytes).map_err(access)?;
        Ok(bytes)
    }

    /// The names and contents of the files at the root of an installed skill, each of which may be a signature.
    pub fn files_at_root(&self, name: &SkillName) -> Result<Vec<(String, Vec<u8>)>, StoreError> {
        let access =
            |source| StoreError::Access { doing: "read", path: self.skill_path(name), source };
        let folder = self.skill(name).map_err(access)?;
        let mut files = Vec::new();
        for entry in folder.entries().map_err(access)? {
            let Ok(path) = String::from_utf8(entry.name) else { continue };
            if entry.kind != EntryKind::File {
                continue;
            }
            let file = folder.file(path.as_bytes()).map_err(access)?;
            let mut bytes = Vec::new();
            file.take(PackageLimits::PACKAGE.file_bytes).read_to_end(&mut bytes).map_err(access)?;
            files.push((path, bytes));
        }
        Ok(files)
    }

    /// The hash of every file of an installed skill; `None` if it is not installed.
    pub fn hash(&self, name: &SkillName) -> Result<Option<FileHashes>, TreeError> {
        let opened = if_there(self.skill(name));
        let folder = opened.map_err(|source| TreeError::Read { path: name.to_string(), source })?;
        folder.map(|folder| hash_folder(&folder, &PackageLimits::PACKAGE)).transpose()
    }

    /// The bytes of the lock file, if there is one. It is replaced atomically, so they are either the old or the new
    /// version.
    pub fn lock_file(&self, most_bytes: u64) -> Result<Option<Vec<u8>>, StoreError> {
        let root =
            if_there(self.root()).map_err(|source| self.root_error("open the store", source))?;
        root.map_or(Ok(None), |root| self.lock_file_in(&root, most_bytes))
    }

    fn lock_file_in(&self, root: &Folder, most: u64) -> Result<Option<Vec<u8>>, StoreError> {
        let access = |source| self.access("read", LOCK_FILE, source);
        let Some(file) = if_there(root.file(LOCK_FILE.as_bytes())).map_err(access)? else {
            return Ok(None);
        };
        let mut bytes = Vec::new();
        file.take(most).read_to_end(&mut bytes).map_err(access)?;
        Ok(Some(bytes))
    }

    /// Waits for a change in progress and recovers interrupted ones, so that subsequent reads see a consistent store.
    /// Writes nothing if there are none; a read-only store is left as it is.
    pub fn wait_for_changes(&self) -> Result<(), StoreError> {
        if !self.is_changing()? {
            return Ok(());
        }
        match self.lock() {
            Ok(_) => Ok(()),
            Err(StoreError::Access { source, .. } | StoreError::Unfinished { source, .. })
                if is_read_only(&source) =>
            {
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    /// Whether a change is in progress or was interrupted, i.e. a journal exists.
    pub(crate) fn is_changing(&self) -> Result<bool, StoreError> {
        let access = |source| self.access("look into", STAGING, source);
        let Some(staging) = self.look_into(STAGING).map_err(access)? else { return Ok(false) };
        for entry in staging.entries().map_err(access)? {
            if entry.kind != EntryKind::Folder {
                continue;
            }
            let stage = if_there(staging.folder_bytes(&entry.name)).map_err(access)?;
            let Some(stage) = stage else { continue };
            if stage.kind(JOURNAL.as_bytes()).map_err(access)?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Takes the writer lock, waiting for other processes, and recovers interrupted changes: they are completed or
    /// rolled back.
    pub fn lock(&self) -> Result<StoreGuard<'_>, StoreError> {
        let writers = self.writers()?;
        let access = |source| self.access("lock", WRITERS, source);
        if !try_flock(&writers).map_err(access)? {
            self.report_phase(ChangePhase::Waiting);
            flock(&writers).map_err(access)?;
        }
        self.locked(writers)
    }

    /// Takes the writer lock without waiting; `None` if another process holds it.
    pub fn try_lock(&self) -> Result<Option<StoreGuard<'_>>, StoreError> {
        let writers = self.writers()?;
        if try_flock(&writers).map_err(|source| self.access("lock", WRITERS, source))? {
            self.locked(writers).map(Some)
        } else {
            Ok(None)
        }
    }

    fn writers(&self) -> Result<OwnedFd, StoreError> {
        let root = &self.folders()?.root;
        root.lock_file(WRITERS).map_err(|source| self.access("lock", WRITERS, source))
    }

    fn locked(&self, writers: OwnedFd) -> Result<StoreGuard<'_>, StoreError> {
        let folders = self.folders()?;
        let finished = self.recover(folders)?;
        Ok(StoreGuard { store: self, folders, _writers: writers, finished })
    }

    /// Recovers the changes of terminated processes: those with a journal are completed, the others are rolled back.
    ///
    /// A terminated process is recognized by the released lock on the staging folder, not by the folder's age: a slow
    /// download is still running.
    fn recover(&self, folders: &Folders) -> Result<usize, StoreError> {
        let mut finished = 0;
        let unfinished = |source| StoreError::Unfinished { path: self.path.clone(), source };
        for entry in folders.staging.entries().map_err(unfinished)? {
            if entry.kind == EntryKind::Folder {
                let stage = match folders.staging.folder_bytes(&entry.name) {
                    // Its owner has just removed it.
                    Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                    opened => opened.map_err(unfinished)?,
                };
                if !stage.try_lock().map_err(unfinished)? {
                    continue;
                }
                if let Some(text) = journal_of(&stage).map_err(unfinished)? {
                    let name = String::from_utf8_lossy(&entry.name).into_owned();
                    let place = self.path.join(STAGING).join(name);
                    let steps = journal::read(&text).ok_or(StoreError::UnknownJournal(place))?;
                    commit::redo(folders, &stage, &steps).map_err(unfinished)?;
                    stage.remove_file(JOURNAL).map_err(unfinished)?;
                    finished += 1;
                }
            }
            folders.staging.remove_tree(&entry.name).map_err(unfinished)?;
        }
        Ok(finished)
    }

    pub(crate) fn access(&self, doing: &'static str, name: &str, source: io::Error) -> StoreError {
        let path = if name.is_empty() { self.path.clone() } else { self.path.join(name) };
        StoreError::Access { doing, path, source }
    }
}

impl StoreGuard<'_> {
    /// The number of interrupted changes that were completed when the lock was taken.
    pub fn recovered_changes(&self) -> usize {
        self.finished
    }

    /// The bytes of the lock file, if there is one.
    pub fn lock_file(&self, most_bytes: u64) -> Result<Option<Vec<u8>>, StoreError> {
        self.store.lock_file_in(&self.folders.root, most_bytes)
    }
}

/// Writes the ignore file of a project's store. An existing file is left alone: users who commit the skills
/// themselves remove a line from it.
fn write_ignored(root: &Folder) -> io::Result<()> {
    if root.kind(IGNORED_FILE.as_bytes())?.is_some() {
        return Ok(());
    }
    match root.make_file(IGNORED_FILE, 0o644, &mut IGNORED.as_bytes()) {
        // Another process has written it first.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        written => written,
    }
}

/// Maps the error `NotFound` to `None`.
fn if_there<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Whether an error means that the store can be read but not changed.
fn is_read_only(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied)
}

fn journal_of(stage: &Folder) -> io::Result<Option<String>> {
    match stage.file(JOURNAL.as_bytes()) {
        Ok(file) => {
            let mut bytes = Vec::new();
            file.take(MOST_JOURNAL_BYTES).read_to_end(&mut bytes)?;
            Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(doing: &'static str, expected: &str) {
        let source = io::Error::from(io::ErrorKind::PermissionDenied);
        let error = StoreError::Access { doing, path: "/x".into(), source };
        assert_eq!(error.to_string(), expected);
    }

    #[test]
    fn the_advice_fits_what_was_tried() {
        check(
            "read",
            "cannot read `/x`: permission denied; make it readable for you and try again",
        );
        check("make", "cannot make `/x`: permission denied; make it writable and try again");
    }
}
