//! `OpenAI`'s `/v1/chat/completions`, which most servers speak.

use prowess_core::{Message, ModelError, ModelRequest, Piece, Stop, ToolCall, Usage};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Map, Value, json};

use crate::dialect::{MOST_CALLS, Progress, Without, broken_off, json, protocol};
use crate::failure;
use crate::sse::SseEvent;

pub(super) fn body(model: &str, request: &ModelRequest, without: Without) -> Value {
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

/// Whether `OpenAI` takes a schema as strict: every object is closed and all its properties are required. Other schemas
/// would be refused, and without the word it follows them as well as it can.
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

/// Puts the chunks of an answer together.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    calls: Vec<Fragments>,
    usage: Option<Usage>,
    stop: Option<Stop>,
}

/// A call that is still coming.
#[derive(Debug)]
struct Fragments {
    index: u64,
    call: ToolCall,
}

impl Reader {
    pub(super) fn event(
        &mut self,
        event: &SseEvent,
        progress: &mut Progress,
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
        // The chunk with the usage has no choices.
        let Some(choice) = chunk["choices"].get(0) else { return Ok(()) };
        let delta = &choice["delta"];
        // What a model thinks is not its answer, but it shows that the model is at work.
        if ["reasoning_content", "reasoning"].iter().any(|name| delta[*name].is_string()) {
            progress.has_begun = true;
        }
        for text in [&delta["content"], &delta["refusal"]].into_iter().filter_map(Value::as_str) {
            // The first delta has only a role.
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
                "stop" => Stop::Done,
                "length" => Stop::Length,
                "tool_calls" | "function_call" => Stop::ToolCalls,
                "content_filter" => Stop::Filtered,
                other => Stop::Other(other.to_owned()),
            });
        }
        Ok(())
    }

    fn fragment(&mut self, fragment: &Value, progress: &mut Progress) -> Result<(), ModelError> {
        let id = fragment["id"].as_str().unwrap_or_default();
        let name = fragment["function"]["name"].as_str().unwrap_or_default();
        let arguments = &fragment["function"]["arguments"];
        // Some servers send the arguments as the object that they are.
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
            // Some servers give every call of an answer the same index: a second number is a second call.
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
                return Err(protocol(format!("the model wants more than {MOST_CALLS} calls")));
            }
            _ => {
                let call = ToolCall { id: id.to_owned(), name: name.to_owned(), arguments };
                self.calls.push(Fragments { index, call });
            }
        }
        Ok(())
    }

    /// Servers that forget the last line have said before why they stop.
    pub(super) fn end_of_body(&mut self, progress: &mut Progress) -> Result<(), ModelError> {
        if self.stop.is_none() {
            return Err(broken_off());
        }
        self.end(progress);
        Ok(())
    }

    fn end(&mut self, progress: &mut Progress) {
        let calls = std::mem::take(&mut self.calls);
        let has_calls = !calls.is_empty();
        progress.calls(calls.into_iter().enumerate().map(
            |(number, Fragments { mut call, .. })| {
                // The result of a call names the call, so each needs a number.
                if call.id.is_empty() {
                    call.id = format!("call_{number}");
                }
                call
            },
        ));
        let stop = match self.stop.take() {
            // Some servers say `stop` although there are calls.
            Some(Stop::Done) | None if has_calls => Stop::ToolCalls,
            Some(stop) => stop,
            None => Stop::Done,
        };
        progress.end(self.usage.take().map(Piece::Usage).into_iter().chain([Piece::End(stop)]));
    }
}

/// A chunk with text and nothing else to look at, as nearly all are. What is not named here says nothing, here as in
/// [`Reader::event`].
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

/// The text of such a chunk, without a tree of everything else around it: that took most of the time of a token. Whatever
/// is otherwise, even a little, goes the long way.
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
