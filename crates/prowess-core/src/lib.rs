//! The types that every crate of Prowess shares: events, envelopes, problems, and the traits [`Model`] and [`Retriever`].
//!
//! It depends on no other crate of Prowess, so that a model or a knowledge base is implemented without the sandbox, the
//! proxy or the Python parser. It reads no files and knows neither terminals nor HTTP status codes.

mod decoder;
mod envelope;
mod event;
mod frame;
mod model;
mod problem;
mod retrieve;
mod system_error;
pub mod wire;
mod workflow_event;

pub use decoder::{DecodedText, Utf8Decoder};
pub use envelope::{
    AnswerDetails, Envelope, INTERRUPTED, NOT_EXECUTABLE, NOT_FOUND, REFUSED, RunOutcome,
    SIGNALLED, TIMED_OUT,
};
pub use event::{CitedSource, Event, StandardStream, Thought};
pub use frame::{EventFrame, InvalidRunId, RunId};
pub use model::{
    BoxFuture, Message, Model, ModelDelta, ModelError, ModelErrorKind, ModelFacts, ModelRequest,
    ModelStream, StopReason, ToolCall, ToolSpec, Usage,
};
pub use problem::{Problem, ProblemKind, Remedy};
pub use retrieve::{Passage, Query, RetrieveError, RetrieveErrorKind, Retriever};
pub use system_error::system_reason;
pub use workflow_event::WorkflowEvent;
