//! What an agent did, entry by entry: enough to read it later and to go on from it.

mod file;
mod read;

use prowess_core::{Problem, ToolCall, Usage};
use serde_json::{Value, json};

pub use file::{FileTranscript, TranscriptFolder};
pub use read::{Earlier, read_transcript};

/// The version of the format.
pub(crate) const VERSION: u64 = 1;

/// Records what an agent does: a file of the user by default, a database for a server.
///
/// An entry is recorded before the next step. An agent whose transcript can't be written stops.
pub trait Transcript: Send {
    /// Records an entry durably. `at` is the time in seconds since 1970, and `fork` is the skill whose task is being worked on
    /// in a conversation of its own.
    fn record(
        &mut self,
        at: u64,
        fork: Option<&str>,
        entry: &TranscriptEntry<'_>,
    ) -> Result<(), Problem>;

    /// Where it is, for people.
    fn place(&self) -> Option<String>;
}

/// An entry of a transcript.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TranscriptEntry<'e> {
    /// The agent starts.
    Start {
        /// Its name.
        agent: &'e str,
        /// The model.
        model: &'e str,
        /// The skills on the menu.
        skills: &'e [String],
        /// The system prompt.
        system: &'e str,
    },
    /// The user says something.
    User {
        /// The text, with the inputs.
        text: &'e str,
    },
    /// The model has answered.
    Assistant {
        /// The number of the turn.
        turn: u32,
        /// The text.
        text: &'e str,
        /// The calls that it requests.
        calls: &'e [ToolCall],
        /// Why the answer ended.
        stop: &'e str,
        /// The tokens of the turn.
        usage: Usage,
    },
    /// A call has ended.
    ToolResult {
        /// The id of the call.
        call: &'e str,
        /// The name of the tool.
        name: &'e str,
        /// How it ended.
        status: &'e str,
        /// The result as the model gets it.
        content: &'e str,
    },
    /// The agent has ended.
    End {
        /// The outcome.
        outcome: &'e str,
        /// The exit code.
        exit_code: i32,
        /// The error message.
        error: Option<&'e str>,
        /// The number of turns.
        turns: u32,
        /// The tokens of all turns.
        usage: Usage,
    },
}

impl TranscriptEntry<'_> {
    /// The entry as JSON.
    pub fn to_json(self, at: u64) -> Value {
        match self {
            Self::Start { agent, model, skills, system } => json!({
                "type": "start", "version": VERSION, "at": at, "agent": agent, "model": model,
                "skills": skills, "system": system,
            }),
            Self::User { text } => json!({ "type": "user", "at": at, "text": text }),
            Self::Assistant { turn, text, calls, stop, usage } => {
                let call = |call: &ToolCall| json!({ "id": call.id, "name": call.name, "arguments": call.arguments });
                json!({
                    "type": "assistant", "at": at, "turn": turn, "text": text,
                    "calls": calls.iter().map(call).collect::<Vec<_>>(), "stop": stop,
                    "input_tokens": usage.input, "output_tokens": usage.output,
                })
            }
            Self::ToolResult { call, name, status, content } => json!({
                "type": "tool_result", "at": at, "call_id": call, "name": name,
                "status": status, "content": content,
            }),
            Self::End { outcome, exit_code, error, turns, usage } => json!({
                "type": "end", "at": at, "outcome": outcome, "exit_code": exit_code,
                "error": error, "turns": turns,
                "input_tokens": usage.input, "output_tokens": usage.output,
            }),
        }
    }
}
