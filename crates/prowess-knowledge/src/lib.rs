//! Knowledge bases on disk: documents go in, passages with their exact positions come out.
//!
//! A knowledge base is a folder with the texts of its documents, a full-text index and, if it has an embedder, a file of
//! vectors. One process writes at a time, any number read. What [`BaseWriter::commit`] has acknowledged survives a crash
//! of the process at any time. `docs/design/knowledge.md` explains the design.

mod analyze;
mod base;
mod bases;
mod blocking;
mod committed;
mod directory;
mod document;
pub mod embed;
mod error;
pub mod extract;
mod fusion;
mod journal;
mod language;
mod mark;
mod name;
mod open_bases;
#[cfg(feature = "postgres")]
mod postgres;
mod schema;
mod search;
mod settings;
mod split;
mod vectors;
mod writer;

pub use base::{BaseStatistics, DocumentRecord, KnowledgeBase, VerifyReport};
pub use bases::KnowledgeBases;
pub use document::{DocumentFormat, FIELDS_OF_ALL, KnowledgeDocument, digest};
pub use error::BaseError;
pub use language::{Language, UnknownLanguage};
pub use name::{BaseName, InvalidBaseName};
#[cfg(feature = "postgres")]
pub use postgres::PostgresBases;
pub use settings::BaseSettings;
pub use split::{Chunk, split};
pub use writer::{AddOutcome, BaseWriter, ReclaimSpace};
