//! Why a run was refused. Nothing was executed in these cases.

use std::io;
use std::path::PathBuf;

/// A run that did not start.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// The program does not exist (GIB §9.3).
    #[error("`{}` was not found", .0.display())]
    NotFound(PathBuf),
    /// The program may not be executed (GIB §9.3).
    #[error("`{}` can't be executed: {reason}", .path.display())]
    NotExecutable {
        /// The image.
        path: PathBuf,
        /// The error.
        reason: String,
    },
    /// A grant that can't be applied.
    #[error("the grant `{}` was refused: {reason}", .path.display())]
    Grant {
        /// The granted path.
        path: PathBuf,
        /// Why it can't be granted.
        reason: String,
    },
    /// A grant that covers too many files; nothing is ever omitted silently (attack sandbox-A27).
    #[error("the grant `{}` was refused: more than {most} {what}", .path.display())]
    TooLarge {
        /// The granted path.
        path: PathBuf,
        /// What there are too many of.
        what: &'static str,
        /// The limit.
        most: usize,
    },
    /// A writable file is hard-linked outside the granted folder (attack sandbox-A08).
    #[error(
        "`{}` is hard-linked outside the granted folder, so writing to it would change a file that is not granted",
        .path.display()
    )]
    HardLink {
        /// The file.
        path: PathBuf,
    },
    /// An invalid specification.
    #[error("{0}")]
    Invalid(String),
    /// This machine can't enforce the specification.
    #[error("this machine can't enforce the sandbox: {cause}")]
    Unenforceable {
        /// What is missing.
        cause: String,
        /// What to do about it.
        remedy: String,
    },
    /// No overlay can be mounted over a folder whose writes are to be staged.
    #[error("changes can't be staged: {cause}")]
    Staging {
        /// The cause.
        cause: String,
    },
    /// The setup failed; the program was not started.
    #[error("the sandbox could not be set up ({stage}): {source}")]
    SetUp {
        /// The step.
        stage: &'static str,
        /// The error.
        source: io::Error,
    },
    /// The supervision failed.
    #[error("the run could not be supervised: {0}")]
    Supervise(#[source] io::Error),
}
