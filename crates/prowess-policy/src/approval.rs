//! The user's approvals, and when they become void (GIB §6.3, R32).
//!
//! Plain values: the caller stores the fields. An approval is valid for the exact bytes of all the
//! skill's files, for the grants that were shown, for the folder that relative grants refer to, and
//! for the program images that were present.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use prowess_format::text::visible;

use crate::grant::{Grant, GrantScope, GrantSource};
use crate::request::RunRequest;
use crate::scope::Program;

/// A digest of all the files of a skill, computed by the caller.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Digest(String);

impl Digest {
    /// Creates a digest from text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A program image: a path and the hash of the file (attack sandbox-B12).
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ProgramPin {
    /// The absolute path.
    pub path: String,
    /// The SHA-256 of the file, in hexadecimal.
    pub sha256: String,
}

/// The hashes of a skill's files by path. They only show which file changed; the [`Digest`]
/// decides. Empty if unknown.
pub type FileHashes = BTreeMap<String, String>;

/// The folder that an approval is for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Project {
    /// Valid everywhere: none of the grants depends on the working directory.
    Any,
    /// The working directory at the time of the approval.
    Folder(String),
    /// Not recorded, as in earlier versions. Never valid.
    Unknown,
}

/// One remembered approval.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Approval {
    /// The skill's name.
    pub skill: String,
    /// Where the skill was, for display: the digest decides.
    pub skill_folder: Option<String>,
    /// The folder it is for.
    pub project: Project,
    /// The digest of all its files.
    pub digest: Digest,
    /// The hashes of these files, if known.
    pub files: FileHashes,
    /// The tool; the whole skill if absent.
    pub tool: Option<String>,
    /// The granted permissions, in canonical spelling.
    pub grants: Vec<String>,
    /// The program images that were present.
    pub pins: Vec<ProgramPin>,
    /// The time, in seconds since 1970; provided by the caller.
    pub given_at: u64,
}

/// Why an approval is void.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VoidReason {
    /// It is for another skill or another tool.
    OtherSkillOrTool,
    /// Files of the skill changed; which ones, if known.
    Files(Vec<FileChange>),
    /// The approval is for another skill of that name, in this folder.
    OtherSkill(String),
    /// It was approved in this folder, and the working directory is another one now.
    Project(String),
    /// The folder was not recorded.
    NoProject,
    /// These grants were not approved.
    Grants(Vec<String>),
    /// The program at this path is not the one that was approved.
    Program(String),
    /// The program at this path was not part of the approval.
    NewProgram(String),
}

/// A changed file of a skill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileChange {
    /// Its content changed.
    Changed(String),
    /// It was added.
    Added(String),
    /// It was removed.
    Removed(String),
}

impl FileChange {
    /// The path inside the skill.
    pub fn path(&self) -> &str {
        match self {
            FileChange::Changed(path) | FileChange::Added(path) | FileChange::Removed(path) => path,
        }
    }
}

/// The change that voided an approval.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApprovalChange {
    /// What happened.
    pub void: VoidReason,
    /// When the approval was given, in seconds since 1970.
    pub approved_at: u64,
    /// The hashes of the approved files, if known.
    pub files: FileHashes,
}

/// How a request relates to the stored approvals.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ApprovalStatus<'a> {
    /// An approval covers it.
    Covered(&'a Approval),
    /// It was approved once, but something has changed since.
    Void(&'a Approval, VoidReason),
    /// It was never approved.
    Never,
}

/// Everything the user has approved.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Approvals {
    records: Vec<Approval>,
    grants: Vec<RememberedGrant>,
}

/// Grants that the user gave a skill themselves and wants to be remembered until it changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RememberedGrant {
    /// The skill's name.
    pub skill: String,
    /// Where the skill was, for display: the digest decides.
    pub skill_folder: Option<String>,
    /// The folder that relative paths refer to.
    pub project: Project,
    /// The digest of all its files.
    pub digest: Digest,
    /// The permissions, in canonical spelling.
    pub grants: Vec<String>,
    /// The images of the programs among them.
    pub pins: Vec<ProgramPin>,
    /// The time, in seconds since 1970; provided by the caller.
    pub given_at: u64,
}

