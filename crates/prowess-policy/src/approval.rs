//! What the user has approved, and when it stops counting (GIB §6.3, R32).
//!
//! Plain values: whoever stores them writes and reads the fields. An approval holds for the exact bytes of all the skill's files, for the grants that were shown, for the folder that these grants reach into, and for the program images that were there.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use prowess_format::text::visible;

use crate::grant::{Grant, Source};
use crate::request::Request;

/// A digest of all the files of a skill. Computing it is somebody else's business.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Digest(String);

impl Digest {
    /// A digest as text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A program image: a path and what was in the file (attack sandbox-B12).
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ProgramPin {
    /// The absolute path.
    pub path: String,
    /// The SHA-256 of the file, in hexadecimal.
    pub sha256: String,
}

/// The hashes of a skill's files by their paths. It only says which file is another one now; the [`Digest`] decides. Empty where nobody knows.
pub type FileHashes = BTreeMap<String, String>;

/// The folder that an approval is for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Project {
    /// None of the grants depends on where the tool works, so that it counts everywhere.
    Any,
    /// The folder that `./` was when the user said yes.
    Folder(String),
    /// Nobody wrote it down, as in records of earlier versions. It counts nowhere.
    Unknown,
}

/// One answer of the user that is remembered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Approval {
    /// The skill's name.
    pub skill: String,
    /// Where the skill was, for the reader: what counts is the digest.
    pub skill_folder: Option<String>,
    /// The folder it is for.
    pub project: Project,
    /// The digest of all its files.
    pub digest: Digest,
    /// What was in these files one by one, where that is known.
    pub files: FileHashes,
    /// The tool; the whole skill when absent.
    pub tool: Option<String>,
    /// What was granted, as permissions in canonical spelling.
    pub grants: Vec<String>,
    /// The program images that were there.
    pub pins: Vec<ProgramPin>,
    /// When, in seconds since 1970; the caller has the clock.
    pub given_at: u64,
}

/// Why an approval does not count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Void {
    /// It is for another skill or another tool.
    Elsewhere,
    /// Files of the skill are not those that were approved; which ones, as far as that is known.
    Files(Vec<FileChange>),
    /// What was approved is another skill of that name, which is in this folder.
    OtherSkill(String),
    /// It was approved in this folder, and `./` is another one now.
    Project(String),
    /// Nobody knows for which folder it was given.
    NoProject,
    /// These grants were not approved.
    Grants(Vec<String>),
    /// The program at this path is not the one that was approved.
    Program(String),
    /// The program at this path was not part of what was approved.
    NewProgram(String),
}

/// A file of a skill that is not what was approved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileChange {
    /// It holds something else.
    Changed(String),
    /// It was not there.
    Added(String),
    /// It is gone.
    Removed(String),
}

/// What happened since an approval, so that it does not count any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// What happened.
    pub void: Void,
    /// When the approval was given, in seconds since 1970.
    pub approved_at: u64,
}

/// What the approvals say about a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing<'a> {
    /// This one covers it.
    Covered(&'a Approval),
    /// It was approved once, and something has changed since.
    Void(&'a Approval, Void),
    /// It was never approved.
    Never,
}

/// Everything the user has approved.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Approvals {
    records: Vec<Approval>,
}

impl Approval {
    /// Whether it counts for a request with these grants, and if not, why.
    pub fn covers(&self, request: &Request, grants: &[Grant]) -> Result<(), Void> {
        let tool = self.tool.as_ref().is_none_or(|tool| *tool == request.tool);
        if self.skill != request.skill || !tool {
            return Err(Void::Elsewhere);
        }
        // GIB §6.3 asks again when SKILL.md changes; here any file counts, because a script is where the deeds are.
        if self.digest != request.digest {
            let here = request.places.as_ref().map(|places| &places.skill);
            return Err(match (&self.skill_folder, here) {
                (Some(there), Some(here)) if there != here => Void::OtherSkill(there.clone()),
                _ => Void::Files(changes(&self.files, &request.files)),
            });
        }
        let approved: Vec<Grant> = self
            .grants
            .iter()
            .filter_map(|text| Grant::parse(text, &Source::Declared(text.clone())).ok())
            .flatten()
            .collect();
        let missing: Vec<String> = grants
            .iter()
            .filter(|grant| !approved.iter().any(|known| known.covers(grant)))
            .map(ToString::to_string)
            // A skill's own script has no spelling that an author may write, so it is compared as text.
            .filter(|text| !self.grants.contains(text))
            .collect();
        if !missing.is_empty() {
            return Err(Void::Grants(missing));
        }
        match &self.project {
            // None of its grants is relative, and those of the request are covered by them.
            Project::Any => {}
            Project::Folder(folder) => {
                if request.places.as_ref().is_none_or(|places| places.project != *folder) {
                    return Err(Void::Project(folder.clone()));
                }
            }
            Project::Unknown => return Err(Void::NoProject),
        }
        match request.pins.iter().find(|pin| !self.pins.contains(pin)) {
            Some(pin) if self.pins.iter().any(|known| known.path == pin.path) => {
                Err(Void::Program(pin.path.clone()))
            }
            Some(pin) => Err(Void::NewProgram(pin.path.clone())),
            None => Ok(()),
        }
    }
}

