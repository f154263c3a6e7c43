//! A store on disk: where skills lie, who may change it, and what is done about changes that were cut short.

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
/// Below the store: one folder per skill.
const SKILLS: &str = "skills";
/// Below the store: what is being prepared.
const STAGING: &str = "staging";
/// The file that writers lock. It stays empty.
const WRITERS: &str = "store.lock";
/// In the store of a project: what version control leaves out.
const IGNORED_FILE: &str = ".gitignore";
/// The lock file says which bytes belong into `skills`, so that these can be restored. Everything else is about this
/// machine: what is being prepared, who is writing, where skills were placed for the agents here.
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
/// In the folder of a change.
pub(crate) const JOURNAL: &str = "journal";
/// Longer than the journal of any change.
const MOST_JOURNAL_BYTES: u64 = 4 << 20;

/// A folder with installed skills.
///
/// Looking into it makes nothing, not even the folder itself, and works where nothing may be written.
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    shared: Option<ProjectStore>,
    /// Told when a change gets to a moment that somebody may want to know of.
    on_phase: Option<fn(&Path, ChangePhase)>,
    /// What a change needs. It is made by the first one.
    folders: OnceLock<Folders>,
}

/// A phase of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangePhase {
    /// Another process is changing the store, and this one waits for it.
    Waiting,
    /// Files are being changed. Until now nothing has changed; from now on the change should not be interrupted.
    Started,
    /// The change is complete, or was undone.
    Finished,
    /// Something outside of the store changes, such as the folders of agents.
    Placing,
}

/// What is different about a store whose lock file is kept with a project, and may be somebody else's.
#[derive(Debug)]
pub struct ProjectStore {
    /// Where its paths begin.
    pub ground: ProjectRoot,
    /// What this user has agreed to.
    pub agreements: Agreements,
}

/// Something in the place of a skill that is not a skill the lock file knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Occupant {
    /// Where it is.
    pub path: PathBuf,
    /// What it is.
    pub kind: EntryKind,
    /// The names in it, if it is a folder.
    pub names: Vec<String>,
}

impl fmt::Display for Occupant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        /// More names than this are counted.
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
            EntryKind::Other => write!(f, "`{path}`, which is a pipe, a device or a socket"),
        }
    }
}

/// The open folders that a change works in.
#[derive(Debug)]
pub(crate) struct Folders {
    pub(crate) root: Folder,
    pub(crate) skills: Folder,
    pub(crate) staging: Folder,
}

/// A store that nobody else changes meanwhile.
#[derive(Debug)]
pub struct StoreGuard<'a> {
    pub(crate) store: &'a Store,
    pub(crate) folders: &'a Folders,
    /// Released when it is closed, also by the end of the process.
    _writers: OwnedFd,
    finished: usize,
}

/// What to do about an error: who may not read is not helped by leave to write.
fn advice_on(doing: &str, source: &io::Error) -> &'static str {
    if doing == "read" && source.kind() == io::ErrorKind::PermissionDenied {
        return "; make it readable for you and try again";
    }
    advice(source)
}

