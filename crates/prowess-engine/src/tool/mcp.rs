//! Tools of MCP servers (SRT §4.3): which server is started or connected to, what it is asked, and what its answer is.
//!
//! The server is the user's program, so it runs in a sandbox of its own: with the working directory for reading and what
//! the user approves beside it, the variables of its own settings, and neither files nor variables of the skill.

use prowess_core::{McpError, McpErrorKind, McpSession};
use prowess_format::skill::ToolKind;
use prowess_format::text::{shorten, visible};
use prowess_policy::ProgramPin;
use prowess_policy::scope::Program;
use serde_json::{Map, Value, json};

use super::{Recipe, with_defaults};
use crate::error::RunError;
use crate::mcp_servers::{self, ConfiguredServer, ServerTransport};
use crate::prepare::{self, Call};
use crate::world::World;

/// The most pages of tools that are read to say which there are.
const MAX_PAGES: usize = 20;
/// The most names of tools in a message.
const MAX_NAMED: usize = 20;
/// The most characters of an error that a tool gives.
const MAX_ERROR: usize = 2000;

/// What is asked of a server.
#[derive(Clone, Debug)]
pub(crate) struct ServerPlan {
    pub(crate) server: ConfiguredServer,
    /// The server's own name of the tool.
    pub(crate) tool: String,
    pub(crate) arguments: Map<String, Value>,
}

impl ServerPlan {
    /// Whether nothing is started on this machine.
    pub(crate) fn is_remote(&self) -> bool {
        matches!(self.server.transport, ServerTransport::Http { .. })
    }

    /// Where the server comes from, and which of its settings it gets, for the question.
    pub(crate) fn note(&self) -> String {
        let (pairs, what) = match &self.server.transport {
            ServerTransport::Program { variables, .. } => (variables, "variables"),
            ServerTransport::Http { headers, .. } => (headers, "headers"),
        };
        let names: Vec<String> =
            pairs.iter().map(|(name, _)| format!("`{}`", visible(name))).collect();
        let gets = if names.is_empty() {
            format!("it sets no {what}")
        } else {
            format!("it sets the {what} {}", names.join(", "))
        };
        let (server, file) = (visible(&self.server.name), self.server.file.display().to_string());
        format!("the server `{server}` is configured in `{}`: {gets}", visible(&file))
    }
}

/// How to reach the server of a call.
pub(super) fn recipe(call: &Call, world: &World) -> Result<Recipe, RunError> {
    let server = server_of(call, world)?;
    let (_, tool) = target(call)?;
    let Value::Object(arguments) = with_defaults(call) else {
        return Err(RunError::Unsupported("arguments are an object".to_owned()));
    };
    let (program, words, variables) = match &server.transport {
        ServerTransport::Program { program, arguments, variables } => {
            (program.clone(), arguments.clone(), variables.clone())
        }
        // Nothing is started: the name only stands for the server.
        ServerTransport::Http { .. } => {
            (Program::Named(server.name.clone()), Vec::new(), Vec::new())
        }
    };
    let plan = ServerPlan { tool: tool.to_owned(), arguments, server };
    Ok(Recipe {
        program,
        arguments: words,
        shown: plan.server.shown(),
        option_like: Vec::new(),
        variables,
        input: None,
        successes: Vec::new(),
        private_result: false,
        python: None,
        packages: None,
        server: Some(Box::new(plan)),
    })
}

/// The pin of the settings of the server as they are now; `None` for every other kind of tool.
pub(crate) fn pin_now(call: &Call, world: &World) -> Result<Option<ProgramPin>, RunError> {
    if call.tool.kind != ToolKind::McpTool {
        return Ok(None);
    }
    Ok(Some(server_of(call, world)?.pin()))
}

fn target(call: &Call) -> Result<(&str, &str), RunError> {
    call.tool.mcp_target().ok_or_else(|| {
        let name = &call.tool.name.value;
        RunError::Unsupported(format!("`{name}` names no MCP server"))
    })
}

fn server_of(call: &Call, world: &World) -> Result<ConfiguredServer, RunError> {
    let (server, _) = target(call)?;
    let mut finder = prepare::finder(&call.skill, world);
    // A server is not the skill's: `./server` is never a file of the skill.
    finder.skill_directory = None;
    mcp_servers::find(server, world, finder).map_err(|why| {
        RunError::Unsupported(format!("the MCP server `{}` {}", visible(server), visible(&why)))
    })
}

/// What a tool of an MCP server has answered.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ServerAnswer {
    /// Its text, for a person.
    pub text: String,
    /// Its structured result.
    pub result: Option<Value>,
    /// Whether it says that it failed.
    pub is_error: bool,
}

