//! The vocabulary that every part of Prowess shares: events, envelopes, problems, and the traits [`Model`] and [`Retriever`].
//!
//! It is a leaf. Implementing a model or a knowledge base takes this crate and nothing of the sandbox, the proxy or the
//! Python parser. It reads no file, knows no terminal and no HTTP status code.

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

pub use decoder::{Decoded, Decoder};
pub use envelope::{
    Answer, Envelope, INTERRUPTED, NOT_EXECUTABLE, NOT_FOUND, Outcome, REFUSED, SIGNALLED,
    TIMED_OUT,
};
pub use event::{Event, Source, Stream, Thought};
pub use frame::{EventFrame, InvalidRunId, RunId};
pub use model::{
    BoxFuture, Message, Model, ModelError, ModelErrorKind, ModelFacts, ModelRequest, ModelStream,
    Piece, Stop, ToolCall, ToolSpec, Usage,
};
pub use problem::{Problem, ProblemKind, Remedy};
pub use retrieve::{Passage, Query, RetrieveError, RetrieveErrorKind, Retriever};
pub use system_error::system_reason;
pub use workflow_event::WorkflowEvent;
