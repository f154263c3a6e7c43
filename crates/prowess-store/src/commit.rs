//! The moment in which a change happens: all of it, or nothing.
//!
//! What is staged is put on the disk, then a journal that says what is to be done, and with the name of the journal the
//! change has happened: whoever finds it finishes it. Each skill then changes places with its successor in one step.

use std::collections::BTreeSet;
use std::io;

use prowess_files::advice;
use prowess_files::folder::{Folder, Swap};
use prowess_package::digest::content_digest;
use prowess_package::limits::PackageLimits;
use prowess_package::name::SkillName;
use prowess_package::tree::hash_folder;

use crate::journal::{self, JournalStep};
use crate::stage::{Stage, StagedSkill};
use crate::store::{ChangePhase, Folders, JOURNAL, LOCK_FILE, StoreGuard};

/// The journal before it is whole.
const NEW_JOURNAL: &str = "journal-new";

/// Up to so many files are put on the disk one by one. With more, the whole file system is, although that takes what
/// others have written along.
const MOST_SINGLE_SYNCS: usize = 64;

/// What is to change, all at once.
#[derive(Debug)]
pub struct Changes {
    /// Skills that are installed, or replaced.
    pub install: Vec<StagedSkill>,
    /// Skills that are taken away. Those that are not there are passed over.
    pub remove: Vec<SkillName>,
    /// What the lock file says afterwards; nothing leaves it as it is.
    pub lock_file: Option<Vec<u8>>,
}

/// Why nothing has changed, or what is still to be done.
#[derive(Debug, thiserror::Error)]
pub enum CommitError {
    /// Nothing has changed.
    #[error("cannot change the store: {source}; nothing was changed{}", advice(.source))]
    Unchanged {
        /// What the system says.
        source: io::Error,
    },
    /// Neither done nor undone. The next command that changes the store finishes it first.
    #[error(
        "the change of the store was interrupted: {source}; it is finished by the next command that changes the store{}",
        advice(.source)
    )]
    Interrupted {
        /// What the system says.
        source: io::Error,
    },
    /// One skill twice.
    #[error("`{0}` is to be changed twice at once")]
    Twice(SkillName),
}

impl StoreGuard<'_> {
    /// Makes a change happen.
    pub fn commit(&self, stage: Stage<'_>, changes: &Changes) -> Result<(), CommitError> {
        self.store.tell(ChangePhase::Started);
        let result = self.change(stage, changes);
        self.store.tell(ChangePhase::Finished);
        result
    }

    fn change(&self, mut stage: Stage<'_>, changes: &Changes) -> Result<(), CommitError> {
        let mut names = BTreeSet::new();
        for name in changes.install.iter().map(|skill| &skill.name).chain(&changes.remove) {
            if !names.insert(name) {
                return Err(CommitError::Twice(name.clone()));
            }
        }
        let steps = steps(changes);
        if !stage.belongs_to(self.folders).map_err(|source| CommitError::Unchanged { source })? {
            let source = io::Error::other("the change was prepared in another store");
            return Err(CommitError::Unchanged { source });
        }
        prepare(self.folders, &stage.folder, changes, &steps)
            .map_err(|source| CommitError::Unchanged { source })?;
        // From here on the journal may be found by others, so the folder is not thrown away before it is gone.
        stage.keep = true;
        let mut done = Vec::new();
        let result = publish(&stage.folder)
            .and_then(|()| apply_all(self.folders, &stage.folder, &steps, &mut done));
        if let Err(source) = result {
            if take_back(self.folders, &stage.folder, done).is_err() {
                return Err(CommitError::Interrupted { source });
            }
            stage.keep = false;
            return Err(CommitError::Unchanged { source });
        }
        // Done. A journal that can't be removed is found to be done by the next writer.
        if stage.folder.remove_file(JOURNAL).is_ok() {
            stage.keep = false;
        }
        Ok(())
    }
}

/// The lock file comes last: there is no way back from it.
fn steps(changes: &Changes) -> Vec<JournalStep> {
    let install = changes.install.iter().map(|skill| JournalStep::Install {
        name: skill.name.clone(),
        slot: skill.slot.clone(),
        digest: skill.content_digest(),
    });
    let remove = changes.remove.iter().map(|name| JournalStep::Remove { name: name.clone() });
    let lock_file = changes.lock_file.iter().map(|_| JournalStep::LockFile);
    install.chain(remove).chain(lock_file).collect()
}

/// Puts everything on the disk that the change needs, and the journal under a name that nobody looks for.
fn prepare(
    store: &Folders,
    stage: &Folder,
    changes: &Changes,
    steps: &[JournalStep],
) -> io::Result<()> {
    let files: usize = changes.install.iter().map(|skill| skill.hashes.len()).sum();
    if files <= MOST_SINGLE_SYNCS || !stage.sync_file_system("stage")? {
        for skill in &changes.install {
            stage.folder(&skill.slot)?.sync_tree(&skill.slot)?;
        }
    }
    if let Some(bytes) = &changes.lock_file {
        stage.make_file(LOCK_FILE, 0o644, &mut bytes.as_slice())?;
        stage.sync_file(LOCK_FILE)?;
    }
    stage.make_file(NEW_JOURNAL, 0o644, &mut journal::write(steps).as_bytes())?;
    stage.sync_file(NEW_JOURNAL)?;
    stage.sync("stage")?;
    store.staging.sync("staging")
}

/// The change has happened as soon as this name is on the disk.
fn publish(stage: &Folder) -> io::Result<()> {
    stage.rename(NEW_JOURNAL, stage, JOURNAL)?;
    stage.sync("stage")
}

