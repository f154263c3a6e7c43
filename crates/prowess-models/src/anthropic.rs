//! Anthropic's Messages API, `/v1/messages`.

use prowess_core::{Message, ModelDelta, ModelError, ModelRequest, StopReason, ToolCall, Usage};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Value, json};

use crate::dialect::{AnswerProgress, MOST_CALLS, OmittedParts, json, protocol};
use crate::failure;
use crate::sse::SseEvent;

/// The default for `max_tokens`, which this API requires. Every model allows it.
const USUAL_MAX_TOKENS: u32 = 4096;
/// The highest temperature of this API. That of AFL §3.2 is 2.
const HIGHEST_TEMPERATURE: f64 = 1.0;

pub(super) fn body(model: &str, request: &ModelRequest, without: OmittedParts) -> Value {
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
    // Tool results belong to the user, and all results of a turn go into one message.
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
                // The API rejects an empty text block.
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

/// The arguments of a call as an object, which this API requires. Invalid arguments are wrapped unchanged.
fn input(arguments: &str) -> Value {
    match serde_json::from_str(arguments) {
        Ok(Value::Object(fields)) => Value::Object(fields),
        _ if arguments.trim().is_empty() => json!({}),
        _ => json!({ "arguments": arguments }),
    }
}

/// Assembles an answer from its events.
#[derive(Debug, Default)]
pub(crate) struct AnthropicReader {
    /// Incomplete tool calls, with the indexes of their blocks.
    calls: Vec<(u64, ToolCall)>,
    seen: usize,
    usage: Usage,
    stop: Option<StopReason>,
}

impl AnthropicReader {
    pub(super) fn event(
        &mut self,
        event: &SseEvent,
        progress: &mut AnswerProgress,
    ) -> Result<(), ModelError> {
        if let Some(text) = only_text(&event.data) {
            return progress.text(text);
        }
        let body = json(event)?;
        // The type is in two places; some proxies drop the first.
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
                                "the model requested more than {MOST_CALLS} tool calls"
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
                    // A call of a tool without parameters has no fragments.
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
                        "end_turn" | "stop_sequence" => StopReason::Done,
                        "max_tokens" | "model_context_window_exceeded" => StopReason::Length,
                        "tool_use" => StopReason::ToolCalls,
                        "refusal" => StopReason::Filtered,
                        other => StopReason::Other(other.to_owned()),
                    });
                }
            }
            "message_stop" => {
                let stop = self.stop.take().unwrap_or(StopReason::Done);
                progress.end([ModelDelta::Usage(self.usage), ModelDelta::End(stop)]);
            }
            "error" => return Err(failure::in_stream(&body["error"])),
            // The documentation allows new event types. A ping carries no data.
            _ => {}
        }
        Ok(())
    }

    /// Updates the usage. Counts are totals so far; cached tokens are part of the conversation.
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

/// An event with text only, as nearly all are.
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

/// Parses an event with text only, without building a JSON tree. Other events take the general path.
fn only_text(data: &str) -> Option<String> {
    let TextEvent { delta, .. } = serde_json::from_str(data).ok()?;
    delta.partial_json.is_none().then_some(delta.text)
}

#[cfg(test)]
mod tests;
