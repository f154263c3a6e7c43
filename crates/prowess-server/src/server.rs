//! The handle that routers carry in their state.

use std::sync::Arc;
use std::time::Duration;

use ipnet::IpNet;
use url::Url;

use crate::accounts::Accounts;
use crate::audit::AuditLog;
use crate::clock::{SharedClock, SystemClock};
use crate::database::{Database, DatabaseError, DatabaseKind};
use crate::health::Health;
use crate::limits::{LimitStore, Limits};
use crate::log_in::LogIns;
use crate::metrics::Metrics;
use crate::schema::COMPONENT;
use crate::sessions::Sessions;
use crate::tokens::ApiTokens;
use crate::web_sessions::WebSessions;

/// How often expired rows are removed.
const MAINTENANCE: Duration = Duration::from_mins(10);

/// Options of a server.
pub struct ServerOptions {
    /// The name, such as `prowess-registry`: that of the cookie, and the issuer of access tokens.
    pub name: &'static str,
    /// The database.
    pub database: Database,
    /// The time.
    pub clock: SharedClock,
    /// The address under which users reach the server. If it is HTTPS, cookies are sent over HTTPS only.
    pub public_url: Option<Url>,
    /// The networks of the reverse proxies whose `X-Forwarded-For` is believed.
    pub trusted_proxies: Vec<IpNet>,
    /// Where rate limits are counted.
    pub limit_store: LimitStore,
}

impl ServerOptions {
    /// The usual options: limits are counted in memory with SQLite, which has one node, and in the database with Postgres.
    pub fn new(name: &'static str, database: Database) -> ServerOptions {
        let limit_store = match database.kind() {
            DatabaseKind::Sqlite => LimitStore::Memory,
            DatabaseKind::Postgres => LimitStore::Database,
        };
        ServerOptions {
            name,
            database,
            clock: Arc::new(SystemClock),
            public_url: None,
            trusted_proxies: Vec::new(),
            limit_store,
        }
    }
}

/// What handlers need. Clones are cheap and share everything.
#[derive(Clone)]
pub struct Server {
    shared: Arc<Shared>,
}

struct Shared {
    name: &'static str,
    database: Database,
    clock: SharedClock,
    public_url: Option<Url>,
    trusted_proxies: Vec<IpNet>,
    accounts: Arc<Accounts>,
    log_ins: LogIns,
    sessions: Sessions,
    tokens: ApiTokens,
    web_sessions: WebSessions,
    limits: Arc<Limits>,
    audit: Arc<AuditLog>,
    metrics: Metrics,
    health: Health,
}

impl Server {
    /// Prepares a server: the tables of this crate are brought up to date. This blocks; with Postgres it must not be called
    /// on a thread of an async runtime, see [`Server::start`].
    pub fn new(options: ServerOptions) -> Result<Server, DatabaseError> {
        options.database.migrate_blocking(COMPONENT.name, COMPONENT.migrations)?;
        Ok(Server::with_tables(options))
    }

    /// [`Server::new`] for async callers.
    pub async fn start(options: ServerOptions) -> Result<Server, DatabaseError> {
        options.database.migrate(COMPONENT.name, COMPONENT.migrations).await?;
        Ok(Server::with_tables(options))
    }

    fn with_tables(options: ServerOptions) -> Server {
        let ServerOptions { name, database, clock, public_url, trusted_proxies, limit_store } =
            options;
        let is_secure = is_https(public_url.as_ref());
        let accounts = Arc::new(Accounts::new(database.clone(), clock.clone()));
        let limits = Arc::new(Limits::new(limit_store, database.clone(), clock.clone()));
        let audit = Arc::new(AuditLog::new(database.clone(), clock.clone()));
        let shared = Shared {
            name,
            log_ins: LogIns {
                accounts: Arc::clone(&accounts),
                limits: Arc::clone(&limits),
                audit: Arc::clone(&audit),
            },
            sessions: Sessions::new(database.clone(), clock.clone(), name),
            tokens: ApiTokens::new(database.clone(), clock.clone()),
            web_sessions: WebSessions::new(database.clone(), clock.clone(), name, is_secure),
            metrics: Metrics::new(),
            health: Health::new(database.clone()),
            accounts,
            limits,
            audit,
            database,
            clock,
            public_url,
            trusted_proxies,
        };
        Server { shared: Arc::new(shared) }
    }

    /// The name of the server.
    pub fn name(&self) -> &'static str {
        self.shared.name
    }

    /// The database.
    pub fn database(&self) -> &Database {
        &self.shared.database
    }

    /// The time.
    pub fn clock(&self) -> &SharedClock {
        &self.shared.clock
    }

    /// The address under which users reach the server.
    pub fn public_url(&self) -> Option<&Url> {
        self.shared.public_url.as_ref()
    }

    /// The networks of trusted reverse proxies.
    pub fn trusted_proxies(&self) -> &[IpNet] {
        &self.shared.trusted_proxies
    }

    /// The users.
    pub fn accounts(&self) -> &Accounts {
        &self.shared.accounts
    }

    /// Logging in.
    pub fn log_ins(&self) -> &LogIns {
        &self.shared.log_ins
    }

    /// The sessions of programs.
    pub fn sessions(&self) -> &Sessions {
        &self.shared.sessions
    }

    /// The API tokens.
    pub fn tokens(&self) -> &ApiTokens {
        &self.shared.tokens
    }

    /// The sessions of browsers.
    pub fn web_sessions(&self) -> &WebSessions {
        &self.shared.web_sessions
    }

    /// The rate limits.
    pub fn limits(&self) -> &Limits {
        &self.shared.limits
    }

    /// The audit log.
    pub fn audit(&self) -> &AuditLog {
        &self.shared.audit
    }

    /// The metrics.
    pub fn metrics(&self) -> &Metrics {
        &self.shared.metrics
    }

    /// Liveness and readiness.
    pub fn health(&self) -> &Health {
        &self.shared.health
    }

    pub(crate) fn is_https(&self) -> bool {
        is_https(self.public_url())
    }

    /// Removes what has expired, once.
    pub async fn maintain(&self) -> Result<(), DatabaseError> {
        let now = self.clock().now();
        self.sessions().maintain().await?;
        self.web_sessions().sweep().await?;
        self.limits().sweep().await?;
        self.database()
            .write(move |transaction| {
                for table in ["one_time_links", "used_identity_tokens", "company_log_ins"] {
                    let sql = format!("DELETE FROM {table} WHERE expires_at <= ?1");
                    transaction.execute(&sql, &crate::values![now])?;
                }
                Ok(())
            })
            .await
    }

    /// Removes what has expired, again and again, until the future is dropped.
    pub async fn maintain_forever(&self) {
        loop {
            if let Err(error) = self.maintain().await {
                tracing::warn!(%error, "cannot remove what has expired, trying again later");
            }
            tokio::time::sleep(MAINTENANCE).await;
        }
    }
}

fn is_https(url: Option<&Url>) -> bool {
    url.is_some_and(|url| url.scheme() == "https")
}