impl RememberedGrant {
    /// Whether it is for this skill, with exactly these files, in this folder.
    pub fn is_for(&self, request: &RunRequest) -> bool {
        let is_here = match &self.project {
            Project::Any => true,
            Project::Folder(folder) => {
                request.folders.as_ref().is_some_and(|folders| folders.project == *folder)
            }
            Project::Unknown => false,
        };
        self.skill == request.skill && self.digest == request.digest && is_here
    }

    /// The grants.
    pub fn to_grants(&self) -> Vec<Grant> {
        let grant = |text: &String| {
            let source = GrantSource::Remembered(text.clone(), self.given_at);
            Grant::parse(text, &source).unwrap_or_default()
        };
        self.grants.iter().flat_map(grant).collect()
    }
}

impl Approval {
    /// Checks whether the approval covers a request with these grants, and if not, why.
    pub fn covers(&self, request: &RunRequest, grants: &[Grant]) -> Result<(), VoidReason> {
        let tool = self.tool.as_ref().is_none_or(|tool| *tool == request.tool);
        if self.skill != request.skill || !tool {
            return Err(VoidReason::OtherSkillOrTool);
        }
        // GIB §6.3 asks again when SKILL.md changes; here any file counts, because scripts do the
        // actual work.
        if self.digest != request.digest {
            let here = request.folders.as_ref().map(|folders| &folders.skill);
            return Err(match (&self.skill_folder, here) {
                (Some(there), Some(here)) if there != here => VoidReason::OtherSkill(there.clone()),
                _ => VoidReason::Files(changes(&self.files, &request.files)),
            });
        }
        let approved: Vec<Grant> = self
            .grants
            .iter()
            .filter_map(|text| Grant::parse(text, &GrantSource::Declared(text.clone())).ok())
            .flatten()
            .collect();
        let missing: Vec<String> = grants
            .iter()
            .filter(|grant| !approved.iter().any(|known| known.covers(grant)))
            // The digest covers all files, so an approval of the whole skill covers its scripts.
            .filter(|grant| !(self.tool.is_none() && is_own_file(grant)))
            .map(ToString::to_string)
            // A skill's own script has no permission syntax, so it is compared as text.
            .filter(|text| !self.grants.contains(text))
            .collect();
        if !missing.is_empty() {
            return Err(VoidReason::Grants(missing));
        }
        match &self.project {
            // None of its grants is relative, and they cover those of the request.
            Project::Any => {}
            Project::Folder(folder) => {
                if request.folders.as_ref().is_none_or(|folders| folders.project != *folder) {
                    return Err(VoidReason::Project(folder.clone()));
                }
            }
            Project::Unknown => return Err(VoidReason::NoProject),
        }
        let is_known =
            |pin: &&ProgramPin| self.pins.contains(pin) || request.user_pins.contains(pin);
        match request.pins.iter().find(|pin| !is_known(pin)) {
            Some(pin) if self.pins.iter().any(|known| known.path == pin.path) => {
                Err(VoidReason::Program(pin.path.clone()))
            }
            Some(pin) => Err(VoidReason::NewProgram(pin.path.clone())),
            None => Ok(()),
        }
    }
}

impl Approvals {
    /// Creates approvals from records.
    pub fn new(records: Vec<Approval>) -> Self {
        Self { records, grants: Vec::new() }
    }

    /// Adds grants that were remembered.
    #[must_use]
    pub fn with_grants(mut self, grants: Vec<RememberedGrant>) -> Self {
        self.grants = grants;
        self
    }

    /// The user's own grants.
    pub fn grants(&self) -> &[RememberedGrant] {
        &self.grants
    }

