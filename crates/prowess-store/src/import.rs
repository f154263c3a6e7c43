//! Reads the lock files of other tools: the installed skills and their sources.
//!
//! Their content is untrusted: a hash is only compared with the files that are fetched again, and proves nothing by
//! itself. Names are validated as [`prowess_package::name::SkillName`] (NEG-5).

mod clawhub;
mod compare;
mod fields;
mod gaia;
mod skills_cli;

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use prowess_package::name::{SkillName, SkillNameError};
use serde_json::Value;

use crate::places::Places;
use fields::Fields;

/// Maximum size; none of these tools writes a larger file.
const MOST_BYTES: u64 = 16 << 20;

/// The kind of a lock file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockKind {
    /// `skills-lock.json` of a project, by the skills CLI.
    SkillsProject,
    /// `.skill-lock.json` of a user, by the skills CLI and by `gh skill`.
    SkillsUser,
    /// `.clawhub/lock.json` of a folder, by ClawHub (OC-12).
    ClawHub,
    /// `.clawhub/origin.json` of one skill, by ClawHub (OC-12).
    ClawHubOrigin,
    /// `skill-lock.json` as specified in GAIA §7.3 (R50).
    Gaia,
    /// `skill-lock.json` as GAIA currently writes it (R50).
    GaiaHub,
}

impl LockKind {
    /// The tool that writes it.
    pub fn tool(self) -> &'static str {
        match self {
            LockKind::SkillsProject | LockKind::SkillsUser => "the skills CLI",
            LockKind::ClawHub | LockKind::ClawHubOrigin => "ClawHub",
            LockKind::Gaia | LockKind::GaiaHub => "GAIA",
        }
    }
}

/// The content of a lock file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportedLock {
    /// The kind of file.
    pub kind: LockKind,
    /// The skills, in the order of the file.
    pub skills: Vec<ImportedSkill>,
    /// Other fields, as JSON.
    pub extra: Vec<(String, String)>,
    /// Inconsistencies.
    pub notes: Vec<String>,
}

/// A skill in a lock file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportedSkill {
    /// The name as written.
    pub name: String,
    /// The owner, if names have owners.
    pub owner: Option<String>,
    /// The installed version.
    pub version: Option<String>,
    /// The requested range.
    pub requested: Option<String>,
    /// The source.
    pub source: ImportedSource,
    /// The hashes of its files.
    pub hashes: Vec<ImportedHash>,
    /// The time of installation as written.
    pub installed_at: Option<String>,
    /// The reason why updates skip it, if they do.
    pub pinned: Option<String>,
    /// Other fields, as JSON.
    pub extra: Vec<(String, String)>,
}

impl ImportedSkill {
    /// The name under which it can be installed.
    pub fn canonical_name(&self) -> Result<SkillName, SkillNameError> {
        self.name.parse()
    }
}

/// The source of a skill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ImportedSource {
    /// A git repository: `owner/repo` or a URL, optionally with a revision and a path.
    Git {
        /// `owner/repo` or a URL.
        repository: String,
        /// A branch, a tag or a commit.
        reference: Option<String>,
        /// The path of the skill in the repository.
        path: Option<String>,
    },
    /// A folder on this machine.
    Local(String),
    /// A web site that publishes skills under `/.well-known/`.
    WellKnown(String),
    /// A registry; without a URL it is the tool's default one.
    Registry(Option<String>),
    /// Any other source.
    Other {
        /// The tool's own term for the kind of source.
        kind: String,
        /// The source as written.
        text: String,
    },
    /// No source is given.
    Unknown,
}

/// A hash and its input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportedHash {
    /// The input of the hash.
    pub over: HashedWhat,
    /// The hash as written.
    pub text: String,
}

/// The input of a hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HashedWhat {
    /// All files, by the algorithm of the skills CLI: [`prowess_package::digest::skills_cli_hash`].
    SkillsCli,
    /// All files, by ClawHub's algorithm: [`prowess_package::digest::clawhub_fingerprint`].
    ClawHub,
    /// All files, by GAIA's algorithm: [`prowess_package::digest::gaia_content_digest`].
    GaiaContent,
    /// The downloaded archive.
    Archive,
    /// A git tree, or a tool's equivalent.
    GitTree,
    /// The digest in a site's index under `/.well-known/`.
    WellKnown,
    /// The resolved dependencies.
    Dependencies,
}

