//! Language models: a conversation goes out, pieces of an answer come back.
//!
//! A provider client implements [`Model`]. Dropping a stream, or the future that makes one, ends the request at the
//! provider: that is how a run is cancelled.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use futures_core::Stream;
use serde_json::Value;

use crate::problem::{Problem, ProblemKind, Remedy};

/// A future of a trait that is used through a reference.
pub type BoxFuture<'f, T> = Pin<Box<dyn Future<Output = T> + Send + 'f>>;

/// The pieces of an answer. The last one is [`Piece::End`], or there is an error.
pub type ModelStream = Pin<Box<dyn Stream<Item = Result<Piece, ModelError>> + Send>>;

/// A model of a provider.
pub trait Model: Send + Sync {
    /// `PROVIDER/NAME`, as it was chosen.
    fn name(&self) -> &str;

    /// What the provider says about it; unknown is not wrong.
    fn facts(&self) -> BoxFuture<'_, Result<ModelFacts, ModelError>>;

    /// Sends a conversation. What fails before the first piece may have been tried several times.
    fn answer<'m>(
        &'m self,
        request: &'m ModelRequest,
    ) -> BoxFuture<'m, Result<ModelStream, ModelError>>;
}

/// What a provider says about a model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ModelFacts {
    /// Tokens of a conversation and its answer together.
    pub context: Option<u64>,
    /// Parameters, such as seven billion.
    pub parameters: Option<u64>,
}

/// A conversation that wants an answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ModelRequest {
    /// What the model is told before everything else.
    pub system: Option<String>,
    /// What was said, oldest first.
    pub messages: Vec<Message>,
    /// 0.0 to 2.0 (AFL §3.2).
    pub temperature: Option<f64>,
    /// The most tokens of the answer (AFL §3.2).
    pub max_tokens: Option<u32>,
    /// Tools that the model may call.
    pub tools: Vec<ToolSpec>,
    /// The answer has to be JSON of this schema, where the provider can see to that.
    pub schema: Option<Value>,
}

/// One turn of a conversation.
#[derive(Clone, Debug, PartialEq)]
pub enum Message {
    /// The user's.
    User(String),
    /// The model's, with the calls that it wants made.
    Assistant {
        /// What it said.
        text: String,
        /// What it wants called.
        calls: Vec<ToolCall>,
    },
    /// What a call has returned.
    ToolResult {
        /// The number of the call.
        id: String,
        /// What it returned.
        content: String,
    },
}

/// A tool as a model sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolSpec {
    /// Its name.
    pub name: String,
    /// What it does.
    pub description: String,
    /// A JSON Schema of its arguments.
    pub parameters: Value,
}

/// A call that a model wants made.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolCall {
    /// Its number.
    pub id: String,
    /// The tool.
    pub name: String,
    /// The arguments: JSON as the model wrote it, which may be none.
    pub arguments: String,
}

/// A piece of an answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Piece {
    /// Text.
    Text(String),
    /// A call, whole.
    ToolCall(ToolCall),
    /// What it cost so far.
    Usage(Usage),
    /// The end.
    End(Stop),
}

/// Tokens that were counted by the provider.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Of the conversation.
    pub input: u64,
    /// Of the answer.
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
pub enum Stop {
    /// The model was done.
    Done,
    /// There was no room for more.
    Length,
    /// The model wants tools called.
    ToolCalls,
    /// The provider held the answer back.
    Filtered,
    /// Something else, in the provider's word.
    Other(String),
}

impl Stop {
    /// The word on the wire.
    pub fn as_str(&self) -> &str {
        match self {
            Stop::Done => "done",
            Stop::Length => "length",
            Stop::ToolCalls => "tool_calls",
            Stop::Filtered => "filtered",
            Stop::Other(word) => word,
        }
    }
}

/// Why there is no answer, or no more of it. No text of it ever holds a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelError {
    /// What kind of trouble it is.
    pub kind: ModelErrorKind,
    /// What went wrong, as a phrase in lower case.
    pub message: String,
    /// What would help.
    pub remedies: Vec<Remedy>,
}

/// Kinds of trouble with a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelErrorKind {
    /// Nobody has said which model, or the choice makes no sense.
    NotConfigured,
    /// The provider can't be reached.
    Unreachable,
    /// The key is missing or wrong.
    Unauthorized,
    /// There is no such model.
    UnknownModel,
    /// The provider wants us to wait.
    RateLimited {
        /// How long, where it says so.
        retry_after: Option<Duration>,
    },
    /// The provider does not take the request.
    Rejected,
    /// The provider has trouble of its own.
    Provider,
    /// What came back is not what was agreed on.
    Protocol,
    /// Nothing came for too long.
    TimedOut,
}

impl ModelError {
    /// An error without advice.
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
            ModelErrorKind::NotConfigured => ("model-not-configured", ProblemKind::InvalidInput),
            ModelErrorKind::Unreachable => ("model-unreachable", ProblemKind::Unavailable),
            ModelErrorKind::Unauthorized => ("model-unauthorized", ProblemKind::Unauthorized),
            ModelErrorKind::UnknownModel => ("model-not-found", ProblemKind::NotFound),
            ModelErrorKind::RateLimited { retry_after } => {
                ("model-rate-limited", ProblemKind::RateLimited { retry_after })
            }
            ModelErrorKind::Rejected => ("model-rejected-request", ProblemKind::Refused),
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
