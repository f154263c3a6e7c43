//! What one handler has answered: exit codes, JSON, responses and models' words, by the table of the reference.

use prowess_format::hook_events::{BlockEffect, HookEvent};
use serde_json::{Map, Value};

use crate::capped;

/// Exit codes from which on the handler itself did not work: not executable, not found, ended by a signal.
const BROKEN: i32 = 126;
/// The reason if a blocking handler gives none.
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

/// The decision of a `PreToolUse` handler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum HookPermission {
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
pub enum HookFault {
    /// It ended with an error that blocks nothing.
    NonBlocking(String),
    /// It could not be started, broke, took too long, or can't be understood.
    Unable(String),
}

/// The answer of one handler.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HookAnswer {
    /// Why it has none, or only a part of one.
    pub fault: Option<HookFault>,
    /// The decision of a `PreToolUse` or `PermissionRequest` handler.
    pub permission: Option<HookPermission>,
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
    /// Context for the agent.
    pub context: Option<String>,
    /// A message for the user.
    pub system_message: Option<String>,
    /// Everything stops (`continue: false`), with the reason for the user.
    pub stop: Option<String>,
    /// Whether what it printed stays out of sight.
    pub suppress_output: bool,
    /// Its output, if that is not JSON.
    pub output: Option<String>,
    /// `hookSpecificOutput`, for what only one event has.
    pub specific: Map<String, Value>,
}

impl HookAnswer {
    fn unable(why: impl Into<String>) -> Self {
        Self { fault: Some(HookFault::Unable(capped(&why.into()))), ..Self::default() }
    }

    fn failed(why: &str) -> Self {
        Self { fault: Some(HookFault::NonBlocking(capped(why))), ..Self::default() }
    }
}

/// Interprets the result of a handler. `continue_on_block` is a field of prompts and agents.
pub fn answer(event: &HookEvent, continue_on_block: bool, result: &HandlerResult) -> HookAnswer {
    match result {
        HandlerResult::Exited { code, stdout, stderr } => exited(event, *code, stdout, stderr),
        HandlerResult::Responded { status, body } => responded(event, *status, body),
        HandlerResult::Called { text, is_error: true } => HookAnswer::unable(format!(
            "the tool reported an error: {}",
            first_line(text).unwrap_or("without a message")
        )),
        HandlerResult::Called { text, is_error: false } => match json(event, text) {
            Some(Ok(answer)) => answer,
            // A text of a tool that is not JSON output is a text.
            Some(Err(_)) | None => plain(event, text),
        },
        HandlerResult::Evaluated { text } => evaluated(event, continue_on_block, text),
        HandlerResult::TimedOut { after } => {
            HookAnswer::unable(format!("it timed out after {after}"))
        }
        HandlerResult::Broken { why } => HookAnswer::unable(why.clone()),
    }
}

/// Interprets the result of a background command. It decides nothing, because the event is over by then.
pub fn background_answer(event: &HookEvent, result: &HandlerResult) -> HookAnswer {
    let HandlerResult::Exited { code: 0, stdout, .. } = result else {
        return HookAnswer {
            permission: None,
            block: None,
            stop: None,
            ..answer(event, true, result)
        };
    };
    let Ok(Value::Object(object)) = serde_json::from_str(stdout.trim()) else {
        return HookAnswer::default();
    };
    // Fields of a wrong type are dropped, and the rest counts.
    let text = |value: Option<&Value>| value.and_then(Value::as_str).map(capped);
    let specific = object.get("hookSpecificOutput").and_then(Value::as_object);
    HookAnswer {
        context: text(specific.and_then(|specific| specific.get("additionalContext"))),
        system_message: text(object.get("systemMessage")),
        ..HookAnswer::default()
    }
}

fn exited(event: &HookEvent, code: i32, stdout: &str, stderr: &str) -> HookAnswer {
    if event.name == "StopFailure" {
        return HookAnswer::default();
    }
    match code {
        0 => match json(event, stdout) {
            Some(Ok(answer)) => answer,
            Some(Err(why)) => HookAnswer::unable(why),
            None => plain(event, stdout),
        },
        2 => blocked(event, stderr),
        _ if event.name == "WorktreeCreate" => blocked(event, stderr),
        _ if event.blocks == BlockEffect::Nothing => HookAnswer::default(),
        BROKEN.. => {
            let why = match code {
                127 => "a program was not found (exit code 127)".to_owned(),
                126 => "a program can't be executed (exit code 126)".to_owned(),
                _ => format!("it crashed (exit code {code})"),
            };
            HookAnswer::unable(with_line(&why, stderr))
        }
        _ => HookAnswer::failed(&with_line(&format!("it failed with exit code {code}"), stderr)),
    }
}

/// Exit code 2: standard output does not count, JSON or not.
fn blocked(event: &HookEvent, stderr: &str) -> HookAnswer {
    let said = stderr.trim();
    let said = if said.is_empty() { NO_REASON.to_owned() } else { capped(said) };
    match event.blocks {
        BlockEffect::Prevents => block(event, said),
        BlockEffect::TellsAgent => HookAnswer { context: Some(said), ..HookAnswer::default() },
        BlockEffect::TellsUser => HookAnswer::failed(&said),
        BlockEffect::Nothing => HookAnswer::default(),
    }
}

