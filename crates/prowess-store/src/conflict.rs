//! Merge conflicts in a lock file: finds them, splits the text into its two sides, and merges the entries.
//!
//! Version control merges lines, not entries. Lines that only one side has changed are in both sides of the text, so
//! an entry may be a mixture that neither side has written. Such an entry is recognized by its digest, which doesn't
//! match the hashes of its files, and can't be selected.

use std::collections::BTreeSet;

use prowess_package::digest::content_digest;
use prowess_package::name::SkillName;

use crate::install::InstallError;
use crate::lock::{LockEntry, LockError, LockFile, MOST_BYTES};
use crate::store::Store;

/// One side of a conflict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MergeSide {
    /// The side that was checked out when the merge began.
    Ours,
    /// The side that is merged into it.
    Theirs,
}

/// A lock file with a merge conflict, split into its two sides.
#[derive(Debug)]
pub struct LockConflict {
    /// The line of the first marker, counted from 1.
    pub line: usize,
    /// The label of our side in the marker, such as `HEAD`.
    pub our_label: String,
    /// The label of the other side in the marker, such as the name of a branch.
    pub their_label: String,
    /// The skills of both sides.
    pub skills: Vec<ConflictedSkill>,
    ours: LockFile,
    theirs: LockFile,
    bytes: Vec<u8>,
}

/// A skill in a lock file with a merge conflict.
#[derive(Debug, Clone, PartialEq)]
pub struct ConflictedSkill {
    /// The skill.
    pub name: SkillName,
    /// The difference between the sides.
    pub state: SkillConflict,
}

/// The difference between the two sides of a lock file for one skill.
#[derive(Debug, Clone, PartialEq)]
pub enum SkillConflict {
    /// Both sides lock the same bytes from the same source.
    Same,
    /// Only one side contains the skill.
    Only(MergeSide),
    /// Both sides contain it with different entries; the user has to choose one.
    Differs {
        /// Our entry; `None` if the merge has mixed it with the other one.
        ours: Option<Box<LockEntry>>,
        /// The other entry.
        theirs: Option<Box<LockEntry>>,
    },
}

/// The line of the first conflict marker in a text, counted from 1. No line of a lock file begins with a marker.
pub(crate) fn conflict_line(text: &str) -> Option<usize> {
    let is_marker =
        |line: &str| marker(line, "<<<<<<<").is_some() || marker(line, ">>>>>>>").is_some();
    text.lines().position(is_marker).map(|at| at + 1)
}

/// The label of a marker, if the line is one.
fn marker<'l>(line: &'l str, sign: &str) -> Option<&'l str> {
    let label = line.strip_prefix(sign)?;
    (label.is_empty() || label.starts_with(' ')).then(|| label.trim())
}

/// The two sides of a text, with the labels of the first conflict. The common ancestor, which some conflict styles
/// include, is dropped.
fn sides(text: &str) -> Option<(String, String, String, String)> {
    enum At {
        Both,
        Ours,
        Ancestor,
        Theirs,
    }
    let (mut ours, mut theirs) = (String::new(), String::new());
    let (mut our_label, mut their_label) = (None, None);
    let mut at = At::Both;
    for line in text.lines() {
        let (mut in_ours, mut in_theirs) = (false, false);
        at = match at {
            At::Both => match marker(line, "<<<<<<<") {
                Some(label) => {
                    our_label.get_or_insert(label);
                    At::Ours
                }
                None => {
                    (in_ours, in_theirs) = (true, true);
                    At::Both
                }
            },
            At::Ours | At::Ancestor if line == "=======" => At::Theirs,
            At::Ours if marker(line, "|||||||").is_some() => At::Ancestor,
            At::Ours => {
                in_ours = true;
                At::Ours
            }
            At::Ancestor => At::Ancestor,
            At::Theirs => match marker(line, ">>>>>>>") {
                Some(label) => {
                    their_label.get_or_insert(label);
                    At::Both
                }
                None => {
                    in_theirs = true;
                    At::Theirs
                }
            },
        };
        for (is_in, side) in [(in_ours, &mut ours), (in_theirs, &mut theirs)] {
            if is_in {
                side.push_str(line);
                side.push('\n');
            }
        }
    }
    if !matches!(at, At::Both) {
        return None;
    }
    Some((ours, theirs, our_label?.to_owned(), their_label?.to_owned()))
}

