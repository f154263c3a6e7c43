//! The error type of the binary: a message, the kind that decides the exit code, and hints.

use std::fmt;
use std::io;
use std::path::Path;

use prowess_core::{ModelError, Problem, system_reason};
use serde_json::Value;

/// The kind of a failure, which decides the exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ErrorKind {
    /// The operation failed.
    Failed,
    /// The arguments are wrong, or contradict each other.
    Usage,
    /// Something that the user named does not exist.
    NotFound,
    /// The operation is possible but not allowed.
    Refused,
    /// A tool was not run; the code is 125 to 127, as in a shell.
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
    /// Decides the exit code.
    pub(crate) kind: ErrorKind,
    /// A lowercase phrase without a full stop.
    pub(crate) message: String,
    /// Next steps, one line each.
    pub(crate) hints: Vec<String>,
    /// The code of the problem, if a library reported it.
    pub(crate) code: Option<&'static str>,
    /// The findings of a check, if they are the reason: for programs, in the shape of `check --format json`.
    pub(crate) findings: Vec<Value>,
}

impl Error {
    /// The operation failed.
    pub(crate) fn failed(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Failed, message)
    }

    /// The arguments are wrong, or contradict each other.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Usage, message)
    }

    /// Something that the user named does not exist.
    pub(crate) fn not_found(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::NotFound, message)
    }

    /// The operation is possible but not allowed.
    pub(crate) fn refused(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Refused, message)
    }

    /// A file or folder could not be used; `verb` is a word such as "read".
    pub(crate) fn io(verb: &str, path: &Path, source: &io::Error) -> Self {
        let shown = path.display();
        match source.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
                Self::not_found(format!("`{shown}` does not exist"))
                    .hint("check the spelling; a path is relative to the current folder")
            }
            io::ErrorKind::PermissionDenied => {
                Self::failed(format!("cannot {verb} `{shown}`: permission denied"))
                    .hint(format!("look at its permissions with `ls -ld {shown}`"))
            }
            _ => Self::failed(format!("cannot {verb} `{shown}`: {}", system_reason(source))),
        }
    }

    fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), hints: Vec::new(), code: None, findings: Vec::new() }
    }

    /// Adds a next step.
    #[must_use]
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }
}

impl From<ModelError> for Error {
    fn from(error: ModelError) -> Self {
        Problem::from(error).into()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}
