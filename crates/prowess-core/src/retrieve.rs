//! Retrieval: the trait [`Retriever`] for knowledge bases, with queries and passages.

use std::fmt;
use std::ops::{Range, RangeInclusive};

use serde_json::Value;

use crate::model::BoxFuture;
use crate::problem::{Problem, ProblemKind, Remedy};

/// Searches knowledge bases.
pub trait Retriever: Send + Sync {
    /// Finds the passages of a knowledge base that match a query best.
    fn search<'r>(
        &'r self,
        base: &'r str,
        query: &'r Query,
    ) -> BoxFuture<'r, Result<Vec<Passage>, RetrieveError>>;
}

/// A search query.
#[derive(Clone, Debug, PartialEq)]
pub struct Query {
    /// The text to search for; it has no operators.
    pub text: String,
    /// Maximum number of passages to return.
    pub top_k: usize,
    /// Fields and values that a document must have.
    pub filters: Vec<(String, Value)>,
}

/// A passage of a document.
#[derive(Clone, Debug, PartialEq)]
pub struct Passage {
    /// The name of the document.
    pub doc_id: String,
    /// The position of the passage in the document, from 0.
    pub chunk_index: u64,
    /// The relevance score: larger is better. Only comparable within one search.
    pub score: f64,
    /// The text of the passage.
    pub text: String,
    /// The byte range in the document's text.
    pub range: Range<u64>,
    /// The first and the last page, from 1, in documents with pages.
    pub pages: Option<RangeInclusive<u32>>,
}

/// A failed search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RetrieveError {
    /// The kind of failure.
    pub kind: RetrieveErrorKind,
    /// The message, as a lowercase phrase.
    pub message: String,
    /// Remedies.
    pub remedies: Vec<Remedy>,
}

/// Kinds of failed searches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RetrieveErrorKind {
    /// The knowledge base does not exist.
    NotFound,
    /// The query is invalid: it is too long, or a filter is wrong.
    InvalidQuery,
    /// The files or the index of the knowledge base are damaged.
    Corrupt,
    /// A server or a disk does not respond.
    Unavailable,
    /// The search failed because of a bug.
    Internal,
}

impl RetrieveError {
    /// Creates an error without remedies.
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