/// Whether an entry was written as a whole by one program: its digest matches its file hashes.
fn is_whole(entry: &LockEntry) -> bool {
    entry.files.is_empty() || content_digest(&entry.files).integrity() == entry.integrity
}

fn is_same(ours: &LockEntry, theirs: &LockEntry) -> bool {
    ours.integrity == theirs.integrity
        && ours.version == theirs.version
        && ours.source == theirs.source
        && ours.owner == theirs.owner
        && ours.tier == theirs.tier
}

impl Store {
    /// The merge conflict in the lock file; `None` if there is none.
    pub fn lock_conflict(&self) -> Result<Option<LockConflict>, InstallError> {
        let Some(bytes) = self.lock_file(MOST_BYTES)? else { return Ok(None) };
        let Ok(text) = std::str::from_utf8(&bytes) else { return Ok(None) };
        let Some(line) = conflict_line(text) else { return Ok(None) };
        let failed = |source| InstallError::Lock {
            path: self.path().join(crate::store::LOCK_FILE).display().to_string(),
            is_shared: self.is_shared(),
            source,
        };
        let (ours, theirs, our_label, their_label) =
            sides(text).ok_or_else(|| failed(LockError::Markers(line)))?;
        let side = |text: &str, label: &str| {
            self.parse_lock(text).map_err(|error| {
                failed(LockError::Side {
                    line,
                    label: label.to_owned(),
                    problem: error.to_string(),
                })
            })
        };
        let (ours, theirs) = (side(&ours, &our_label)?, side(&theirs, &their_label)?);
        let names: BTreeSet<&SkillName> = ours.skills.keys().chain(theirs.skills.keys()).collect();
        let skills = names
            .into_iter()
            .map(|name| {
                let whole = |entry: &LockEntry| is_whole(entry).then(|| Box::new(entry.clone()));
                let state = match (ours.skills.get(name), theirs.skills.get(name)) {
                    (Some(one), Some(other)) if is_same(one, other) && is_whole(one) => {
                        SkillConflict::Same
                    }
                    (Some(one), Some(other)) => {
                        SkillConflict::Differs { ours: whole(one), theirs: whole(other) }
                    }
                    (Some(_), None) => SkillConflict::Only(MergeSide::Ours),
                    (None, _) => SkillConflict::Only(MergeSide::Theirs),
                };
                ConflictedSkill { name: name.clone(), state }
            })
            .collect();
        Ok(Some(LockConflict { line, our_label, their_label, skills, ours, theirs, bytes }))
    }

    /// Resolves the merge conflict in the lock file. The result has the skills of both sides, and the chosen entry
    /// where they differ; without a choice, that of our side. The file with the conflict is kept next to it.
    pub fn resolve_lock(
        &self,
        conflict: &LockConflict,
        choose: impl Fn(&SkillName) -> MergeSide,
    ) -> Result<(), InstallError> {
        let lock = conflict.merged(choose);
        let stage = self.stage()?;
        let store = self.lock()?;
        if store.lock_file(MOST_BYTES)?.as_deref() != Some(conflict.bytes.as_slice()) {
            return Err(InstallError::StoreChanged);
        }
        store
            .folders
            .root
            .replace_file(CONFLICT_FILE, CONFLICT_FILE_NEW, 0o644, &conflict.bytes)
            .map_err(|source| self.access("write", CONFLICT_FILE, source))?;
        let lock_file = Some(self.lock_text(&lock).into_bytes());
        let changes =
            crate::commit::StoreChanges { install: Vec::new(), remove: Vec::new(), lock_file };
        store
            .commit(stage, &changes)
            .map_err(|source| InstallError::Commit { store: self.path().to_owned(), source })
    }
}

