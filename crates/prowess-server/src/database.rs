//! One interface to SQLite and Postgres, for statements that both understand.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use prowess_server::database::{Database, DatabaseError, Migration, values};
//!
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("notes.db").display().to_string();
//! let database = Database::open(&path.parse()?)?;
//! let statements = "CREATE TABLE notes (id TEXT PRIMARY KEY, text TEXT NOT NULL)";
//! let first = Migration { version: 1, name: "notes", sqlite: statements, postgres: statements };
//! database.migrate_blocking("notes", &[first])?;
//!
//! database.write_blocking(|transaction| {
//!     transaction.execute("INSERT INTO notes VALUES (?1, ?2)", &values!["a", "hello"])?;
//!     Ok::<_, DatabaseError>(())
//! })?;
//! let text: String = database.read_blocking(|connection| {
//!     let row = connection.query_one("SELECT text FROM notes WHERE id = ?1", &values!["a"])?;
//!     row.get::<String>("text")
//! })?;
//! assert_eq!(text, "hello");
//! # Ok(())
//! # }
//! ```

mod backup;
mod connection;
mod error;
mod migrations;
mod numeric;
mod placeholders;
mod pool;
mod postgres;
mod row;
mod sqlite;
mod value;

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use tokio::sync::{Semaphore, oneshot};

pub use crate::values;
pub use backup::BackupReport;
pub use connection::{Connection, DatabaseKind, Transaction};
pub use error::{ConstraintKind, DatabaseError};
pub use migrations::{Component, Migration};
pub use row::{ColumnIndex, Row};
pub use value::{FromValue, Value};

use self::postgres::PostgresDatabase;
use self::sqlite::SqliteDatabase;

/// Connections of SQLite that read at the same time.
const SQLITE_READERS: usize = 8;

/// Connections to Postgres.
const POSTGRES_CONNECTIONS: usize = 16;

/// The address of a database.
#[derive(Clone, PartialEq, Eq)]
pub enum DatabaseUrl {
    /// A file of SQLite, which is created if it is missing.
    Sqlite(PathBuf),
    /// A URL of Postgres: `postgres://user:password@host/database?sslmode=require`.
    Postgres(String),
}

impl FromStr for DatabaseUrl {
    type Err = DatabaseError;

    fn from_str(text: &str) -> Result<Self, DatabaseError> {
        if text.starts_with("postgres://") || text.starts_with("postgresql://") {
            return Ok(DatabaseUrl::Postgres(text.to_owned()));
        }
        let path = text.strip_prefix("sqlite:").unwrap_or(text);
        // A misspelt scheme must not become a file.
        if path.is_empty() || path.contains("://") {
            return Err(DatabaseError::Address(postgres::redacted(text)));
        }
        Ok(DatabaseUrl::Sqlite(PathBuf::from(path)))
    }
}

/// Without the password.
impl fmt::Display for DatabaseUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DatabaseUrl::Sqlite(path) => write!(formatter, "{}", path.display()),
            DatabaseUrl::Postgres(url) => formatter.write_str(&postgres::redacted(url)),
        }
    }
}

impl fmt::Debug for DatabaseUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "DatabaseUrl({self})")
    }
}

/// A database. Clones share its connections, which are closed with the last of them.
#[derive(Clone)]
pub struct Database {
    backend: Arc<Backend>,
}

enum Backend {
    Sqlite(SqliteDatabase),
    Postgres(PostgresDatabase),
}

impl Database {
    /// Opens a database. This blocks, also for a connection to Postgres.
    pub fn open(url: &DatabaseUrl) -> Result<Database, DatabaseError> {
        let connections = match url {
            DatabaseUrl::Sqlite(_) => SQLITE_READERS,
            DatabaseUrl::Postgres(_) => POSTGRES_CONNECTIONS,
        };
        Database::open_with(url, connections)
    }

    /// Opens a database with a number of connections: to Postgres, or for reading with SQLite.
    pub fn open_with(url: &DatabaseUrl, connections: usize) -> Result<Database, DatabaseError> {
        let connections = connections.max(1);
        let backend = match url {
            DatabaseUrl::Sqlite(path) => Backend::Sqlite(SqliteDatabase::open(path, connections)?),
            // The library refuses to block on a thread of an async runtime, where servers start.
            DatabaseUrl::Postgres(url) => Backend::Postgres(std::thread::scope(|scope| {
                let opening = scope.spawn(|| PostgresDatabase::open(url, connections));
                opening.join().unwrap_or(Err(DatabaseError::Panicked))
            })?),
        };
        Ok(Database { backend: Arc::new(backend) })
    }

    /// Which database it is.
    pub fn kind(&self) -> DatabaseKind {
        match &*self.backend {
            Backend::Sqlite(_) => DatabaseKind::Sqlite,
            Backend::Postgres(_) => DatabaseKind::Postgres,
        }
    }

    /// What makes further connections to the same Postgres, for a component with types and statements of its own; `None` with
    /// SQLite. The connections block, and are not part of the pool.
    pub fn postgres_connector(
        &self,
    ) -> Option<
        impl Fn() -> Result<::postgres::Client, DatabaseError> + Send + Sync + 'static + use<>,
    > {
        match &*self.backend {
            Backend::Sqlite(_) => None,
            Backend::Postgres(database) => {
                let config = Arc::clone(database.config());
                Some(move || postgres::connect_client(&config))
            }
        }
    }

