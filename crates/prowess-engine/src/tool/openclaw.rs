//! OpenClaw handlers as they are, through an adapter; always experimental (GAIA §8.3).
//!
//! A handler is a function in a file of the skill. The adapter reads the arguments as JSON from standard input, calls the
//! function, and writes what it returns as JSON to a descriptor of its own, so that a handler may print what it likes.

use prowess_format::skill::Tool;
use prowess_policy::scope::Program;
use serde_json::Value;

use super::{Recipe, with_defaults};
use crate::error::RunError;
use crate::prepare::Call;

/// A language that handlers are written in.
struct Language {
    endings: &'static [&'static str],
    interpreter: &'static str,
    options: &'static [&'static str],
    adapter: &'static str,
}

const LANGUAGES: &[Language] = &[
    Language {
        endings: &[".py"],
        interpreter: "python3",
        // Isolated from the user's packages and variables; no files of compiled code, the skill is read-only.
        options: &["-I", "-B", "-c"],
        adapter: include_str!("openclaw/adapter.py"),
    },
    Language {
        endings: &[".js", ".cjs", ".mjs"],
        interpreter: "node",
        options: &["-e"],
        adapter: include_str!("openclaw/adapter.js"),
    },
];

/// How to start a handler.
pub(super) fn recipe(call: &Call<'_>) -> Result<Recipe, RunError> {
    let tool = call.tool;
    let unsupported = |what: String| RunError::Unsupported(format!("`{}` {what}", tool.name.value));
    let handler = tool.handler.as_ref().map(|handler| handler.as_str());
    let handler = handler.ok_or_else(|| unsupported("names no handler".to_owned()))?;
    let (path, function) = parts(handler, &tool.name);
    let Some(directory) = call.subject.directory else {
        return Err(unsupported(
            "has a handler, but the skill has no folder of its own".to_owned(),
        ));
    };
    let language = language_of(path).ok_or_else(|| {
        unsupported(format!("has the handler `{path}`, which is neither Python nor JavaScript"))
    })?;
    let file = directory.join(path);
    let inside =
        file.canonicalize().is_ok_and(|real| real.starts_with(directory) && real.is_file());
    if !inside {
        return Err(unsupported(format!(
            "has the handler `{path}`, which is no file of the skill"
        )));
    }
    let mut arguments: Vec<String> =
        language.options.iter().map(|option| (*option).to_owned()).collect();
    let file = file.to_string_lossy().into_owned();
    let directory = directory.to_string_lossy().into_owned();
    arguments.extend([language.adapter.to_owned(), file, function.to_owned(), directory]);
    Ok(Recipe {
        program: Program::Named(language.interpreter.to_owned()),
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
    })
}

/// The interpreter of a handler.
pub(super) fn starter(tool: &Tool) -> Option<Program> {
    let (path, _) = parts(tool.handler.as_ref()?, &tool.name);
    Some(Program::Named(language_of(path)?.interpreter.to_owned()))
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