/// The copy of the lock file as it was before its conflict was resolved, next to the lock file.
pub const CONFLICT_FILE: &str = "skill-lock.json.conflict";
const CONFLICT_FILE_NEW: &str = "skill-lock.json.conflict.new";

impl LockConflict {
    fn merged(&self, choose: impl Fn(&SkillName) -> MergeSide) -> LockFile {
        let mut lock = self.ours.clone();
        lock.keep_unknown_of(&self.theirs);
        for skill in &self.skills {
            let (ours, theirs) =
                (self.ours.skills.get(&skill.name), self.theirs.skills.get(&skill.name));
            let side = match &skill.state {
                SkillConflict::Same => MergeSide::Ours,
                SkillConflict::Only(side) => *side,
                SkillConflict::Differs { .. } => choose(&skill.name),
            };
            let chosen = match side {
                MergeSide::Ours => ours.or(theirs),
                MergeSide::Theirs => theirs.or(ours),
            };
            let Some(mut entry) = chosen.cloned() else { continue };
            // A skill that was requested by name on either side stays requested.
            entry.explicit =
                ours.is_some_and(|it| it.explicit) || theirs.is_some_and(|it| it.explicit);
            lock.skills.insert(skill.name.clone(), entry);
        }
        // The dependents follow from the selected entries.
        let needs: Vec<(SkillName, SkillName)> = lock
            .skills
            .iter()
            .flat_map(|(name, entry)| {
                entry.dependencies.keys().map(|needed| (name.clone(), needed.clone()))
            })
            .collect();
        for entry in lock.skills.values_mut() {
            entry.required_by.clear();
        }
        for (name, needed) in needs {
            if let Some(entry) = lock.skills.get_mut(&needed) {
                entry.required_by.insert(name);
            }
        }
        lock
    }

    /// Skills whose dependency would be locked in another version than the one they were resolved with, as `(skill,
    /// dependency)`.
    pub fn mismatches(
        &self,
        choose: impl Fn(&SkillName) -> MergeSide,
    ) -> Vec<(SkillName, SkillName)> {
        let lock = self.merged(choose);
        let mut found = Vec::new();
        for (name, entry) in &lock.skills {
            for (needed, version) in &entry.dependencies {
                if lock.skills.get(needed).is_none_or(|locked| locked.version != *version) {
                    found.push((name.clone(), needed.clone()));
                }
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, line: Option<usize>, expected: Option<(&str, &str)>) {
        assert_eq!(conflict_line(text), line);
        let found = sides(text).map(|(ours, theirs, ..)| (ours, theirs));
        let found = found.as_ref().map(|(ours, theirs)| (ours.as_str(), theirs.as_str()));
        assert_eq!(found, expected);
    }

    #[test]
    fn a_text_is_taken_apart_into_its_sides() {
        check(
            "a\n<<<<<<< HEAD\nb\n=======\nc\n>>>>>>> x\nd\n",
            Some(2),
            Some(("a\nb\nd\n", "a\nc\nd\n")),
        );
        // The conflict style that includes the common ancestor.
        check(
            "<<<<<<< HEAD\nb\n||||||| 1f2e\no\n=======\nc\n>>>>>>> x\n",
            Some(1),
            Some(("b\n", "c\n")),
        );
        check("a\nb\n", None, None);
        check("<<<<<<< HEAD\nb\n", Some(1), None);
        check("a\n>>>>>>> x\n", Some(2), None);
        // Text in a JSON string is indented, so it never starts a line.
        check("  \"<<<<<<< HEAD\"\n", None, None);
    }
}
