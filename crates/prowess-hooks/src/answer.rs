//! What one handler has answered: exit codes, JSON, responses and models' words, by the table of the reference.

use prowess_format::hook_events::{BlockEffect, HookEvent};
use serde_json::{Map, Value};

use crate::capped;

/// Exit codes from which on the handler itself did not work: not executable, not found, ended by a signal.
const BROKEN: i32 = 126;
/// What a handler that blocks says when it says nothing.
const NO_REASON: &str = "it gave no reason";

/// How running a handler ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HandlerResult {
    /// A command ended.
    Exited {
        /// Its exit code.
        code: i32,
        /// Standard output.
        stdout: String,
        /// Standard error.
        stderr: String,
    },
    /// A server responded.
    Responded {
        /// The status code.
        status: u16,
        /// The body.
        body: String,
    },
    /// A tool of an MCP server gave this text.
    Called {
        /// The text.
        text: String,
        /// Whether the tool calls it an error.
        is_error: bool,
    },
    /// A model or an agent gave this text.
    Evaluated {
        /// The text.
        text: String,
    },
    /// It took too long.
    TimedOut {
        /// The time it had, as a phrase.
        after: String,
    },
    /// It could not be started, or broke.
    Broken {
        /// Why, as a lowercase phrase.
        why: String,
    },
}

/// What a `PreToolUse` handler wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Permission {
    /// Run it.
    Allow,
    /// Ask the user first.
    Ask,
    /// Not now: the caller resumes it later.
    Defer,
    /// Don't run it.
    Deny,
}

/// Why a handler has given no answer that counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It ended with an error that blocks nothing.
    NonBlocking(String),
    /// It could not be started, broke, took too long, or can't be understood.
    Unable(String),
}

/// The answer of one handler.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answer {
    /// Why it has none, or only a part of one.
    pub fault: Option<Fault>,
    /// What a handler of `PreToolUse` or `PermissionRequest` wants.
    pub permission: Option<Permission>,
    /// Why.
    pub permission_reason: Option<String>,
    /// The reason of a handler that blocks.
    pub block: Option<String>,
    /// Whether the turn ends with the block: a model has said no, and nothing says that the turn goes on.
    pub ends_turn: bool,
    /// The input in place of the tool's.
    pub updated_input: Option<Value>,
    /// The output in place of the tool's.
    pub updated_output: Option<Value>,
    /// What the agent should know.
    pub context: Option<String>,
    /// What the user should know.
    pub system_message: Option<String>,
    /// Everything stops (`continue: false`), with the reason for the user.
    pub stop: Option<String>,
    /// Whether what it printed stays out of sight.
    pub suppress_output: bool,
    /// What it printed that is no JSON.
    pub output: Option<String>,
    /// `hookSpecificOutput`, for what only one event has.
    pub specific: Map<String, Value>,
}

impl Answer {
    fn unable(why: impl Into<String>) -> Self {
        Self { fault: Some(Fault::Unable(capped(&why.into()))), ..Self::default() }
    }

    fn failed(why: &str) -> Self {
        Self { fault: Some(Fault::NonBlocking(capped(why))), ..Self::default() }
    }
}

/// What a handler has answered. `continue_on_block` is a field of prompts and agents.
pub fn answer(event: &HookEvent, continue_on_block: bool, result: &HandlerResult) -> Answer {
    match result {
        HandlerResult::Exited { code, stdout, stderr } => exited(event, *code, stdout, stderr),
        HandlerResult::Responded { status, body } => responded(event, *status, body),
        HandlerResult::Called { text, is_error: true } => Answer::unable(format!(
            "the tool reported an error: {}",
            first_line(text).unwrap_or("without a message")
        )),
        HandlerResult::Called { text, is_error: false } => match json(event, text) {
            Some(Ok(answer)) => answer,
            // A text of a tool that is not JSON output is a text.
            Some(Err(_)) | None => plain(event, text),
        },
        HandlerResult::Evaluated { text } => evaluated(event, continue_on_block, text),
        HandlerResult::TimedOut { after } => Answer::unable(format!("it timed out after {after}")),
        HandlerResult::Broken { why } => Answer::unable(why.clone()),
    }
}

/// What a command in the background has answered: it decides nothing, because what it would decide about has happened.
pub fn background_answer(event: &HookEvent, result: &HandlerResult) -> Answer {
    let HandlerResult::Exited { code: 0, stdout, .. } = result else {
        return Answer { permission: None, block: None, stop: None, ..answer(event, true, result) };
    };
    let Ok(Value::Object(object)) = serde_json::from_str(stdout.trim()) else {
        return Answer::default();
    };
    // Fields of a wrong type are dropped, and the rest counts.
    let text = |value: Option<&Value>| value.and_then(Value::as_str).map(capped);
    let specific = object.get("hookSpecificOutput").and_then(Value::as_object);
    Answer {
        context: text(specific.and_then(|specific| specific.get("additionalContext"))),
        system_message: text(object.get("systemMessage")),
        ..Answer::default()
    }
}

