//! Lock files of other tools, as far as they say what is installed and from where.
//!
//! What they say is a claim: a hash is for comparing with what is fetched again, and proves nothing by itself. Names are
//! texts of strangers and become a [`prowess_package::name::SkillName`] or nothing (NEG-5).

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

/// A longer file was not written by any of these tools.
const MOST_BYTES: u64 = 16 << 20;

/// Whose lock file it is.
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
    /// `skill-lock.json` as GAIA §7.3 has it (R50).
    Gaia,
    /// `skill-lock.json` as GAIA writes it today (R50).
    GaiaHub,
}

impl LockKind {
    /// Which tool writes it.
    pub fn tool(self) -> &'static str {
        match self {
            LockKind::SkillsProject | LockKind::SkillsUser => "the skills CLI",
            LockKind::ClawHub | LockKind::ClawHubOrigin => "ClawHub",
            LockKind::Gaia | LockKind::GaiaHub => "GAIA",
        }
    }
}

/// What a lock file says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Imported {
    /// Whose file it is.
    pub kind: LockKind,
    /// The skills, in the order of the file.
    pub skills: Vec<ImportedSkill>,
    /// What else is in it, as JSON.
    pub extra: Vec<(String, String)>,
    /// What does not fit together.
    pub notes: Vec<String>,
}

/// One skill of a lock file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportedSkill {
    /// The name, as it is written.
    pub name: String,
    /// Whose it is, where names have owners.
    pub owner: Option<String>,
    /// The version that is installed.
    pub version: Option<String>,
    /// The range that was asked for.
    pub requested: Option<String>,
    /// Where it came from.
    pub source: ImportedSource,
    /// What its files hash to.
    pub hashes: Vec<ImportedHash>,
    /// When it was installed, as it is written.
    pub installed_at: Option<String>,
    /// Whether updates leave it alone, and why.
    pub pinned: Option<String>,
    /// What else is said of it, as JSON.
    pub extra: Vec<(String, String)>,
}

impl ImportedSkill {
    /// The name under which it can be installed.
    pub fn canonical_name(&self) -> Result<SkillName, SkillNameError> {
        self.name.parse()
    }
}

/// Where a skill came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ImportedSource {
    /// A repository: `owner/repo` or a URL, perhaps a branch or tag, perhaps a folder or file in it.
    Git {
        /// `owner/repo` or a URL.
        repository: String,
        /// A branch, a tag or a commit.
        reference: Option<String>,
        /// The path of the skill in it.
        path: Option<String>,
    },
    /// A folder of the machine.
    Local(String),
    /// A web site that offers skills under `/.well-known/`.
    WellKnown(String),
    /// A registry; without a URL it is the tool's usual one.
    Registry(Option<String>),
    /// Anything else, in the tool's own word and text.
    Other {
        /// The tool's word for the kind of source.
        kind: String,
        /// Where.
        text: String,
    },
    /// The file does not say.
    Unknown,
}

/// A hash, and what it is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportedHash {
    /// What it is over.
    pub over: HashedWhat,
    /// The hash, as it is written.
    pub text: String,
}

/// What a hash is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HashedWhat {
    /// All files, as the skills CLI does it: [`prowess_package::digest::skills_cli_hash`].
    SkillsCli,
    /// All files, as ClawHub does it: [`prowess_package::digest::clawhub_fingerprint`].
    ClawHub,
    /// All files, as GAIA does it: [`prowess_package::digest::gaia_content_digest`].
    GaiaContent,
    /// The archive that was fetched.
    Archive,
    /// A tree of git, or whatever a tool takes in its place.
    GitTree,
    /// What a site says of what it serves under `/.well-known/`.
    WellKnown,
    /// What was resolved for it.
    Dependencies,
}

/// Why a lock file can't be imported.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// The disk.
    #[error("cannot read `{}`: {source}", .path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The file is none that we know.
    #[error(
        "`{}` is no lock file that we know: expected `skills-lock.json`, `.skill-lock.json`, `.clawhub/lock.json`, \
         `origin.json` or `skill-lock.json`", .path.display()
    )]
    Unknown {
        /// The file.
        path: PathBuf,
    },
    /// The file is wrong.
    #[error("`{}`: {problem}", .path.display())]
    Wrong {
        /// The file.
        path: PathBuf,
        /// Where, and what is wrong.
        problem: ImportProblem,
    },
}

/// What is wrong with a lock file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {why}")]
pub struct ImportProblem {
    /// The line and column, or the way to the value, such as `skills.deploy.version`.
    pub place: String,
    /// What is wrong, and what to do about it.
    pub why: String,
}

/// Reads a lock file of another tool.
pub fn read(path: &Path) -> Result<Imported, ImportError> {
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

/// Reads the text of a lock file.
pub fn parse(kind: LockKind, text: &str) -> Result<Imported, ImportProblem> {
    parse_value(kind, json(text)?)
}

/// The lock files that are there, where their tools put them.
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
    // Other tools write theirs where they were started, also where no project is.
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
        // The column is 0 where a line holds nothing.
        place: format!("line {}, column {}", error.line(), error.column().max(1)),
        why: "this is not JSON".to_owned(),
    })
}

fn parse_value(kind: LockKind, value: Value) -> Result<Imported, ImportProblem> {
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

/// The kind of a file: by its name, and of two that share one by what is in it.
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
    // Opening a pipe would wait for somebody to write into it.
    if !fs::metadata(path).map_err(failed)?.is_file() {
        return Err(failed(io::Error::other("it is not a file")));
    }
    let mut text = String::new();
    let file = File::open(path).map_err(failed)?;
    file.take(MOST_BYTES).read_to_string(&mut text).map_err(failed)?;
    Ok(text)
}
