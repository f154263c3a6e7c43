//! SQLite: one thread writes, a bounded pool of connections reads.
//!
//! Only one transaction can write at a time, so a queue before a single writer replaces waiting for locks. Writers that
//! wait together are committed together, each in a savepoint of its own: one `fsync` then serves all of them, and each
//! gets its answer only after it.

use std::fs::OpenOptions;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{OpenFlags, ToSql, params_from_iter};
use tokio::sync::Semaphore;

use super::connection::{Connection, Engine, Transaction};
use super::error::{ConstraintKind, DatabaseError};
use super::pool::Pool;
use super::row::Row;
use super::value::Value;

/// How long to wait for another process that writes, such as a command beside the running server.
const BUSY_TIMEOUT: Duration = Duration::from_secs(15);

/// Writes that are committed together.
const MOST_TOGETHER: usize = 64;

/// No further write joins a transaction that has taken this long.
const LONGEST_TOGETHER: Duration = Duration::from_millis(20);

/// Async writers that may wait in the queue.
const MOST_WAITING: usize = 1024;

/// Prepared statements that a connection keeps.
const STATEMENTS: usize = 128;

/// For every connection. `FULL` syncs the log at each commit, so that what was acknowledged survives a power cut.
const SETTINGS: &str = "
PRAGMA foreign_keys = ON;
PRAGMA synchronous = FULL;
PRAGMA temp_store = MEMORY;
PRAGMA trusted_schema = OFF;
PRAGMA cache_size = -4000;
PRAGMA journal_size_limit = 67108864;
";

pub(super) struct SqliteDatabase {
    path: PathBuf,
    readers: Pool<rusqlite::Connection>,
    /// Async readers that may wait on a thread for a connection.
    pub(super) reading: Arc<Semaphore>,
    /// Async writers that may wait in the queue.
    pub(super) writing: Arc<Semaphore>,
    queue: Option<mpsc::Sender<Box<dyn QueuedWrite>>>,
    writer: Option<JoinHandle<()>>,
}

impl SqliteDatabase {
    pub(super) fn open(path: &Path, readers: usize) -> Result<SqliteDatabase, DatabaseError> {
        let failed =
            |reason: String| DatabaseError::Open { database: path.display().to_string(), reason };
        create(path).map_err(|error| failed(error.to_string()))?;
        let mut connection = connect(path).map_err(|error| failed(error.to_string()))?;
        // The mode is a property of the file, and readers rely on it.
        connection
            .pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get::<_, String>(0))
            .map_err(|error| failed(error.to_string()))?;
        let (queue, jobs) = mpsc::channel::<Box<dyn QueuedWrite>>();
        let writer = std::thread::Builder::new()
            .name("database-writer".to_owned())
            .spawn(move || write_all(&mut connection, &jobs))
            .map_err(|error| failed(error.to_string()))?;
        let path = path.to_owned();
        let connect_reader = {
            let path = path.clone();
            move || {
                let connection = connect(&path).map_err(|error| describe(&error))?;
                connection
                    .pragma_update(None, "query_only", true)
                    .map_err(|error| describe(&error))?;
                Ok(connection)
            }
        };
        Ok(SqliteDatabase {
            path,
            readers: Pool::new(readers, connect_reader),
            reading: Arc::new(Semaphore::new(readers)),
            writing: Arc::new(Semaphore::new(MOST_WAITING)),
            queue: Some(queue),
            writer: Some(writer),
        })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn read<T, E: From<DatabaseError>>(
        &self,
        work: impl FnOnce(&mut Connection<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        let reader = self.readers.checkout()?;
        let transaction = reader.unchecked_transaction().map_err(|error| describe(&error))?;
        let engine = Engine::Sqlite(SqliteConnection { connection: &transaction });
        let result = catch_unwind(AssertUnwindSafe(|| work(&mut Connection { engine })));
        // Nothing was written: to end the transaction is all there is to do.
        let ended = transaction.finish();
        if ended.is_err() || result.is_err() {
            reader.discard();
        }
        result.unwrap_or_else(|_| Err(DatabaseError::Panicked.into()))
    }

    /// Puts a write into the queue. `reply` gets its result, from the writer's thread.
    pub(super) fn enqueue<T, E>(
        &self,
        work: impl FnMut(&mut Transaction<'_>) -> Result<T, E> + Send + 'static,
        reply: impl FnOnce(Result<T, E>) + Send + 'static,
    ) where
        T: Send + 'static,
        E: From<DatabaseError> + Send + 'static,
    {
        let job = Box::new(Write { work, result: None, reply });
        let queue = self.queue.as_ref().expect("it is closed only when the database is dropped");
        if let Err(mpsc::SendError(job)) = queue.send(job) {
            job.finish(Err(DatabaseError::Closed));
        }
    }
}

impl Drop for SqliteDatabase {
    fn drop(&mut self) {
        // What is in the queue is still written.
        self.queue = None;
        if let Some(writer) = self.writer.take() {
            // The last clone may be dropped by a reply, on the writer's own thread.
            if writer.thread().id() != std::thread::current().id() {
                // The thread catches the panics of what it runs.
                let _ = writer.join();
            }
        }
    }
}

/// Creates a file that only its owner can read: it has keys and hashes of passwords. SQLite gives its log the same mode.
fn create(path: &Path) -> std::io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(0o600);
    }
    options.open(path).map(drop)
}