/// Why a lock file can't be imported.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// The file can't be read.
    #[error("cannot read `{}`: {source}", .path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The kind of file is unknown.
    #[error(
        "`{}` is not a supported lock file: expected `skills-lock.json`, `.skill-lock.json`, `.clawhub/lock.json`, \
         `origin.json` or `skill-lock.json`", .path.display()
    )]
    Unknown {
        /// The file.
        path: PathBuf,
    },
    /// The file is invalid.
    #[error("`{}`: {problem}", .path.display())]
    Wrong {
        /// The file.
        path: PathBuf,
        /// The position and the problem.
        problem: ImportProblem,
    },
}

/// A problem in a lock file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {why}")]
pub struct ImportProblem {
    /// The line and column, or the path of the value, such as `skills.deploy.version`.
    pub place: String,
    /// The problem, with advice.
    pub why: String,
}

/// Reads a lock file of another tool.
pub fn read(path: &Path) -> Result<ImportedLock, ImportError> {
    let text = read_text(path)?;
    let wrong = |problem| ImportError::Wrong { path: path.to_owned(), problem };
    let value = json(&text).map_err(wrong)?;
    let kind =
        kind_of(path, &value).ok_or_else(|| ImportError::Unknown { path: path.to_owned() })?;
    let mut imported = parse_value(kind, value).map_err(wrong)?;
    if kind == LockKind::ClawHub {
        clawhub::add_origins(path, &mut imported);
    }
    Ok(imported)
}

/// Parses the text of a lock file.
pub fn parse(kind: LockKind, text: &str) -> Result<ImportedLock, ImportProblem> {
    parse_value(kind, json(text)?)
}

/// The lock files that exist in the default locations of their tools.
pub fn find(places: &Places) -> Vec<PathBuf> {
    const USUAL: &[&str] = &[
        "skills-lock.json",
        ".clawhub/lock.json",
        ".clawdhub/lock.json",
        "${XDG_STATE_HOME:-~/.local/state}/skills/.skill-lock.json",
        "~/.agents/.skill-lock.json",
        "~/.openclaw/.clawhub/lock.json",
        "${GAIA_CONFIG_DIR:-~/.gaia}/skills/skill-lock.json",
    ];
    // Other tools write to the folder in which they were started, even outside of projects.
    let here = |usual: &str| {
        let is_relative = !usual.starts_with(['$', '~']);
        is_relative.then(|| places.current.join(usual))
    };
    let found = USUAL
        .iter()
        .filter_map(|usual| places.locate(usual).map(|found| found.path).or_else(|| here(usual)));
    found.filter(|path| path.is_file()).collect()
}

fn json(text: &str) -> Result<Value, ImportProblem> {
    serde_json::from_str(text).map_err(|error| ImportProblem {
        // The column is 0 on an empty line.
        place: format!("line {}, column {}", error.line(), error.column().max(1)),
        why: "invalid JSON".to_owned(),
    })
}

fn parse_value(kind: LockKind, value: Value) -> Result<ImportedLock, ImportProblem> {
    let fields = Fields::root(value)?;
    match kind {
        LockKind::SkillsProject => skills_cli::project(fields),
        LockKind::SkillsUser => skills_cli::user(fields),
        LockKind::ClawHub => clawhub::lock(fields),
        LockKind::ClawHubOrigin => clawhub::origin(fields),
        LockKind::Gaia => gaia::specified(fields),
        LockKind::GaiaHub => gaia::written_today(fields),
    }
}

/// The kind of a file, by its name; for ambiguous names, by its content.
fn kind_of(path: &Path, value: &Value) -> Option<LockKind> {
    let name = |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned());
    let above = path.parent().and_then(name);
    let in_clawhub = above.is_some_and(|above| matches!(above.as_str(), ".clawhub" | ".clawdhub"));
    match name(path)?.as_str() {
        "skills-lock.json" => Some(LockKind::SkillsProject),
        ".skill-lock.json" => Some(LockKind::SkillsUser),
        "lock.json" if in_clawhub => Some(LockKind::ClawHub),
        "origin.json" if in_clawhub => Some(LockKind::ClawHubOrigin),
        "skill-lock.json" if value.get("schema_version").is_some() => Some(LockKind::GaiaHub),
        "skill-lock.json" => Some(LockKind::Gaia),
        _ => None,
    }
}

fn read_text(path: &Path) -> Result<String, ImportError> {
    let failed = |source| ImportError::Read { path: path.to_owned(), source };
    // Opening a pipe would block.
    if !fs::metadata(path).map_err(failed)?.is_file() {
        return Err(failed(io::Error::other("it is not a file")));
    }
    let mut text = String::new();
    let file = File::open(path).map_err(failed)?;
    file.take(MOST_BYTES).read_to_string(&mut text).map_err(failed)?;
    Ok(text)
}
