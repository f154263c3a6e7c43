//! A request to run one tool of one skill, with everything that a decision depends on.

use prowess_format::skill::{Skill, Tool, ToolKind};

use crate::approval::{Digest, FileHashes, ProgramPin};
use crate::grants::program_of;
use crate::trust::Tier;

/// The folder of a skill and the working directory of its tools, both as canonical paths.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunFolders {
    /// The skill's folder, or its file if it is a single file.
    pub skill: String,
    /// The working directory, which `./` in its grants refers to.
    pub project: String,
}

/// A request to run a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunRequest {
    pub(crate) skill: String,
    pub(crate) tool: String,
    pub(crate) kind: ToolKind,
    pub(crate) program: Option<String>,
    pub(crate) command: Option<(String, Vec<String>)>,
    pub(crate) digest: Digest,
    pub(crate) pins: Vec<ProgramPin>,
    pub(crate) skill_pins: Vec<ProgramPin>,
    pub(crate) read_only: bool,
    pub(crate) always_ask: bool,
    pub(crate) modes: Vec<String>,
    pub(crate) timeout_secs: u64,
    pub(crate) in_home: bool,
    pub(crate) folders: Option<RunFolders>,
    pub(crate) files: FileHashes,
    pub(crate) user_pins: Vec<ProgramPin>,
    pub(crate) own_grants: GrantLifetime,
}

/// How long the grants count that the user gives with a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GrantLifetime {
    ThisRun,
    UntilTheSkillChanges,
}

/// The skill has no tool of this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the skill `{skill}` has no tool `{tool}`")]
pub struct NoSuchTool {
    /// The skill.
    pub skill: String,
    /// The requested tool.
    pub tool: String,
}

/// A field of a command line: its time limit in seconds, in place of the skill's.
pub const TIMEOUT_FIELD: &str = "timeout_secs";
/// A field of a command line: no earlier approval is enough.
pub const ALWAYS_ASK_FIELD: &str = "always_ask";
/// A field of a command line: the programs that it starts beside its own, which are requested with it.
pub const PROGRAMS_FIELD: &str = "programs";

/// The allowed timeouts (GIB §5.3).
const TIMEOUT: std::ops::RangeInclusive<i64> = 1..=300;

impl RunRequest {
    /// Creates a request to run a tool of a skill.
    ///
    /// `name` is the effective name (R3), `digest` is over all the skill's files, and `pins` are
    /// the images that the tool's programs currently resolve to.
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
        Ok(Self::of_tool(skill, name, wanted, digest, pins))
    }

    /// Creates a request to run a tool that the skill need not declare: one of its scripts, or a
    /// command line.
    pub fn of_tool(
        skill: &Skill,
        name: &str,
        tool: &Tool,
        digest: Digest,
        pins: Vec<ProgramPin>,
    ) -> Self {
        // A skill declares no command lines, so these fields come from whoever starts one.
        let of_caller = |key: &str| {
            let is_key = |(known, _): &&(String, _)| known == key;
            let field = tool.extra.iter().find(is_key).map(|(_, value)| value);
            field.filter(|_| tool.kind == ToolKind::CommandLine)
        };
        let timeout = of_caller(TIMEOUT_FIELD).and_then(serde_json::Value::as_i64);
        let timeout = timeout.unwrap_or_else(|| skill.timeout_secs_or_default());
        let timeout = timeout.clamp(*TIMEOUT.start(), *TIMEOUT.end());
        let always_ask = of_caller(ALWAYS_ASK_FIELD).is_some_and(|value| *value == true);
        Self {
            skill: name.to_owned(),
            tool: tool.name.value.clone(),
            kind: tool.kind,
            program: program_of(tool),
            command: None,
            digest,
            pins,
            skill_pins: Vec::new(),
            read_only: skill.read_only.as_ref().is_some_and(|flag| flag.value),
            always_ask: always_ask || skill.always_ask.as_ref().is_some_and(|flag| flag.value),
            modes: skill.modes_or_default().into_iter().map(str::to_owned).collect(),
            timeout_secs: timeout.unsigned_abs(),
            in_home: false,
            folders: None,
            files: FileHashes::new(),
            user_pins: Vec::new(),
            own_grants: GrantLifetime::ThisRun,
        }
    }

    /// Sets the images that its programs resolve to.
    #[must_use]
    pub fn with_pins(mut self, pins: Vec<ProgramPin>) -> Self {
        self.pins = pins;
        self
    }

    /// Sets the command line that is started, which is compared with the [table of refused commands](crate::binaries).
    #[must_use]
    pub fn with_command(mut self, program: &str, arguments: &[String]) -> Self {
        self.command = Some((program.to_owned(), arguments.to_vec()));
        self
    }

    /// Sets the images that the programs of the skill's other tools resolve to: an approval of the
    /// whole skill includes them.
    #[must_use]
    pub fn with_skill_pins(mut self, pins: Vec<ProgramPin>) -> Self {
        self.skill_pins = pins;
        self
    }

    /// Sets the images that only the user's own grants bring in. Naming the program was the consent,
    /// so no approval has to include them.
    #[must_use]
    pub fn with_user_pins(mut self, pins: Vec<ProgramPin>) -> Self {
        self.user_pins = pins;
        self
    }

    /// Marks a run whose grants by the user are remembered for the skill.
    #[must_use]
    pub fn remembering(mut self) -> Self {
        self.own_grants = GrantLifetime::UntilTheSkillChanges;
        self
    }

    /// Whether the user's grants are remembered.
    pub(crate) fn remembers(&self) -> bool {
        self.own_grants == GrantLifetime::UntilTheSkillChanges
    }

    /// Marks a run whose working directory is the user's home directory (GIB §5.1). Grants below
    /// `./` are then treated as grants below `~/`.
    #[must_use]
    pub fn in_home(mut self) -> Self {
        self.in_home = true;
        self
    }

    /// Sets the folders. Without them an approval of relative grants is never valid.
    #[must_use]
    pub fn with_folders(mut self, folders: RunFolders) -> Self {
        self.folders = Some(folders);
        self
    }

    /// Sets the hashes of the skill's files, so that a change can be reported.
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

    /// The folders, if known.
    pub fn folders(&self) -> Option<&RunFolders> {
        self.folders.as_ref()
    }

    /// The images that only the user's own grants bring in.
    pub fn user_pins(&self) -> &[ProgramPin] {
        &self.user_pins
    }

    /// The images that the tool's programs resolve to.
    pub fn pins(&self) -> &[ProgramPin] {
        &self.pins
    }

    /// The highest tier that such a tool can have: handlers are always experimental (GAIA §8.3).
    pub fn ceiling(&self) -> Tier {
        match self.kind {
            ToolKind::Handler => Tier::Experimental,
            ToolKind::Command
            | ToolKind::Python
            | ToolKind::Script
            | ToolKind::CommandLine
            | ToolKind::McpTool => Tier::Verified,
        }
    }
}
