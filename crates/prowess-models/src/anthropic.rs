//! Anthropic's `/v1/messages`.

use prowess_core::{Message, ModelError, ModelRequest, Piece, Stop, ToolCall, Usage};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Value, json};

use crate::dialect::{MOST_CALLS, Progress, Without, json, protocol};
use crate::failure;
use crate::sse::SseEvent;

/// The dialect wants a number; it is what short answers need and every model allows.
const USUAL_MAX_TOKENS: u32 = 4096;
/// The scale of the dialect ends here, while that of AFL §3.2 ends at 2.
const HIGHEST_TEMPERATURE: f64 = 1.0;

pub(super) fn body(model: &str, request: &ModelRequest, without: Without) -> Value {
    let mut body = json!({
        "model": model,
        "max_tokens": request.max_tokens.unwrap_or(USUAL_MAX_TOKENS),
        "messages": messages(&request.messages),
        "stream": true,
    });
    if let Some(system) = &request.system {
        body["system"] = system.as_str().into();
    }
    if let (Some(temperature), false) = (request.temperature, without.temperature) {
        body["temperature"] = temperature.min(HIGHEST_TEMPERATURE).into();
    }
    if !request.tools.is_empty() {
        let tool = |tool: &prowess_core::ToolSpec| {
            json!({
                "name": tool.name, "description": tool.description, "input_schema": tool.parameters,
            })
        };
        body["tools"] = request.tools.iter().map(tool).collect();
    }
    if let (Some(schema), false) = (&request.schema, without.schema) {
        body["output_config"] = json!({ "format": { "type": "json_schema", "schema": schema } });
    }
    body
}

fn messages(conversation: &[Message]) -> Vec<Value> {
    let mut messages: Vec<Value> = Vec::new();
    // Results of calls are the user's, and all of one turn stand in one message.
    let mut in_results = false;
    for message in conversation {
        match message {
            Message::User(text) => {
                in_results = false;
                messages.push(json!({ "role": "user", "content": text }));
            }
            Message::Assistant { text, calls } => {
                in_results = false;
                let mut blocks = Vec::new();
                // An empty block of text is refused.
                if !text.is_empty() {
                    blocks.push(json!({ "type": "text", "text": text }));
                }
                blocks.extend(calls.iter().map(|call| {
                    json!({
                        "type": "tool_use", "id": call.id, "name": call.name,
                        "input": input(&call.arguments),
                    })
                }));
                messages.push(json!({ "role": "assistant", "content": blocks }));
            }
            Message::ToolResult { id, content } => {
                let block = json!({ "type": "tool_result", "tool_use_id": id, "content": content });
                match messages.last_mut().filter(|_| in_results) {
                    Some(last) => {
                        last["content"].as_array_mut().expect("results are a list").push(block);
                    }
                    None => messages.push(json!({ "role": "user", "content": [block] })),
                }
                in_results = true;
            }
        }
    }
    messages
}

/// The dialect wants an object. What a model wrote that is none is shown to it as it was.
fn input(arguments: &str) -> Value {
    match serde_json::from_str(arguments) {
        Ok(Value::Object(fields)) => Value::Object(fields),
        _ if arguments.trim().is_empty() => json!({}),
        _ => json!({ "arguments": arguments }),
    }
}

/// Puts the events of an answer together.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    /// Calls that are still coming, with the numbers of their blocks.
    calls: Vec<(u64, ToolCall)>,
    seen: usize,
    usage: Usage,
    stop: Option<Stop>,
}

