//! The types that every crate of Prowess shares: events, envelopes, problems, and the traits [`Model`], [`Retriever`]
//! and [`McpClient`].
//!
//! It depends on no other crate of Prowess, so that a model or a knowledge base is implemented without the sandbox, the
//! proxy or the Python parser. It reads no files and knows neither terminals nor HTTP status codes.

mod agent_event;
mod decoder;
mod envelope;
mod event;
mod frame;
mod mcp;
mod model;
mod problem;
mod retrieve;
mod run_changes;
mod system_error;
pub mod wire;
mod workflow_event;

pub use agent_event::{AgentEvent, CallStatus};
pub use decoder::{DecodedText, Utf8Decoder};
pub use envelope::{
    AgentSummary, AnswerDetails, Envelope, INTERRUPTED, NOT_EXECUTABLE, NOT_FOUND, OUT_OF_BUDGET,
    REFUSED, RunOutcome, SIGNALLED, TIMED_OUT,
};
pub use event::{CitedSource, Event, StandardStream, Thought};
pub use frame::{EventFrame, InvalidRunId, RunId};
pub use mcp::{
    McpBounds, McpClient, McpConnection, McpError, McpErrorKind, McpServerFacts, McpSession,
};
pub use model::{
    BoxFuture, Message, Model, ModelDelta, ModelError, ModelErrorKind, ModelFacts, ModelRequest,
    ModelStream, StopReason, ToolCall, ToolSpec, Usage,
};
pub use problem::{Problem, ProblemKind, Remedy};
pub use retrieve::{Passage, Query, RetrieveError, RetrieveErrorKind, Retriever};
pub use run_changes::{ChangeDecision, ChangedFile, ChangesState, RunChanges};
pub use system_error::system_reason;
pub use workflow_event::WorkflowEvent;
