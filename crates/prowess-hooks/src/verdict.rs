//! One verdict out of the answers of all handlers.

use serde_json::Value;

use crate::answer::{HookAnswer, HookFault, HookPermission};

/// The meaning of a `PreToolUse` handler that gives no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strictness {
    /// The tool does not run: a gate that is broken is closed.
    Strict,
    /// Nothing, as in Claude Code.
    Lenient,
}

/// The most times in a row that a `Stop` handler keeps the agent working.
pub const MAX_STOP_BLOCKS: u32 = 8; // "Stop input" of the hook reference

/// A handler's reason, with the handler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blocked {
    /// The handler, as people know it.
    pub hook: String,
    /// Its reason.
    pub reason: String,
    /// Whether it gave no answer, and is held against the call for that.
    pub is_fault: bool,
    /// Whether the turn of an agent ends here.
    pub ends_turn: bool,
}

/// The decision about a call of a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PreToolDecision {
    /// The call continues as without hooks, also after a handler's `allow`, which approves nothing here.
    Proceed,
    /// The user has to say yes.
    Ask(Blocked),
    /// Not now.
    Defer(Blocked),
    /// No.
    Deny(Blocked),
}

/// The combined answers of the `PreToolUse` handlers.
#[derive(Clone, Debug, PartialEq)]
pub struct PreToolVerdict {
    /// The strictest of the decisions.
    pub decision: PreToolDecision,
    /// The input in place of the tool's, and the number of the handler that wants it.
    pub updated_input: Option<(usize, Value)>,
    /// Messages for the agent.
    pub context: Vec<String>,
    /// Messages for the user.
    pub messages: Vec<String>,
    /// Everything stops.
    pub stop: Option<Blocked>,
}

/// The combined answers of the handlers of any other event.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EventVerdict {
    /// Those that block.
    pub blocks: Vec<Blocked>,
    /// The output in place of the tool's.
    pub updated_output: Option<Value>,
    /// Messages for the agent.
    pub context: Vec<String>,
    /// Messages for the user.
    pub messages: Vec<String>,
    /// Everything stops.
    pub stop: Option<Blocked>,
}

/// Decides about a call of a tool: `deny` before `defer` before `ask` before `allow`, and `continue: false` before all.
pub fn pre_tool_verdict(
    answers: &[(String, HookAnswer)],
    strictness: Strictness,
) -> PreToolVerdict {
    let mut verdict = PreToolVerdict {
        decision: PreToolDecision::Proceed,
        updated_input: None,
        context: Vec::new(),
        messages: Vec::new(),
        stop: None,
    };
    let mut strictest: Option<(HookPermission, Blocked)> = None;
    for (number, (hook, answer)) in answers.iter().enumerate() {
        let blocked = |reason: &str, is_fault| Blocked {
            hook: hook.clone(),
            reason: reason.to_owned(),
            is_fault,
            ends_turn: answer.ends_turn,
        };
        let wanted = match (&answer.fault, answer.permission) {
            (Some(HookFault::Unable(why)), _) if strictness == Strictness::Strict => {
                Some((HookPermission::Deny, blocked(why, true)))
            }
            (fault, permission) => {
                verdict.messages.extend(fault.as_ref().map(|fault| told(hook, fault)));
                let reason = answer.permission_reason.as_deref().unwrap_or("it gave no reason");
                permission.map(|permission| (permission, blocked(reason, false)))
            }
        };
        if let Some(wanted) = wanted
            && strictest.as_ref().is_none_or(|known| known.0 < wanted.0)
        {
            strictest = Some(wanted);
        }
        if let Some(input) = &answer.updated_input {
            verdict.updated_input = Some((number, input.clone()));
        }
        if let Some(reason) = &answer.stop {
            verdict.stop.get_or_insert_with(|| stopped(hook, reason));
        }
        verdict.context.extend(answer.context.clone());
        verdict.messages.extend(answer.system_message.clone());
    }
    verdict.decision = match strictest {
        None | Some((HookPermission::Allow, _)) => PreToolDecision::Proceed,
        Some((HookPermission::Ask, blocked)) => PreToolDecision::Ask(blocked),
        Some((HookPermission::Defer, blocked)) => PreToolDecision::Defer(blocked),
        Some((HookPermission::Deny, blocked)) => PreToolDecision::Deny(blocked),
    };
    // What does not run has no input.
    if matches!(verdict.decision, PreToolDecision::Deny(_) | PreToolDecision::Defer(_)) {
        verdict.updated_input = None;
    }
    verdict
}

/// Puts the answers to another event together. A handler without an answer is told about and blocks nothing.
pub fn event_verdict(answers: &[(String, HookAnswer)]) -> EventVerdict {
    let mut verdict = EventVerdict::default();
    for (hook, answer) in answers {
        verdict.messages.extend(answer.fault.as_ref().map(|fault| told(hook, fault)));
        // `PermissionRequest` says no in its own words.
        let denied = (answer.permission == Some(HookPermission::Deny))
            .then(|| answer.permission_reason.clone().unwrap_or_default());
        if let Some(reason) = answer.block.clone().or(denied) {
            let (hook, ends_turn) = (hook.clone(), answer.ends_turn);
            verdict.blocks.push(Blocked { hook, reason, is_fault: false, ends_turn });
        }
        if let Some(output) = &answer.updated_output {
            verdict.updated_output = Some(output.clone());
        }
        if let Some(reason) = &answer.stop {
            verdict.stop.get_or_insert_with(|| stopped(hook, reason));
        }
        verdict.context.extend(answer.context.clone());
        verdict.messages.extend(answer.system_message.clone());
    }
    verdict
}

fn stopped(hook: &str, reason: &str) -> Blocked {
    let reason = if reason.is_empty() { "it gave no reason" } else { reason };
    Blocked { hook: hook.to_owned(), reason: reason.to_owned(), is_fault: false, ends_turn: true }
}

fn told(hook: &str, fault: &HookFault) -> String {
    match fault {
        HookFault::NonBlocking(why) | HookFault::Unable(why) => format!("{hook}: {why}"),
    }
}

/// Counts how often `Stop` handlers have kept an agent working, so that this ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StopBlocks(u32);

impl StopBlocks {
    /// Whether the agent is working because a handler has kept it (`stop_hook_active`).
    pub fn is_active(self) -> bool {
        self.0 > 0
    }

    /// Counts a verdict. Gives whether the agent goes on: not if nothing blocks, and not after
    /// [`MAX_STOP_BLOCKS`] in a row. Context keeps it working like a block.
    pub fn goes_on(&mut self, verdict: &EventVerdict) -> bool {
        let keeps = !verdict.blocks.is_empty() || !verdict.context.is_empty();
        if verdict.stop.is_some() || !keeps || self.0 >= MAX_STOP_BLOCKS {
            self.0 = 0;
            return false;
        }
        self.0 += 1;
        true
    }
}