fn block(event: &HookEvent, reason: String) -> HookAnswer {
    match event.name {
        "PreToolUse" | "PermissionRequest" => HookAnswer {
            permission: Some(HookPermission::Deny),
            permission_reason: Some(reason),
            ..HookAnswer::default()
        },
        _ => HookAnswer { block: Some(reason), ..HookAnswer::default() },
    }
}

fn responded(event: &HookEvent, status: u16, body: &str) -> HookAnswer {
    if !(200..300).contains(&status) {
        return HookAnswer::unable(format!("the server responded with status {status}"));
    }
    match json(event, body) {
        Some(Ok(answer)) => answer,
        Some(Err(why)) => HookAnswer::unable(why),
        None => {
            let text = body.trim();
            let context = (event.takes_context && !text.is_empty()).then(|| capped(text));
            HookAnswer { context, ..HookAnswer::default() }
        }
    }
}

/// Printed text. On three events the agent gets to see it.
fn plain(event: &HookEvent, text: &str) -> HookAnswer {
    let text = text.trim();
    if text.is_empty() {
        return HookAnswer::default();
    }
    match event.name {
        "UserPromptSubmit" | "UserPromptExpansion" | "SessionStart" => {
            HookAnswer { context: Some(capped(text)), ..HookAnswer::default() }
        }
        _ => HookAnswer { output: Some(capped(text)), ..HookAnswer::default() },
    }
}

/// JSON output, where the text begins like it.
fn json(event: &HookEvent, text: &str) -> Option<Result<HookAnswer, String>> {
    let text = text.trim();
    if !text.starts_with('{') {
        return None;
    }
    let object: Map<String, Value> = match serde_json::from_str(text) {
        Ok(object) => object,
        Err(error) => {
            return Some(Err(format!("its output starts like JSON but is not valid: {error}")));
        }
    };
    Some(read(event, &object))
}

fn read(event: &HookEvent, object: &Map<String, Value>) -> Result<HookAnswer, String> {
    let mut answer = HookAnswer {
        system_message: text(object, "systemMessage")?,
        suppress_output: flag(object, "suppressOutput")?.unwrap_or(false),
        ..HookAnswer::default()
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
            answer.permission = Some(HookPermission::Allow);
            answer.permission_reason.clone_from(&reason);
        }
        ("PreToolUse", Some("block")) => {
            answer.permission = Some(HookPermission::Deny);
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

fn pre_tool(specific: &Map<String, Value>, answer: &mut HookAnswer) -> Result<(), String> {
    if let Some(wanted) = text(specific, "permissionDecision")? {
        answer.permission = Some(match wanted.as_str() {
            "allow" => HookPermission::Allow,
            "ask" => HookPermission::Ask,
            "defer" => HookPermission::Defer,
            "deny" => HookPermission::Deny,
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
    if answer.permission == Some(HookPermission::Defer) {
        answer.updated_input = None;
        answer.context = None;
        answer.permission_reason = None;
    }
    Ok(())
}

fn permission(specific: &Map<String, Value>, answer: &mut HookAnswer) -> Result<(), String> {
    let Some(decision) = specific.get("decision").and_then(Value::as_object) else {
        return Ok(());
    };
    match text(decision, "behavior")?.as_deref() {
        Some("allow") => answer.permission = Some(HookPermission::Allow),
        Some("deny") => {
            answer.permission = Some(HookPermission::Deny);
            answer.permission_reason = text(decision, "message")?;
        }
        Some(other) => return Err(format!("`behavior` is `{other}`, expected `allow` or `deny`")),
        None => {}
    }
    Ok(())
}

/// The words of a model: `{"ok": true}`, or `{"ok": false, "reason": "…"}`.
fn evaluated(event: &HookEvent, continue_on_block: bool, words: &str) -> HookAnswer {
    let object = match (words.find('{'), words.rfind('}')) {
        (Some(start), Some(end)) if start < end => {
            serde_json::from_str::<Map<String, Value>>(&words[start..=end]).ok()
        }
        _ => None,
    };
    let Some(ok) = object.as_ref().and_then(|object| object.get("ok")).and_then(Value::as_bool)
    else {
        return HookAnswer::unable(
            "the model did not answer with `{\"ok\": true}` or `{\"ok\": false}`",
        );
    };
    if ok {
        return HookAnswer::default();
    }
    let object = object.unwrap_or_default();
    let said = object.get("reason").and_then(Value::as_str).unwrap_or(NO_REASON);
    let reason = capped(said);
    let is_impossible = object.get("impossible").and_then(Value::as_bool).unwrap_or(false);
    match event.name {
        "PermissionRequest" | "PermissionDenied" => HookAnswer::default(),
        // What can never be met keeps nobody from stopping.
        "Stop" | "SubagentStop" if is_impossible => {
            HookAnswer { system_message: Some(reason), ..HookAnswer::default() }
        }
        "Stop" | "SubagentStop" | "PostToolUseFailure" | "TaskCreated" | "TaskCompleted" => {
            HookAnswer { block: Some(reason), ..HookAnswer::default() }
        }
        "PostToolBatch" | "UserPromptSubmit" | "UserPromptExpansion" => {
            HookAnswer { block: Some(reason), ends_turn: true, ..HookAnswer::default() }
        }
        _ => HookAnswer { ends_turn: !continue_on_block, ..block(event, reason) },
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