    /// Remembers grants of the user. Those for the same skill, files and folder become one record.
    pub fn remember(&mut self, mut grant: RememberedGrant) {
        let is_same = |known: &mut RememberedGrant| {
            known.skill == grant.skill
                && known.digest == grant.digest
                && known.project == grant.project
        };
        let earlier: Vec<RememberedGrant> = self.grants.extract_if(.., is_same).collect();
        for known in earlier {
            let more: Vec<String> =
                known.grants.into_iter().filter(|text| !grant.grants.contains(text)).collect();
            grant.grants.splice(..0, more);
            let more: Vec<ProgramPin> =
                known.pins.into_iter().filter(|pin| !grant.pins.contains(pin)).collect();
            grant.pins.splice(..0, more);
        }
        self.grants.push(grant);
    }

    /// Revokes the user's own grants to a skill. Returns the removed ones.
    pub fn revoke_grants(&mut self, skill: &str) -> Vec<RememberedGrant> {
        self.grants.extract_if(.., |known| known.skill == skill).collect()
    }

    /// The records.
    pub fn records(&self) -> &[Approval] {
        &self.records
    }

    /// Adds an approval, replacing an older one for the same skill, tool, files and folder. One
    /// without a folder is replaced by the first that has one.
    pub fn add(&mut self, approval: Approval) {
        self.records.retain(|known| {
            known.skill != approval.skill
                || known.tool != approval.tool
                || known.digest != approval.digest
                || (known.project != approval.project && known.project != Project::Unknown)
        });
        self.records.push(approval);
    }

    /// Revokes the approvals of a skill, or those that allow one of its tools: its own, and those
    /// of the whole skill. Returns the removed ones.
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

    /// How a request with these grants relates to the approvals.
    pub fn covers(&self, request: &RunRequest, grants: &[Grant]) -> ApprovalStatus<'_> {
        let mut latest: Option<(&Approval, VoidReason)> = None;
        for approval in &self.records {
            match approval.covers(request, grants) {
                Ok(()) => return ApprovalStatus::Covered(approval),
                Err(VoidReason::OtherSkillOrTool) => {}
                Err(void) => {
                    if latest.as_ref().is_none_or(|(known, _)| known.given_at <= approval.given_at)
                    {
                        latest = Some((approval, void));
                    }
                }
            }
        }
        latest
            .map_or(ApprovalStatus::Never, |(approval, void)| ApprovalStatus::Void(approval, void))
    }
}

/// Whether a grant is for starting a file of the skill.
fn is_own_file(grant: &Grant) -> bool {
    matches!(grant.scope(), GrantScope::Program(Program::Own(_)))
}

/// Maximum number of files listed by name.
const MAX_LISTED: usize = 3;

/// Lists the files that differ; empty if either side is unknown.
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
impl fmt::Display for ApprovalChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let when = date(self.approved_at);
        let since = format!("since you approved it on {when}");
        match &self.void {
            VoidReason::OtherSkillOrTool => f.write_str("the approval is for something else"),
            VoidReason::Files(changes) if changes.is_empty() => {
                write!(f, "its files have changed {since}")
            }
            VoidReason::Files(changes) => {
                let told: Vec<String> =
                    changes.iter().take(MAX_LISTED).map(ToString::to_string).collect();
                write!(f, "{}", told.join(", "))?;
                match changes.len().saturating_sub(MAX_LISTED) {
                    0 => {}
                    1 => f.write_str(" and one more file")?,
                    more => write!(f, " and {more} more files")?,
                }
                write!(f, " {since}")
            }
            VoidReason::OtherSkill(folder) => write!(
                f,
                "your approval of {when} is for another skill of that name, in {}",
                visible(folder)
            ),
            VoidReason::Grants(grants) => {
                let grants = grants.join(", ");
                write!(f, "it now requests more than you approved on {when}: {}", visible(&grants))
            }
            VoidReason::Project(folder) => {
                write!(f, "you approved it on {when} in {}, not in this folder", visible(folder))
            }
            VoidReason::NoProject => {
                write!(f, "your approval of {when} does not record a folder")
            }
            VoidReason::Program(path) => write!(
                f,
                "the program {} is not the one that was there when you approved it on {when}",
                visible(path)
            ),
            VoidReason::NewProgram(path) => write!(
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
    fn dates_account_for_leap_years() {
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
