//! The environment of a child process: an allowlist, granted variables, and injected ones (GIB
//! §5.2, R31).

use crate::mode::Mode;
use crate::scope::{VariableName, is_inherited};
use crate::spec::Variables;

/// Variables that tell a child process about its skill.
#[derive(Clone, Copy, Debug)]
pub struct InjectedVariables<'a> {
    /// The skill's name.
    pub skill_name: &'a str,
    /// The skill's directory, as the child process sees it.
    pub skill_dir: &'a str,
    /// The active mode.
    pub mode: Mode,
}

/// The input of the filter.
#[derive(Clone, Copy, Debug)]
pub struct EnvironmentSources<'a> {
    /// The environment of the parent process.
    pub parent: &'a [(String, String)],
    /// The variables that the decision allows.
    pub granted: &'a Variables,
    /// Variables with the runtime's own keys: for models, registries, proxies (attack sandbox-F03).
    pub runtime_keys: &'a [&'a str],
    /// Variables that the tool's author sets to literal values.
    pub set_by_tool: &'a [(String, String)],
    /// The injected variables.
    pub injected: InjectedVariables<'a>,
}

/// The environment of the child process, and the granted variables that are withheld.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Environment {
    /// The variables, sorted by name, without duplicates.
    pub variables: Vec<(String, String)>,
    /// Granted or set variables that are withheld.
    pub withheld: Vec<Withheld>,
}

/// A variable that is not passed on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Withheld {
    /// Its name.
    pub name: String,
    /// The reason.
    pub why: WithheldReason,
}

/// Why a variable is not passed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WithheldReason {
    /// It contains a key of the runtime.
    RuntimeKey,
    /// It is not set in the parent process.
    NotSet,
    /// A tool may not set it: it controls what programs load or connect to, or is not a valid name.
    Control,
}

/// Filters the environment of a child process.
pub fn filter(sources: &EnvironmentSources<'_>) -> Environment {
    let EnvironmentSources { parent, granted, runtime_keys, set_by_tool, injected } = sources;
    let mut variables: Vec<(String, String)> = Vec::new();
    let mut withheld = Vec::new();
    let mut keep_back = |name: &str, why| withheld.push(Withheld { name: name.to_owned(), why });
    let is_runtime_key = |name: &str| runtime_keys.iter().any(|key| key.eq_ignore_ascii_case(name));
    for name in &granted.named {
        if is_runtime_key(name.as_str()) {
            keep_back(name.as_str(), WithheldReason::RuntimeKey);
        } else if !parent.iter().any(|(known, _)| known == name.as_str()) {
            keep_back(name.as_str(), WithheldReason::NotSet);
        }
    }
    for (name, value) in *parent {
        if (is_inherited(name) || granted.allow(name)) && !is_runtime_key(name) {
            put(&mut variables, name, value);
        }
    }
    for (name, value) in *set_by_tool {
        if VariableName::parse(name).is_ok() {
            put(&mut variables, name, value);
        } else {
            keep_back(name, WithheldReason::Control);
        }
    }
    for prefix in ["GIBBERISH", "PROWESS"] {
        put(&mut variables, &format!("{prefix}_SKILL_NAME"), injected.skill_name);
        put(&mut variables, &format!("{prefix}_SKILL_DIR"), injected.skill_dir);
        put(&mut variables, &format!("{prefix}_MODE"), injected.mode.as_str());
    }
    variables.sort();
    Environment { variables, withheld }
}

fn put(variables: &mut Vec<(String, String)>, name: &str, value: &str) {
    match variables.iter_mut().find(|(known, _)| known == name) {
        Some((_, known)) => value.clone_into(known),
        None => variables.push((name.to_owned(), value.to_owned())),
    }
}
