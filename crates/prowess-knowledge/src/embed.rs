//! Embedders: texts to vectors, so that texts with a similar meaning are close to each other.

mod endpoint;
mod pieces;
mod table;

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use prowess_core::Remedy;

pub use endpoint::EmbeddingEndpoint;
pub use table::EmbeddingTable;

use crate::error::BaseError;

/// Maximum number of dimensions of a vector; the largest models have a few thousand.
pub const MOST_DIMENSIONS: usize = 16_384;

/// Converts texts to vectors.
pub trait Embedder: Send + Sync {
    /// The identity, which a knowledge base stores with the vectors.
    fn stamp(&self) -> &EmbedderIdentity;

    /// One vector per text, each of [`EmbedderIdentity::dimension`] numbers.
    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError>;
}

/// Identifies the embedder of vectors. Vectors of different embedders can't be compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EmbedderIdentity {
    /// The source.
    pub source: EmbedderSource,
    /// The number of dimensions.
    pub dimension: usize,
}

/// The source of vectors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EmbedderSource {
    /// A table of static embeddings, stored next to the knowledge bases.
    Table {
        /// The digest of the table and its vocabulary.
        digest: String,
    },
    /// A server with the embeddings API of `OpenAI`.
    Endpoint {
        /// The URL, such as `http://127.0.0.1:11434/v1/embeddings`.
        url: String,
        /// The name of the model.
        model: String,
    },
}

impl EmbedderSource {
    /// The identity as one text.
    pub(crate) fn id(&self) -> String {
        match self {
            Self::Table { digest } => format!("table {digest}"),
            Self::Endpoint { url, model } => format!("endpoint {url} {model}"),
        }
    }
}

impl fmt::Display for EmbedderIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.source {
            EmbedderSource::Table { digest } => {
                write!(
                    f,
                    "table {} with {} dimensions",
                    &digest[..digest.len().min(12)],
                    self.dimension
                )
            }
            EmbedderSource::Endpoint { url, model } => {
                write!(f, "`{model}` at {url} with {} dimensions", self.dimension)
            }
        }
    }
}

/// A failure to create vectors.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct EmbedError {
    /// The message, as a lowercase phrase.
    pub message: String,
    /// A hint about what to do.
    pub hint: Option<String>,
}

impl EmbedError {
    /// Creates an error without a hint.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), hint: None }
    }

    /// Adds a hint.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    pub(crate) fn remedies(&self) -> Vec<Remedy> {
        self.hint.iter().cloned().map(Remedy::Advice).collect()
    }
}

/// Opens an embedder by its identity; `root` is the folder of knowledge bases, which stores tables.
pub(crate) fn open(root: &Path, stamp: &EmbedderIdentity) -> Result<Arc<dyn Embedder>, BaseError> {
    match &stamp.source {
        EmbedderSource::Table { digest } => Ok(Arc::new(EmbeddingTable::kept(root, digest)?)),
        EmbedderSource::Endpoint { url, model } => {
            Ok(Arc::new(EmbeddingEndpoint::new(url, model, stamp.dimension)))
        }
    }
}
