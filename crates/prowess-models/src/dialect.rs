//! The common part of the two APIs: a request becomes JSON, events become deltas.

use std::collections::VecDeque;

use prowess_core::{ModelDelta, ModelError, ModelErrorKind, ModelRequest, ToolCall};
use serde_json::Value;

use crate::provider::ProviderKind;
use crate::sse::SseEvent;
use crate::{anthropic, openai};

/// Maximum size of an answer in bytes, text and calls together. Today's models answer with at most some hundred thousand
/// tokens.
const LONGEST_ANSWER: usize = 16 << 20;
/// Maximum number of tool calls in an answer.
pub(crate) const MOST_CALLS: usize = 256;

/// Parts of a request that are omitted because a server does not support them. Omitting one does not change the answer,
/// or the caller checks the answer again; only the settings can omit a part that changes the answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "four independent parts")]
pub(crate) struct OmittedParts {
    /// `stream_options`: tokens are not counted.
    pub(crate) stream_options: bool,
    /// `response_format` or its equivalent: only the caller checks the answer against the schema.
    pub(crate) schema: bool,
    /// `max_tokens`, which newer models of `OpenAI` call `max_completion_tokens`.
    pub(crate) max_tokens: bool,
    /// `temperature`, according to the settings.
    pub(crate) temperature: bool,
}

impl OmittedParts {
    /// Chooses a further part to omit after an error of the server.
    pub(crate) fn after(self, complaint: &str, request: &ModelRequest) -> Option<Self> {
        let names = |words: &[&str]| words.iter().any(|word| complaint.contains(word));
        if !self.stream_options && names(&["stream_options", "include_usage"]) {
            return Some(Self { stream_options: true, ..self });
        }
        if !self.max_tokens && request.max_tokens.is_some() && names(&["max_completion_tokens"]) {
            return Some(Self { max_tokens: true, ..self });
        }
        let shape = ["response_format", "json_schema", "output_config", "output_format"];
        if !self.schema && request.schema.is_some() && names(&shape) {
            return Some(Self { schema: true, ..self });
        }
        None
    }
}

/// Writes a request as JSON.
pub(crate) fn body(
    kind: ProviderKind,
    model: &str,
    request: &ModelRequest,
    without: OmittedParts,
) -> Value {
    match kind {
        ProviderKind::OpenAi => openai::body(model, request, without),
        ProviderKind::Anthropic => anthropic::body(model, request, without),
    }
}

/// The received part of an answer.
#[derive(Debug, Default)]
pub(crate) struct AnswerProgress {
    /// Deltas that have not been taken yet.
    pub(crate) pieces: VecDeque<ModelDelta>,
    /// Whether the model has started to generate, including reasoning that is not shown.
    pub(crate) has_begun: bool,
    /// Whether [`ModelDelta::End`] was received.
    pub(crate) has_ended: bool,
    bytes: usize,
}

impl AnswerProgress {
    pub(crate) fn text(&mut self, text: String) -> Result<(), ModelError> {
        self.has_begun = true;
        if text.is_empty() {
            return Ok(());
        }
        self.count(text.len())?;
        self.pieces.push_back(ModelDelta::Text(text));
        Ok(())
    }

    /// Counts buffered bytes, such as fragments of tool calls, against the limit.
    pub(crate) fn count(&mut self, bytes: usize) -> Result<(), ModelError> {
        self.bytes += bytes;
        if self.bytes > LONGEST_ANSWER {
            return Err(protocol(format!(
                "the answer is longer than {} MiB",
                LONGEST_ANSWER >> 20
            )));
        }
        Ok(())
    }

    pub(crate) fn calls(&mut self, calls: impl IntoIterator<Item = ToolCall>) {
        self.pieces.extend(calls.into_iter().map(ModelDelta::ToolCall));
    }

    pub(crate) fn end(&mut self, pieces: impl IntoIterator<Item = ModelDelta>) {
        self.pieces.extend(pieces);
        self.has_ended = true;
    }
}

/// Reads the events of an answer.
#[derive(Debug)]
pub(crate) enum AnswerReader {
    OpenAi(openai::OpenAiReader),
    Anthropic(anthropic::AnthropicReader),
}

impl AnswerReader {
    pub(crate) fn new(kind: ProviderKind) -> Self {
        match kind {
            ProviderKind::OpenAi => Self::OpenAi(openai::OpenAiReader::default()),
            ProviderKind::Anthropic => Self::Anthropic(anthropic::AnthropicReader::default()),
        }
    }

    pub(crate) fn event(
        &mut self,
        event: &SseEvent,
        progress: &mut AnswerProgress,
    ) -> Result<(), ModelError> {
        match self {
            Self::OpenAi(reader) => reader.event(event, progress),
            Self::Anthropic(reader) => reader.event(event, progress),
        }
    }

    /// Handles the end of the body. An answer without an end is an error, unless the API tolerates it.
    pub(crate) fn end_of_body(&mut self, progress: &mut AnswerProgress) -> Result<(), ModelError> {
        match self {
            Self::OpenAi(reader) => reader.end_of_body(progress),
            Self::Anthropic(_) => Err(broken_off()),
        }
    }
}

/// The error for an answer that ended early.
pub(crate) fn broken_off() -> ModelError {
    protocol("the answer ended early").advice("the provider's log may say why; try again")
}

/// An error for a response that does not follow the protocol.
pub(crate) fn protocol(message: impl Into<String>) -> ModelError {
    ModelError::new(ModelErrorKind::Protocol, message)
}

/// Parses the data of an event as JSON.
pub(crate) fn json(event: &SseEvent) -> Result<Value, ModelError> {
    serde_json::from_str(&event.data).map_err(|error| {
        protocol(format!("an event of the answer is not JSON: {error}"))
            .advice("check that the base URL is that of a model provider")
    })
}
