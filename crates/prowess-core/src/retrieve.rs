//! Knowledge bases: a query goes in, passages come back, best first.

use std::fmt;
use std::ops::{Range, RangeInclusive};

use serde_json::Value;

use crate::model::BoxFuture;
use crate::problem::{Problem, ProblemKind, Remedy};

/// Who looks things up.
pub trait Retriever: Send + Sync {
    /// The passages of a base that fit a question best.
    fn search<'r>(
        &'r self,
        base: &'r str,
        query: &'r Query,
    ) -> BoxFuture<'r, Result<Vec<Passage>, RetrieveError>>;
}

/// A question.
#[derive(Clone, Debug, PartialEq)]
pub struct Query {
    /// What to look for, in plain words: nothing in it is an operator.
    pub text: String,
    /// The most passages that come back.
    pub top_k: usize,
    /// Only documents whose fields have these values.
    pub filters: Vec<(String, Value)>,
}

/// A part of a document.
#[derive(Clone, Debug, PartialEq)]
pub struct Passage {
    /// The document, by the name that a person knows it by.
    pub doc_id: String,
    /// The place of the passage in the document, counted from 0.
    pub chunk_index: u64,
    /// How well it fits; larger is better, and comparable within one search only.
    pub score: f64,
    /// What it says.
    pub text: String,
    /// The bytes of the document's text that it is.
    pub range: Range<u64>,
    /// The first and the last page that it is on, counted from 1, in documents that have some.
    pub pages: Option<RangeInclusive<u32>>,
}

/// Why a search failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RetrieveError {
    /// What kind of failure it is.
    pub kind: RetrieveErrorKind,
    /// What went wrong, as a phrase in lower case.
    pub message: String,
    /// What would help.
    pub remedies: Vec<Remedy>,
}

/// Kinds of failed searches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RetrieveErrorKind {
    /// There is no such knowledge base.
    NotFound,
    /// The query can't be answered: it is too long, or a filter is wrong.
    InvalidQuery,
    /// The files or the index of the base are damaged.
    Corrupt,
    /// A server or a disk that is needed does not answer.
    Unavailable,
    /// The search failed because of a bug.
    Internal,
}

impl RetrieveError {
    /// An error without remedies.
    pub fn new(kind: RetrieveErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), remedies: Vec::new() }
    }

    /// Adds a remedy.
    #[must_use]
    pub fn remedy(mut self, remedy: Remedy) -> Self {
        self.remedies.push(remedy);
        self
    }
}

impl From<RetrieveError> for Problem {
    fn from(error: RetrieveError) -> Self {
        let (code, kind) = match error.kind {
            RetrieveErrorKind::NotFound => ("knowledge-base-not-found", ProblemKind::NotFound),
            RetrieveErrorKind::InvalidQuery => ("invalid-query", ProblemKind::InvalidInput),
            RetrieveErrorKind::Corrupt => ("knowledge-base-damaged", ProblemKind::Corrupt),
            RetrieveErrorKind::Unavailable => {
                ("knowledge-base-unavailable", ProblemKind::Unavailable)
            }
            RetrieveErrorKind::Internal => ("search-failed", ProblemKind::Internal),
        };
        Problem { code, kind, message: error.message, remedies: error.remedies }
    }
}

impl fmt::Display for RetrieveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for RetrieveError {}
