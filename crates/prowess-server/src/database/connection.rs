//! The connection that a function gets for the time of one transaction.

use std::ops::{Deref, DerefMut};

use super::error::DatabaseError;
use super::postgres::PostgresConnection;
use super::row::Row;
use super::sqlite::SqliteConnection;
use super::value::Value;

/// A connection inside a transaction that only reads: all queries see the same state of the database.
///
/// Statements are SQL that both databases understand, with `?1`, `?2`, … as placeholders.
pub struct Connection<'a> {
    pub(super) engine: Engine<'a>,
}

pub(super) enum Engine<'a> {
    Sqlite(SqliteConnection<'a>),
    Postgres(PostgresConnection<'a>),
}

/// A connection inside a transaction that also writes. It is committed when the function returns `Ok`, and rolled back
/// when it returns `Err` or panics.
pub struct Transaction<'a> {
    connection: Connection<'a>,
}

/// Which database it is, for the rare statement that has to be written twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DatabaseKind {
    /// SQLite.
    Sqlite,
    /// Postgres.
    Postgres,
}

impl Connection<'_> {
    /// All rows of a query. The statement limits their number.
    pub fn query(&mut self, sql: &str, values: &[Value]) -> Result<Vec<Row>, DatabaseError> {
        let mut rows = Vec::new();
        self.for_each(sql, values, |row| {
            rows.push(row);
            Ok(())
        })?;
        Ok(rows)
    }

    /// The first row of a query that must return one.
    pub fn query_one(&mut self, sql: &str, values: &[Value]) -> Result<Row, DatabaseError> {
        self.query_optional(sql, values)?.ok_or(DatabaseError::NoRow)
    }

    /// The first row of a query, if there is one.
    pub fn query_optional(
        &mut self,
        sql: &str,
        values: &[Value],
    ) -> Result<Option<Row>, DatabaseError> {
        Ok(self.query(sql, values)?.into_iter().next())
    }

    /// Passes each row of a query to a function as it is read, without keeping the others.
    pub fn for_each(
        &mut self,
        sql: &str,
        values: &[Value],
        row: impl FnMut(Row) -> Result<(), DatabaseError>,
    ) -> Result<(), DatabaseError> {
        match &mut self.engine {
            Engine::Sqlite(connection) => connection.for_each(sql, values, row),
            Engine::Postgres(connection) => connection.for_each(sql, values, row),
        }
    }

    /// From here on statements may take as long as they need, for maintenance.
    pub(super) fn allow_long_statements(&mut self) -> Result<(), DatabaseError> {
        match &mut self.engine {
            Engine::Sqlite(_) => Ok(()),
            Engine::Postgres(connection) => {
                connection.execute_batch("SET LOCAL statement_timeout = 0")
            }
        }
    }

    /// Which database it is.
    pub fn kind(&self) -> DatabaseKind {
        match &self.engine {
            Engine::Sqlite(_) => DatabaseKind::Sqlite,
            Engine::Postgres(_) => DatabaseKind::Postgres,
        }
    }
}

impl<'a> Transaction<'a> {
    pub(super) fn new(engine: Engine<'a>) -> Transaction<'a> {
        Transaction { connection: Connection { engine } }
    }

    pub(super) fn into_engine(self) -> Engine<'a> {
        self.connection.engine
    }

    /// Executes a statement and returns the number of rows that it changed.
    pub fn execute(&mut self, sql: &str, values: &[Value]) -> Result<u64, DatabaseError> {
        match &mut self.connection.engine {
            Engine::Sqlite(connection) => connection.execute(sql, values),
            Engine::Postgres(connection) => connection.execute(sql, values),
        }
    }

    /// Executes statements without values, such as those of a migration.
    pub fn execute_batch(&mut self, sql: &str) -> Result<(), DatabaseError> {
        match &mut self.connection.engine {
            Engine::Sqlite(connection) => connection.execute_batch(sql),
            Engine::Postgres(connection) => connection.execute_batch(sql),
        }
    }
}

impl<'a> Deref for Transaction<'a> {
    type Target = Connection<'a>;

    fn deref(&self) -> &Connection<'a> {
        &self.connection
    }
}

impl<'a> DerefMut for Transaction<'a> {
    fn deref_mut(&mut self) -> &mut Connection<'a> {
        &mut self.connection
    }
}
