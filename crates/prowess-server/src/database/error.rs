//! Errors of the database, without the values that a statement was given: those may be secrets.

use prowess_core::{Problem, ProblemKind};

/// A failed operation on the database.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DatabaseError {
    /// The address is neither a path nor a URL of Postgres.
    #[error("`{0}` is not the address of a database, expected a path or `postgres://…`")]
    Address(String),
    /// The database can't be opened.
    #[error("cannot open the database `{database}`: {reason}")]
    Open {
        /// The path, or the address without its password.
        database: String,
        /// The engine's words.
        reason: String,
    },
    /// A constraint of a table forbids the change.
    #[error("the change violates the constraint `{name}`")]
    Constraint {
        /// The kind of constraint.
        kind: ConstraintKind,
        /// Its name, or the columns that SQLite names instead.
        name: String,
    },
    /// Everything that could execute the operation was in use for too long.
    #[error("the database is overloaded")]
    Busy,
    /// The server of the database can't be reached, or the connection was lost.
    #[error("the database is unavailable: {0}")]
    Unavailable(String),
    /// A statement failed.
    #[error("a statement failed: {0}")]
    Statement(String),
    /// A query that must return a row returned none.
    #[error("the query returned no row")]
    NoRow,
    /// A result has no such column.
    #[error("the result has no column `{0}`")]
    NoColumn(String),
    /// A value has another type than the caller expects.
    #[error("column `{column}` does not contain {expected}")]
    Type {
        /// The column.
        column: String,
        /// The expected type, with its article.
        expected: &'static str,
    },
    /// A migration can't be applied.
    #[error("cannot migrate the tables of `{component}`: {reason}")]
    Migration {
        /// The component whose tables they are.
        component: String,
        /// The reason.
        reason: String,
    },
    /// A backup can't be written or read.
    #[error("cannot {action}: {reason}")]
    Backup {
        /// What was being done.
        action: &'static str,
        /// The reason.
        reason: String,
    },
    /// The function that used the connection panicked; its changes were rolled back.
    #[error("an operation on the database panicked")]
    Panicked,
    /// The database is closed.
    #[error("the database is closed")]
    Closed,
}

/// Kinds of constraints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConstraintKind {
    /// A value that must be unique exists already.
    Unique,
    /// A referenced row does not exist, or a row is still referenced.
    ForeignKey,
    /// A value is missing.
    NotNull,
    /// A value is not one of those allowed.
    Check,
    /// Any other.
    Other,
}

impl DatabaseError {
    /// Whether a row with the same unique value exists.
    pub fn is_unique_violation(&self) -> bool {
        matches!(self, DatabaseError::Constraint { kind: ConstraintKind::Unique, .. })
    }
}

impl From<DatabaseError> for Problem {
    fn from(error: DatabaseError) -> Problem {
        // The details are for the log of whoever runs the server: they name tables and hosts.
        match error {
            DatabaseError::Busy => Problem::new(
                "database-busy",
                ProblemKind::Unavailable,
                "the database is overloaded",
            )
            .advice("try again in a moment"),
            DatabaseError::Unavailable(_) | DatabaseError::Closed => Problem::new(
                "database-unavailable",
                ProblemKind::Unavailable,
                "the database is unavailable",
            )
            .advice("try again in a moment"),
            error @ (DatabaseError::Address(_)
            | DatabaseError::Open { .. }
            | DatabaseError::Migration { .. }
            | DatabaseError::Backup { .. }) => {
                Problem::new("database-unusable", ProblemKind::Failed, error.to_string())
            }
            error => {
                tracing::error!(%error, "an operation on the database failed");
                Problem::new(
                    "database-failed",
                    ProblemKind::Internal,
                    "an operation on the database failed",
                )
                .advice("the log of the server has the cause")
            }
        }
    }
}
