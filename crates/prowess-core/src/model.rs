//! Language models: the trait [`Model`], its requests and its streamed answers.
//!
//! A client of a provider implements [`Model`]. Dropping a stream, or the future that opens one, ends the request at the
//! provider; this is how a run is cancelled.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use futures_core::Stream;
use serde_json::Value;

use crate::problem::{Problem, ProblemKind, Remedy};

/// A boxed future, for traits that are used as trait objects.
pub type BoxFuture<'f, T> = Pin<Box<dyn Future<Output = T> + Send + 'f>>;

/// A streamed answer. It ends with [`ModelDelta::End`] or an error.
pub type ModelStream = Pin<Box<dyn Stream<Item = Result<ModelDelta, ModelError>> + Send>>;

/// A language model of a provider.
pub trait Model: Send + Sync {
    /// The name as configured, `PROVIDER/NAME`.
    fn name(&self) -> &str;

    /// Asks the provider about the model; facts that it does not report are `None`.
    fn facts(&self) -> BoxFuture<'_, Result<ModelFacts, ModelError>>;

    /// Sends a conversation and streams the answer. Failures before the first delta are retried.
    fn answer<'m>(
        &'m self,
        request: &'m ModelRequest,
    ) -> BoxFuture<'m, Result<ModelStream, ModelError>>;
}

/// Facts that a provider reports about a model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ModelFacts {
    /// The context window in tokens, for the conversation and its answer together.
    pub context: Option<u64>,
    /// The number of parameters.
    pub parameters: Option<u64>,
}

/// A request for an answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ModelRequest {
    /// The system prompt.
    pub system: Option<String>,
    /// The conversation, oldest message first.
    pub messages: Vec<Message>,
    /// Sampling temperature, 0.0 to 2.0 (AFL §3.2).
    pub temperature: Option<f64>,
    /// Maximum number of tokens in the answer (AFL §3.2).
    pub max_tokens: Option<u32>,
    /// Tools that the model may call.
    pub tools: Vec<ToolSpec>,
    /// JSON Schema of the answer, for providers that support structured output.
    pub schema: Option<Value>,
}

/// A message of a conversation.
#[derive(Clone, Debug, PartialEq)]
pub enum Message {
    /// A message of the user.
    User(String),
    /// A message of the model, with the tool calls that it requests.
    Assistant {
        /// The text.
        text: String,
        /// The requested tool calls.
        calls: Vec<ToolCall>,
    },
    /// The result of a tool call.
    ToolResult {
        /// The id of the call.
        id: String,
        /// The result.
        content: String,
    },
}

/// A tool that a model may call.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolSpec {
    /// The name.
    pub name: String,
    /// What it does.
    pub description: String,
    /// JSON Schema of the arguments.
    pub parameters: Value,
}

/// A tool call that a model requests.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolCall {
    /// The id of the call.
    pub id: String,
    /// The name of the tool.
    pub name: String,
    /// The arguments as the model wrote them, which may not be valid JSON.
    pub arguments: String,
}

/// A part of a streamed answer.
#[derive(Clone, Debug, PartialEq)]
pub enum ModelDelta {
    /// Text.
    Text(String),
    /// A complete tool call.
    ToolCall(ToolCall),
    /// The tokens counted so far.
    Usage(Usage),
    /// The end of the answer.
    End(StopReason),
}

/// Numbers of tokens, counted by the provider.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Tokens of the conversation.
    pub input: u64,
    /// Tokens of the answer.
    pub output: u64,
}

impl std::ops::Add for Usage {
    type Output = Usage;

    fn add(self, other: Usage) -> Usage {
        Usage { input: self.input + other.input, output: self.output + other.output }
    }
}

/// Why an answer ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// The model completed its answer.
    Done,
    /// The token limit was reached.
    Length,
    /// The model requests tool calls.
    ToolCalls,
    /// The provider's content filter blocked the answer.
    Filtered,
    /// Another reason, in the provider's own term.
    Other(String),
}

