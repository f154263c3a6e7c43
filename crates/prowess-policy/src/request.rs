//! What is to be run: one tool of one skill, with everything about it that a decision depends on.

use prowess_format::skill::{Skill, ToolKind};

use crate::approval::{Digest, FileHashes, ProgramPin};
use crate::grants::program_of;
use crate::trust::Tier;

/// Where a skill lies, and where its tools work. Both as text that only one folder has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Places {
    /// The skill's folder, or its file where it stands alone.
    pub skill: String,
    /// The working directory: what `./` in its grants is.
    pub project: String,
}

/// A wish to run a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    pub(crate) skill: String,
    pub(crate) tool: String,
    pub(crate) kind: ToolKind,
    pub(crate) program: Option<String>,
    pub(crate) digest: Digest,
    pub(crate) pins: Vec<ProgramPin>,
    pub(crate) skill_pins: Vec<ProgramPin>,
    pub(crate) read_only: bool,
    pub(crate) always_ask: bool,
    pub(crate) modes: Vec<String>,
    pub(crate) timeout_secs: u64,
    pub(crate) in_home: bool,
    pub(crate) places: Option<Places>,
    pub(crate) files: FileHashes,
}

/// A skill has no tool of this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the skill `{skill}` has no tool `{tool}`")]
pub struct NoSuchTool {
    /// The skill.
    pub skill: String,
    /// The tool that was asked for.
    pub tool: String,
}

/// The shortest and the longest time limit (GIB §5.3).
const TIMEOUT: std::ops::RangeInclusive<i64> = 1..=300;

impl Request {
    /// The wish to run a tool of a skill.
    ///
    /// `name` is the name that counts (R3), `digest` is over all the skill's files, and `pins` are the images that the tool's programs resolve to now.
    pub fn of(
        skill: &Skill,
        name: &str,
        tool: &str,
        digest: Digest,
        pins: Vec<ProgramPin>,
    ) -> Result<Self, NoSuchTool> {
        let Some(wanted) = skill.tool(tool) else {
            return Err(NoSuchTool { skill: name.to_owned(), tool: tool.to_owned() });
        };
        let timeout = skill.timeout_secs_or_default().clamp(*TIMEOUT.start(), *TIMEOUT.end());
        Ok(Self {
            skill: name.to_owned(),
            tool: tool.to_owned(),
            kind: wanted.kind,
            program: program_of(wanted),
            digest,
            pins,
            skill_pins: Vec::new(),
            read_only: skill.read_only.as_ref().is_some_and(|flag| flag.value),
            always_ask: skill.always_ask.as_ref().is_some_and(|flag| flag.value),
            modes: skill.modes_or_default().into_iter().map(str::to_owned).collect(),
            timeout_secs: timeout.unsigned_abs(),
            in_home: false,
            places: None,
            files: FileHashes::new(),
        })
    }

    /// The same wish with the images that its programs resolve to.
    #[must_use]
    pub fn with_pins(mut self, pins: Vec<ProgramPin>) -> Self {
        self.pins = pins;
        self
    }

    /// The same wish with the images that the programs of the skill's other tools resolve to: an approval of the whole skill keeps them too.
    #[must_use]
    pub fn with_skill_pins(mut self, pins: Vec<ProgramPin>) -> Self {
        self.skill_pins = pins;
        self
    }

    /// The same wish for a run whose working directory is the user's home (GIB §5.1). What a skill asks for below `./` is then asked for below `~/`, and judged as that.
    #[must_use]
    pub fn in_home(mut self) -> Self {
        self.in_home = true;
        self
    }

    /// The same wish in known places. Without them an approval of what is relative to the working directory never counts.
    #[must_use]
    pub fn with_places(mut self, places: Places) -> Self {
        self.places = Some(places);
        self
    }

    /// The same wish with what is in the skill's files one by one, so that a change can be told.
    #[must_use]
    pub fn with_files(mut self, files: FileHashes) -> Self {
        self.files = files;
        self
    }

    /// The skill's name.
    pub fn skill(&self) -> &str {
        &self.skill
    }

    /// The tool's name.
    pub fn tool(&self) -> &str {
        &self.tool
    }

    /// The digest of all the skill's files.
    pub fn digest(&self) -> &Digest {
        &self.digest
    }

    /// The images that the tool's programs resolve to.
    pub fn pins(&self) -> &[ProgramPin] {
        &self.pins
    }

    /// The highest tier that such a tool can have: handlers are experimental whatever vouches for them (GAIA §8.3).
    pub fn ceiling(&self) -> Tier {
        match self.kind {
            ToolKind::Handler => Tier::Experimental,
            ToolKind::Command | ToolKind::Python => Tier::Verified,
        }
    }
}
