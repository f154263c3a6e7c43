//! A store on disk: where skills lie, who may change it, and what is done about changes that were cut short.

use std::io::{self, Read as _};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use prowess_files::advice;
use prowess_files::folder::{Folder, Kind, flock, try_flock};
use prowess_package::content::MANIFEST;
use prowess_package::digest::FileHashes;
use prowess_package::limits::Limits;
use prowess_package::name::SkillName;
use prowess_package::tree::{TreeError, hash_folder};

use crate::journal;
use crate::switch;

/// The lock file of a store (GAIA §7.3).
pub const LOCK_FILE: &str = "skill-lock.json";
/// Below the store: one folder per skill.
const SKILLS: &str = "skills";
/// Below the store: what is being prepared.
const STAGING: &str = "staging";
/// The file that writers lock. It stays empty.
const WRITERS: &str = "store.lock";
/// In the folder of a change.
pub(crate) const JOURNAL: &str = "journal";
/// Longer than the journal of any change.
const MOST_JOURNAL_BYTES: u64 = 4 << 20;

/// A folder with installed skills.
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    pub(crate) root: Folder,
    pub(crate) skills: Folder,
    pub(crate) staging: Folder,
}

/// A store that nobody else changes meanwhile.
#[derive(Debug)]
pub struct LockedStore<'a> {
    pub(crate) store: &'a Store,
    /// Released when it is closed, also by the end of the process.
    _writers: OwnedFd,
    finished: usize,
}

