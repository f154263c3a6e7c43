//! What the user has approved, and when it stops counting (GIB §6.3, R32).
//!
//! Plain values: whoever stores them writes and reads the fields. An approval holds for the exact bytes of all the skill's files, for the grants that were shown, and for the program images that were there.

use std::fmt;

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

/// A program image: a path and what was in the file (attack B12).
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ProgramPin {
    /// The absolute path.
    pub path: String,
    /// The SHA-256 of the file, in hexadecimal.
    pub sha256: String,
}

/// One answer of the user that is remembered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Approval {
    /// The skill's name.
    pub skill: String,
    /// The digest of all its files.
    pub digest: Digest,
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
    /// A file of the skill is not the one that was approved.
    Files,
    /// These grants were not approved.
    Grants(Vec<String>),
    /// The program at this path is not the one that was approved.
    Program(String),
    /// The program at this path was not part of what was approved.
    NewProgram(String),
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
            return Err(Void::Files);
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

    /// Adds one, in place of an older one for the same skill, tool and files.
    pub fn add(&mut self, approval: Approval) {
        self.records.retain(|known| {
            known.skill != approval.skill
                || known.tool != approval.tool
                || known.digest != approval.digest
        });
        self.records.push(approval);
    }

    /// Removes those of a skill, or of one of its tools; how many there were.
    pub fn revoke(&mut self, skill: &str, tool: Option<&str>) -> usize {
        let before = self.records.len();
        self.records.retain(|known| {
            known.skill != skill || tool.is_some_and(|tool| known.tool.as_deref() != Some(tool))
        });
        before - self.records.len()
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

impl fmt::Display for Void {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Void::Elsewhere => f.write_str("the approval is for something else"),
            Void::Files => f.write_str("its files have changed since you approved it"),
            Void::Grants(grants) => {
                write!(f, "it now asks for more than you approved: {}", grants.join(", "))
            }
            Void::Program(path) => {
                write!(f, "the program {path} is not the one that was there when you approved it")
            }
            Void::NewProgram(path) => {
                write!(
                    f,
                    "it now starts the program {path}, which was not part of what you approved"
                )
            }
        }
    }
}
