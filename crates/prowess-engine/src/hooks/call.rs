//! A call of a tool as hooks see it, and what they make of it.
//!
//! Hooks are written for the tools of Claude Code. What starts a program here is `Bash` there; and each tool also has the name
//! that it has as an MCP tool, without and with the name that Claude Code gives our server.

use std::time::Duration;

use prowess_core::{Envelope, RunOutcome, wire};
use prowess_format::command;
use prowess_format::skill::ToolKind;
use prowess_hooks::ToolView;
use serde_json::{Map, Value, json};

use crate::prepare::Call;
use crate::scripts::{self, ARGUMENTS};

/// The tool of Claude Code that starts programs.
const SHELL_TOOL: &str = "Bash";
/// How Claude Code prefixes the tools of our MCP server.
const SERVER_PREFIX: &str = "mcp__prowess__";
/// The most characters of an error that hooks are told.
const MAX_ERROR: usize = 10_000;

/// A call of a tool.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolUse {
    /// Its id (`tool_use_id`).
    pub id: String,
    /// Its names, the usual one first, each with its input under that name.
    pub views: Vec<ToolView>,
}

impl ToolUse {
    /// A call of a tool of somebody else's, by its one name.
    pub fn new(id: impl Into<String>, name: impl Into<String>, input: Value) -> Self {
        Self { id: id.into(), views: vec![ToolView { name: name.into(), input }] }
    }

    /// A call of a tool of a skill. `shown` is the command line.
    pub(crate) fn of_call(id: String, call: &Call, shown: &[String]) -> Self {
        let starts_program = match call.tool.kind {
            ToolKind::Command | ToolKind::Script | ToolKind::CommandLine => true,
            ToolKind::Python | ToolKind::Handler | ToolKind::McpTool => false,
        };
        let mut views = Vec::new();
        if starts_program {
            let input = json!({ "command": command::join(shown) });
            views.push(ToolView { name: SHELL_TOOL.to_owned(), input });
        }
        let name = served_name(call);
        let input = Value::Object(call.values.clone());
        // The name that the tool has in Claude Code, where the server is configured too.
        if let Some((server, tool)) = call.tool.mcp_target() {
            views.push(ToolView { name: format!("mcp__{server}__{tool}"), input: input.clone() });
        }
        views.push(ToolView { name: name.clone(), input: input.clone() });
        views.push(ToolView { name: format!("{SERVER_PREFIX}{name}"), input });
        Self { id, views }
    }

    /// The fields that events about tools have.
    pub(super) fn fields(&self, view: usize) -> Map<String, Value> {
        let mut fields = Map::new();
        if let Some(view) = self.views.get(view) {
            fields.insert("tool_name".to_owned(), view.name.as_str().into());
            fields.insert("tool_input".to_owned(), view.input.clone());
        }
        fields.insert("tool_use_id".to_owned(), self.id.as_str().into());
        fields
    }
}

/// The name of a tool as MCP clients see it: `<skill>__<tool>`, and `<skill>__<stem>` with `_` for `-` for a script.
fn served_name(call: &Call) -> String {
    let skill = &call.skill.name;
    let name = call.tool.name.as_str();
    match call.tool.kind {
        ToolKind::Script => {
            let file = name.rsplit('/').next().unwrap_or(name);
            let stem = file.rsplit_once('.').map_or(file, |(stem, _)| stem);
            let stem = if stem.is_empty() { file } else { stem };
            format!("{skill}__{}", stem.replace('-', "_"))
        }
        ToolKind::CommandLine => format!("{skill}__exec"),
        ToolKind::Command | ToolKind::Python | ToolKind::Handler | ToolKind::McpTool => {
            format!("{skill}__{name}")
        }
    }
}