/// Why a store can't be used. Nothing has changed.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The system does not let us.
    #[error("cannot {doing} `{}`: {source}{}", .path.display(), advice(.source))]
    Access {
        /// What was tried.
        doing: &'static str,
        /// With what.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
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
    /// Opens a store, and makes it where there is none.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let access = |doing, source| StoreError::Access { doing, path: path.to_owned(), source };
        std::fs::create_dir_all(path).map_err(|source| access("make the store", source))?;
        let root = Folder::open(path).map_err(|source| access("open the store", source))?;
        let below = |name| {
            root.folder_or_make(name).map_err(|source| StoreError::Access {
                doing: "open",
                path: path.join(name),
                source,
            })
        };
        let (skills, staging) = (below(SKILLS)?, below(STAGING)?);
        Ok(Self { path: path.to_owned(), root, skills, staging })
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
        for entry in self.skills.entries().map_err(access)? {
            let name = std::str::from_utf8(&entry.name).ok().and_then(|name| name.parse().ok());
            let (Some(name), Kind::Folder) = (name, entry.kind) else { continue };
            let folder = self.skills.folder_bytes(&entry.name).map_err(access)?;
            if folder.kind(MANIFEST.as_bytes()).map_err(access)? == Some(Kind::File) {
                names.push(name);
            }
        }
        Ok(names)
    }

    /// Whether there is a folder of that name.
    pub fn is_installed(&self, name: &SkillName) -> Result<bool, StoreError> {
        let kind = self.skills.kind(name.as_str().as_bytes());
        kind.map(|kind| kind == Some(Kind::Folder))
            .map_err(|source| self.access("list", SKILLS, source))
    }

    /// The `SKILL.md` of an installed skill.
    pub fn manifest(&self, name: &SkillName) -> Result<Vec<u8>, StoreError> {
        let access = |source| StoreError::Access {
            doing: "read",
            path: self.skill_path(name).join(MANIFEST),
            source,
        };
        let folder = self.skills.folder_bytes(name.as_str().as_bytes()).map_err(access)?;
        let file = folder.file(MANIFEST.as_bytes()).map_err(access)?;
        let mut bytes = Vec::new();
        file.take(Limits::PACKAGE.file_bytes).read_to_end(&mut bytes).map_err(access)?;
        Ok(bytes)
    }

    /// The files at the root of an installed skill, any of which may be a signature, with what is in them.
    pub fn files_at_root(&self, name: &SkillName) -> Result<Vec<(String, Vec<u8>)>, StoreError> {
        let access =
            |source| StoreError::Access { doing: "read", path: self.skill_path(name), source };
        let folder = self.skills.folder_bytes(name.as_str().as_bytes()).map_err(access)?;
        let mut files = Vec::new();
        for entry in folder.entries().map_err(access)? {
            let Ok(path) = String::from_utf8(entry.name) else { continue };
            if entry.kind != Kind::File {
                continue;
            }
            let file = folder.file(path.as_bytes()).map_err(access)?;
            let mut bytes = Vec::new();
            file.take(Limits::PACKAGE.file_bytes).read_to_end(&mut bytes).map_err(access)?;
            files.push((path, bytes));
        }
        Ok(files)
    }

    /// The hash of every file of an installed skill; nothing when it is not there.
    pub fn hash(&self, name: &SkillName) -> Result<Option<FileHashes>, TreeError> {
        match self.skills.folder_bytes(name.as_str().as_bytes()) {
            Ok(folder) => hash_folder(&folder, &Limits::PACKAGE).map(Some),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(TreeError::Read { path: name.to_string(), source }),
        }
    }

    /// Waits until nobody else changes the store, and finishes or throws away what others left undone.
    pub fn lock(&self) -> Result<LockedStore<'_>, StoreError> {
        let writers = self.writers()?;
        flock(&writers).map_err(|source| self.access("lock", WRITERS, source))?;
        self.locked(writers)
    }

    /// The same without waiting: nothing when somebody else is at it.
    pub fn try_lock(&self) -> Result<Option<LockedStore<'_>>, StoreError> {
        let writers = self.writers()?;
        if try_flock(&writers).map_err(|source| self.access("lock", WRITERS, source))? {
            self.locked(writers).map(Some)
        } else {
            Ok(None)
        }
    }

    fn writers(&self) -> Result<OwnedFd, StoreError> {
        self.root.lock_file(WRITERS).map_err(|source| self.access("lock", WRITERS, source))
    }

    fn locked(&self, writers: OwnedFd) -> Result<LockedStore<'_>, StoreError> {
        let finished = self.recover()?;
        Ok(LockedStore { store: self, _writers: writers, finished })
    }

    /// Changes of processes that are gone: those with a journal are finished, the others never happened.
    ///
    /// Who is gone is told by the lock on the folder of the change, which ends with its process, and not by its age: a
    /// slow download is not a dead one.
    fn recover(&self) -> Result<usize, StoreError> {
        let mut finished = 0;
        let unfinished = |source| StoreError::Unfinished { path: self.path.clone(), source };
        for entry in self.staging.entries().map_err(unfinished)? {
            if entry.kind == Kind::Folder {
                let stage = match self.staging.folder_bytes(&entry.name) {
                    // Its owner has just thrown it away.
                    Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                    opened => opened.map_err(unfinished)?,
                };
                if !stage.try_own().map_err(unfinished)? {
                    continue;
                }
                if let Some(text) = journal_of(&stage).map_err(unfinished)? {
                    let name = String::from_utf8_lossy(&entry.name).into_owned();
                    let place = self.path.join(STAGING).join(name);
                    let steps = journal::read(&text).ok_or(StoreError::UnknownJournal(place))?;
                    switch::redo(self, &stage, &steps).map_err(unfinished)?;
                    stage.remove_file(JOURNAL).map_err(unfinished)?;
                    finished += 1;
                }
            }
            self.staging.remove_tree(&entry.name).map_err(unfinished)?;
        }
        Ok(finished)
    }

    pub(crate) fn access(&self, doing: &'static str, name: &str, source: io::Error) -> StoreError {
        StoreError::Access { doing, path: self.path.join(name), source }
    }
}

impl LockedStore<'_> {
    /// How many changes of processes that were killed have been finished when the lock was taken.
    pub fn finished(&self) -> usize {
        self.finished
    }

    /// What the lock file says, if there is one.
    pub fn lock_file(&self, most_bytes: u64) -> Result<Option<Vec<u8>>, StoreError> {
        let access = |source| self.store.access("read", LOCK_FILE, source);
        match self.store.root.file(LOCK_FILE.as_bytes()) {
            Ok(file) => {
                let mut bytes = Vec::new();
                file.take(most_bytes).read_to_end(&mut bytes).map_err(access)?;
                Ok(Some(bytes))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(access(error)),
        }
    }
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
