//! OpenClaw handlers as they are, through an adapter; always experimental (GAIA §8.3).
//!
//! A handler is a function in a file of the skill. The adapter reads the arguments as JSON from standard input, calls the
//! function, and writes what it returns as JSON to a descriptor of its own, so that a handler may print what it likes.

use std::path::Path;

use prowess_format::skill::{Skill, Tool};
use prowess_format::text::closest;
use prowess_policy::scope::Program;
use serde_json::Value;

use super::python::HandlerPackages;
use super::{Recipe, with_defaults};
use crate::error::RunError;
use crate::prepare::Call;
use crate::world::World;

/// A language that handlers are written in.
struct Language {
    endings: &'static [&'static str],
    interpreter: &'static str,
    options: &'static [&'static str],
    /// Whether `pip_requires` is about it.
    takes_python_packages: bool,
    adapter: &'static str,
}

const LANGUAGES: &[Language] = &[
    Language {
        endings: &[".py"],
        interpreter: "python3",
        // Isolated from the user's packages and variables; no files of compiled code, the skill is read-only.
        options: &["-I", "-B", "-c"],
        takes_python_packages: true,
        adapter: include_str!("openclaw/adapter.py"),
    },
    Language {
        endings: &[".js", ".cjs", ".mjs"],
        interpreter: "node",
        options: &["-e"],
        takes_python_packages: false,
        adapter: include_str!("openclaw/adapter.js"),
    },
];

/// Why a handler can't be started.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HandlerError {
    /// It names none.
    #[error("the action `{0}` names no handler")]
    Unnamed(String),
    /// There is nowhere to look for it.
    #[error(
        "the action `{action}` has the handler `{handler}`, but its SKILL.md has no folder of its own"
    )]
    NoFolder {
        /// The action.
        action: String,
        /// What it names.
        handler: String,
    },
    /// Nobody knows how to start it.
    #[error(
        "the action `{action}` has the handler `{file}`, which is neither Python nor JavaScript"
    )]
    Language {
        /// The action.
        action: String,
        /// The file it names.
        file: String,
    },
    /// It is not there.
    #[error("the action `{action}` has the handler `{file}`, but the skill has no such file{}", meant(.similar.as_ref()))]
    NoFile {
        /// The action.
        action: String,
        /// The file it names.
        file: String,
        /// The file that may be meant.
        similar: Option<String>,
    },
    /// It is not the skill's (NEG-15).
    #[error(
        "the action `{action}` has the handler `{file}`, which points outside the skill's folder"
    )]
    Outside {
        /// The action.
        action: String,
        /// The file it names.
        file: String,
    },
}

fn meant(similar: Option<&String>) -> String {
    similar.map_or_else(String::new, |file| format!(" (did you mean `{file}`?)"))
}

impl HandlerError {
    /// What to do next.
    pub fn hint(&self) -> String {
        let hint = match self {
            HandlerError::Unnamed(_) => {
                "add one to the action, as in `handler: handlers/search.py:search`"
            }
            HandlerError::NoFolder { .. } => {
                "put it into a folder of its own, with its handlers beside it, and name the folder"
            }
            HandlerError::Language { .. } => {
                "a handler ends in `.py`, `.js`, `.cjs` or `.mjs`; anything else can be a command tool"
            }
            HandlerError::NoFile { .. } => "write its path as it is below the skill's folder",
            HandlerError::Outside { .. } => "copy the file into the skill's folder",
        };
        hint.to_owned()
    }
}

