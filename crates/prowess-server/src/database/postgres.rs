//! Postgres: a bounded pool of connections on blocking threads.
//!
//! Writes are serializable, so that they mean the same as with SQLite's single writer. The server refuses some of them in
//! favour of others at the same time; those are repeated, within a bound.

use std::collections::HashMap;
use std::error::Error;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::BytesMut;
use postgres::config::{Host, SslMode};
use postgres::error::SqlState;
use postgres::fallible_iterator::FallibleIterator as _;
use postgres::types::{FromSql, IsNull, ToSql, Type, to_sql_checked};
use postgres::{Client, Config, IsolationLevel, NoTls, Statement};
use prowess_http::Authorities;
use tokio::sync::Semaphore;
use tokio_postgres_rustls::MakeRustlsConnect;

use super::connection::{Connection, Engine, Transaction};
use super::error::{ConstraintKind, DatabaseError};
use super::numeric;
use super::placeholders::to_postgres;
use super::pool::Pool;
use super::row::Row;
use super::value::Value;

/// How long a write is repeated when the server refuses it in favour of another.
const MOST_RETRYING: Duration = Duration::from_secs(15);

/// The longest pause before a write is repeated.
const LONGEST_PAUSE: Duration = Duration::from_millis(50);

/// How often a transaction is begun again on another connection.
const MOST_NOT_BEGUN: u32 = 3;

/// Prepared statements that a connection keeps.
const STATEMENTS: usize = 256;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// For every connection: no statement, lock or forgotten transaction lasts for ever.
const SETTINGS: &str = "
SET application_name = 'prowess';
SET statement_timeout = '60s';
SET lock_timeout = '15s';
SET idle_in_transaction_session_timeout = '60s';
SET client_min_messages = 'warning';
";

/// Waits for the lock of all nodes. The number means nothing.
const LOCK: &str = "
SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SELECT pg_advisory_lock(7276932017);
";

pub(super) struct PostgresDatabase {
    config: Arc<Config>,
    pool: Pool<PooledClient>,
    /// Async callers that may wait on a thread for a connection.
    pub(super) running: Arc<Semaphore>,
}

struct PooledClient {
    client: Client,
    statements: StatementCache,
    /// Whether it is to be closed instead of used again.
    is_broken: bool,
}