fn exited(event: &HookEvent, code: i32, stdout: &str, stderr: &str) -> Answer {
    if event.name == "StopFailure" {
        return Answer::default();
    }
    match code {
        0 => match json(event, stdout) {
            Some(Ok(answer)) => answer,
            Some(Err(why)) => Answer::unable(why),
            None => plain(event, stdout),
        },
        2 => blocked(event, stderr),
        _ if event.name == "WorktreeCreate" => blocked(event, stderr),
        _ if event.blocks == BlockEffect::Nothing => Answer::default(),
        BROKEN.. => {
            let why = match code {
                127 => "a program was not found (exit code 127)".to_owned(),
                126 => "a program can't be executed (exit code 126)".to_owned(),
                _ => format!("it broke (exit code {code})"),
            };
            Answer::unable(with_line(&why, stderr))
        }
        _ => Answer::failed(&with_line(&format!("it failed with exit code {code}"), stderr)),
    }
}

/// Exit code 2: standard output does not count, JSON or not.
fn blocked(event: &HookEvent, stderr: &str) -> Answer {
    let said = stderr.trim();
    let said = if said.is_empty() { NO_REASON.to_owned() } else { capped(said) };
    match event.blocks {
        BlockEffect::Prevents => block(event, said),
        BlockEffect::TellsAgent => Answer { context: Some(said), ..Answer::default() },
        BlockEffect::TellsUser => Answer::failed(&said),
        BlockEffect::Nothing => Answer::default(),
    }
}

fn block(event: &HookEvent, reason: String) -> Answer {
    match event.name {
        "PreToolUse" | "PermissionRequest" => Answer {
            permission: Some(Permission::Deny),
            permission_reason: Some(reason),
            ..Answer::default()
        },
        _ => Answer { block: Some(reason), ..Answer::default() },
    }
}

fn responded(event: &HookEvent, status: u16, body: &str) -> Answer {
    if !(200..300).contains(&status) {
        return Answer::unable(format!("the server responded with status {status}"));
    }
    match json(event, body) {
        Some(Ok(answer)) => answer,
        Some(Err(why)) => Answer::unable(why),
        None => {
            let text = body.trim();
            let context = (event.takes_context && !text.is_empty()).then(|| capped(text));
            Answer { context, ..Answer::default() }
        }
    }
}

/// Printed text. On three events the agent gets to see it.
fn plain(event: &HookEvent, text: &str) -> Answer {
    let text = text.trim();
    if text.is_empty() {
        return Answer::default();
    }
    match event.name {
        "UserPromptSubmit" | "UserPromptExpansion" | "SessionStart" => {
            Answer { context: Some(capped(text)), ..Answer::default() }
        }
        _ => Answer { output: Some(capped(text)), ..Answer::default() },
    }
}

/// JSON output, where the text begins like it.
fn json(event: &HookEvent, text: &str) -> Option<Result<Answer, String>> {
    let text = text.trim();
    if !text.starts_with('{') {
        return None;
    }
    let object: Map<String, Value> = match serde_json::from_str(text) {
        Ok(object) => object,
        Err(error) => return Some(Err(format!("its output begins like JSON and is not: {error}"))),
    };
    Some(read(event, &object))
}

fn read(event: &HookEvent, object: &Map<String, Value>) -> Result<Answer, String> {
    let mut answer = Answer {
        system_message: text(object, "systemMessage")?,
        suppress_output: flag(object, "suppressOutput")?.unwrap_or(false),
        ..Answer::default()
    };
    let reason = text(object, "reason")?;
    let stop_reason = text(object, "stopReason")?;
    if flag(object, "continue")? == Some(false) {
        answer.stop = Some(stop_reason.unwrap_or_default());
    }
    let decision = text(object, "decision")?;
    let because = || reason.clone().unwrap_or_else(|| NO_REASON.to_owned());
    match (event.name, decision.as_deref()) {
        (_, None) => {}
        // The old form of this event.
        ("PreToolUse", Some("approve")) => {
            answer.permission = Some(Permission::Allow);
            answer.permission_reason.clone_from(&reason);
        }
        ("PreToolUse", Some("block")) => {
            answer.permission = Some(Permission::Deny);
            answer.permission_reason = Some(because());
        }
        (_, Some("block")) if event.takes_decision => answer.block = Some(because()),
        (_, Some("approve" | "block")) => {}
        (_, Some(other)) => {
            return Err(format!("`decision` is `{other}`, which is not a decision"));
        }
    }
    let specific = match object.get("hookSpecificOutput") {
        None | Some(Value::Null) => return Ok(answer),
        Some(Value::Object(specific)) => specific,
        Some(_) => return Err("`hookSpecificOutput` is not an object".to_owned()),
    };
    match specific.get("hookEventName").and_then(Value::as_str) {
        Some(name) if name == event.name => {}
        Some(name) => {
            return Err(format!("`hookEventName` is `{name}`, expected `{}`", event.name));
        }
        None => return Err("`hookSpecificOutput` has no `hookEventName`".to_owned()),
    }
    if event.takes_context {
        answer.context = text(specific, "additionalContext")?;
    }
    match event.name {
        "PreToolUse" => pre_tool(specific, &mut answer)?,
        "PermissionRequest" => permission(specific, &mut answer)?,
        "PostToolUse" => {
            let output =
                specific.get("updatedToolOutput").or_else(|| specific.get("updatedMCPToolOutput"));
            answer.updated_output = output.cloned();
        }
        _ => {}
    }
    answer.specific.clone_from(specific);
    Ok(answer)
}

