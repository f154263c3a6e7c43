//! Whether a machine has what a skill asks for, and what is missing (OC-4, SRT §4.6, GAIA §2.1).
//!
//! Pure: whoever may look at the machine hands in what is there.

use crate::skill::Skill;
use crate::span::Spanned;

/// What a machine has.
pub trait Machine {
    /// Its operating system in OpenClaw's words: `darwin`, `linux` or `win32`.
    fn os(&self) -> &str;
    /// Whether a program is on PATH.
    fn has_program(&self, name: &str) -> bool;
    /// Whether an environment variable is set and not empty.
    fn has_variable(&self, name: &str) -> bool;
    /// Whether a setting such as `browser.enabled` is on.
    fn has_setting(&self, path: &str) -> bool;
    /// What is wrong with an MCP server, as the end of a sentence that begins with its name; `None` if it is there.
    fn server_problem(&self, name: &str) -> Option<String>;
}

/// One thing that stands in the way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Missing {
    /// A newer runtime than there is (SRT §4.3, §10).
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
        /// What is wrong with it.
        problem: String,
    },
}

impl Missing {
    /// Whether it is something to be started, which is an error of its own (GIB §9.3).
    pub fn is_for_starting(&self) -> bool {
        match self {
            Missing::Program(_) | Missing::AnyProgram(_) | Missing::Server { .. } => true,
            Missing::Runtime(_) | Missing::Os(_) | Missing::Variable(_) | Missing::Setting(_) => {
                false
            }
        }
    }
}

impl std::fmt::Display for Missing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let list = |words: &[String]| {
            words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
        };
        match self {
            Missing::Runtime(version) => write!(
                f,
                "it wants a runtime of version {version}, {UNDERSTOOD_RUNTIME} is understood"
            ),
            Missing::Os(systems) => write!(f, "it runs only on {}", list(systems)),
            Missing::Program(name) => write!(f, "the program `{name}` is not on PATH"),
            Missing::AnyProgram(names) => write!(f, "none of {} is on PATH", list(names)),
            Missing::Variable(name) => write!(f, "the variable `{name}` is not set"),
            Missing::Setting(path) => write!(f, "the setting `{path}` is off"),
            Missing::Server { name, problem } => write!(f, "the MCP server `{name}` {problem}"),
        }
    }
}

/// Everything a skill needs and the machine lacks; nothing means that it may run.
///
/// OC-4: `always` skips every gate but the operating system.
pub fn missing(skill: &Skill, machine: &dyn Machine) -> Vec<Missing> {
    let wanted = &skill.requirements;
    let mut missing = Vec::new();
    missing.extend(newer_runtime(skill).map(|version| Missing::Runtime(version.value.clone())));
    let systems: Vec<String> = wanted.os.iter().map(|os| os.value.clone()).collect();
    if !systems.is_empty() && !systems.iter().any(|os| same_os(os, machine.os())) {
        missing.push(Missing::Os(systems));
    }
    if skill.openclaw.as_ref().and_then(|block| block.always) == Some(true) {
        return missing;
    }
    let absent = wanted.programs.iter().filter(|name| !machine.has_program(name));
    missing.extend(absent.map(|name| Missing::Program(name.value.clone())));
    if !wanted.any_programs.is_empty()
        && !wanted.any_programs.iter().any(|name| machine.has_program(name))
    {
        let names = wanted.any_programs.iter().map(|name| name.value.clone());
        missing.push(Missing::AnyProgram(names.collect()));
    }
    let absent = wanted.env_vars.iter().filter(|name| !machine.has_variable(name));
    missing.extend(absent.map(|name| Missing::Variable(name.value.clone())));
    let absent = wanted.config.iter().filter(|path| !machine.has_setting(path));
    missing.extend(absent.map(|path| Missing::Setting(path.value.clone())));
    missing.extend(wanted.mcp_servers.iter().filter_map(|name| {
        let problem = machine.server_problem(name)?;
        Some(Missing::Server { name: name.value.clone(), problem })
    }));
    missing
}

/// The version of the skillrt specification that is understood here.
pub const UNDERSTOOD_RUNTIME: semver::Version = semver::Version::new(0, 1, 0);

/// The oldest runtime that a skill wants, where it is newer than the one here (SRT §4.3).
pub fn newer_runtime(skill: &Skill) -> Option<&Spanned<String>> {
    let wanted = skill.runtime.as_ref()?.min_version.as_ref()?;
    let is_newer = semver::Version::parse(wanted).is_ok_and(|wanted| wanted > UNDERSTOOD_RUNTIME);
    is_newer.then_some(wanted)
}

/// Published files call the same system by several names.
fn same_os(declared: &str, ours: &str) -> bool {
    let plain = |word: &str| match word.to_lowercase().as_str() {
        "macos" | "mac" | "osx" => "darwin".to_owned(),
        "windows" | "win" => "win32".to_owned(),
        other => other.to_owned(),
    };
    plain(declared) == plain(ours)
}