impl PostgresDatabase {
    /// Connects once, so that a wrong address is an error at the start.
    pub(super) fn open(url: &str, connections: usize) -> Result<PostgresDatabase, DatabaseError> {
        let mut config: Config = url.parse().map_err(|error: postgres::Error| {
            DatabaseError::Open { database: redacted(url), reason: error.to_string() }
        })?;
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(CONNECT_TIMEOUT);
        }
        let config = Arc::new(config);
        let pooled = Arc::clone(&config);
        let pool = Pool::new(connections, move || connect(&pooled));
        match pool.checkout() {
            Ok(client) => drop(client),
            Err(error) => {
                return Err(DatabaseError::Open {
                    database: redacted(url),
                    reason: match error {
                        DatabaseError::Unavailable(reason) => reason,
                        error => error.to_string(),
                    },
                });
            }
        }
        Ok(PostgresDatabase { config, pool, running: Arc::new(Semaphore::new(connections)) })
    }

    /// The settings of connections.
    pub(super) fn config(&self) -> &Arc<Config> {
        &self.config
    }

    pub(super) fn read<T, E: From<DatabaseError>>(
        &self,
        mut work: impl FnMut(&mut Connection<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        self.repeat(|client| client.read(&mut work))
    }

    pub(super) fn write<T, E: From<DatabaseError>>(
        &self,
        mut work: impl FnMut(&mut Transaction<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        self.repeat(|client| client.write(&mut work))
    }

    /// [`PostgresDatabase::write`] while no other node does the same, however long that takes. For migrations: a table that
    /// two nodes make at the same time is an error and not a conflict, which could be repeated.
    pub(super) fn write_alone<T, E: From<DatabaseError>>(
        &self,
        mut work: impl FnMut(&mut Transaction<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        self.repeat(|client| {
            // The lock ends with the session.
            if let Err(error) = client.client.batch_execute(LOCK) {
                client.is_broken = true;
                return Attempt::NotBegun(describe(&error));
            }
            let attempt = client.write(&mut work);
            client.is_broken = true;
            attempt
        })
    }

    /// Makes attempts until one has a result, the time is over, or the server is away.
    fn repeat<T, E: From<DatabaseError>>(
        &self,
        mut attempt: impl FnMut(&mut PooledClient) -> Attempt<T, E>,
    ) -> Result<T, E> {
        let deadline = Instant::now() + MOST_RETRYING;
        let mut pause = Duration::from_millis(1);
        let mut not_begun = 0;
        loop {
            let mut client = self.pool.checkout()?;
            let attempt = attempt(&mut client);
            if client.is_broken || client.client.is_closed() {
                client.discard();
            } else {
                drop(client);
            }
            match attempt {
                Attempt::Done(result) => return result,
                Attempt::NotBegun(error) => {
                    // When the server has restarted, all connections that were idle are closed, also those that others hold
                    // at this moment and give back.
                    drop(self.pool.take_idle());
                    not_begun += 1;
                    if not_begun > MOST_NOT_BEGUN {
                        return Err(error.into());
                    }
                }
                Attempt::Refused if Instant::now() >= deadline => {
                    return Err(DatabaseError::Busy.into());
                }
                Attempt::Refused => {
                    // Writers that were refused together must not come back together.
                    std::thread::sleep(random_part_of(pause));
                    pause = (pause * 2).min(LONGEST_PAUSE);
                }
            }
        }
    }
}

/// What came of one attempt at a transaction.
enum Attempt<T, E> {
    /// It is over: committed, or rolled back for good.
    Done(Result<T, E>),
    /// The connection can't begin a transaction.
    NotBegun(DatabaseError),
    /// The server refused it in favour of another.
    Refused,
}

impl PooledClient {
    fn read<T, E: From<DatabaseError>>(
        &mut self,
        work: &mut impl FnMut(&mut Connection<'_>) -> Result<T, E>,
    ) -> Attempt<T, E> {
        let PooledClient { client, statements, is_broken } = self;
        let begun = client
            .build_transaction()
            .isolation_level(IsolationLevel::RepeatableRead)
            .read_only(true)
            .start();
        let transaction = match begun {
            Ok(transaction) => transaction,
            Err(error) => {
                *is_broken = true;
                return Attempt::NotBegun(describe(&error));
            }
        };
        let connection = PostgresConnection { transaction, statements, must_repeat: false };
        let mut connection = Connection { engine: Engine::Postgres(connection) };
        let result = catch_unwind(AssertUnwindSafe(|| work(&mut connection)));
        let Engine::Postgres(PostgresConnection { transaction, must_repeat, .. }) =
            connection.engine
        else {
            unreachable!("it was made above")
        };
        *is_broken = transaction.rollback().is_err() || result.is_err();
        match result {
            Ok(Err(_)) if must_repeat => Attempt::Refused,
            Ok(result) => Attempt::Done(result),
            Err(_) => Attempt::Done(Err(DatabaseError::Panicked.into())),
        }
    }

    fn write<T, E: From<DatabaseError>>(
        &mut self,
        work: &mut impl FnMut(&mut Transaction<'_>) -> Result<T, E>,
    ) -> Attempt<T, E> {
        let PooledClient { client, statements, is_broken } = self;
        let begun =
            client.build_transaction().isolation_level(IsolationLevel::Serializable).start();
        let transaction = match begun {
            Ok(transaction) => transaction,
            Err(error) => {
                *is_broken = true;
                return Attempt::NotBegun(describe(&error));
            }
        };
        let connection = PostgresConnection { transaction, statements, must_repeat: false };
        let mut transaction = Transaction::new(Engine::Postgres(connection));
        let result = catch_unwind(AssertUnwindSafe(|| work(&mut transaction)));
        let Engine::Postgres(PostgresConnection { transaction, must_repeat, .. }) =
            transaction.into_engine()
        else {
            unreachable!("it was made above")
        };
        match result {
            Err(_) => {
                // Dropping it rolls back.
                drop(transaction);
                *is_broken = true;
                Attempt::Done(Err(DatabaseError::Panicked.into()))
            }
            // An error after a refused statement is a consequence of it, whatever the caller made of it.
            Ok(_) if must_repeat => {
                *is_broken = transaction.rollback().is_err();
                Attempt::Refused
            }
            Ok(Err(error)) => {
                *is_broken = transaction.rollback().is_err();
                Attempt::Done(Err(error))
            }
            Ok(Ok(value)) => match transaction.commit() {
                Ok(()) => Attempt::Done(Ok(value)),
                Err(error) if is_refused_in_favour_of_another(&error) => Attempt::Refused,
                Err(error) => {
                    *is_broken = true;
                    Attempt::Done(Err(describe(&error).into()))
                }
            },
        }
    }
}

impl Drop for PostgresDatabase {
    fn drop(&mut self) {
        // To close a client blocks, which is not allowed on a thread of an async runtime.
        let clients = self.pool.take_idle();
        if !clients.is_empty() {
            let _ = std::thread::Builder::new()
                .name("database-close".to_owned())
                .spawn(move || drop(clients));
        }
    }
}

fn random_part_of(pause: Duration) -> Duration {
    let mut byte = [0];
    // Without randomness the whole pause is taken.
    if getrandom::fill(&mut byte).is_err() {
        return pause;
    }
    pause.mul_f64(f64::from(byte[0]) / 255.0)
}

fn connect(config: &Config) -> Result<PooledClient, DatabaseError> {
    let client = connect_client(config)?;
    Ok(PooledClient { client, statements: StatementCache::default(), is_broken: false })
}

/// Connects, with TLS where the address asks for it.
pub(super) fn connect_client(config: &Config) -> Result<Client, DatabaseError> {
    let is_local = config.get_hosts().iter().all(|host| match host {
        Host::Tcp(host) => {
            host == "localhost"
                || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
        }
        #[cfg(unix)]
        Host::Unix(_) => true,
    });
    // Certificates of servers on the same machine are made by installers, and nobody signed them.
    let is_plain = match config.get_ssl_mode() {
        SslMode::Disable => true,
        SslMode::Prefer => is_local,
        _ => false,
    };
    let connected = if is_plain {
        config.connect(NoTls)
    } else {
        let tls = prowess_http::tls(Authorities::System)
            .map_err(|error| DatabaseError::Unavailable(error.to_string()))?;
        config.connect(MakeRustlsConnect::new(tls))
    };
    let mut client = connected.map_err(|error| DatabaseError::Unavailable(words(&error)))?;
    client.batch_execute(SETTINGS).map_err(|error| describe(&error))?;
    Ok(client)
}

/// The URL without its password.
pub(super) fn redacted(url: &str) -> String {
    let Ok(mut parsed) = url::Url::parse(url) else {
        return "postgres".to_owned();
    };
    // Both fail only for URLs without a host.
    let _ = parsed.set_password(None);
    parsed.set_query(None);
    parsed.to_string()
}

/// Prepared statements by the text that the caller knows.
#[derive(Default)]
struct StatementCache {
    statements: HashMap<String, Statement>,
}

/// A connection of Postgres inside a transaction.
pub(super) struct PostgresConnection<'a> {
    transaction: postgres::Transaction<'a>,
    statements: &'a mut StatementCache,
    /// Whether the server refused a statement in favour of another transaction.
    must_repeat: bool,
}

impl PostgresConnection<'_> {
    pub(super) fn for_each(
        &mut self,
        sql: &str,
        values: &[Value],
        mut row: impl FnMut(Row) -> Result<(), DatabaseError>,
    ) -> Result<(), DatabaseError> {
        let statement = self.prepare(sql)?;
        let columns: Arc<[String]> =
            statement.columns().iter().map(|column| column.name().to_owned()).collect();
        let read = self.read_rows(&statement, &columns, values, &mut row);
        read.map_err(|error| match error {
            RowsError::Postgres(error) => self.failed(&error),
            RowsError::Database(error) => error,
        })
    }

    fn read_rows(
        &mut self,
        statement: &Statement,
        columns: &Arc<[String]>,
        values: &[Value],
        row: &mut dyn FnMut(Row) -> Result<(), DatabaseError>,
    ) -> Result<(), RowsError> {
        let mut rows = self.transaction.query_raw(statement, values)?;
        while let Some(found) = rows.next()? {
            let mut values = Vec::with_capacity(columns.len());
            for (number, column) in columns.iter().enumerate() {
                let Decoded(value) = found.try_get(number).map_err(|_| DatabaseError::Type {
                    column: column.clone(),
                    expected: "a value of a portable type",
                })?;
                values.push(value);
            }
            row(Row::new(Arc::clone(columns), values))?;
        }
        Ok(())
    }

    pub(super) fn execute(&mut self, sql: &str, values: &[Value]) -> Result<u64, DatabaseError> {
        let statement = self.prepare(sql)?;
        let values: Vec<&(dyn ToSql + Sync)> =
            values.iter().map(|value| value as &(dyn ToSql + Sync)).collect();
        let result = self.transaction.execute(&statement, &values);
        result.map_err(|error| self.failed(&error))
    }

    pub(super) fn execute_batch(&mut self, sql: &str) -> Result<(), DatabaseError> {
        let result = self.transaction.batch_execute(sql);
        result.map_err(|error| self.failed(&error))
    }

    fn prepare(&mut self, sql: &str) -> Result<Statement, DatabaseError> {
        if let Some(statement) = self.statements.statements.get(sql) {
            return Ok(statement.clone());
        }
        let prepared = self.transaction.prepare(&to_postgres(sql));
        let statement = prepared.map_err(|error| self.failed(&error))?;
        if self.statements.statements.len() >= STATEMENTS {
            self.statements.statements.clear();
        }
        self.statements.statements.insert(sql.to_owned(), statement.clone());
        Ok(statement)
    }

    fn failed(&mut self, error: &postgres::Error) -> DatabaseError {
        if is_refused_in_favour_of_another(error) {
            self.must_repeat = true;
        }
        // A migration has changed the columns of a prepared statement.
        if error.code() == Some(&SqlState::FEATURE_NOT_SUPPORTED) {
            self.statements.statements.clear();
            self.must_repeat = true;
        }
        describe(error)
    }
}

/// Why reading rows ended early.
enum RowsError {
    Postgres(postgres::Error),
    Database(DatabaseError),
}

impl From<postgres::Error> for RowsError {
    fn from(error: postgres::Error) -> RowsError {
        RowsError::Postgres(error)
    }
}

impl From<DatabaseError> for RowsError {
    fn from(error: DatabaseError) -> RowsError {
        RowsError::Database(error)
    }
}

fn is_refused_in_favour_of_another(error: &postgres::Error) -> bool {
    error.code().is_some_and(|code| {
        *code == SqlState::T_R_SERIALIZATION_FAILURE || *code == SqlState::T_R_DEADLOCK_DETECTED
    })
}

/// The error without its detail, which repeats values.
fn describe(error: &postgres::Error) -> DatabaseError {
    let Some(refused) = error.as_db_error() else {
        return if error.is_closed() || error.source().is_some_and(<dyn Error>::is::<std::io::Error>)
        {
            DatabaseError::Unavailable(words(error))
        } else {
            DatabaseError::Statement(words(error))
        };
    };
    let code = refused.code();
    let kind = if *code == SqlState::UNIQUE_VIOLATION {
        ConstraintKind::Unique
    } else if *code == SqlState::FOREIGN_KEY_VIOLATION {
        ConstraintKind::ForeignKey
    } else if *code == SqlState::NOT_NULL_VIOLATION {
        ConstraintKind::NotNull
    } else if *code == SqlState::CHECK_VIOLATION {
        ConstraintKind::Check
    } else if [
        SqlState::T_R_SERIALIZATION_FAILURE,
        SqlState::T_R_DEADLOCK_DETECTED,
        SqlState::LOCK_NOT_AVAILABLE,
        SqlState::QUERY_CANCELED,
        SqlState::TOO_MANY_CONNECTIONS,
    ]
    .contains(code)
    {
        return DatabaseError::Busy;
    } else if [
        SqlState::ADMIN_SHUTDOWN,
        SqlState::CRASH_SHUTDOWN,
        SqlState::CANNOT_CONNECT_NOW,
        SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT,
    ]
    .contains(code)
    {
        return DatabaseError::Unavailable(refused.message().to_owned());
    } else {
        return DatabaseError::Statement(refused.message().to_owned());
    };
    let name = refused.constraint().or(refused.column()).unwrap_or_default();
    DatabaseError::Constraint { kind, name: name.to_owned() }
}

/// The words of an error and its causes.
fn words(error: &postgres::Error) -> String {
    let mut words = error
        .as_db_error()
        .map_or_else(|| error.to_string(), |refused| refused.message().to_owned());
    let mut cause = error.source().filter(|_| error.as_db_error().is_none());
    while let Some(error) = cause {
        let text = error.to_string();
        if !words.contains(&text) {
            words.push_str(": ");
            words.push_str(&text);
        }
        cause = error.source();
    }
    words
}

impl ToSql for Value {
    fn to_sql(
        &self,
        kind: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        match self {
            Value::Null => Ok(IsNull::Yes),
            Value::Integer(value) => match *kind {
                // In a table that another program has made.
                Type::BOOL if matches!(value, 0 | 1) => (*value == 1).to_sql(kind, out),
                Type::INT2 => i16::try_from(*value)?.to_sql(kind, out),
                Type::INT4 => i32::try_from(*value)?.to_sql(kind, out),
                Type::INT8 => value.to_sql(kind, out),
                #[expect(clippy::cast_precision_loss, reason = "the column holds real numbers")]
                Type::FLOAT8 => (*value as f64).to_sql(kind, out),
                Type::NUMERIC => {
                    numeric::write(*value, out);
                    Ok(IsNull::No)
                }
                _ => Err(mismatch(kind, "a whole number")),
            },
            Value::Real(value) => match *kind {
                Type::FLOAT8 => value.to_sql(kind, out),
                #[expect(clippy::cast_possible_truncation, reason = "the column is that small")]
                Type::FLOAT4 => (*value as f32).to_sql(kind, out),
                _ => Err(mismatch(kind, "a real number")),
            },
            Value::Text(value) if <&str as ToSql>::accepts(kind) => value.to_sql(kind, out),
            Value::Text(_) => Err(mismatch(kind, "text")),
            Value::Blob(value) if *kind == Type::BYTEA => value.to_sql(kind, out),
            Value::Blob(_) => Err(mismatch(kind, "bytes")),
        }
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

fn mismatch(kind: &Type, given: &str) -> Box<dyn Error + Sync + Send> {
    format!("a parameter of the type {kind} was given {given}").into()
}

/// A value as it is read.
struct Decoded(Value);

impl<'a> FromSql<'a> for Decoded {
    fn from_sql(kind: &Type, raw: &'a [u8]) -> Result<Decoded, Box<dyn Error + Sync + Send>> {
        Ok(Decoded(match *kind {
            Type::BOOL => Value::from(bool::from_sql(kind, raw)?),
            Type::INT2 => Value::Integer(i16::from_sql(kind, raw)?.into()),
            Type::INT4 => Value::Integer(i32::from_sql(kind, raw)?.into()),
            Type::INT8 => Value::Integer(i64::from_sql(kind, raw)?),
            Type::FLOAT4 => Value::Real(f32::from_sql(kind, raw)?.into()),
            Type::FLOAT8 => Value::Real(f64::from_sql(kind, raw)?),
            // Sums of whole numbers.
            Type::NUMERIC => numeric::read(raw).ok_or("the number is out of range")?,
            Type::BYTEA => Value::Blob(<&[u8]>::from_sql(kind, raw)?.to_vec()),
            _ => Value::Text(<&str>::from_sql(kind, raw)?.to_owned()),
        }))
    }

    fn from_sql_null(_: &Type) -> Result<Decoded, Box<dyn Error + Sync + Send>> {
        Ok(Decoded(Value::Null))
    }

    fn accepts(kind: &Type) -> bool {
        [
            Type::BOOL,
            Type::INT2,
            Type::INT4,
            Type::INT8,
            Type::FLOAT4,
            Type::FLOAT8,
            Type::NUMERIC,
            Type::BYTEA,
        ]
        .contains(kind)
            || <&str as FromSql>::accepts(kind)
    }
}