    /// The file, if it is one.
    pub fn path(&self) -> Option<&Path> {
        match &*self.backend {
            Backend::Sqlite(database) => Some(database.path()),
            Backend::Postgres(_) => None,
        }
    }

    /// Applies a component's missing migrations, in one transaction, and returns how many were missing.
    pub async fn migrate(
        &self,
        component: &'static str,
        migrations: &'static [Migration],
    ) -> Result<usize, DatabaseError> {
        match &*self.backend {
            Backend::Sqlite(_) => {
                let work = move |transaction: &mut Transaction<'_>| {
                    migrations::migrate(transaction, component, migrations)
                };
                self.write(work).await
            }
            Backend::Postgres(database) => {
                let open = self.clone();
                let migrate = move || open.migrate_blocking(component, migrations);
                on_blocking_thread(&database.running, migrate).await
            }
        }
    }

    /// [`Database::migrate`] for callers on blocking threads.
    pub fn migrate_blocking(
        &self,
        component: &str,
        migrations: &[Migration],
    ) -> Result<usize, DatabaseError> {
        let component = component.to_owned();
        let migrations = migrations.to_vec();
        let work = move |transaction: &mut Transaction<'_>| {
            migrations::migrate(transaction, &component, &migrations)
        };
        self.write_alone_blocking(work)
    }

    /// [`Database::write_blocking`] while no other node does the same.
    fn write_alone_blocking<T: Send + 'static>(
        &self,
        work: impl FnMut(&mut Transaction<'_>) -> Result<T, DatabaseError> + Send + 'static,
    ) -> Result<T, DatabaseError> {
        match &*self.backend {
            Backend::Sqlite(_) => self.write_blocking(work),
            Backend::Postgres(database) => database.write_alone(work),
        }
    }

    /// Runs a function that reads. All its queries see the same state of the database.
    ///
    /// With Postgres it may run twice, when the first connection turns out to be closed.
    pub async fn read<T, E>(
        &self,
        work: impl FnMut(&mut Connection<'_>) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<DatabaseError> + Send + 'static,
    {
        let running = match &*self.backend {
            Backend::Sqlite(database) => &database.reading,
            Backend::Postgres(database) => &database.running,
        };
        let database = self.clone();
        on_blocking_thread(running, move || database.read_blocking(work)).await
    }

    /// [`Database::read`] for callers on blocking threads.
    ///
    /// With SQLite a query by key takes microseconds and never waits for a writer, so an async handler may call it as
    /// well. With Postgres that would panic.
    pub fn read_blocking<T, E: From<DatabaseError>>(
        &self,
        work: impl FnMut(&mut Connection<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        match &*self.backend {
            Backend::Sqlite(database) => database.read(work),
            Backend::Postgres(database) => database.read(work),
        }
    }

    /// Runs a function that writes, in a transaction of its own that no other disturbs. It is committed if the function
    /// returns `Ok`, and rolled back otherwise. When this returns `Ok`, the changes survive a power cut.
    ///
    /// With Postgres the function may run several times, whenever the database refuses the transaction in favour of
    /// another; it should therefore do nothing but use its transaction. Once queued it runs even if the caller goes away.
    pub async fn write<T, E>(
        &self,
        work: impl FnMut(&mut Transaction<'_>) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<DatabaseError> + Send + 'static,
    {
        match &*self.backend {
            Backend::Sqlite(database) => {
                let permit = Arc::clone(&database.writing).acquire_owned().await;
                let permit = permit.map_err(|_| DatabaseError::Closed)?;
                let (sender, receiver) = oneshot::channel();
                // The database stays open until the reply, which keeps a clone.
                let open = self.clone();
                database.enqueue(work, move |result| {
                    // The caller may be gone.
                    let _ = sender.send(result);
                    drop(permit);
                    drop(open);
                });
                receiver.await.unwrap_or_else(|_| Err(DatabaseError::Closed.into()))
            }
            Backend::Postgres(database) => {
                let open = self.clone();
                on_blocking_thread(&database.running, move || open.write_blocking(work)).await
            }
        }
    }

    /// [`Database::write`] for callers on blocking threads.
    pub fn write_blocking<T, E>(
        &self,
        work: impl FnMut(&mut Transaction<'_>) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<DatabaseError> + Send + 'static,
    {
        match &*self.backend {
            Backend::Sqlite(database) => {
                let (sender, receiver) = std::sync::mpsc::sync_channel(1);
                database.enqueue(work, move |result| {
                    let _ = sender.send(result);
                });
                receiver.recv().unwrap_or_else(|_| Err(DatabaseError::Closed.into()))
            }
            Backend::Postgres(database) => database.write(work),
        }
    }
}

/// Runs a function on a thread that may block, as many at a time as there are connections.
async fn on_blocking_thread<T, E>(
    running: &Arc<Semaphore>,
    work: impl FnOnce() -> Result<T, E> + Send + 'static,
) -> Result<T, E>
where
    T: Send + 'static,
    E: From<DatabaseError> + Send + 'static,
{
    let permit = Arc::clone(running).acquire_owned().await.map_err(|_| DatabaseError::Closed)?;
    let task = tokio::task::spawn_blocking(move || {
        let result = work();
        drop(permit);
        result
    });
    // A panic inside is caught and reported before; what is left is a runtime that shuts down.
    task.await.unwrap_or_else(|_| Err(DatabaseError::Closed.into()))
}