/// The call with the input that a hook wants in place of its own; an error says why that can't be done.
pub(super) fn with_input(
    call: &Call,
    shown: &[String],
    name: &str,
    input: &Value,
) -> Result<Call, String> {
    let Some(fields) = input.as_object() else { return Err("it is not an object".to_owned()) };
    if name != SHELL_TOOL {
        return Ok(Call { values: fields.clone(), ..call.clone() });
    }
    let Some(line) = fields.get("command").and_then(Value::as_str) else {
        return Err("it has no `command`".to_owned());
    };
    let Some(words) = super::prepared::plain_words(line).filter(|words| !words.is_empty()) else {
        return Err(
            "its command needs a shell, and tools are started without one; a hook may write `sh -c '…'` for `exec`".to_owned(),
        );
    };
    if words == shown {
        return Ok(call.clone());
    }
    let arguments = |rest: &[String]| {
        let mut values = call.values.clone();
        values.insert(ARGUMENTS.to_owned(), rest.to_vec().into());
        values
    };
    match call.tool.kind {
        ToolKind::CommandLine => {
            let (program, rest) = words.split_first().ok_or("its command is empty")?;
            let tool = if program.contains('/') && !program.starts_with('/') {
                let (skill, directory) = (&call.skill.skill, call.skill.directory.as_deref());
                scripts::script_tool(skill, &call.skill.name, directory, program)
                    .map_err(|error| error.to_string())?
            } else {
                scripts::command_line_tool(program)
            };
            Ok(Call { tool, values: arguments(rest), ..call.clone() })
        }
        ToolKind::Script => {
            let own = call.values.get(ARGUMENTS).and_then(Value::as_array).map_or(0, Vec::len);
            let start = &shown[..shown.len().saturating_sub(own)];
            match words.strip_prefix(start) {
                Some(rest) => Ok(Call { values: arguments(rest), ..call.clone() }),
                None => Err("its command starts something else than the script".to_owned()),
            }
        }
        ToolKind::Command | ToolKind::Python | ToolKind::Handler | ToolKind::McpTool => {
            Err(format!(
                "a command line can't be turned into inputs: match `{}` instead of `{SHELL_TOOL}`",
                served_name(call)
            ))
        }
    }
}

/// What a tool has printed, kept for hooks.
#[derive(Debug, Default)]
pub(super) struct Printed {
    pub(super) stdout: Vec<u8>,
    pub(super) stderr: Vec<u8>,
}

impl Printed {
    /// The most bytes that are kept of each stream.
    const MOST: usize = 30_000;

    pub(super) fn push(&mut self, stream: prowess_core::StandardStream, bytes: &[u8]) {
        let kept = match stream {
            prowess_core::StandardStream::Stdout => &mut self.stdout,
            prowess_core::StandardStream::Stderr => &mut self.stderr,
        };
        let room = Self::MOST.saturating_sub(kept.len());
        kept.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }
}

/// The result of a tool under one of its names (`tool_response`).
pub(super) fn response(name: &str, envelope: &Envelope, printed: &Printed) -> Value {
    if name != SHELL_TOOL {
        return wire::envelope(envelope);
    }
    json!({
        "stdout": String::from_utf8_lossy(&printed.stdout),
        "stderr": String::from_utf8_lossy(&printed.stderr),
        "interrupted": envelope.outcome == RunOutcome::Cancelled,
        "isImage": false,
    })
}

/// The error of a tool that has failed, as the reference writes it.
pub(super) fn failure(envelope: &Envelope) -> String {
    let text = if envelope.output.is_empty() {
        envelope.error.clone().unwrap_or_default()
    } else {
        envelope.output.clone()
    };
    let text = format!("Exit code {}\n{text}", envelope.exit_code);
    let count = text.chars().count();
    if count <= MAX_ERROR {
        return text;
    }
    let half = MAX_ERROR / 2;
    let head: String = text.chars().take(half).collect();
    let tail: String = text.chars().skip(count - half).collect();
    format!("{head}\n... [{} characters truncated] ...\n{tail}", count - 2 * half)
}

/// Puts the output that a hook wants in place of a tool's; an error says why that can't be done.
pub(super) fn with_output(
    envelope: &mut Envelope,
    name: &str,
    output: &Value,
) -> Result<(), String> {
    let text = |key: &str| output.get(key).and_then(Value::as_str);
    if name == SHELL_TOOL {
        let Some(stdout) = text("stdout") else {
            return Err("it has no `stdout`".to_owned());
        };
        envelope.output = format!("{stdout}{}", text("stderr").unwrap_or_default());
        envelope.parsed = serde_json::from_str(stdout).ok().filter(|_| envelope.parsed.is_some());
    } else {
        match output {
            Value::String(text) => {
                envelope.output.clone_from(text);
                envelope.parsed = None;
            }
            Value::Object(object) => match object.get("output").and_then(Value::as_str) {
                Some(text) => {
                    text.clone_into(&mut envelope.output);
                    envelope.parsed = object.get("parsed").cloned();
                }
                None => {
                    envelope.output = output.to_string();
                    envelope.parsed = Some(output.clone());
                }
            },
            _ => return Err("it is neither a text nor an object".to_owned()),
        }
    }
    envelope.left_out = 0;
    envelope.is_utf8 = true;
    Ok(())
}

/// A duration in milliseconds.
pub(super) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