/// How to start a handler.
pub(super) fn recipe(call: &Call, world: &World) -> Result<Recipe, RunError> {
    let tool = &call.tool;
    let action = || tool.name.value.clone();
    let handler = tool.handler.as_ref().map(|handler| handler.as_str());
    let handler = handler.ok_or_else(|| HandlerError::Unnamed(action()))?;
    let (path, function) = parts(handler, &tool.name);
    let name = || path.to_owned();
    let Some(directory) = &call.skill.directory else {
        return Err(HandlerError::NoFolder { action: action(), handler: name() }.into());
    };
    let Some(language) = language_of(path) else {
        return Err(HandlerError::Language { action: action(), file: name() }.into());
    };
    let file = directory.join(path);
    match file.canonicalize() {
        Ok(real) if !real.starts_with(directory) => {
            return Err(HandlerError::Outside { action: action(), file: name() }.into());
        }
        Ok(real) if real.is_file() => {}
        Ok(_) | Err(_) => {
            let similar = similar_file(directory, path);
            return Err(HandlerError::NoFile { action: action(), file: name(), similar }.into());
        }
    }
    let packages = if language.takes_python_packages {
        HandlerPackages::of(&call.skill, world)?
    } else {
        None
    };
    let mut arguments: Vec<String> =
        language.options.iter().map(|option| (*option).to_owned()).collect();
    let file = file.to_string_lossy().into_owned();
    let directory = directory.to_string_lossy().into_owned();
    arguments.extend([language.adapter.to_owned(), file, function.to_owned(), directory]);
    Ok(Recipe {
        program: packages
            .as_ref()
            .and_then(HandlerPackages::program)
            .unwrap_or_else(|| Program::Named(language.interpreter.to_owned())),
        arguments,
        shown: vec![
            language.interpreter.to_owned(),
            format!("{path}:{function}"),
            Value::Object(call.values.clone()).to_string(),
        ],
        option_like: Vec::new(),
        variables: Vec::new(),
        input: Some(with_defaults(call).to_string()),
        successes: Vec::new(),
        private_result: true,
        python: None,
        packages,
        server: None,
    })
}

/// A file of the skill in the same folder whose name is nearly the one that was written.
fn similar_file(directory: &Path, path: &str) -> Option<String> {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let names: Vec<String> = std::fs::read_dir(directory.join(folder))
        .ok()?
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    let similar = closest(name, names.iter().map(String::as_str))?;
    Some(if folder.is_empty() { similar.to_owned() } else { format!("{folder}/{similar}") })
}

/// What a handler came to, as its adapter says on the descriptor of its own.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum HandlerResult {
    /// It returned this.
    Returned(Value),
    /// It did not, for this reason.
    Failed(String),
    /// It ended its process, or wrote something of its own.
    Nothing,
}

/// Reads what an adapter said.
pub(crate) fn handler_result(bytes: &[u8], tool: &str) -> HandlerResult {
    let Ok(Value::Object(mut object)) = serde_json::from_slice(bytes) else {
        return HandlerResult::Nothing;
    };
    if let Some(returned) = object.remove("returned") {
        return HandlerResult::Returned(returned);
    }
    match object.get("failed").and_then(Value::as_str) {
        Some(reason) => HandlerResult::Failed(format!("`{tool}` {reason}")),
        None => HandlerResult::Nothing,
    }
}

/// The interpreter of a handler.
pub(super) fn starter(skill: &Skill, tool: &Tool, world: &World) -> Option<Program> {
    let (path, _) = parts(tool.handler.as_ref()?, &tool.name);
    let language = language_of(path)?;
    let packages = &skill.requirements.python_packages;
    if language.takes_python_packages && !packages.is_empty() {
        return super::python::starter(skill, world);
    }
    Some(Program::Named(language.interpreter.to_owned()))
}

/// `file.py:function`, or the function of the action's name.
fn parts<'h>(handler: &'h str, tool: &'h str) -> (&'h str, &'h str) {
    let (path, function) = match handler.rsplit_once(':') {
        Some((path, function)) if !function.trim().is_empty() => (path.trim(), function.trim()),
        Some((path, _)) => (path.trim(), tool),
        None => (handler.trim(), tool),
    };
    (path.strip_prefix("./").unwrap_or(path), function)
}

fn language_of(path: &str) -> Option<&'static Language> {
    let path = path.to_lowercase();
    LANGUAGES.iter().find(|language| language.endings.iter().any(|ending| path.ends_with(ending)))
}
