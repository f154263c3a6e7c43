//! The one error of the binary: what went wrong, with what, and what to do next.

use std::fmt;
use std::io;
use std::path::Path;

use crate::render::problem_text::hints;
use prowess_core::{ModelError, ModelErrorKind, system_reason};
use serde_json::Value;

/// What kind of failure it is; the kind picks the exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ErrorKind {
    /// The operation failed.
    Failed,
    /// The arguments make no sense together.
    Usage,
    /// What was named does not exist.
    NotFound,
    /// It could be done and is not allowed.
    Refused,
    /// A tool was not run; 125 to 127 say why, as in a shell.
    NotRun(u8),
}

impl ErrorKind {
    /// The exit code, which other programs rely on.
    pub(crate) fn exit_code(self) -> u8 {
        match self {
            ErrorKind::Failed => 1,
            ErrorKind::Usage => 2,
            ErrorKind::NotFound => 3,
            ErrorKind::Refused => 4,
            ErrorKind::NotRun(code) => code,
        }
    }
}

/// A failure with the next step.
#[derive(Debug)]
pub(crate) struct Error {
    /// Picks the exit code.
    pub(crate) kind: ErrorKind,
    /// A lowercase phrase without a full stop.
    pub(crate) message: String,
    /// Next steps, one line each.
    pub(crate) hints: Vec<String>,
    /// What a check has found, where that is why: for programs, in the shape of `check --format json`.
    pub(crate) findings: Vec<Value>,
}

impl Error {
    /// The operation failed.
    pub(crate) fn failed(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Failed, message)
    }

    /// The arguments make no sense together.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Usage, message)
    }

    /// What was named does not exist.
    pub(crate) fn not_found(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::NotFound, message)
    }

    /// It could be done and is not allowed.
    pub(crate) fn refused(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Refused, message)
    }

    /// A file or directory could not be used; `doing` is a phrase such as "read".
    pub(crate) fn io(doing: &str, path: &Path, source: &io::Error) -> Self {
        let shown = path.display();
        match source.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
                Self::not_found(format!("`{shown}` does not exist"))
                    .hint("check the spelling; a path is relative to the current folder")
            }
            io::ErrorKind::PermissionDenied => {
                Self::failed(format!("cannot {doing} `{shown}`: permission denied"))
                    .hint(format!("look at its permissions with `ls -ld {shown}`"))
            }
            _ => Self::failed(format!("cannot {doing} `{shown}`: {}", system_reason(source))),
        }
    }

    fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), hints: Vec::new(), findings: Vec::new() }
    }

    /// Adds a next step.
    #[must_use]
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }
}

/// A model that is not there is something named that does not exist; everything else has failed.
impl From<ModelError> for Error {
    fn from(error: ModelError) -> Self {
        let kind = match error.kind {
            ModelErrorKind::UnknownModel => ErrorKind::NotFound,
            ModelErrorKind::NotConfigured
            | ModelErrorKind::Unreachable
            | ModelErrorKind::Unauthorized
            | ModelErrorKind::RateLimited { .. }
            | ModelErrorKind::Rejected
            | ModelErrorKind::Provider
            | ModelErrorKind::Protocol
            | ModelErrorKind::TimedOut => ErrorKind::Failed,
        };
        Self { hints: hints(&error.remedies), ..Self::new(kind, error.message) }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}
