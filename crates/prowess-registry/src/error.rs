//! Why an operation of the registry fails.

use prowess_core::{Problem, ProblemKind};
use prowess_server::database::DatabaseError;

use crate::blobs::BlobError;
use crate::scan_report::StoredFinding;

/// A failed operation. The interfaces turn it into a problem document or a page.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RegistryError {
    /// A failure with remedies.
    #[error("{}", .0.message)]
    Problem(Problem),
    /// The version was revoked: it can't be had any more.
    #[error("`{what}` was revoked: {reason}")]
    Revoked {
        /// The skill and the version.
        what: String,
        /// The reason.
        reason: String,
    },
    /// Several namespaces have a skill of that name (attack registry-A7).
    #[error("several namespaces have a skill `{name}`")]
    Ambiguous {
        /// The name.
        name: String,
        /// The skills, as `namespace/name`.
        candidates: Vec<String>,
    },
    /// The scanner refuses the files.
    #[error("the scan refuses `{what}`: {}", first(.findings))]
    Scan {
        /// The skill and the version.
        what: String,
        /// The findings.
        findings: Vec<StoredFinding>,
    },
}

/// The result of an operation of the registry.
pub type Outcome<T> = Result<T, RegistryError>;

impl RegistryError {
    /// Something in the request is not valid.
    pub fn invalid(code: &'static str, message: impl Into<String>) -> Self {
        Self::of(code, ProblemKind::InvalidInput, message)
    }

    /// The caller may not do that.
    pub fn refused(code: &'static str, message: impl Into<String>) -> Self {
        Self::of(code, ProblemKind::Refused, message)
    }

    /// Something of that name exists already, or has changed.
    pub fn conflict(code: &'static str, message: impl Into<String>) -> Self {
        Self::of(code, ProblemKind::Conflict, message)
    }

    /// There is no such skill, or the caller may not see it: the same words for both (attack registry-D19).
    pub fn no_skill() -> Self {
        Self::of("skill-not-found", ProblemKind::NotFound, "there is no such skill")
    }

    /// There is no such version.
    pub fn no_version() -> Self {
        Self::of("version-not-found", ProblemKind::NotFound, "there is no such version")
    }

    /// A failure of a kind.
    pub fn of(code: &'static str, kind: ProblemKind, message: impl Into<String>) -> Self {
        Self::Problem(Problem::new(code, kind, message))
    }

    /// Adds a next step.
    #[must_use]
    pub fn advice(self, text: impl Into<String>) -> Self {
        match self {
            Self::Problem(problem) => Self::Problem(problem.advice(text)),
            other => other,
        }
    }
}

impl From<Problem> for RegistryError {
    fn from(problem: Problem) -> Self {
        Self::Problem(problem)
    }
}

impl From<DatabaseError> for RegistryError {
    fn from(error: DatabaseError) -> Self {
        Self::Problem(error.into())
    }
}

impl From<BlobError> for RegistryError {
    fn from(error: BlobError) -> Self {
        tracing::error!(%error, "the storage failed");
        let problem = Problem::new(
            "storage-failed",
            ProblemKind::Unavailable,
            "the storage of the registry is unavailable",
        );
        Self::Problem(problem.advice("try again in a moment"))
    }
}

fn first(findings: &[StoredFinding]) -> String {
    match findings.first() {
        Some(found) => format!("{} ({}:{})", found.message, found.file, found.line),
        None => "it could not be analysed".to_owned(),
    }
}
