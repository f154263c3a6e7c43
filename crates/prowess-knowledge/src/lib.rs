//! Knowledge bases on disk: documents go in, passages with their exact places come out.
//!
//! A base is a folder with the texts of its documents, a full-text index and, when an embedder was chosen, a file of
//! vectors. One process writes at a time, any number read. What [`Writer::commit`] has acknowledged survives the end of
//! the process at any moment. `docs/design/knowledge.md` says why it is built this way.

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

pub use base::{Base, DocumentRecord, Figures, Verdict};
pub use bases::Bases;
pub use document::{Document, FIELDS_OF_ALL, Format, digest};
pub use error::BaseError;
pub use language::{Language, UnknownLanguage};
pub use name::{BaseName, InvalidName};
#[cfg(feature = "postgres")]
pub use postgres::PostgresBases;
pub use settings::Settings;
pub use split::{Chunk, split};
pub use writer::{Added, Room, Writer};