pub(super) fn connect(path: &Path) -> rusqlite::Result<rusqlite::Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = rusqlite::Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    connection.execute_batch(SETTINGS)?;
    Ok(connection)
}

/// A write in the queue.
trait QueuedWrite: Send {
    /// Runs it; true if its changes are to be kept.
    fn run(&mut self, connection: &rusqlite::Connection) -> bool;

    /// Replies, after the commit.
    fn finish(self: Box<Self>, committed: Result<(), DatabaseError>);
}

struct Write<W, T, E, R> {
    work: W,
    result: Option<Result<T, E>>,
    reply: R,
}

impl<W, T, E, R> QueuedWrite for Write<W, T, E, R>
where
    W: FnMut(&mut Transaction<'_>) -> Result<T, E> + Send,
    T: Send,
    E: From<DatabaseError> + Send,
    R: FnOnce(Result<T, E>) + Send,
{
    fn run(&mut self, connection: &rusqlite::Connection) -> bool {
        let engine = Engine::Sqlite(SqliteConnection { connection });
        let work = &mut self.work;
        let result = catch_unwind(AssertUnwindSafe(|| work(&mut Transaction::new(engine))))
            .unwrap_or_else(|_| Err(DatabaseError::Panicked.into()));
        let is_kept = result.is_ok();
        self.result = Some(result);
        is_kept
    }

    fn finish(self: Box<Self>, committed: Result<(), DatabaseError>) {
        let Write { result, reply, .. } = *self;
        reply(match (result, committed) {
            (Some(Err(error)), _) => Err(error),
            (_, Err(error)) => Err(error.into()),
            (Some(Ok(value)), Ok(())) => Ok(value),
            (None, Ok(())) => Err(DatabaseError::Closed.into()),
        });
    }
}

/// The writer's thread.
fn write_all(connection: &mut rusqlite::Connection, jobs: &mpsc::Receiver<Box<dyn QueuedWrite>>) {
    while let Ok(first) = jobs.recv() {
        let started = Instant::now();
        let mut done = Vec::new();
        let committed = write_together(connection, first, &mut done, || {
            let may_join = started.elapsed() < LONGEST_TOGETHER;
            may_join.then(|| jobs.try_recv().ok()).flatten()
        });
        for job in done {
            // A reply hands a value over and wakes somebody; it must not end this thread even so.
            let committed = committed.clone();
            let _ = catch_unwind(AssertUnwindSafe(|| job.finish(committed)));
        }
    }
}

/// Runs a write, and those that join it, in one transaction.
fn write_together(
    connection: &mut rusqlite::Connection,
    first: Box<dyn QueuedWrite>,
    done: &mut Vec<Box<dyn QueuedWrite>>,
    next: impl Fn() -> Option<Box<dyn QueuedWrite>>,
) -> Result<(), DatabaseError> {
    if let Err(error) = connection.execute_batch("BEGIN IMMEDIATE") {
        done.push(first);
        return Err(describe(&error));
    }
    let mut job = Some(first);
    while let Some(mut current) = job {
        let outcome = in_savepoint(connection, current.as_mut());
        done.push(current);
        if let Err(error) = outcome {
            // After a full disk SQLite has rolled back everything, including the writes before.
            if !connection.is_autocommit() {
                let _ = connection.execute_batch("ROLLBACK");
            }
            return Err(describe(&error));
        }
        job = if done.len() < MOST_TOGETHER { next() } else { None };
    }
    let committed = connection.execute_batch("COMMIT");
    if committed.is_err() && !connection.is_autocommit() {
        let _ = connection.execute_batch("ROLLBACK");
    }
    committed.map_err(|error| describe(&error))
}

fn in_savepoint(
    connection: &rusqlite::Connection,
    job: &mut dyn QueuedWrite,
) -> rusqlite::Result<()> {
    connection.prepare_cached("SAVEPOINT one")?.execute([])?;
    if !job.run(connection) {
        connection.prepare_cached("ROLLBACK TO one")?.execute([])?;
    }
    connection.prepare_cached("RELEASE one")?.execute([])?;
    Ok(())
}

/// A connection of SQLite inside a transaction.
pub(super) struct SqliteConnection<'a> {
    connection: &'a rusqlite::Connection,
}

