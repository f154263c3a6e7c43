//! A streamed answer, described once and written in either dialect.

use serde_json::{Value, json};

use super::http::Recorded;

/// The answer of a model, in pieces.
#[derive(Clone, Debug)]
pub struct Answer {
    parts: Vec<Part>,
    usage: Option<(u64, u64)>,
    stop: Option<&'static str>,
    end: End,
}

#[derive(Clone, Debug)]
enum Part {
    Text(String),
    Call { id: String, name: String, fragments: Vec<String> },
    Raw(String),
    Gate(String),
}

/// What follows the last part.
#[derive(Clone, Debug, PartialEq)]
enum End {
    Done,
    Missing,
    HangUp,
    Stall,
    Error(Value),
}

/// The next action of the provider.
#[derive(Clone, Debug)]
pub(super) enum Step {
    Bytes(Vec<u8>),
    Gate(String),
    HangUp,
}

/// The dialect of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dialect {
    OpenAi,
    Anthropic,
}

impl Dialect {
    pub(super) fn of(request: &Recorded) -> Self {
        if request.path().ends_with("/messages") { Self::Anthropic } else { Self::OpenAi }
    }
}

impl Answer {
    /// Text in pieces.
    pub fn text<'p>(pieces: impl IntoIterator<Item = &'p str>) -> Self {
        let parts = pieces.into_iter().map(|piece| Part::Text(piece.to_owned())).collect();
        Self { parts, usage: None, stop: None, end: End::Done }
    }

    /// Adds a piece of text.
    #[must_use]
    pub fn then(self, text: &str) -> Self {
        self.part(Part::Text(text.to_owned()))
    }

    /// A tool call with its arguments in fragments.
    #[must_use]
    pub fn call<'f>(
        self,
        id: &str,
        name: &str,
        fragments: impl IntoIterator<Item = &'f str>,
    ) -> Self {
        self.part(Part::Call {
            id: id.to_owned(),
            name: name.to_owned(),
            fragments: fragments.into_iter().map(str::to_owned).collect(),
        })
    }

    /// Raw bytes of the stream, such as `": ping\n\n"`.
    #[must_use]
    pub fn raw(self, text: &str) -> Self {
        self.part(Part::Raw(text.to_owned()))
    }

    /// Waits until the test opens the gate.
    #[must_use]
    pub fn gate(self, name: &str) -> Self {
        self.part(Part::Gate(name.to_owned()))
    }

    /// The token counts. `OpenAI`'s dialect sends them only on request.
    #[must_use]
    pub fn usage(mut self, input: u64, output: u64) -> Self {
        self.usage = Some((input, output));
        self
    }

    /// The stop reason in the provider's own term (`length`, `max_tokens`).
    #[must_use]
    pub fn stop(mut self, reason: &'static str) -> Self {
        self.stop = Some(reason);
        self
    }

    /// Ends the stream cleanly without the final event that the protocol requires.
    #[must_use]
    pub fn without_end(self) -> Self {
        self.end(End::Missing)
    }

    /// Closes the connection abruptly after the last part.
    #[must_use]
    pub fn then_hang_up(self) -> Self {
        self.end(End::HangUp)
    }

    /// Sends nothing after the last part, until the client disconnects.
    #[must_use]
    pub fn then_stall(self) -> Self {
        self.end(End::Stall)
    }

    /// Sends an error event after the last part.
    #[must_use]
    pub fn then_error(self, error: Value) -> Self {
        self.end(End::Error(error))
    }

    fn part(mut self, part: Part) -> Self {
        self.parts.push(part);
        self
    }

    fn end(mut self, end: End) -> Self {
        self.end = end;
        self
    }

    fn has_calls(&self) -> bool {
        self.parts.iter().any(|part| matches!(part, Part::Call { .. }))
    }

    pub(super) fn steps(&self, dialect: Dialect, request: &Recorded) -> Vec<Step> {
        match dialect {
            Dialect::OpenAi => {
                let asked = &request.json()["stream_options"]["include_usage"];
                self.openai(asked == &Value::Bool(true))
            }
            Dialect::Anthropic => self.anthropic(),
        }
    }

    fn openai(&self, tell_usage: bool) -> Vec<Step> {
        let frame = |choices: Value| {
            let chunk = json!({
                "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 0,
                "model": "scripted", "choices": choices,
            });
            Step::Bytes(format!("data: {chunk}\n\n").into_bytes())
        };
        let delta = |delta: Value, reason: Option<&str>| {
            frame(json!([{ "index": 0, "delta": delta, "finish_reason": reason }]))
        };
        let mut steps = vec![delta(json!({ "role": "assistant", "content": "" }), None)];
        let mut calls = 0;
        for part in &self.parts {
            match part {
                Part::Text(text) => steps.push(delta(json!({ "content": text }), None)),
                Part::Raw(text) => steps.push(Step::Bytes(text.clone().into_bytes())),
                Part::Gate(name) => steps.push(Step::Gate(name.clone())),
                Part::Call { id, name, fragments } => {
                    let first = json!({
                        "index": calls, "id": id, "type": "function",
                        "function": { "name": name, "arguments": "" },
                    });
                    steps.push(delta(json!({ "tool_calls": [first] }), None));
                    for fragment in fragments {
                        let more = json!({ "index": calls, "function": { "arguments": fragment } });
                        steps.push(delta(json!({ "tool_calls": [more] }), None));
                    }
                    calls += 1;
                }
            }
        }
        match &self.end {
            End::Done => {}
            End::Error(error) => {
                steps.push(Step::Bytes(format!("data: {}\n\n", json!({ "error": error })).into()));
                return steps;
            }
            other => return other.after(steps),
        }
        let usual = if self.has_calls() { "tool_calls" } else { "stop" };
        steps.push(delta(json!({}), Some(self.stop.unwrap_or(usual))));
        if let (Some((input, output)), true) = (self.usage, tell_usage) {
            let chunk = json!({
                "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 0,
                "model": "scripted", "choices": [],
                "usage": {
                    "prompt_tokens": input, "completion_tokens": output,
                    "total_tokens": input + output,
                },
            });
            steps.push(Step::Bytes(format!("data: {chunk}\n\n").into_bytes()));
        }
        steps.push(Step::Bytes(b"data: [DONE]\n\n".to_vec()));
        steps
    }

    fn anthropic(&self) -> Vec<Step> {
        let event = |kind: &str, mut body: Value| {
            body["type"] = kind.into();
            Step::Bytes(format!("event: {kind}\ndata: {body}\n\n").into_bytes())
        };
        let (input, output) = self.usage.unwrap_or((0, 0));
        let mut steps = vec![event(
            "message_start",
            json!({ "message": {
                "id": "msg_1", "type": "message", "role": "assistant", "model": "scripted",
                "content": [], "stop_reason": null,
                "usage": { "input_tokens": input, "output_tokens": 1 },
            } }),
        )];
        steps.push(event("ping", json!({})));
        // Consecutive pieces of text are one block, as with the real provider.
        let mut index = 0;
        let mut in_text = false;
        let stop = |index: i32| event("content_block_stop", json!({ "index": index }));
        for part in &self.parts {
            match part {
                Part::Text(text) => {
                    if !in_text {
                        let block = json!({ "type": "text", "text": "" });
                        let body = json!({ "index": index, "content_block": block });
                        steps.push(event("content_block_start", body));
                        in_text = true;
                    }
                    let delta = json!({ "type": "text_delta", "text": text });
                    let body = json!({ "index": index, "delta": delta });
                    steps.push(event("content_block_delta", body));
                }
                Part::Raw(text) => steps.push(Step::Bytes(text.clone().into_bytes())),
                Part::Gate(name) => steps.push(Step::Gate(name.clone())),
                Part::Call { id, name, fragments } => {
                    if in_text {
                        steps.push(stop(index));
                        index += 1;
                        in_text = false;
                    }
                    let block = json!({ "type": "tool_use", "id": id, "name": name, "input": {} });
                    let body = json!({ "index": index, "content_block": block });
                    steps.push(event("content_block_start", body));
                    for fragment in fragments {
                        let delta = json!({ "type": "input_json_delta", "partial_json": fragment });
                        let body = json!({ "index": index, "delta": delta });
                        steps.push(event("content_block_delta", body));
                    }
                    steps.push(stop(index));
                    index += 1;
                }
            }
        }
        match &self.end {
            End::Done => {}
            End::Error(error) => {
                steps.push(event("error", json!({ "error": error })));
                return steps;
            }
            other => return other.after(steps),
        }
        if in_text {
            steps.push(stop(index));
        }
        let usual = if self.has_calls() { "tool_use" } else { "end_turn" };
        let delta = json!({ "stop_reason": self.stop.unwrap_or(usual) });
        let usage = json!({ "output_tokens": output });
        steps.push(event("message_delta", json!({ "delta": delta, "usage": usage })));
        steps.push(event("message_stop", json!({})));
        steps
    }
}

impl End {
    fn after(&self, mut steps: Vec<Step>) -> Vec<Step> {
        match self {
            End::Done | End::Missing | End::Error(_) => {}
            End::HangUp => steps.push(Step::HangUp),
            // No test opens a gate of this name.
            End::Stall => steps.push(Step::Gate(String::new())),
        }
        steps
    }
}
