//! Knowledge bases: a query goes in, passages come back, best first.

use std::fmt;
use std::ops::{Range, RangeInclusive};

use serde_json::Value;

use crate::model::BoxFuture;

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

/// Why nothing was looked up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RetrieveError {
    /// What went wrong, as a phrase in lower case.
    pub message: String,
    /// What to do about it, one line each.
    pub hints: Vec<String>,
}

impl RetrieveError {
    /// An error without advice.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), hints: Vec::new() }
    }

    /// The same with one more line of advice.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }
}

impl fmt::Display for RetrieveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for RetrieveError {}
