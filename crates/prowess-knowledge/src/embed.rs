//! Embedders: text to a point in space, so that texts with the same meaning are near each other.

mod endpoint;
mod pieces;
mod table;

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use prowess_core::Remedy;

pub use endpoint::Endpoint;
pub use table::Table;

use crate::error::BaseError;

/// The most dimensions of a vector; the largest models have a few thousand.
pub const MOST_DIMENSIONS: usize = 16_384;

/// Who turns texts into vectors.
pub trait Embedder: Send + Sync {
    /// Who it is, for the base that keeps its vectors.
    fn stamp(&self) -> &Stamp;

    /// One vector per text, each of [`Stamp::dimension`] numbers.
    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError>;
}

/// Whose vectors they are. Vectors of two stamps can't be compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// Where they come from.
    pub source: Source,
    /// How many numbers a vector has.
    pub dimension: usize,
}

/// Where vectors come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// A table of words, kept beside the bases.
    Table {
        /// Of the table and its vocabulary.
        digest: String,
    },
    /// A server with the interface of `OpenAI`.
    Endpoint {
        /// Such as `http://127.0.0.1:11434/v1/embeddings`.
        url: String,
        /// The model's name there.
        model: String,
    },
}

impl Source {
    /// One text that says the same.
    pub(crate) fn id(&self) -> String {
        match self {
            Self::Table { digest } => format!("table {digest}"),
            Self::Endpoint { url, model } => format!("endpoint {url} {model}"),
        }
    }
}

impl fmt::Display for Stamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.source {
            Source::Table { digest } => {
                write!(
                    f,
                    "table {} with {} dimensions",
                    &digest[..digest.len().min(12)],
                    self.dimension
                )
            }
            Source::Endpoint { url, model } => {
                write!(f, "`{model}` at {url} with {} dimensions", self.dimension)
            }
        }
    }
}

/// Why there are no vectors.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct EmbedError {
    /// What went wrong, as a phrase in lower case.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
}

impl EmbedError {
    /// An error without advice.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), hint: None }
    }

    /// Adds advice.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    pub(crate) fn remedies(&self) -> Vec<Remedy> {
        self.hint.iter().cloned().map(Remedy::Advice).collect()
    }
}

/// The embedder of a stamp; `root` is the folder of bases, which keeps tables.
pub(crate) fn open(root: &Path, stamp: &Stamp) -> Result<Arc<dyn Embedder>, BaseError> {
    match &stamp.source {
        Source::Table { digest } => Ok(Arc::new(Table::kept(root, digest)?)),
        Source::Endpoint { url, model } => Ok(Arc::new(Endpoint::new(url, model, stamp.dimension))),
    }
}