impl Reader {
    pub(super) fn event(
        &mut self,
        event: &SseEvent,
        progress: &mut Progress,
    ) -> Result<(), ModelError> {
        if let Some(text) = only_text(&event.data) {
            return progress.text(text);
        }
        let body = json(event)?;
        // The kind stands in both places; proxies are known to lose the first.
        let kind = body["type"].as_str().unwrap_or(&event.kind);
        let index = body["index"].as_u64().unwrap_or_default();
        match kind {
            "message_start" => self.count(&body["message"]["usage"]),
            "content_block_start" => {
                let block = &body["content_block"];
                match block["type"].as_str() {
                    Some("tool_use") => {
                        self.seen += 1;
                        if self.seen > MOST_CALLS {
                            return Err(protocol(format!(
                                "the model wants more than {MOST_CALLS} calls"
                            )));
                        }
                        let text = |name: &str| block[name].as_str().unwrap_or_default().to_owned();
                        let call = ToolCall {
                            id: text("id"),
                            name: text("name"),
                            arguments: String::new(),
                        };
                        progress.count(call.id.len() + call.name.len())?;
                        self.calls.push((index, call));
                        progress.has_begun = true;
                    }
                    Some("text") => {
                        if let Some(text) = block["text"].as_str().filter(|text| !text.is_empty()) {
                            progress.text(text.to_owned())?;
                        }
                    }
                    _ => {}
                }
            }
            "content_block_delta" => {
                progress.has_begun = true;
                let delta = &body["delta"];
                if let Some(text) = delta["text"].as_str() {
                    progress.text(text.to_owned())?;
                }
                if let Some(fragment) = delta["partial_json"].as_str()
                    && let Some((_, call)) =
                        self.calls.iter_mut().find(|(block, _)| *block == index)
                {
                    progress.count(fragment.len())?;
                    call.arguments.push_str(fragment);
                }
            }
            "content_block_stop" => {
                if let Some(place) = self.calls.iter().position(|(block, _)| *block == index) {
                    let (_, mut call) = self.calls.remove(place);
                    // A tool without parameters is called without any fragment.
                    if call.arguments.is_empty() {
                        "{}".clone_into(&mut call.arguments);
                    }
                    progress.calls([call]);
                }
            }
            "message_delta" => {
                self.count(&body["usage"]);
                if let Some(reason) = body["delta"]["stop_reason"].as_str() {
                    progress.has_begun = true;
                    self.stop = Some(match reason {
                        "end_turn" | "stop_sequence" => Stop::Done,
                        "max_tokens" | "model_context_window_exceeded" => Stop::Length,
                        "tool_use" => Stop::ToolCalls,
                        "refusal" => Stop::Filtered,
                        other => Stop::Other(other.to_owned()),
                    });
                }
            }
            "message_stop" => {
                let stop = self.stop.take().unwrap_or(Stop::Done);
                progress.end([Piece::Usage(self.usage), Piece::End(stop)]);
            }
            "error" => return Err(failure::in_stream(&body["error"])),
            // The documentation says that kinds may be added; a ping is one that says nothing.
            _ => {}
        }
        Ok(())
    }

    /// Counts are totals so far, and what is read from a cache was part of the conversation too.
    fn count(&mut self, usage: &Value) {
        let number = |name: &str| usage[name].as_u64();
        if let Some(input) = number("input_tokens") {
            let cached = ["cache_creation_input_tokens", "cache_read_input_tokens"];
            self.usage.input =
                cached.into_iter().filter_map(number).fold(input, u64::saturating_add);
        }
        if let Some(output) = number("output_tokens") {
            self.usage.output = output;
        }
    }
}

/// An event with text and nothing else to look at, as nearly all are.
#[derive(Deserialize)]
struct TextEvent {
    #[serde(rename = "type")]
    _kind: TextKind,
    delta: TextDelta,
}

#[derive(Deserialize)]
enum TextKind {
    #[serde(rename = "content_block_delta")]
    ContentBlockDelta,
}

#[derive(Deserialize)]
struct TextDelta {
    text: String,
    partial_json: Option<IgnoredAny>,
}

/// The text of such an event, without a tree of everything else around it. Whatever is otherwise goes the long way.
fn only_text(data: &str) -> Option<String> {
    let TextEvent { delta, .. } = serde_json::from_str(data).ok()?;
    delta.partial_json.is_none().then_some(delta.text)
}

#[cfg(test)]
mod tests;
