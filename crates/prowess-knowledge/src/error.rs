//! What can go wrong with a base, and what to do about it.

use std::io;
use std::path::{Path, PathBuf};

use prowess_core::{Remedy, RetrieveError, RetrieveErrorKind};
use tantivy::TantivyError;
use tantivy::directory::error::{LockError, OpenDirectoryError, OpenReadError, OpenWriteError};

use crate::embed::EmbedError;

/// Why something could not be done with a base.
#[derive(Debug, thiserror::Error)]
pub enum BaseError {
    /// There is none of that name.
    #[error("there is no knowledge base `{name}`")]
    Missing {
        /// As it was asked for.
        name: String,
    },
    /// There is one already.
    #[error("there is a knowledge base `{name}` already")]
    Exists {
        /// As it was asked for.
        name: String,
    },
    /// The name can't be one.
    #[error(transparent)]
    Name(#[from] crate::name::InvalidName),
    /// A file could not be read or written.
    #[error("cannot {doing} `{}`: {}", path.display(), reason(source))]
    Io {
        /// A phrase such as "read".
        doing: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// A file of the base is not what this program wrote.
    #[error("`{}` is damaged: {reason}", path.display())]
    Damaged {
        /// The file or folder.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A later version of this program wrote the base.
    #[error("`{}` has version {version} of the format, and this program reads version {known}", path.display())]
    Version {
        /// The file that says so.
        path: PathBuf,
        /// What it says.
        version: u64,
        /// What is known here.
        known: u64,
    },
    /// The vectors of the base and the embedder at hand don't belong together.
    #[error("the vectors of `{name}` are from {stamped}, and this embedder is {offered}")]
    OtherEmbedder {
        /// The base.
        name: String,
        /// Id and dimension in the base.
        stamped: String,
        /// Id and dimension of the embedder.
        offered: String,
    },
    /// No vectors could be made.
    #[error(transparent)]
    Embed(#[from] EmbedError),
    /// The full-text index failed.
    #[error("the index in `{}` failed: {reason}", path.display())]
    Index {
        /// The base.
        path: PathBuf,
        /// In the words of the engine.
        reason: String,
    },
    /// The database of the base failed.
    #[error("the database failed: {reason}")]
    Database {
        /// In the words of the database.
        reason: String,
    },
    /// A bound was hit.
    #[error("{0}")]
    TooMuch(String),
}

impl BaseError {
    pub(crate) fn io(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { doing, path, source }
    }

    /// What the engine says. A disk that is full or can't be written is not the index's fault.
    pub(crate) fn index(path: &Path) -> impl Fn(TantivyError) -> Self + '_ {
        move |error| match cause(&error) {
            Some(source) => Self::Io { doing: "use the index in", path: path.to_owned(), source },
            None => Self::Index { path: path.to_owned(), reason: error.to_string() },
        }
    }

    /// What would help.
    pub fn remedies(&self) -> Vec<Remedy> {
        let advice = |text: &str| Remedy::Advice(text.to_owned());
        match self {
            Self::Missing { name } => {
                vec![Remedy::CreateKnowledgeBase(name.clone()), Remedy::ListKnowledgeBases]
            }
            Self::Exists { name } => {
                vec![Remedy::AddDocuments(name.clone()), Remedy::DeleteKnowledgeBase(name.clone())]
            }
            Self::Database { .. } => vec![advice("check the database's address and its log")],
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

/// What the system said that made the engine fail.
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

/// The name of the base that a file belongs to, as its folder has it.
fn base_of(path: &Path) -> Option<&str> {
    let is_inside = |it: &&Path| {
        let name = it.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("data-") || name == crate::settings::FILE
    };
    path.ancestors().find(is_inside)?.parent()?.file_name()?.to_str()
}

/// The system's message without its number and capitals.
pub(crate) fn reason(source: &io::Error) -> String {
    prowess_core::system_reason(source).to_lowercase()
}

impl From<BaseError> for RetrieveError {
    fn from(error: BaseError) -> Self {
        let kind = error.kind();
        RetrieveError { kind, message: error.to_string(), remedies: error.remedies() }
    }
}
