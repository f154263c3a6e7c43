//! Events of a run: one enum for every kind of skill and every interface.
//!
//! `thought`, `token`, `citation`, `error` and `done` are defined by AFL §8. Tools add `started`, `output` and `warning`;
//! workflows and agents add events of their own around those of their nodes and tools.

use std::ops::{Range, RangeInclusive};

use serde_json::Value;

use crate::agent_event::AgentEvent;
use crate::envelope::Envelope;
use crate::workflow_event::WorkflowEvent;

/// An event of a run.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// A step of the work (AFL §8).
    Thought(Thought),
    /// Generated text (AFL §8).
    Token {
        /// The text.
        content: String,
    },
    /// The sources of an answer (AFL §8).
    Citation {
        /// The sources, best first.
        sources: Vec<CitedSource>,
    },
    /// A tool was allowed to run and starts.
    Started {
        /// The skill's name.
        skill: String,
        /// The tool's name.
        tool: String,
        /// The approved program and its arguments.
        command: Vec<String>,
    },
    /// A tool wrote output.
    Output {
        /// The stream it was written to.
        stream: StandardStream,
        /// The bytes as they were written: a character may be split between two events, and they may not be text.
        bytes: Vec<u8>,
    },
    /// A warning, which does not stop the run.
    Warning {
        /// The message, as a lowercase phrase.
        message: String,
    },
    /// An error (AFL §8). `Done` follows (R36).
    Error {
        /// The error message.
        message: String,
    },
    /// The run has ended. No event follows.
    Done(Box<Envelope>),
    /// An event of a workflow or of one of its nodes.
    Workflow(WorkflowEvent),
    /// An event of an agent or of one of the tools that it calls.
    Agent(AgentEvent),
}

/// A step of the work.
#[derive(Clone, Debug, PartialEq)]
pub struct Thought {
    /// `validation`, `substitution`, `retrieval`, `generation` or `skill`.
    pub kind: &'static str,
    /// `start`, `searching`, `complete` or `error`.
    pub status: &'static str,
    /// A message for people.
    pub message: Option<String>,
    /// Further keys and values.
    pub details: Vec<(&'static str, Value)>,
}

/// A passage that an answer is based on.
#[derive(Clone, Debug, PartialEq)]
pub struct CitedSource {
    /// The id of the document.
    pub doc_id: String,
    /// The position of the passage in the document, from 0.
    pub chunk_index: u64,
    /// The relevance score.
    pub score: f64,
    /// The text of the passage.
    pub text: String,
    /// The byte range in the document's text.
    pub range: Range<u64>,
    /// The first and the last page, in documents with pages.
    pub pages: Option<RangeInclusive<u32>>,
    /// Whether it was included in the prompt.
    pub injected: bool,
}

/// An output stream of a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StandardStream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

impl StandardStream {
    /// The name in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            StandardStream::Stdout => "stdout",
            StandardStream::Stderr => "stderr",
        }
    }
}
