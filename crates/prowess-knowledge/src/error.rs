//! Errors of knowledge bases, with remedies.

use std::io;
use std::path::{Path, PathBuf};

use prowess_core::{Remedy, RetrieveError, RetrieveErrorKind};
use tantivy::TantivyError;
use tantivy::directory::error::{LockError, OpenDirectoryError, OpenReadError, OpenWriteError};

use crate::embed::EmbedError;

/// A failed operation on a knowledge base.
#[derive(Debug, thiserror::Error)]
pub enum BaseError {
    /// The knowledge base does not exist.
    #[error("there is no knowledge base `{name}`")]
    Missing {
        /// The requested name.
        name: String,
    },
    /// The knowledge base exists already.
    #[error("the knowledge base `{name}` already exists")]
    Exists {
        /// The requested name.
        name: String,
    },
    /// The name is invalid.
    #[error(transparent)]
    Name(#[from] crate::name::InvalidBaseName),
    /// A file could not be read or written.
    #[error("cannot {doing} `{}`: {}", path.display(), reason(source))]
    Io {
        /// The operation, such as "read".
        doing: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// A file of the knowledge base is damaged.
    #[error("`{}` is damaged: {reason}", path.display())]
    Damaged {
        /// The file or folder.
        path: PathBuf,
        /// The problem.
        reason: String,
    },
    /// The knowledge base was written by a later version of this program.
    #[error("`{}` has format version {version}, but this program only reads version {known}", path.display())]
    Version {
        /// The file.
        path: PathBuf,
        /// Its version.
        version: u64,
        /// The supported version.
        known: u64,
    },
    /// The vectors of the knowledge base are from another embedder.
    #[error("the vectors of `{name}` are from {stamped}, but this embedder is {offered}")]
    OtherEmbedder {
        /// The knowledge base.
        name: String,
        /// The embedder of the knowledge base.
        stamped: String,
        /// The given embedder.
        offered: String,
    },
    /// No vectors could be created.
    #[error(transparent)]
    Embed(#[from] EmbedError),
    /// The full-text index failed.
    #[error("the index in `{}` failed: {reason}", path.display())]
    Index {
        /// The knowledge base.
        path: PathBuf,
        /// The message of tantivy.
        reason: String,
    },
    /// The database failed.
    #[error("the database failed: {reason}")]
    Database {
        /// The message of the database.
        reason: String,
    },
    /// A limit was exceeded.
    #[error("{0}")]
    TooMuch(String),
}

impl BaseError {
    pub(crate) fn io(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { doing, path, source }
    }

    /// Converts an error of tantivy. A full or read-only disk becomes an I/O error.
    pub(crate) fn index(path: &Path) -> impl Fn(TantivyError) -> Self + '_ {
        move |error| match cause(&error) {
            Some(source) => Self::Io { doing: "use the index in", path: path.to_owned(), source },
            None => Self::Index { path: path.to_owned(), reason: error.to_string() },
        }
    }

    /// Remedies.
    pub fn remedies(&self) -> Vec<Remedy> {
        let advice = |text: &str| Remedy::Advice(text.to_owned());
        match self {
            Self::Missing { name } => {
                vec![Remedy::CreateKnowledgeBase(name.clone()), Remedy::ListKnowledgeBases]
            }
            Self::Exists { name } => {
                vec![Remedy::AddDocuments(name.clone()), Remedy::DeleteKnowledgeBase(name.clone())]
            }
            Self::Database { .. } => vec![advice("check the address and the log of the database")],
            Self::Name(_) | Self::TooMuch(_) => Vec::new(),
            Self::Io { .. } => vec![advice("check the folder's owner and the free disk space")],
            Self::Damaged { path, .. } | Self::Index { path, .. } => {
                let name = base_of(path).unwrap_or("NAME");
                vec![
                    Remedy::DeleteKnowledgeBase(name.to_owned()),
                    Remedy::CreateKnowledgeBase(name.to_owned()),
                    Remedy::AddDocuments(name.to_owned()),
                ]
            }
            Self::Version { .. } => {
                vec![advice("use the version of prowess that wrote it, or a later one")]
            }
            Self::OtherEmbedder { name, .. } => vec![Remedy::ReplaceEmbedder(name.clone())],
            Self::Embed(error) => error.remedies(),
        }
    }

    fn kind(&self) -> RetrieveErrorKind {
        match self {
            Self::Missing { .. } => RetrieveErrorKind::NotFound,
            Self::Name(_) | Self::TooMuch(_) | Self::Exists { .. } => {
                RetrieveErrorKind::InvalidQuery
            }
            Self::Damaged { .. }
            | Self::Index { .. }
            | Self::Version { .. }
            | Self::OtherEmbedder { .. } => RetrieveErrorKind::Corrupt,
            Self::Io { .. } | Self::Database { .. } | Self::Embed(_) => {
                RetrieveErrorKind::Unavailable
            }
        }
    }
}

/// The I/O error that caused an error of tantivy.
fn cause(error: &TantivyError) -> Option<io::Error> {
    let (TantivyError::IoError(said)
    | TantivyError::LockFailure(LockError::IoError(said), _)
    | TantivyError::OpenDirectoryError(OpenDirectoryError::IoError { io_error: said, .. })
    | TantivyError::OpenReadError(OpenReadError::IoError { io_error: said, .. })
    | TantivyError::OpenWriteError(OpenWriteError::IoError { io_error: said, .. })) = error
    else {
        return None;
    };
    Some(match said.raw_os_error() {
        Some(code) => io::Error::from_raw_os_error(code),
        None => io::Error::new(said.kind(), said.to_string()),
    })
}

/// The name of the knowledge base that a file belongs to.
fn base_of(path: &Path) -> Option<&str> {
    let is_inside = |it: &&Path| {
        let name = it.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("data-") || name == crate::settings::FILE
    };
    path.ancestors().find(is_inside)?.parent()?.file_name()?.to_str()
}

/// The message of the system in lower case, without its number.
pub(crate) fn reason(source: &io::Error) -> String {
    prowess_core::system_reason(source).to_lowercase()
}

impl From<BaseError> for RetrieveError {
    fn from(error: BaseError) -> Self {
        let kind = error.kind();
        RetrieveError { kind, message: error.to_string(), remedies: error.remedies() }
    }
}
