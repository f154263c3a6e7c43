//! Command tools: builds an argv from a template and values, without a shell (GIB §3.4, §3.5).

use prowess_format::command;
use prowess_format::render;
use prowess_format::skill::Tool;
use prowess_policy::scope::Program;
use serde_json::Value;

use super::Recipe;
use crate::error::RunError;
use crate::inputs::ToolInputError;
use crate::prepare::Call;

/// How to start a command tool.
pub(super) fn recipe(call: &Call) -> Result<Recipe, RunError> {
    let tool = &call.tool;
    let rendered = render::command(tool, &call.values).map_err(|errors| RunError::Inputs {
        tool: tool.name.value.clone(),
        errors: errors.into_iter().map(ToolInputError::Value).collect(),
    })?;
    let program = program(tool)?;
    let arguments = rendered.argv.get(1..).unwrap_or_default().to_vec();
    Ok(Recipe {
        program,
        arguments,
        shown: rendered.argv,
        option_like: rendered.option_like,
        variables: variables(tool),
        input: None,
        successes: successes(tool),
        private_result: false,
        python: None,
        packages: None,
        server: None,
    })
}

/// The program of a command, or an error if it has none.
pub(super) fn program(tool: &Tool) -> Result<Program, RunError> {
    starter(tool).ok_or_else(|| {
        RunError::Unsupported(format!("the command of `{}` starts no program", tool.name.value))
    })
}

/// The program in the template's first word. A placeholder there names no program that could be approved.
pub(super) fn starter(tool: &Tool) -> Option<Program> {
    let template = command::parse(tool.command.as_ref()?).ok()?;
    Program::of_command(template.arguments.first()?.literal()?).ok()
}

/// Environment variables that a tool pack sets for its program (TP-1).
fn variables(tool: &Tool) -> Vec<(String, String)> {
    let map = extra(tool, "env").and_then(Value::as_object);
    map.into_iter()
        .flatten()
        .map(|(name, value)| {
            (name.clone(), value.as_str().map_or_else(|| value.to_string(), str::to_owned))
        })
        .collect()
}

/// Exit codes that a tool pack counts as success (TP-2).
fn successes(tool: &Tool) -> Vec<i32> {
    let codes = extra(tool, "allowed_exit_codes").and_then(Value::as_array);
    let codes = codes.into_iter().flatten().filter_map(Value::as_i64);
    codes.filter_map(|code| i32::try_from(code).ok()).collect()
}

fn extra<'t>(tool: &'t Tool, key: &str) -> Option<&'t Value> {
    tool.extra.iter().find(|(known, _)| known == key).map(|(_, value)| value)
}
