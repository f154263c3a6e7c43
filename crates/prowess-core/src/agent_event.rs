//! Events of an agent, around those of the tools that it calls.

use std::time::Duration;

use serde_json::Value;

use crate::event::Event;
use crate::model::Usage;

/// An event of an agent. Text of the model is an ordinary [`Event::Token`], and the end is [`Event::Done`].
#[derive(Clone, Debug, PartialEq)]
pub enum AgentEvent {
    /// The agent starts to work on a task.
    Start {
        /// The agent's name.
        agent: String,
        /// The model, `PROVIDER/NAME`.
        model: String,
        /// The skills that the model may load.
        skills: Vec<String>,
        /// Where the transcript is written, if it is.
        transcript: Option<String>,
    },
    /// A request to the model starts.
    Turn {
        /// The number of the turn, from 1.
        number: u32,
    },
    /// The model calls a tool. Every call gets a result, in the same order.
    ToolCall {
        /// The id of the call, unique in the run.
        call: String,
        /// The name as the model wrote it.
        name: String,
        /// The skill that the tool belongs to; `None` for tools of the agent loop and for unknown ones.
        skill: Option<String>,
        /// The tool's own name.
        tool: Option<String>,
        /// The arguments; a string if the model did not write valid JSON.
        arguments: Value,
    },
    /// An event of a tool that runs.
    Inside {
        /// The id of the call.
        call: String,
        /// The event.
        event: Box<Event>,
    },
    /// A call has ended, and the model gets this result.
    ToolResult {
        /// The id of the call.
        call: String,
        /// How it ended.
        status: CallStatus,
        /// The result as the model gets it, without the marks around it.
        content: String,
        /// The number of bytes that were left out of it.
        left_out: u64,
        /// How long it took.
        duration: Duration,
    },
    /// A turn has used tokens.
    Usage {
        /// The number of the turn.
        turn: u32,
        /// The tokens of the turn.
        usage: Usage,
        /// The tokens of all turns so far.
        total: Usage,
        /// Whether they are estimated, because the provider does not report them.
        is_estimated: bool,
    },
}

/// How a call of a tool ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallStatus {
    /// The tool succeeded.
    Success,
    /// The tool ran and failed.
    Failed,
    /// The call was invalid, and nothing was started: the arguments, or the name of the tool.
    Invalid,
    /// The policy, a hook or a person refused it, or there was nobody to ask; nothing was started.
    Refused,
    /// The agent was stopped before the call ended.
    Cancelled,
}

impl CallStatus {
    /// The name in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            CallStatus::Success => "success",
            CallStatus::Failed => "failed",
            CallStatus::Invalid => "invalid",
            CallStatus::Refused => "refused",
            CallStatus::Cancelled => "cancelled",
        }
    }
}
