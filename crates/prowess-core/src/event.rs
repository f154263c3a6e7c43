//! What happens during a run, as it happens: one enum for every kind of skill and every way of showing it.
//!
//! `thought`, `token`, `citation`, `error` and `done` are those of AFL §8; a tool adds `started`, `output` and `warning`, a
//! workflow its own around those of its nodes.

use std::ops::{Range, RangeInclusive};

use serde_json::Value;

use crate::envelope::Envelope;
use crate::workflow_event::WorkflowEvent;

/// One thing that happened.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// A step of the work (AFL §8).
    Thought(Thought),
    /// A piece of generated text (AFL §8).
    Token {
        /// The text.
        content: String,
    },
    /// Where an answer comes from (AFL §8).
    Citation {
        /// The sources, best first.
        sources: Vec<Source>,
    },
    /// A tool has been decided about and starts now.
    Started {
        /// The skill's name.
        skill: String,
        /// The tool's name.
        tool: String,
        /// Program and arguments, as they were approved.
        command: Vec<String>,
    },
    /// A tool has printed something.
    Output {
        /// Where.
        stream: Stream,
        /// What, as it came: characters may be split between two pieces, and it may be no text at all.
        bytes: Vec<u8>,
    },
    /// Something worth a second look that stops nothing.
    Warning {
        /// A phrase in lower case.
        message: String,
    },
    /// Something went wrong (AFL §8). `Done` follows (R36).
    Error {
        /// What went wrong.
        message: String,
    },
    /// The end. Nothing follows.
    Done(Box<Envelope>),
    /// Something about a workflow, or inside one of its nodes.
    Workflow(WorkflowEvent),
}

/// A step of the work.
#[derive(Clone, Debug, PartialEq)]
pub struct Thought {
    /// `validation`, `substitution`, `retrieval`, `generation` or `skill`.
    pub kind: &'static str,
    /// `start`, `searching`, `complete` or `error`.
    pub status: &'static str,
    /// What a person reads.
    pub message: Option<String>,
    /// What else is said about the step.
    pub details: Vec<(&'static str, Value)>,
}

/// A place that an answer is taken from.
#[derive(Clone, Debug, PartialEq)]
pub struct Source {
    /// The document.
    pub doc_id: String,
    /// The piece of it.
    pub chunk_index: u64,
    /// How well it fits.
    pub score: f64,
    /// What it says.
    pub text: String,
    /// The bytes of the document's text that it is.
    pub range: Range<u64>,
    /// The first and the last page, in documents that have some.
    pub pages: Option<RangeInclusive<u32>>,
    /// Whether the model got to see it.
    pub injected: bool,
}

/// Where a tool prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

impl Stream {
    /// The word on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Stream::Stdout => "stdout",
            Stream::Stderr => "stderr",
        }
    }
}