/// Calls the one tool of a plan.
pub(crate) fn call_tool(
    plan: &ServerPlan,
    session: &mut dyn McpSession,
) -> Result<ServerAnswer, McpError> {
    let params = json!({ "name": plan.tool, "arguments": plan.arguments });
    let Value::Object(params) = params else { return Ok(ServerAnswer::default()) };
    let answered = session.request("tools/call", params);
    let is_unknown = match &answered {
        Err(error) => matches!(error.kind, McpErrorKind::Answered(-32602 | -32601)),
        Ok(answer) => answer["isError"] == true,
    };
    // Servers say this in many ways, so the list of tools decides. It is only asked for when something went wrong.
    if is_unknown
        && let Ok(names) = tool_names(session)
        && !names.contains(&plan.tool)
    {
        return Err(McpError::new(McpErrorKind::Answered(-32602), no_such_tool(plan, &names)));
    }
    answer(&answered?)
}

fn no_such_tool(plan: &ServerPlan, names: &[String]) -> String {
    let shown = names.iter().take(MAX_NAMED);
    let mut shown: Vec<String> =
        shown.map(|name| format!("`{}`", visible(&shorten(name, 100)))).collect();
    if let Some(more) = names.len().checked_sub(MAX_NAMED).filter(|more| *more > 0) {
        shown.push(format!("{more} more"));
    }
    let has = if shown.is_empty() { "none".to_owned() } else { shown.join(", ") };
    format!("has no tool `{}`; it has {has}", visible(&plan.tool))
}

/// The names of all tools of a server.
pub(crate) fn tool_names(session: &mut dyn McpSession) -> Result<Vec<String>, McpError> {
    let mut names = Vec::new();
    let mut params = Map::new();
    for _ in 0..MAX_PAGES {
        let page = session.request("tools/list", params)?;
        let tools = page["tools"].as_array().into_iter().flatten();
        names.extend(tools.filter_map(|tool| tool["name"].as_str().map(str::to_owned)));
        let Some(cursor) = page.get("nextCursor").filter(|cursor| cursor.is_string()) else {
            break;
        };
        params = Map::from_iter([("cursor".to_owned(), cursor.clone())]);
    }
    Ok(names)
}

impl ServerAnswer {
    /// Reads the result of `tools/call`.
    pub fn read(result: &Value) -> Result<Self, McpError> {
        answer(result)
    }
}

/// Reads the result of a call.
fn answer(result: &Value) -> Result<ServerAnswer, McpError> {
    let broken = |why: &str| McpError::new(McpErrorKind::Protocol, why);
    match result["resultType"].as_str() {
        None | Some("complete") => {}
        Some("input_required") => {
            return Err(broken("wants to ask you something, which is not possible here"));
        }
        Some(_) => return Err(broken("answered with a result of an unknown type")),
    }
    let structured = result.get("structuredContent").filter(|value| !value.is_null()).cloned();
    let blocks = result["content"].as_array().map(Vec::as_slice).unwrap_or_default();
    let mut text = String::new();
    for block in blocks {
        let part = match block["type"].as_str() {
            Some("text") => block["text"].as_str().unwrap_or_default().to_owned(),
            Some(kind @ ("image" | "audio")) => {
                let bytes = block["data"].as_str().map_or(0, |data| data.len() / 4 * 3);
                format!("[{kind} of about {bytes} bytes]")
            }
            Some("resource_link") => block["uri"].as_str().unwrap_or_default().to_owned(),
            Some("resource") => match block["resource"]["text"].as_str() {
                Some(text) => text.to_owned(),
                None => format!("[{}]", block["resource"]["uri"].as_str().unwrap_or("a resource")),
            },
            _ => continue,
        };
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(&part);
    }
    if text.is_empty()
        && let Some(value) = &structured
    {
        text = value.to_string();
    }
    Ok(ServerAnswer { text, result: structured, is_error: result["isError"] == true })
}

/// The error of a tool that failed.
pub(crate) fn failure(plan: &ServerPlan, answer: &ServerAnswer) -> String {
    let (tool, server) = (visible(&plan.tool), visible(&plan.server.name));
    let why = answer.text.trim();
    let why = if why.is_empty() { "without saying why" } else { why };
    format!("the tool `{tool}` of the MCP server `{server}` failed: {}", shorten(why, MAX_ERROR))
}

/// The error of a conversation, as a sentence about the server.
pub(crate) fn about(server: &str, error: &McpError) -> String {
    format!("the MCP server `{}` {}", visible(server), visible(&error.message))
}

#[cfg(test)]
mod tests;