fn pre_tool(specific: &Map<String, Value>, answer: &mut Answer) -> Result<(), String> {
    if let Some(wanted) = text(specific, "permissionDecision")? {
        answer.permission = Some(match wanted.as_str() {
            "allow" => Permission::Allow,
            "ask" => Permission::Ask,
            "defer" => Permission::Defer,
            "deny" => Permission::Deny,
            other => {
                return Err(format!("`permissionDecision` is `{other}`, which is not a decision"));
            }
        });
        answer.permission_reason = text(specific, "permissionDecisionReason")?;
    }
    match specific.get("updatedInput") {
        None | Some(Value::Null) => {}
        Some(Value::Object(input)) => answer.updated_input = Some(Value::Object(input.clone())),
        Some(_) => return Err("`updatedInput` is not an object".to_owned()),
    }
    // Nothing of a call that is put off counts.
    if answer.permission == Some(Permission::Defer) {
        answer.updated_input = None;
        answer.context = None;
        answer.permission_reason = None;
    }
    Ok(())
}

fn permission(specific: &Map<String, Value>, answer: &mut Answer) -> Result<(), String> {
    let Some(decision) = specific.get("decision").and_then(Value::as_object) else {
        return Ok(());
    };
    match text(decision, "behavior")?.as_deref() {
        Some("allow") => answer.permission = Some(Permission::Allow),
        Some("deny") => {
            answer.permission = Some(Permission::Deny);
            answer.permission_reason = text(decision, "message")?;
        }
        Some(other) => return Err(format!("`behavior` is `{other}`, expected `allow` or `deny`")),
        None => {}
    }
    Ok(())
}

/// The words of a model: `{"ok": true}`, or `{"ok": false, "reason": "…"}`.
fn evaluated(event: &HookEvent, continue_on_block: bool, words: &str) -> Answer {
    let object = match (words.find('{'), words.rfind('}')) {
        (Some(start), Some(end)) if start < end => {
            serde_json::from_str::<Map<String, Value>>(&words[start..=end]).ok()
        }
        _ => None,
    };
    let Some(ok) = object.as_ref().and_then(|object| object.get("ok")).and_then(Value::as_bool)
    else {
        return Answer::unable(
            "the model did not answer with `{\"ok\": true}` or `{\"ok\": false}`",
        );
    };
    if ok {
        return Answer::default();
    }
    let object = object.unwrap_or_default();
    let said = object.get("reason").and_then(Value::as_str).unwrap_or(NO_REASON);
    let reason = capped(said);
    let is_impossible = object.get("impossible").and_then(Value::as_bool).unwrap_or(false);
    match event.name {
        "PermissionRequest" | "PermissionDenied" => Answer::default(),
        // What can never be met keeps nobody from stopping.
        "Stop" | "SubagentStop" if is_impossible => {
            Answer { system_message: Some(reason), ..Answer::default() }
        }
        "Stop" | "SubagentStop" | "PostToolUseFailure" | "TaskCreated" | "TaskCompleted" => {
            Answer { block: Some(reason), ..Answer::default() }
        }
        "PostToolBatch" | "UserPromptSubmit" | "UserPromptExpansion" => {
            Answer { block: Some(reason), ends_turn: true, ..Answer::default() }
        }
        _ => Answer { ends_turn: !continue_on_block, ..block(event, reason) },
    }
}

fn text(object: &Map<String, Value>, key: &str) -> Result<Option<String>, String> {
    match object.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(capped(text))),
        Some(_) => Err(format!("`{key}` is not a text")),
    }
}

fn flag(object: &Map<String, Value>, key: &str) -> Result<Option<bool>, String> {
    match object.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Bool(is_set)) => Ok(Some(*is_set)),
        Some(_) => Err(format!("`{key}` is not `true` or `false`")),
    }
}

fn first_line(text: &str) -> Option<&str> {
    text.lines().map(str::trim).find(|line| !line.is_empty())
}

fn with_line(message: &str, stderr: &str) -> String {
    match first_line(stderr) {
        Some(line) => format!("{message}: {line}"),
        None => message.to_owned(),
    }
}
