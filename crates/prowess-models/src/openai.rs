//! The Chat Completions API of `OpenAI`, `/v1/chat/completions`, which most servers implement.

use prowess_core::{Message, ModelDelta, ModelError, ModelRequest, StopReason, ToolCall, Usage};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Map, Value, json};

use crate::dialect::{AnswerProgress, MOST_CALLS, OmittedParts, broken_off, json, protocol};
use crate::failure;
use crate::sse::SseEvent;

pub(super) fn body(model: &str, request: &ModelRequest, without: OmittedParts) -> Value {
    let mut messages = Vec::new();
    if let Some(system) = &request.system {
        messages.push(json!({ "role": "system", "content": system }));
    }
    messages.extend(request.messages.iter().map(message));
    let mut body = json!({ "model": model, "messages": messages, "stream": true });
    if !without.stream_options {
        body["stream_options"] = json!({ "include_usage": true });
    }
    if let (Some(temperature), false) = (request.temperature, without.temperature) {
        body["temperature"] = temperature.into();
    }
    if let Some(most) = request.max_tokens {
        let name = if without.max_tokens { "max_completion_tokens" } else { "max_tokens" };
        body[name] = most.into();
    }
    if !request.tools.is_empty() {
        let tool = |tool: &prowess_core::ToolSpec| {
            json!({ "type": "function", "function": {
                "name": tool.name, "description": tool.description, "parameters": tool.parameters,
            } })
        };
        body["tools"] = request.tools.iter().map(tool).collect();
    }
    if let (Some(schema), false) = (&request.schema, without.schema) {
        body["response_format"] = json!({ "type": "json_schema", "json_schema": {
            "name": "answer", "schema": schema, "strict": is_strict(schema),
        } });
    }
    body
}

fn message(message: &Message) -> Value {
    match message {
        Message::User(text) => json!({ "role": "user", "content": text }),
        Message::Assistant { text, calls } if calls.is_empty() => {
            json!({ "role": "assistant", "content": text })
        }
        Message::Assistant { text, calls } => {
            let calls: Vec<Value> = calls
                .iter()
                .map(|call| {
                    json!({ "id": call.id, "type": "function", "function": {
                        "name": call.name, "arguments": call.arguments,
                    } })
                })
                .collect();
            json!({ "role": "assistant", "content": text, "tool_calls": calls })
        }
        Message::ToolResult { id, content } => {
            json!({ "role": "tool", "tool_call_id": id, "content": content })
        }
    }
}

/// Whether `OpenAI` accepts a schema as strict: every object is closed and all its properties are required. Other
/// schemas would be rejected; without `strict` they are followed on a best-effort basis.
fn is_strict(schema: &Value) -> bool {
    match schema {
        Value::Object(fields) => {
            let closed = match fields.get("properties").and_then(Value::as_object) {
                Some(properties) => {
                    let required = fields.get("required").and_then(Value::as_array);
                    let is_required = |name: &str| {
                        required.is_some_and(|list| list.iter().any(|entry| entry == name))
                    };
                    fields.get("additionalProperties") == Some(&Value::Bool(false))
                        && properties.keys().all(|name| is_required(name))
                }
                None => fields.get("type").and_then(Value::as_str) != Some("object"),
            };
            closed && fields.values().all(is_strict)
        }
        Value::Array(items) => items.iter().all(is_strict),
        _ => true,
    }
}

/// Assembles an answer from its chunks.
#[derive(Debug, Default)]
pub(crate) struct OpenAiReader {
    calls: Vec<Fragments>,
    usage: Option<Usage>,
    stop: Option<StopReason>,
}

/// An incomplete tool call.
#[derive(Debug)]
struct Fragments {
    index: u64,
    call: ToolCall,
}

impl OpenAiReader {
    pub(super) fn event(
        &mut self,
        event: &SseEvent,
        progress: &mut AnswerProgress,
    ) -> Result<(), ModelError> {
        if event.data.trim() == "[DONE]" {
            self.end(progress);
            return Ok(());
        }
        if let Some(text) = only_text(&event.data) {
            return progress.text(text);
        }
        let chunk = json(event)?;
        if let Some(error) = chunk.get("error").filter(|error| !error.is_null()) {
            return Err(failure::in_stream(error));
        }
        if let Some(usage) = chunk.get("usage").and_then(Value::as_object) {
            self.usage = Some(Usage {
                input: number(usage, "prompt_tokens"),
                output: number(usage, "completion_tokens"),
            });
        }
        // The chunk with the usage has an empty list of choices.
        let Some(choice) = chunk["choices"].get(0) else { return Ok(()) };
        let delta = &choice["delta"];
        // Reasoning is not part of the answer, but shows that the model is working.
        if ["reasoning_content", "reasoning"].iter().any(|name| delta[*name].is_string()) {
            progress.has_begun = true;
        }
        for text in [&delta["content"], &delta["refusal"]].into_iter().filter_map(Value::as_str) {
            // The first delta only has a role.
            if !text.is_empty() {
                progress.text(text.to_owned())?;
            }
        }
        for fragment in delta["tool_calls"].as_array().into_iter().flatten() {
            self.fragment(fragment, progress)?;
        }
        if let Some(reason) = choice["finish_reason"].as_str() {
            progress.has_begun = true;
            self.stop = Some(match reason {
                "stop" => StopReason::Done,
                "length" => StopReason::Length,
                "tool_calls" | "function_call" => StopReason::ToolCalls,
                "content_filter" => StopReason::Filtered,
                other => StopReason::Other(other.to_owned()),
            });
        }
        Ok(())
    }

