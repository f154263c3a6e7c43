//! Runs one handler of any type.

use prowess_format::hook_events::HookEvent;
use prowess_format::skill::HookHandler;
use prowess_hooks::{HandlerResult, prompt_text, timeout, tool_arguments};
use prowess_policy::spec::Servers;
use serde_json::Value;

use super::command;
use super::request;
use super::services::{HookEvaluation, HookFailure, HookServices, ServerToolCall};
use super::session::Registered;
use crate::run::CancellationToken;

/// Runs a handler with the input of its event. It blocks until the handler has ended, at most for its timeout.
pub(super) fn run(
    registered: &Registered,
    event: &HookEvent,
    handler: &HookHandler,
    input: &Value,
    services: &HookServices,
    cancel: &CancellationToken,
) -> command::CommandEnd {
    let time = timeout(handler, event);
    let broken = |why: &str| HandlerResult::Broken { why: why.to_owned() };
    let failed = |failure: HookFailure| match failure {
        HookFailure::TimedOut => HandlerResult::TimedOut { after: command::seconds(time) },
        HookFailure::Failed(why) => HandlerResult::Broken { why },
    };
    let skill = &registered.prepared.call.skill;
    let result = match handler.kind.as_str() {
        "command" => {
            let effort = input["effort"]["level"].as_str();
            let effort = effort.map(|level| ("CLAUDE_EFFORT".to_owned(), level.to_owned()));
            let variables = effort.into_iter().collect();
            return command::run(registered, handler, input.to_string(), variables, time, cancel);
        }
        "http" => request::send(registered, handler, &input.to_string(), time, cancel),
        kind @ ("prompt" | "agent") => {
            let prompt = handler.action.as_ref().map_or("", |action| action.as_str());
            let prompt = prompt_text(prompt, &input.to_string());
            let asked =
                HookEvaluation { prompt: &prompt, model: handler.model.as_deref(), time, cancel };
            let words = if kind == "prompt" {
                services.model.as_ref().map(|model| model.evaluate(&asked))
            } else {
                services.agent.as_ref().map(|agent| agent.verify(skill, &asked))
            };
            match words {
                Some(Ok(text)) => HandlerResult::Evaluated { text },
                Some(Err(failure)) => failed(failure),
                None if kind == "prompt" => {
                    broken("hooks of type `prompt` need a model, and none is available here")
                }
                None => broken("hooks of type `agent` can't be run here"),
            }
        }
        "mcp_tool" => {
            let server = handler.server.as_ref().map_or("", |server| server.as_str());
            let tool = handler.action.as_ref().map_or("", |tool| tool.as_str());
            let is_granted = match &registered.allowed.spec().mcp {
                Servers::Any => true,
                Servers::Only(servers) => servers.iter().any(|known| known == server),
            };
            if is_granted {
                let given = handler.input.as_ref().unwrap_or(&Value::Null);
                let arguments = tool_arguments(given, input);
                let call = ServerToolCall { server, tool, arguments, time, cancel };
                match services.tools.as_ref().map(|tools| tools.call(skill, &call)) {
                    Some(Ok(called)) => {
                        HandlerResult::Called { text: called.text, is_error: called.is_error }
                    }
                    Some(Err(failure)) => failed(failure),
                    None => broken("hooks of type `mcp_tool` can't be run here"),
                }
            } else {
                let why = format!(
                    "the skill may not use the MCP server `{server}`: it needs `mcp:connect:{server}`"
                );
                HandlerResult::Broken { why }
            }
        }
        other => HandlerResult::Broken { why: format!("`{other}` is not a type of hook") },
    };
    command::CommandEnd { result, warnings: Vec::new() }
}
