//! What the two wire dialects have in common: a request becomes JSON, events become pieces.

use std::collections::VecDeque;

use prowess_core::{ModelError, ModelErrorKind, ModelRequest, Piece, ToolCall};
use serde_json::Value;

use crate::provider::Kind;
use crate::sse::SseEvent;
use crate::{anthropic, openai};

/// The most bytes of an answer, text and calls together. A model of today says at most some hundred thousand tokens.
const LONGEST_ANSWER: usize = 16 << 20;
/// The most calls of one answer.
pub(crate) const MOST_CALLS: usize = 256;

/// Parts of a request that some servers do not take. What is left out means the same to the reader of an answer, or is
/// checked again by whoever asked; nothing that changes an answer is ever left out without being told to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "four parts, each there or not")]
pub(crate) struct Without {
    /// `stream_options`: then nobody counts tokens.
    pub(crate) stream_options: bool,
    /// `response_format` and its like: then only whoever asked looks at the shape.
    pub(crate) schema: bool,
    /// `max_tokens`, which newer models of `OpenAI` call `max_completion_tokens`.
    pub(crate) max_tokens: bool,
    /// `temperature`, because the settings say so.
    pub(crate) temperature: bool,
}

impl Without {
    /// What to leave out as well, after a server has complained.
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

/// A request as JSON.
pub(crate) fn body(kind: Kind, model: &str, request: &ModelRequest, without: Without) -> Value {
    match kind {
        Kind::OpenAi => openai::body(model, request, without),
        Kind::Anthropic => anthropic::body(model, request, without),
    }
}

/// What has come of an answer.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    /// Pieces that nobody has taken yet.
    pub(crate) pieces: VecDeque<Piece>,
    /// Whether the model has begun to say something, even if it is not for us.
    pub(crate) has_begun: bool,
    /// Whether [`Piece::End`] is among the pieces or was.
    pub(crate) has_ended: bool,
    bytes: usize,
}

impl Progress {
    pub(crate) fn text(&mut self, text: String) -> Result<(), ModelError> {
        self.has_begun = true;
        if text.is_empty() {
            return Ok(());
        }
        self.count(text.len())?;
        self.pieces.push_back(Piece::Text(text));
        Ok(())
    }

    /// Counts bytes that are kept for later, such as fragments of calls.
    pub(crate) fn count(&mut self, bytes: usize) -> Result<(), ModelError> {
        self.bytes += bytes;
        if self.bytes > LONGEST_ANSWER {
            return Err(protocol(format!(
                "the answer is longer than {} MiB and was cut off",
                LONGEST_ANSWER >> 20
            )));
        }
        Ok(())
    }

    pub(crate) fn calls(&mut self, calls: impl IntoIterator<Item = ToolCall>) {
        self.pieces.extend(calls.into_iter().map(Piece::ToolCall));
    }

    pub(crate) fn end(&mut self, pieces: impl IntoIterator<Item = Piece>) {
        self.pieces.extend(pieces);
        self.has_ended = true;
    }
}

/// Reads the events of one answer.
#[derive(Debug)]
pub(crate) enum Reader {
    OpenAi(openai::Reader),
    Anthropic(anthropic::Reader),
}

impl Reader {
    pub(crate) fn new(kind: Kind) -> Self {
        match kind {
            Kind::OpenAi => Self::OpenAi(openai::Reader::default()),
            Kind::Anthropic => Self::Anthropic(anthropic::Reader::default()),
        }
    }

    pub(crate) fn event(
        &mut self,
        event: &SseEvent,
        progress: &mut Progress,
    ) -> Result<(), ModelError> {
        match self {
            Self::OpenAi(reader) => reader.event(event, progress),
            Self::Anthropic(reader) => reader.event(event, progress),
        }
    }

    /// The body is over; an answer that has not ended is broken, unless the dialect forgives it.
    pub(crate) fn end_of_body(&mut self, progress: &mut Progress) -> Result<(), ModelError> {
        match self {
            Self::OpenAi(reader) => reader.end_of_body(progress),
            Self::Anthropic(_) => Err(broken_off()),
        }
    }
}

/// The answer ended without saying so.
pub(crate) fn broken_off() -> ModelError {
    protocol("the answer broke off before its end")
        .advice("the provider's log may say why; try again")
}

/// What came is not what was agreed on.
pub(crate) fn protocol(message: impl Into<String>) -> ModelError {
    ModelError::new(ModelErrorKind::Protocol, message)
}

/// An event's data as JSON.
pub(crate) fn json(event: &SseEvent) -> Result<Value, ModelError> {
    serde_json::from_str(&event.data).map_err(|error| {
        protocol(format!("an event of the answer is not JSON: {error}"))
            .advice("check that the base URL is the one of a model provider")
    })
}
