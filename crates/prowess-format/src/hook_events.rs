//! The events that hooks can be bound to, as Claude Code documents them.

/// An event of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HookEvent {
    /// Its name.
    pub name: &'static str,
    /// What a matcher is compared with.
    pub matched: MatchedField,
    /// Which types of handlers it supports.
    pub handlers: SupportedHandlers,
    /// What a handler that exits with 2 achieves.
    pub blocks: BlockEffect,
    /// Whether a handler may answer `decision: "block"`.
    pub takes_decision: bool,
    /// Whether a handler may answer `additionalContext`.
    pub takes_context: bool,
}

/// What the matcher of an event is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MatchedField {
    /// Nothing: a matcher is ignored.
    None,
    /// The name of a tool.
    Tool,
    /// A field of the input of this name.
    Field(&'static str),
    /// Such a field, with `|` as the only separator of exact names.
    NarrowField(&'static str),
}

/// Which types of handlers an event supports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SupportedHandlers {
    /// All five.
    All,
    /// `command`, `http` and `mcp_tool`.
    WithoutModel,
    /// `command` and `mcp_tool`.
    BeforeStart,
}

/// What exit code 2 of a handler does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockEffect {
    /// It prevents what is about to happen.
    Prevents,
    /// It is too late, so the agent gets to see the message.
    TellsAgent,
    /// It is too late, so the user gets to see the message.
    TellsUser,
    /// It is ignored.
    Nothing,
}

impl SupportedHandlers {
    /// Whether a type of handler is among them.
    pub fn contain(self, kind: &str) -> bool {
        match (self, kind) {
            (_, "command" | "mcp_tool")
            | (Self::All | Self::WithoutModel, "http")
            | (Self::All, "prompt" | "agent") => true,
            (Self::All | Self::WithoutModel | Self::BeforeStart, _) => false,
        }
    }
}

const fn event(
    name: &'static str,
    matched: MatchedField,
    handlers: SupportedHandlers,
    blocks: BlockEffect,
) -> HookEvent {
    HookEvent { name, matched, handlers, blocks, takes_decision: false, takes_context: false }
}

impl HookEvent {
    const fn deciding(self) -> Self {
        Self { takes_decision: true, ..self }
    }

    const fn with_context(self) -> Self {
        Self { takes_context: true, ..self }
    }

    /// Whether it is about one call of a tool: only such events have an `if`.
    pub fn is_about_tool(&self) -> bool {
        self.matched == MatchedField::Tool
    }
}

use BlockEffect::{Nothing, Prevents, TellsAgent, TellsUser};
use MatchedField::{Field, NarrowField, None as Unmatched, Tool};
use SupportedHandlers::{All, BeforeStart, WithoutModel};

/// All events, in the order of a session.
pub const HOOK_EVENTS: &[HookEvent] = &[
    event("Setup", Field("trigger"), BeforeStart, TellsUser).with_context(),
    event("SessionStart", Field("source"), BeforeStart, TellsUser).with_context(),
    event("InstructionsLoaded", Field("load_reason"), WithoutModel, Nothing),
    event("UserPromptSubmit", Unmatched, All, Prevents).deciding().with_context(),
    event("UserPromptExpansion", Field("command_name"), All, Prevents).deciding().with_context(),
    event("MessageDisplay", Unmatched, WithoutModel, Nothing),
    event("PreToolUse", Tool, All, Prevents).with_context(),
    event("PermissionRequest", Tool, All, Prevents),
    event("PermissionDenied", Tool, All, Nothing),
    event("PostToolUse", Tool, All, TellsAgent).deciding().with_context(),
    event("PostToolUseFailure", Tool, All, TellsAgent).deciding().with_context(),
    event("PostToolBatch", Unmatched, All, Prevents).deciding().with_context(),
    event("Notification", Field("notification_type"), WithoutModel, TellsUser),
    event("SubagentStart", Field("agent_type"), WithoutModel, TellsUser).with_context(),
    event("SubagentStop", Field("agent_type"), All, Prevents).deciding().with_context(),
    event("TaskCreated", Unmatched, All, Prevents),
    event("TaskCompleted", Unmatched, All, Prevents),
    event("Stop", Unmatched, All, Prevents).deciding().with_context(),
    event("StopFailure", NarrowField("error"), WithoutModel, Nothing),
    event("TeammateIdle", Unmatched, All, Prevents),
    event("ConfigChange", Field("source"), WithoutModel, Prevents).deciding(),
    event("CwdChanged", Unmatched, WithoutModel, TellsUser),
    event("DirectoryAdded", Field("source"), WithoutModel, Nothing),
    event("FileChanged", NarrowField("file_path"), WithoutModel, TellsUser),
    event("WorktreeCreate", Unmatched, WithoutModel, Prevents),
    event("WorktreeRemove", Unmatched, WithoutModel, Nothing),
    event("PreCompact", Field("trigger"), WithoutModel, Prevents).deciding(),
    event("PostCompact", Field("trigger"), WithoutModel, TellsUser),
    event("Elicitation", Field("mcp_server_name"), WithoutModel, Prevents),
    event("ElicitationResult", Field("mcp_server_name"), WithoutModel, Prevents),
    event("SessionEnd", Field("reason"), WithoutModel, TellsUser),
];

/// An event by its name.
pub fn hook_event(name: &str) -> Option<&'static HookEvent> {
    HOOK_EVENTS.iter().find(|event| event.name == name)
}