/// Why a store can't be used. Nothing has changed.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The system does not let us.
    #[error("cannot {doing} `{}`: {source}{}", .path.display(), advice_on(.doing, .source))]
    Access {
        /// What was tried.
        doing: &'static str,
        /// With what.
        path: PathBuf,
        /// What the system says.
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
        /// What it points to.
        target: PathBuf,
    },
    /// A change was cut short, and what it was can't be read.
    #[error(
        "an earlier change left `{}`, which this version can't finish; finish it with the version that began it, or \
         remove that folder",
        .0.display()
    )]
    UnknownJournal(PathBuf),
    /// A change was cut short and can't be finished.
    #[error("an earlier change of `{}` can't be finished: {source}{}", .path.display(), advice(.source))]
    Unfinished {
        /// The store.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

impl Store {
    /// Opens a user's own store. Where there is none, the first change creates it.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        Self { path: path.to_owned(), shared: None, on_phase: None, folders: OnceLock::new() }
            .opened()
    }

    /// Opens the store of a project. Unlike a user's own folder it may come from somebody else, so it is refused when it
    /// is a symbolic link: every change would be made wherever that leads.
    pub fn open_project(path: &Path, shared: ProjectStore) -> Result<Self, StoreError> {
        let shared = Some(shared);
        Self { path: path.to_owned(), shared, on_phase: None, folders: OnceLock::new() }.opened()
    }

    fn opened(self) -> Result<Self, StoreError> {
        if_there(self.root()).map_err(|source| self.root_error("open the store", source))?;
        // A link there would lead every change elsewhere.
        for name in [SKILLS, STAGING] {
            self.look_into(name).map_err(|source| self.access("open", name, source))?;
        }
        Ok(self)
    }

    /// Opens the root folder. That of a project is opened without following a link.
    fn root(&self) -> io::Result<Folder> {
        match self.shared_name() {
            Some((parent, name)) => Folder::open(parent)?.folder(name),
            None => Folder::open(&self.path),
        }
    }

    /// The folder around a project's store, and the store's name in it.
    fn shared_name(&self) -> Option<(&Path, &str)> {
        self.shared.as_ref()?;
        let name = self.path.file_name()?.to_str()?;
        Some((folder_of(&self.path), name))
    }

    /// Why the root folder can't be used.
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

    pub(crate) fn tell(&self, moment: ChangePhase) {
        if let Some(tell) = self.on_phase {
            tell(&self.path, moment);
        }
    }

    /// What is different about it when it is a project's.
    pub(crate) fn project(&self) -> Option<&ProjectStore> {
        self.shared.as_ref()
    }

    /// Whether it is a project's.
    pub fn is_shared(&self) -> bool {
        self.shared.is_some()
    }

    /// Reads the text of its lock file.
    pub(crate) fn parse_lock(&self, text: &str) -> Result<LockFile, LockError> {
        let lock = LockFile::parse(text)?;
        match &self.shared {
            Some(shared) => shared.ground.resolve(lock),
            None => Ok(lock),
        }
    }

    /// The text of a lock as it is written here.
    pub fn lock_text(&self, lock: &LockFile) -> String {
        match &self.shared {
            Some(shared) => shared.ground.written_lock(lock).to_text(),
            None => lock.to_text(),
        }
    }

    /// The folders that a change works in, made where they are missing.
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

    /// A folder of the store for reading; nothing where no change has ever made it.
    fn look_into(&self, name: &str) -> io::Result<Option<Folder>> {
        if_there(self.root().and_then(|root| root.folder(name)))
    }

    /// The folder of a skill for reading.
    fn skill(&self, name: &SkillName) -> io::Result<Folder> {
        let skills = self.look_into(SKILLS)?.ok_or(io::ErrorKind::NotFound)?;
        skills.folder(name.as_str())
    }

    /// Where the store lies.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where a skill lies when it is installed.
    pub fn skill_path(&self, name: &SkillName) -> PathBuf {
        self.path.join(SKILLS).join(name.as_str())
    }

    /// The installed skills by name. What is no folder with a `SKILL.md` is none.
    pub fn installed(&self) -> Result<Vec<SkillName>, StoreError> {
        let access = |source| self.access("list", SKILLS, source);
        let mut names = Vec::new();
        let Some(skills) = self.look_into(SKILLS).map_err(access)? else { return Ok(names) };
        for entry in skills.entries().map_err(access)? {
            let name = std::str::from_utf8(&entry.name).ok().and_then(|name| name.parse().ok());
            let (Some(name), EntryKind::Folder) = (name, entry.kind) else { continue };
            // Somebody else may have taken it away since it was listed.
            let folder = if_there(skills.folder_bytes(&entry.name)).map_err(access)?;
            let Some(folder) = folder else { continue };
            if folder.kind(MANIFEST.as_bytes()).map_err(access)? == Some(EntryKind::File) {
                names.push(name);
            }
        }
        Ok(names)
    }

    /// What is in the place of a skill, by name, whatever it is: a file, a link, the names in a folder. Nothing where the
    /// place is free.
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

    /// Whether there is a folder of that name.
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

    /// The files at the root of an installed skill, any of which may be a signature, with what is in them.
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

    /// The hash of every file of an installed skill; nothing when it is not there.
    pub fn hash(&self, name: &SkillName) -> Result<Option<FileHashes>, TreeError> {
        let opened = if_there(self.skill(name));
        let folder = opened.map_err(|source| TreeError::Read { path: name.to_string(), source })?;
        folder.map(|folder| hash_folder(&folder, &PackageLimits::PACKAGE)).transpose()
    }

    /// What the lock file says, if there is one. It is replaced in one step, so it is old or new and always whole.
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

    /// Waits for a change that is happening, and finishes those of processes that are gone: what is read after it was
    /// whole at some moment. Without such changes it writes nothing, and a store that can only be read stays as it is.
    pub fn settle(&self) -> Result<(), StoreError> {
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

    /// Whether a change has begun and is not finished: its journal is there.
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

    /// Waits until nobody else changes the store, and finishes or throws away what others left undone.
    pub fn lock(&self) -> Result<StoreGuard<'_>, StoreError> {
        let writers = self.writers()?;
        let access = |source| self.access("lock", WRITERS, source);
        if !try_flock(&writers).map_err(access)? {
            self.tell(ChangePhase::Waiting);
            flock(&writers).map_err(access)?;
        }
        self.locked(writers)
    }

    /// Takes the lock without waiting; `None` if another process holds it.
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

    /// Changes of processes that are gone: those with a journal are finished, the others never happened.
    ///
    /// Who is gone is told by the lock on the folder of the change, which ends with its process, and not by its age: a
    /// slow download is not a dead one.
    fn recover(&self, folders: &Folders) -> Result<usize, StoreError> {
        let mut finished = 0;
        let unfinished = |source| StoreError::Unfinished { path: self.path.clone(), source };
        for entry in folders.staging.entries().map_err(unfinished)? {
            if entry.kind == EntryKind::Folder {
                let stage = match folders.staging.folder_bytes(&entry.name) {
                    // Its owner has just thrown it away.
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
    /// How many changes of processes that were killed have been finished when the lock was taken.
    pub fn finished(&self) -> usize {
        self.finished
    }

    /// What the lock file says, if there is one.
    pub fn lock_file(&self, most_bytes: u64) -> Result<Option<Vec<u8>>, StoreError> {
        self.store.lock_file_in(&self.folders.root, most_bytes)
    }
}

/// Writes which files of a project's store are not kept under version control. A file that exists is left alone: whoever
/// wants the skills themselves under version control removes that line.
fn write_ignored(root: &Folder) -> io::Result<()> {
    if root.kind(IGNORED_FILE.as_bytes())?.is_some() {
        return Ok(());
    }
    match root.make_file(IGNORED_FILE, 0o644, &mut IGNORED.as_bytes()) {
        // Another process was faster.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        written => written,
    }
}

/// Nothing instead of an error where nothing is.
fn if_there<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Whether somebody may look and not change.
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
