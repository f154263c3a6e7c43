//! Checks whether a machine meets the requirements of a skill, and what is missing (OC-4, SRT §4.6,
//! GAIA §2.1).
//!
//! Pure: the caller provides the facts about the machine.

use crate::skill::Skill;
use crate::span::Spanned;

/// Facts about a machine.
pub trait MachineFacts {
    /// The operating system in OpenClaw's terms: `darwin`, `linux` or `win32`.
    fn os(&self) -> &str;
    /// Whether a program is on PATH.
    fn has_program(&self, name: &str) -> bool;
    /// Whether an environment variable is set and not empty.
    fn has_variable(&self, name: &str) -> bool;
    /// Whether a setting such as `browser.enabled` is on.
    fn has_setting(&self, path: &str) -> bool;
    /// The problem with an MCP server, as the end of a sentence that begins with its name; `None`
    /// if it is available.
    fn server_problem(&self, name: &str) -> Option<String>;
}

/// A requirement that is not met.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MissingRequirement {
    /// A newer runtime than this one (SRT §4.3, §10).
    Runtime(String),
    /// The skill runs only on these systems.
    Os(Vec<String>),
    /// A program.
    Program(String),
    /// Any one of these programs.
    AnyProgram(Vec<String>),
    /// An environment variable.
    Variable(String),
    /// A setting.
    Setting(String),
    /// An MCP server.
    Server {
        /// Its name.
        name: String,
        /// The problem with it.
        problem: String,
    },
}

impl MissingRequirement {
    /// Whether it is a program to start, which has its own error (GIB §9.3).
    pub fn is_for_starting(&self) -> bool {
        match self {
            MissingRequirement::Program(_)
            | MissingRequirement::AnyProgram(_)
            | MissingRequirement::Server { .. } => true,
            MissingRequirement::Runtime(_)
            | MissingRequirement::Os(_)
            | MissingRequirement::Variable(_)
            | MissingRequirement::Setting(_) => false,
        }
    }
}

impl std::fmt::Display for MissingRequirement {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let list = |words: &[String]| {
            words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
        };
        match self {
            MissingRequirement::Runtime(version) => write!(
                f,
                "it requires runtime version {version}, but only {UNDERSTOOD_RUNTIME} is supported"
            ),
            MissingRequirement::Os(systems) => write!(f, "it runs only on {}", list(systems)),
            MissingRequirement::Program(name) => write!(f, "the program `{name}` is not on PATH"),
            MissingRequirement::AnyProgram(names) => {
                write!(f, "none of {} is on PATH", list(names))
            }
            MissingRequirement::Variable(name) => write!(f, "the variable `{name}` is not set"),
            MissingRequirement::Setting(path) => write!(f, "the setting `{path}` is off"),
            MissingRequirement::Server { name, problem } => {
                write!(f, "the MCP server `{name}` {problem}")
            }
        }
    }
}

/// Lists the requirements that the machine does not meet; an empty list means that the skill may
/// run.
///
/// `always` skips every gate except the operating system (OC-4).
pub fn missing(skill: &Skill, machine: &dyn MachineFacts) -> Vec<MissingRequirement> {
    let wanted = &skill.requirements;
    let mut missing = Vec::new();
    missing.extend(
        newer_runtime(skill).map(|version| MissingRequirement::Runtime(version.value.clone())),
    );
    let systems: Vec<String> = wanted.os.iter().map(|os| os.value.clone()).collect();
    if !systems.is_empty() && !systems.iter().any(|os| same_os(os, machine.os())) {
        missing.push(MissingRequirement::Os(systems));
    }
    if skill.openclaw.as_ref().and_then(|block| block.always) == Some(true) {
        return missing;
    }
    let absent = wanted.programs.iter().filter(|name| !machine.has_program(name));
    missing.extend(absent.map(|name| MissingRequirement::Program(name.value.clone())));
    if !wanted.any_programs.is_empty()
        && !wanted.any_programs.iter().any(|name| machine.has_program(name))
    {
        let names = wanted.any_programs.iter().map(|name| name.value.clone());
        missing.push(MissingRequirement::AnyProgram(names.collect()));
    }
    let absent = wanted.env_vars.iter().filter(|name| !machine.has_variable(name));
    missing.extend(absent.map(|name| MissingRequirement::Variable(name.value.clone())));
    let absent = wanted.config.iter().filter(|path| !machine.has_setting(path));
    missing.extend(absent.map(|path| MissingRequirement::Setting(path.value.clone())));
    missing.extend(wanted.mcp_servers.iter().filter_map(|name| {
        let problem = machine.server_problem(name)?;
        Some(MissingRequirement::Server { name: name.value.clone(), problem })
    }));
    missing
}

/// The supported version of the skillrt specification.
pub const UNDERSTOOD_RUNTIME: semver::Version = semver::Version::new(0, 1, 0);

/// The minimum runtime version of a skill, if it is newer than the supported one (SRT §4.3).
pub fn newer_runtime(skill: &Skill) -> Option<&Spanned<String>> {
    let wanted = skill.runtime.as_ref()?.min_version.as_ref()?;
    let is_newer = semver::Version::parse(wanted).is_ok_and(|wanted| wanted > UNDERSTOOD_RUNTIME);
    is_newer.then_some(wanted)
}

/// Compares operating systems, for which published files use several names.
fn same_os(declared: &str, ours: &str) -> bool {
    let plain = |word: &str| match word.to_lowercase().as_str() {
        "macos" | "mac" | "osx" => "darwin".to_owned(),
        "windows" | "win" => "win32".to_owned(),
        other => other.to_owned(),
    };
    plain(declared) == plain(ours)
}