impl StopReason {
    /// The name in JSON.
    pub fn as_str(&self) -> &str {
        match self {
            StopReason::Done => "done",
            StopReason::Length => "length",
            StopReason::ToolCalls => "tool_calls",
            StopReason::Filtered => "filtered",
            StopReason::Other(word) => word,
        }
    }
}

/// A failed request to a model. Its text never contains an API key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelError {
    /// The kind of failure.
    pub kind: ModelErrorKind,
    /// The message, as a lowercase phrase.
    pub message: String,
    /// Remedies.
    pub remedies: Vec<Remedy>,
}

/// Kinds of failed requests to a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelErrorKind {
    /// No model is configured, or the configuration is invalid.
    NotConfigured,
    /// The provider can't be reached.
    Unreachable,
    /// The key is missing or wrong.
    Unauthorized,
    /// The provider does not have this model.
    UnknownModel,
    /// The provider's rate limit was reached.
    RateLimited {
        /// How long to wait, if the provider says so.
        retry_after: Option<Duration>,
    },
    /// The provider rejected the request.
    Rejected,
    /// The provider reported an internal error.
    Provider,
    /// The response does not follow the protocol.
    Protocol,
    /// The provider did not respond in time.
    TimedOut,
}

impl ModelError {
    /// Creates an error without remedies.
    pub fn new(kind: ModelErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), remedies: Vec::new() }
    }

    /// Adds advice that reads the same in every interface.
    #[must_use]
    pub fn advice(self, text: impl Into<String>) -> Self {
        self.remedy(Remedy::Advice(text.into()))
    }

    /// Adds a remedy.
    #[must_use]
    pub fn remedy(mut self, remedy: Remedy) -> Self {
        self.remedies.push(remedy);
        self
    }
}

impl From<Problem> for ModelError {
    fn from(problem: Problem) -> Self {
        let kind = match problem.kind {
            ProblemKind::Unauthorized => ModelErrorKind::Unauthorized,
            ProblemKind::RateLimited { retry_after } => ModelErrorKind::RateLimited { retry_after },
            ProblemKind::TimedOut => ModelErrorKind::TimedOut,
            ProblemKind::Unavailable => ModelErrorKind::Unreachable,
            ProblemKind::Corrupt => ModelErrorKind::Protocol,
            ProblemKind::InvalidInput | ProblemKind::NotFound | ProblemKind::Conflict => {
                ModelErrorKind::NotConfigured
            }
            ProblemKind::Refused
            | ProblemKind::Cancelled
            | ProblemKind::Failed
            | ProblemKind::Internal => ModelErrorKind::Rejected,
        };
        Self { kind, remedies: problem.remedies, message: problem.message }
    }
}

impl From<ModelError> for Problem {
    fn from(error: ModelError) -> Self {
        let (code, kind) = match error.kind {
            // Who configures models is not who sends the request.
            ModelErrorKind::NotConfigured => ("model-not-configured", ProblemKind::Unavailable),
            ModelErrorKind::Unreachable => ("model-unreachable", ProblemKind::Unavailable),
            ModelErrorKind::Unauthorized => ("model-unauthorized", ProblemKind::Unauthorized),
            ModelErrorKind::UnknownModel => ("model-not-found", ProblemKind::NotFound),
            ModelErrorKind::RateLimited { retry_after } => {
                ("model-rate-limited", ProblemKind::RateLimited { retry_after })
            }
            // The provider rejects the request; no policy of ours has refused it.
            ModelErrorKind::Rejected => ("model-rejected-request", ProblemKind::Failed),
            ModelErrorKind::Provider => ("model-provider-failed", ProblemKind::Unavailable),
            ModelErrorKind::Protocol => ("model-protocol", ProblemKind::Corrupt),
            ModelErrorKind::TimedOut => ("model-timed-out", ProblemKind::TimedOut),
        };
        Problem { code, kind, message: error.message, remedies: error.remedies }
    }
}

impl fmt::Display for ModelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ModelError {}
