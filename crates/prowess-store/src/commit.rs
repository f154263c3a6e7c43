//! Atomic changes of a store: all of a change happens, or nothing.
//!
//! The staged files are synced to disk, then a journal that lists the steps. The change is committed when the journal
//! gets its final name: any later writer that finds it completes it. Each skill is then exchanged with its new version
//! in one step.

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

/// The journal before it is complete.
const NEW_JOURNAL: &str = "journal-new";

/// Up to this many files are synced one by one. Above it, the whole file system is synced, although that includes other
/// programs' writes.
const MOST_SINGLE_SYNCS: usize = 64;

/// The changes to apply atomically.
#[derive(Debug)]
pub struct StoreChanges {
    /// Skills to install or replace.
    pub install: Vec<StagedSkill>,
    /// Skills to remove. Missing ones are ignored.
    pub remove: Vec<SkillName>,
    /// The new lock file; `None` leaves it unchanged.
    pub lock_file: Option<Vec<u8>>,
}

/// Why a change failed.
#[derive(Debug, thiserror::Error)]
pub enum CommitError {
    /// Nothing has changed.
    #[error("cannot change the store: {source}; nothing was changed{}", advice(.source))]
    Unchanged {
        /// The error of the operating system.
        source: io::Error,
    },
    /// The change is partly applied. The next command that changes the store completes it first.
    #[error(
        "the change of the store was interrupted: {source}; the next command that changes the store completes it{}",
        advice(.source)
    )]
    Interrupted {
        /// The error of the operating system.
        source: io::Error,
    },
    /// A skill is listed twice.
    #[error("`{0}` is listed twice in one change")]
    Twice(SkillName),
}

impl StoreGuard<'_> {
    /// Applies a change.
    pub fn commit(&self, stage: Stage<'_>, changes: &StoreChanges) -> Result<(), CommitError> {
        self.store.report_phase(ChangePhase::Started);
        let result = self.change(stage, changes);
        self.store.report_phase(ChangePhase::Finished);
        result
    }

    fn change(&self, mut stage: Stage<'_>, changes: &StoreChanges) -> Result<(), CommitError> {
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
        // From here on other processes may find the journal, so the folder is kept until the journal is removed.
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
        // Committed. If the journal can't be removed, the next writer finds that all its steps are done.
        if stage.folder.remove_file(JOURNAL).is_ok() {
            stage.keep = false;
        }
        Ok(())
    }
}

/// The steps of a change. The lock file comes last: it can't be rolled back.
fn steps(changes: &StoreChanges) -> Vec<JournalStep> {
    let install = changes.install.iter().map(|skill| JournalStep::Install {
        name: skill.name.clone(),
        slot: skill.slot.clone(),
        digest: skill.content_digest(),
    });
    let remove = changes.remove.iter().map(|name| JournalStep::Remove { name: name.clone() });
    let lock_file = changes.lock_file.iter().map(|_| JournalStep::LockFile);
    install.chain(remove).chain(lock_file).collect()
}

/// Syncs everything that the change needs, and writes the journal under a temporary name.
fn prepare(
    store: &Folders,
    stage: &Folder,
    changes: &StoreChanges,
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

/// Publishes the journal: the change is committed when the rename is on disk.
fn publish(stage: &Folder) -> io::Result<()> {
    stage.rename(NEW_JOURNAL, stage, JOURNAL)?;
    stage.sync("stage")
}

/// A completed step, for rolling it back.
enum Done {
    /// The skill was new.
    Added(SkillName, String),
    /// The old and the new skill were exchanged.
    Exchanged(SkillName, String),
    /// The old skill was moved aside, and its place is empty.
    MovedAside(SkillName, String),
    /// The new skill is in the place of one that was moved aside.
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
                // Skills first: a lock file never refers to missing skills.
                store.skills.sync("skills")?;
                stage.sync("stage")?;
                stage.rename(LOCK_FILE, &store.root, LOCK_FILE)?;
                // The lock file is in place and can't be rolled back. If the sync fails, recovery finds either the old
                // lock file with the journal, or the new one.
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
            // The skill is missing for a moment. The journal is on disk, so recovery would complete the step.
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
    // The path is built from the validated name only, not from anything in a file (attack registry-B13).
    if store.skills.kind(name.as_str().as_bytes())?.is_none() {
        return Ok(None);
    }
    store.skills.rename(name.as_str(), stage, &removed(name))?;
    Ok(Some(Done::Removed(name.clone())))
}

/// Rolls back steps in reverse order, and then removes the journal: otherwise recovery would redo a partial rollback.
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
        // The journal was never published.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        result => result,
    }
}

/// Completes the change of a journal, however many of its steps are done.
pub(crate) fn redo(store: &Folders, stage: &Folder, steps: &[JournalStep]) -> io::Result<()> {
    for step in steps {
        match step {
            JournalStep::Install { name, slot, digest } => {
                // The staged skill is already in place.
                if stage.kind(slot.as_bytes())?.is_none() {
                    continue;
                }
                let is_new = |folder: io::Result<Folder>| {
                    let hashes = folder
                        .ok()
                        .and_then(|folder| hash_folder(&folder, &PackageLimits::PACKAGE).ok());
                    hashes.is_some_and(|hashes| content_digest(&hashes) == *digest)
                };
                // After an exchange, the staging folder contains the old skill.
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

/// The name of the old skill if the file system can't exchange names.
fn aside(slot: &str) -> String {
    format!("old-{slot}")
}

/// The name of a removed skill until it is deleted.
fn removed(name: &SkillName) -> String {
    format!("removed-{name}")
}
