//! What a handler is told: the JSON on its standard input, or in its request.

use prowess_format::hook_events::{HookEvent, SupportedHandlers};
use serde_json::{Map, Value, json};

/// Facts about the session that every event carries.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HookFacts {
    /// The session.
    pub session_id: String,
    /// The prompt that is being worked on.
    pub prompt_id: Option<String>,
    /// The file with the conversation; empty where there is none.
    pub transcript_path: String,
    /// The working directory.
    pub cwd: String,
    /// The permission mode, as the reference names it.
    pub permission_mode: String,
    /// The effort level, where the model has one.
    pub effort: Option<String>,
    /// The subagent in which the event happened.
    pub agent_id: Option<String>,
    /// The agent's name.
    pub agent_type: Option<String>,
}

/// Events inside the use of a tool, which name the effort.
const WITH_EFFORT: &[&str] =
    &["PreToolUse", "PostToolUse", "PostToolUseFailure", "PostToolBatch", "Stop", "SubagentStop"];

/// The input of an event: the common fields, and its own.
pub fn hook_input(event: &HookEvent, facts: &HookFacts, fields: &Map<String, Value>) -> Value {
    let mut input = Map::new();
    let mut put = |key: &str, value: Value| drop(input.insert(key.to_owned(), value));
    put("session_id", facts.session_id.as_str().into());
    if let Some(id) = &facts.prompt_id {
        put("prompt_id", id.as_str().into());
    }
    put("transcript_path", facts.transcript_path.as_str().into());
    put("cwd", facts.cwd.as_str().into());
    let is_elicitation = event.name.starts_with("Elicitation");
    if event.handlers == SupportedHandlers::All || is_elicitation {
        put("permission_mode", facts.permission_mode.as_str().into());
    }
    if let Some(level) = facts.effort.as_ref().filter(|_| WITH_EFFORT.contains(&event.name)) {
        put("effort", json!({ "level": level }));
    }
    put("hook_event_name", event.name.into());
    for (key, value) in [("agent_id", &facts.agent_id), ("agent_type", &facts.agent_type)] {
        if let Some(value) = value {
            put(key, value.as_str().into());
        }
    }
    for (key, value) in fields {
        put(key, value.clone());
    }
    Value::Object(input)
}
