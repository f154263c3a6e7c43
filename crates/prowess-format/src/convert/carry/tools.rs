//! Keeps the tools that the target can run, with the names and types that it allows.

use std::fmt::Write as _;

use super::Carried;
use crate::dialect::{self, Dialect};
use crate::skill::{Skill, ToolKind};
use crate::text::shorten;

pub(super) fn tools(carried: &mut Carried, to: &'static Dialect) {
    let Carried { skill, notes, .. } = carried;
    if to.id != "skillrt" {
        // Nothing else says which server a tool is of.
        skill.tools.retain(|tool| tool.kind != ToolKind::McpTool);
    }
    match to.id {
        "gibberish" | "tool-pack" => {
            skill.tools.retain(|tool| tool.command.is_some());
            if skill.tools.is_empty() && dialect::body_tools(&skill.body).is_empty() {
                let note =
                    "gibberish needs a tool: add a `### tool_name` section with `#### Command`";
                notes.push(("body", note.to_owned()));
            }
        }
        "gaia" => skill.tools.retain(|tool| tool.kind != ToolKind::Command),
        _ => {}
    }
    if to.id == "gibberish" {
        for tool in &mut skill.tools {
            let name = command_tool_name(&tool.name);
            if name != tool.name.value && !name.is_empty() {
                notes.push((
                    "tools",
                    format!("the tool `{}` is written as `{name}`", shorten(&tool.name, 60)),
                ));
                tool.name.value = name;
            }
        }
        skill.modes.retain(|mode| dialect::MODES.contains(&mode.as_str()));
    }
    if to.id == "gaia" {
        for parameter in skill.tools.iter_mut().flat_map(|tool| &mut tool.parameters) {
            parameter.kind.value = json_type(&parameter.kind).to_owned();
        }
    }
}

/// A tool's name in gibb.eri.sh: `[a-z0-9_]{1,32}` (GIB §3.2).
pub(crate) fn command_tool_name(name: &str) -> String {
    let lower = name.to_lowercase().replace(['-', ' ', '.'], "_");
    lower
        .chars()
        .filter(|character| character.is_ascii_alphanumeric() || *character == '_')
        .take(32)
        .collect()
}

/// The JSON type for a type name; `None` if it is unknown.
pub(crate) fn known_type(word: &str) -> Option<&'static str> {
    if let Some(known) = dialect::GAIA_TYPES.iter().find(|known| **known == word) {
        return Some(known);
    }
    Some(match word.to_lowercase().as_str() {
        "str" | "string" | "text" | "textarea" | "url" | "file" | "path" => "string",
        "int" | "integer" | "long" => "integer",
        "float" | "double" | "number" | "decimal" => "number",
        "bool" | "boolean" => "boolean",
        "list" | "array" | "tuple" | "set" => "array",
        "dict" | "map" | "object" | "json" => "object",
        _ => return None,
    })
}

/// The JSON type for a type name; `string` if it is unknown.
pub(crate) fn json_type(word: &str) -> &'static str {
    known_type(word).unwrap_or("string")
}

/// Writes the command tools of a tool pack, which has no body, as instructions for an agent that
/// can run commands.
pub(super) fn instructions(skill: &Skill) -> String {
    let mut body = String::new();
    for tool in &skill.tools {
        let _ = write!(body, "\n# {}\n\n{}\n", tool.name.value, tool.description.trim());
        if !tool.parameters.is_empty() {
            body.push('\n');
        }
        for parameter in &tool.parameters {
            let need = if parameter.required { "required" } else { "optional" };
            let _ = write!(body, "- `{}` ({}, {need})", parameter.name.value, parameter.kind.value);
            if let Some(description) = &parameter.description {
                let _ = write!(body, ": {}", description.trim());
            }
            if let Some(default) = &parameter.default {
                let _ = write!(body, " (default: {default})");
            }
            body.push('\n');
        }
        if let Some(command) = &tool.command {
            let _ = write!(body, "\nRun:\n\n```bash\n{}\n```\n", command.value);
        }
    }
    body
}