/// How a step was done, to take it back.
enum Done {
    /// Nothing was there before.
    Added(SkillName, String),
    /// Old and new have changed places.
    Exchanged(SkillName, String),
    /// The old one was moved aside, and nothing has its place.
    MovedAside(SkillName, String),
    /// The new one has come to the place of one that was moved aside.
    Replaced(SkillName, String),
    Removed(SkillName),
}

fn apply_all(
    store: &Folders,
    stage: &Folder,
    steps: &[JournalStep],
    done: &mut Vec<Done>,
) -> io::Result<()> {
    for step in steps {
        match step {
            JournalStep::Install { name, slot, .. } => install(store, stage, name, slot, done)?,
            JournalStep::Remove { name } => done.extend(remove(store, stage, name)?),
            JournalStep::LockFile => {
                // First the skills: a lock file never speaks of what is not there.
                store.skills.sync("skills")?;
                stage.sync("stage")?;
                stage.rename(LOCK_FILE, &store.root, LOCK_FILE)?;
                // It is in place and there is no way back. If the disk does not confirm it, a later start finds
                // either the old one with the journal or the new one.
                let _ = store.root.sync("store");
                return Ok(());
            }
        }
    }
    store.skills.sync("skills")?;
    stage.sync("stage")
}

fn install(
    store: &Folders,
    stage: &Folder,
    name: &SkillName,
    slot: &str,
    done: &mut Vec<Done>,
) -> io::Result<()> {
    let place = name.as_str();
    if store.skills.kind(place.as_bytes())?.is_none() {
        stage.rename(slot, &store.skills, place)?;
        done.push(Done::Added(name.clone(), slot.to_owned()));
        return Ok(());
    }
    match stage.exchange(slot, &store.skills, place)? {
        Swap::Done => done.push(Done::Exchanged(name.clone(), slot.to_owned())),
        Swap::Unsupported => {
            // For a moment there is no skill of this name. The journal is on the disk, so that moment ends for good.
            store.skills.rename(place, stage, &aside(slot))?;
            done.push(Done::MovedAside(name.clone(), slot.to_owned()));
            stage.rename(slot, &store.skills, place)?;
            done.pop();
            done.push(Done::Replaced(name.clone(), slot.to_owned()));
        }
    }
    Ok(())
}

fn remove(store: &Folders, stage: &Folder, name: &SkillName) -> io::Result<Option<Done>> {
    // The path comes from the checked name and from nothing that is written down (attack registry-B13).
    if store.skills.kind(name.as_str().as_bytes())?.is_none() {
        return Ok(None);
    }
    store.skills.rename(name.as_str(), stage, &removed(name))?;
    Ok(Some(Done::Removed(name.clone())))
}

/// Takes steps back, the last one first, and the journal after them: without it nobody would finish half a way back.
fn take_back(store: &Folders, stage: &Folder, done: Vec<Done>) -> io::Result<()> {
    for step in done.into_iter().rev() {
        match step {
            Done::Added(name, slot) => store.skills.rename(name.as_str(), stage, &slot)?,
            Done::Exchanged(name, slot) => {
                match stage.exchange(&slot, &store.skills, name.as_str())? {
                    Swap::Done => {}
                    Swap::Unsupported => return Err(io::ErrorKind::Unsupported.into()),
                }
            }
            Done::Replaced(name, slot) => {
                store.skills.rename(name.as_str(), stage, &slot)?;
                stage.rename(&aside(&slot), &store.skills, name.as_str())?;
            }
            Done::MovedAside(name, slot) => {
                stage.rename(&aside(&slot), &store.skills, name.as_str())?;
            }
            Done::Removed(name) => stage.rename(&removed(&name), &store.skills, name.as_str())?,
        }
    }
    store.skills.sync("skills")?;
    match stage.remove_file(JOURNAL) {
        // It was never published.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        result => result,
    }
}

/// Finishes a change of which a journal was found, however much of it is done.
pub(crate) fn redo(store: &Folders, stage: &Folder, steps: &[JournalStep]) -> io::Result<()> {
    for step in steps {
        match step {
            JournalStep::Install { name, slot, digest } => {
                // What was staged has gone to its place.
                if stage.kind(slot.as_bytes())?.is_none() {
                    continue;
                }
                let is_new = |folder: io::Result<Folder>| {
                    let hashes = folder
                        .ok()
                        .and_then(|folder| hash_folder(&folder, &PackageLimits::PACKAGE).ok());
                    hashes.is_some_and(|hashes| content_digest(&hashes) == *digest)
                };
                // After an exchange the old one lies here.
                let is_done = store.skills.kind(name.as_str().as_bytes())?.is_some()
                    && (!is_new(stage.folder(slot)) || is_new(store.skills.folder(name.as_str())));
                if !is_done {
                    install(store, stage, name, slot, &mut Vec::new())?;
                }
            }
            JournalStep::Remove { name } => {
                remove(store, stage, name)?;
            }
            JournalStep::LockFile => {
                store.skills.sync("skills")?;
                if stage.kind(LOCK_FILE.as_bytes())?.is_some() {
                    stage.rename(LOCK_FILE, &store.root, LOCK_FILE)?;
                }
                store.root.sync("store")?;
            }
        }
    }
    store.skills.sync("skills")
}

/// Where the old skill is put when names can't be exchanged.
fn aside(slot: &str) -> String {
    format!("old-{slot}")
}

/// Where a removed skill is put until it is deleted.
fn removed(name: &SkillName) -> String {
    format!("removed-{name}")
}