    fn fragment(
        &mut self,
        fragment: &Value,
        progress: &mut AnswerProgress,
    ) -> Result<(), ModelError> {
        let id = fragment["id"].as_str().unwrap_or_default();
        let name = fragment["function"]["name"].as_str().unwrap_or_default();
        let arguments = &fragment["function"]["arguments"];
        // Some servers send the arguments as an object instead of a string.
        let arguments = match arguments {
            Value::Null => String::new(),
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let last = self.calls.last().map_or(0, |last| last.index);
        let index = fragment["index"].as_u64().unwrap_or(last);
        progress.has_begun = true;
        progress.count(id.len() + name.len() + arguments.len())?;
        let is_full = self.calls.len() >= MOST_CALLS;
        let known = self.calls.iter_mut().rev().find(|known| known.index == index);
        match known {
            // Some servers give every call the same index: another id is another call.
            Some(known) if id.is_empty() || known.call.id == id || known.call.id.is_empty() => {
                if known.call.id.is_empty() {
                    id.clone_into(&mut known.call.id);
                }
                if known.call.name.is_empty() {
                    name.clone_into(&mut known.call.name);
                }
                known.call.arguments.push_str(&arguments);
            }
            _ if is_full => {
                return Err(protocol(format!(
                    "the model requested more than {MOST_CALLS} tool calls"
                )));
            }
            _ => {
                let call = ToolCall { id: id.to_owned(), name: name.to_owned(), arguments };
                self.calls.push(Fragments { index, call });
            }
        }
        Ok(())
    }

    /// Handles the end of the body. Some servers omit the last line, but have sent the stop reason before.
    pub(super) fn end_of_body(&mut self, progress: &mut AnswerProgress) -> Result<(), ModelError> {
        if self.stop.is_none() {
            return Err(broken_off());
        }
        self.end(progress);
        Ok(())
    }

    fn end(&mut self, progress: &mut AnswerProgress) {
        let calls = std::mem::take(&mut self.calls);
        let has_calls = !calls.is_empty();
        progress.calls(calls.into_iter().enumerate().map(
            |(number, Fragments { mut call, .. })| {
                // The result of a call refers to its id, so each call needs one.
                if call.id.is_empty() {
                    call.id = format!("call_{number}");
                }
                call
            },
        ));
        let stop = match self.stop.take() {
            // Some servers report `stop` although there are calls.
            Some(StopReason::Done) | None if has_calls => StopReason::ToolCalls,
            Some(stop) => stop,
            None => StopReason::Done,
        };
        progress.end(
            self.usage.take().map(ModelDelta::Usage).into_iter().chain([ModelDelta::End(stop)]),
        );
    }
}

/// A chunk with text only, as nearly all are. Fields that are not listed here are ignored, as in
/// [`OpenAiReader::event`].
#[derive(Deserialize)]
struct TextChunk {
    error: Option<IgnoredAny>,
    usage: Option<IgnoredAny>,
    choices: [TextChoice; 1],
}

#[derive(Deserialize)]
struct TextChoice {
    delta: TextDelta,
    finish_reason: Option<IgnoredAny>,
}

#[derive(Deserialize)]
struct TextDelta {
    content: String,
    refusal: Option<IgnoredAny>,
    reasoning: Option<IgnoredAny>,
    reasoning_content: Option<IgnoredAny>,
    tool_calls: Option<IgnoredAny>,
}

/// Parses a chunk with text only, without building a JSON tree, which took most of the time per token. Other chunks take
/// the general path.
fn only_text(data: &str) -> Option<String> {
    let TextChunk { error: None, usage: None, choices: [choice] } =
        serde_json::from_str(data).ok()?
    else {
        return None;
    };
    let TextChoice { delta, finish_reason: None } = choice else { return None };
    let TextDelta {
        content,
        refusal: None,
        reasoning: None,
        reasoning_content: None,
        tool_calls: None,
    } = delta
    else {
        return None;
    };
    (!content.is_empty()).then_some(content)
}

fn number(fields: &Map<String, Value>, name: &str) -> u64 {
    fields.get(name).and_then(Value::as_u64).unwrap_or_default()
}

#[cfg(test)]
pub(super) mod tests;
