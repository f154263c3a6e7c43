//! Reads a transcript, to go on with its conversation.

use std::collections::BTreeMap;
use std::path::Path;

use prowess_core::{Message, Problem, ProblemKind, ToolCall};
use prowess_files::atomic;
use serde_json::Value;

use super::VERSION;
use super::file::{FileTranscript, MAX_BYTES, problem};
use crate::native_tools::NativeTool;

/// An earlier conversation, and the transcript that goes on with it.
#[derive(Debug)]
pub struct Earlier {
    /// The agent's name.
    pub agent: String,
    /// The model that it used.
    pub model: String,
    /// The conversation. Calls that never ended have a result that says so.
    pub messages: Vec<Message>,
    /// The skills that were loaded.
    pub loaded: Vec<String>,
    /// The transcript, at its end.
    pub transcript: FileTranscript,
}

/// Reads a transcript and opens it at its end. A torn last line, which a crash may leave, is cut off.
pub fn read_transcript(path: &Path) -> Result<Earlier, Problem> {
    let bytes = atomic::read(path, MAX_BYTES + (1 << 20))
        .map_err(|source| problem("read", path, &source))?
        .ok_or_else(|| problem("read", path, &std::io::ErrorKind::NotFound.into()))?;
    let complete = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let damaged = |line: usize, reason: &str| {
        let message = format!("`{}` is not a transcript (line {line}): {reason}", path.display());
        Problem::new("transcript-damaged", ProblemKind::Corrupt, message)
            .advice("start a new run instead")
    };
    let text =
        std::str::from_utf8(&bytes[..complete]).map_err(|_| damaged(1, "it is not UTF-8"))?;
    let mut reader = Reader::default();
    for (number, line) in text.lines().enumerate() {
        let entry: Value = serde_json::from_str(line)
            .map_err(|error| damaged(number + 1, &format!("it is not JSON: {error}")))?;
        reader.entry(&entry).map_err(|reason| damaged(number + 1, reason))?;
    }
    let Some((agent, model)) = reader.start.take() else {
        return Err(damaged(1, "it has no start"));
    };
    reader.close();
    let Reader { messages, loaded, .. } = reader;
    let transcript = FileTranscript::reopen(path, complete as u64)?;
    Ok(Earlier { agent, model, messages, loaded, transcript })
}

#[derive(Default)]
struct Reader {
    /// The agent and the model of the first start.
    start: Option<(String, String)>,
    messages: Vec<Message>,
    loaded: Vec<String>,
    /// The calls that have no result yet.
    open: Vec<ToolCall>,
    results: BTreeMap<String, String>,
}

impl Reader {
    fn entry(&mut self, entry: &Value) -> Result<(), &'static str> {
        let text = |key: &str| entry[key].as_str().map(str::to_owned);
        // Only the result of a conversation beside this one belongs to it.
        if entry["fork"].is_string() {
            return Ok(());
        }
        match entry["type"].as_str() {
            Some("start") => {
                if entry["version"] != VERSION {
                    return Err("it was written by another version of prowess");
                }
                let (Some(agent), Some(model)) = (text("agent"), text("model")) else {
                    return Err("the start has no agent");
                };
                self.start.get_or_insert((agent, model));
            }
            Some("user") => {
                self.close();
                self.messages.push(Message::User(text("text").ok_or("a message has no text")?));
            }
            Some("assistant") => {
                self.close();
                let calls = entry["calls"].as_array().map(Vec::as_slice).unwrap_or_default();
                let call = |call: &Value| {
                    let text = |key: &str| call[key].as_str().map(str::to_owned);
                    Some(ToolCall {
                        id: text("id")?,
                        name: text("name")?,
                        arguments: text("arguments")?,
                    })
                };
                let calls: Option<Vec<ToolCall>> = calls.iter().map(call).collect();
                let calls = calls.ok_or("a call is incomplete")?;
                self.open.clone_from(&calls);
                let text = text("text").unwrap_or_default();
                self.messages.push(Message::Assistant { text, calls });
            }
            Some("tool_result") => {
                let (Some(id), Some(content)) = (text("call_id"), text("content")) else {
                    return Err("a result is incomplete");
                };
                self.note_loaded(&id, entry["status"] == "success");
                self.results.insert(id, content);
            }
            // The end, and what later versions add.
            _ => {}
        }
        Ok(())
    }

    fn note_loaded(&mut self, id: &str, is_success: bool) {
        let Some(call) = self.open.iter().find(|call| call.id == id) else { return };
        if call.name != NativeTool::LoadSkill.name() || !is_success {
            return;
        }
        let arguments: Value = serde_json::from_str(&call.arguments).unwrap_or_default();
        if let Some(name) = arguments["name"].as_str()
            && !self.loaded.iter().any(|known| known == name)
        {
            self.loaded.push(name.to_owned());
        }
    }

    /// Adds the results of the last calls, in the order of the calls: providers refuse a call without one.
    fn close(&mut self) {
        for call in self.open.drain(..) {
            let content = self.results.remove(&call.id).unwrap_or_else(|| {
                "error: the agent was stopped before this call ended".to_owned()
            });
            self.messages.push(Message::ToolResult { id: call.id, content });
        }
        self.results.clear();
    }
}