impl Approvals {
    /// Approvals from their records.
    pub fn new(records: Vec<Approval>) -> Self {
        Self { records }
    }

    /// The records.
    pub fn records(&self) -> &[Approval] {
        &self.records
    }

    /// Adds one, in place of an older one for the same skill, tool, files and folder. One without a folder is replaced by the first that has one.
    pub fn add(&mut self, approval: Approval) {
        self.records.retain(|known| {
            known.skill != approval.skill
                || known.tool != approval.tool
                || known.digest != approval.digest
                || (known.project != approval.project && known.project != Project::Unknown)
        });
        self.records.push(approval);
    }

    /// Removes those of a skill, or everything that lets one of its tools run: its own, and those of the whole skill, without which it would stay allowed. Gives what was removed.
    pub fn revoke(&mut self, skill: &str, tool: Option<&str>) -> Vec<Approval> {
        let meant = |known: &Approval| {
            let about_tool = match (tool, &known.tool) {
                (Some(tool), Some(known)) => tool == known,
                (None, _) | (_, None) => true,
            };
            known.skill == skill && about_tool
        };
        self.records.extract_if(.., |known| meant(known)).collect()
    }

    /// What they say about a request with these grants.
    pub fn covers(&self, request: &Request, grants: &[Grant]) -> Standing<'_> {
        let mut latest: Option<(&Approval, Void)> = None;
        for approval in &self.records {
            match approval.covers(request, grants) {
                Ok(()) => return Standing::Covered(approval),
                Err(Void::Elsewhere) => {}
                Err(void) => {
                    if latest.as_ref().is_none_or(|(known, _)| known.given_at <= approval.given_at)
                    {
                        latest = Some((approval, void));
                    }
                }
            }
        }
        latest.map_or(Standing::Never, |(approval, void)| Standing::Void(approval, void))
    }
}

/// The most files that are told by name.
const MOST_TOLD: usize = 3;

/// Which files differ. Nothing where one side is not known.
fn changes(approved: &FileHashes, now: &FileHashes) -> Vec<FileChange> {
    if approved.is_empty() || now.is_empty() {
        return Vec::new();
    }
    let paths: BTreeSet<&String> = approved.keys().chain(now.keys()).collect();
    let change = |path: &String| match (approved.get(path), now.get(path)) {
        (Some(before), Some(after)) if before == after => None,
        (Some(_), Some(_)) => Some(FileChange::Changed(path.clone())),
        (None, _) => Some(FileChange::Added(path.clone())),
        (Some(_), None) => Some(FileChange::Removed(path.clone())),
    };
    paths.into_iter().filter_map(change).collect()
}

/// A clause that completes "asks again, because …".
impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let when = date(self.approved_at);
        let since = format!("since you approved it on {when}");
        match &self.void {
            Void::Elsewhere => f.write_str("the approval is for something else"),
            Void::Files(changes) if changes.is_empty() => {
                write!(f, "its files have changed {since}")
            }
            Void::Files(changes) => {
                let told: Vec<String> =
                    changes.iter().take(MOST_TOLD).map(ToString::to_string).collect();
                write!(f, "{}", told.join(", "))?;
                match changes.len().saturating_sub(MOST_TOLD) {
                    0 => {}
                    1 => f.write_str(" and one more file")?,
                    more => write!(f, " and {more} more files")?,
                }
                write!(f, " {since}")
            }
            Void::OtherSkill(folder) => write!(
                f,
                "what you approved on {when} is another skill of that name, in {}",
                visible(folder)
            ),
            Void::Grants(grants) => {
                let grants = grants.join(", ");
                write!(f, "it now asks for more than you approved on {when}: {}", visible(&grants))
            }
            Void::Project(folder) => {
                write!(f, "you approved it on {when} for work in {}, not here", visible(folder))
            }
            Void::NoProject => {
                write!(f, "your approval of {when} does not say in which folder it may work")
            }
            Void::Program(path) => write!(
                f,
                "the program {} is not the one that was there when you approved it on {when}",
                visible(path)
            ),
            Void::NewProgram(path) => write!(
                f,
                "it now starts the program {}, which was not part of what you approved on {when}",
                visible(path)
            ),
        }
    }
}

impl fmt::Display for FileChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (path, what) = match self {
            FileChange::Changed(path) => (path, "has changed"),
            FileChange::Added(path) => (path, "was added"),
            FileChange::Removed(path) => (path, "was removed"),
        };
        write!(f, "`{}` {what}", visible(path))
    }
}

/// The day of a time, in UTC. The method is Howard Hinnant's `civil_from_days`.
pub fn date(seconds: u64) -> String {
    let days = seconds / 86_400 + 719_468;
    let era = days / 146_097;
    let day_of_era = days % 146_097;
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

#[cfg(test)]
mod tests {
    use super::date;

    #[test]
    fn days_are_counted_with_leap_years() {
        for (seconds, day) in [
            (0, "1970-01-01"),
            (951_782_400, "2000-02-29"),
            (951_868_800, "2000-03-01"),
            (1_735_689_599, "2024-12-31"),
            (4_107_542_400, "2100-03-01"),
        ] {
            assert_eq!(date(seconds), day);
        }
    }
}