impl SqliteConnection<'_> {
    pub(super) fn for_each(
        &self,
        sql: &str,
        values: &[Value],
        mut row: impl FnMut(Row) -> Result<(), DatabaseError>,
    ) -> Result<(), DatabaseError> {
        let mut statement =
            self.connection.prepare_cached(sql).map_err(|error| describe(&error))?;
        let columns: Arc<[String]> = statement.column_names().map(str::to_owned).collect();
        let mut rows =
            statement.query(params_from_iter(values)).map_err(|error| describe(&error))?;
        while let Some(found) = rows.next().map_err(|error| describe(&error))? {
            let mut values = Vec::with_capacity(columns.len());
            for number in 0..columns.len() {
                let value = found.get_ref(number).map_err(|error| describe(&error))?;
                values.push(convert(value, &columns[number])?);
            }
            row(Row::new(Arc::clone(&columns), values))?;
        }
        Ok(())
    }

    pub(super) fn execute(&self, sql: &str, values: &[Value]) -> Result<u64, DatabaseError> {
        let mut statement =
            self.connection.prepare_cached(sql).map_err(|error| describe(&error))?;
        let changed =
            statement.execute(params_from_iter(values)).map_err(|error| describe(&error))?;
        Ok(changed as u64)
    }

    pub(super) fn execute_batch(&self, sql: &str) -> Result<(), DatabaseError> {
        self.connection.execute_batch(sql).map_err(|error| describe(&error))
    }
}

fn convert(value: ValueRef<'_>, column: &str) -> Result<Value, DatabaseError> {
    Ok(match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(value) => Value::Integer(value),
        ValueRef::Real(value) => Value::Real(value),
        ValueRef::Text(value) => {
            let text = str::from_utf8(value).map_err(|_| DatabaseError::Type {
                column: column.to_owned(),
                expected: "valid UTF-8",
            })?;
            Value::Text(text.to_owned())
        }
        ValueRef::Blob(value) => Value::Blob(value.to_vec()),
    })
}

impl ToSql for Value {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Value::Null => ValueRef::Null,
            Value::Integer(value) => ValueRef::Integer(*value),
            Value::Real(value) => ValueRef::Real(*value),
            Value::Text(value) => ValueRef::Text(value.as_bytes()),
            Value::Blob(value) => ValueRef::Blob(value),
        }))
    }
}

/// The error without the statement, and without values.
pub(super) fn describe(error: &rusqlite::Error) -> DatabaseError {
    use rusqlite::ffi;
    let rusqlite::Error::SqliteFailure(failure, message) = error else {
        // An error in SQL text repeats the statement, which has placeholders instead of values.
        return DatabaseError::Statement(error.to_string());
    };
    let message = || message.clone().unwrap_or_else(|| failure.to_string());
    match failure.code {
        ffi::ErrorCode::DatabaseBusy | ffi::ErrorCode::DatabaseLocked => DatabaseError::Busy,
        ffi::ErrorCode::CannotOpen => DatabaseError::Unavailable(message()),
        ffi::ErrorCode::ConstraintViolation => {
            let kind = match failure.extended_code {
                ffi::SQLITE_CONSTRAINT_UNIQUE
                | ffi::SQLITE_CONSTRAINT_PRIMARYKEY
                | ffi::SQLITE_CONSTRAINT_ROWID => ConstraintKind::Unique,
                ffi::SQLITE_CONSTRAINT_FOREIGNKEY => ConstraintKind::ForeignKey,
                ffi::SQLITE_CONSTRAINT_NOTNULL => ConstraintKind::NotNull,
                ffi::SQLITE_CONSTRAINT_CHECK => ConstraintKind::Check,
                _ => ConstraintKind::Other,
            };
            let message = message();
            let name = message.split_once(": ").map_or(message.as_str(), |(_, name)| name);
            DatabaseError::Constraint { kind, name: name.to_owned() }
        }
        _ => DatabaseError::Statement(message()),
    }
}
