//! Scripts of a skill: the interpreter, the file, and the arguments as they were given, never through a shell.

use std::path::Path;

use prowess_policy::scope::Program;
use serde_json::Value;

use super::Recipe;
use super::python::{self, HandlerPackages};
use crate::error::RunError;
use crate::prepare::Call;
use crate::programs::{Finder, ProgramLookupError};
use crate::scripts::{self, ARGUMENTS, Script, ScriptKind, name_of};
use crate::skill_files;
use crate::world::World;

/// How to start a script.
pub(super) fn recipe(call: &Call, world: &World) -> Result<Recipe, RunError> {
    let path = call.tool.handler.as_ref().map_or("", |path| path.as_str());
    let not_found = |why: &str| ProgramLookupError::NotFound {
        name: path.to_owned(),
        why: Some(why.to_owned()),
    };
    let not_executable = |reason: &str| ProgramLookupError::NotExecutable {
        name: path.to_owned(),
        reason: reason.to_owned(),
    };
    let Some(directory) = call.skill.directory.as_deref() else {
        return Err(not_found("the skill has no folder of its own").into());
    };
    let file = directory.join(path);
    let Ok(real) = file.canonicalize() else {
        return Err(not_found("the skill has no such file").into());
    };
    if !real.starts_with(directory) {
        return Err(not_found("it points outside the skill's folder").into());
    }
    let script = scripts::read(directory, path)
        .map_err(|error| not_executable(&prowess_core::system_reason(&error)))?;
    let Some(script) = script else {
        return Err(
            not_executable("it has neither a `#!` line nor the extension of a script").into()
        );
    };
    let bytes = match script.kind {
        ScriptKind::Binary => Vec::new(),
        _ => skill_files::read_bounded(&real)
            .map_err(|error| not_executable(&prowess_core::system_reason(&error)))?,
    };
    if bytes.is_empty() && script.kind != ScriptKind::Binary {
        return Err(not_executable("the file is empty").into());
    }
    let first_line = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
    if script.kind == ScriptKind::Shell && first_line.ends_with(b"\r") {
        return Err(not_executable(
            "it has Windows line endings (CRLF), which shells take for a part of each command: convert it to LF",
        )
        .into());
    }
    let own = arguments(call);
    let mut shown: Vec<String> = script.interpreter().map(str::to_owned).into_iter().collect();
    shown.push(path.to_owned());
    shown.extend(own.iter().cloned());
    let start = start(&script, &bytes, call, world)?;
    let mut arguments = start.options;
    if script.kind != ScriptKind::Binary {
        let Some(file) = file.to_str() else {
            return Err(not_executable("its path is not UTF-8").into());
        };
        arguments.push(file.to_owned());
    }
    arguments.extend(own);
    Ok(Recipe {
        program: start.program,
        arguments,
        shown,
        option_like: Vec::new(),
        variables: Vec::new(),
        input: None,
        successes: Vec::new(),
        private_result: false,
        python: None,
        packages: start.python,
        server: None,
    })
}

/// How to start a command line.
pub(super) fn command_line(call: &Call) -> Result<Recipe, RunError> {
    let text = call.tool.handler.as_ref().map_or("", |program| program.as_str());
    let program =
        Program::of_command(text).map_err(|error| RunError::Unsupported(error.to_string()))?;
    let arguments = arguments(call);
    Ok(Recipe {
        program,
        shown: std::iter::once(text.to_owned()).chain(arguments.iter().cloned()).collect(),
        arguments,
        option_like: Vec::new(),
        variables: Vec::new(),
        input: None,
        successes: Vec::new(),
        private_result: false,
        python: None,
        packages: None,
        server: None,
    })
}

/// The arguments of a call, one string each.
fn arguments(call: &Call) -> Vec<String> {
    let items = call.values.get(ARGUMENTS).and_then(Value::as_array);
    let text = |item: &Value| item.as_str().map_or_else(|| item.to_string(), str::to_owned);
    items.into_iter().flatten().map(text).collect()
}

/// What is started for a script.
struct Start {
    program: Program,
    options: Vec<String>,
    python: Option<HandlerPackages>,
}

fn start(script: &Script, bytes: &[u8], call: &Call, world: &World) -> Result<Start, RunError> {
    let Some(first) = script.interpreters.first() else {
        let program = Program::Own(script.path.clone());
        return Ok(Start { program, options: Vec::new(), python: None });
    };
    if script.kind == ScriptKind::Python {
        return python_start(script, first, bytes, call, world);
    }
    let finder = Finder { search_path: &world.search_path, skill_directory: None };
    let programs = || script.interpreters.iter().map(|words| (program(words, script), words));
    let found = programs()
        .find(|(program, _)| program.as_ref().is_ok_and(|program| finder.locate(program).is_ok()));
    // What is missing is told about the first, when it is looked for.
    let (program, words) = found.unwrap_or_else(|| (program(first, script), first));
    Ok(Start { program: program?, options: words[1..].to_vec(), python: None })
}

/// Python without the user's own packages and variables, and without files of compiled code: the skill is read-only. The
/// folder of the script is on the search path for modules, as always, which `-I` would prevent.
fn python_start(
    script: &Script,
    words: &[String],
    bytes: &[u8],
    call: &Call,
    world: &World,
) -> Result<Start, RunError> {
    let text = String::from_utf8_lossy(bytes);
    let metadata = python::inline_metadata(&text).map_err(|reason| {
        RunError::Unsupported(format!(
            "the inline metadata of `{}` is invalid: {reason}",
            script.path
        ))
    })?;
    let is_relative = words[0].contains('/') && !words[0].starts_with('/');
    let is_any = !is_relative && matches!(name_of(&words[0]), "python" | "python3");
    let is_there = is_any && words[0].starts_with('/') && Path::new(&words[0]).is_file();
    let found = HandlerPackages::of_script(&call.skill, metadata, world)?;
    let needs_more = found.has_packages() || found.has_range();
    let mut options: Vec<String> = ["-s", "-B"].map(str::to_owned).into();
    if !found.has_packages() {
        options.insert(0, "-E".to_owned());
    }
    options.extend(words[1..].iter().cloned());
    if !needs_more && (is_there || !is_any) {
        return Ok(Start { program: program(words, script)?, options, python: None });
    }
    if !is_any {
        return Err(RunError::Unsupported(format!(
            "`{}` needs packages or a version of Python, but its first line asks for `{}`: write `#!/usr/bin/env python3`",
            script.path, words[0]
        )));
    }
    let program = found
        .program()
        .ok_or_else(|| ProgramLookupError::NotFound { name: "python3".to_owned(), why: None })?;
    Ok(Start { program, options, python: Some(found) })
}

/// The program of a `#!` line. A path that this machine does not have is looked up by its name: where interpreters lie
/// differs from system to system.
fn program(words: &[String], script: &Script) -> Result<Program, RunError> {
    let word = &words[0];
    let is_here = word.starts_with('/') && Path::new(word).is_file();
    let name = if is_here { word } else { name_of(word) };
    let is_relative = word.contains('/') && !word.starts_with('/');
    match Program::parse(name) {
        Ok(program) if !is_relative => Ok(program),
        _ => Err(ProgramLookupError::NotExecutable {
            name: script.path.clone(),
            reason: format!("its interpreter `{word}` is neither a name nor an absolute path"),
        }
        .into()),
    }
}
