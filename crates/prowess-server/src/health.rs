//! Whether the process lives, and whether it can serve requests.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use futures_util::future::BoxFuture;
use http::StatusCode;
use http::header::{CACHE_CONTROL, HeaderValue};
use serde_json::{Map, Value, json};

use crate::Server;
use crate::database::{Database, DatabaseError};

/// How long a check may take.
const CHECK_TIMEOUT: Duration = Duration::from_secs(2);

type Check = Arc<dyn Fn() -> BoxFuture<'static, Result<(), String>> + Send + Sync>;

/// What a server's readiness depends on.
pub struct Health {
    database: Database,
    checks: Mutex<Vec<(&'static str, Check)>>,
    is_draining: AtomicBool,
}

/// Whether a server can serve requests, and each thing that it depends on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Readiness {
    /// Whether all of it works and the server is not being stopped.
    pub is_ready: bool,
    /// Each check with its error.
    pub checks: Vec<(&'static str, Result<(), String>)>,
}

impl Health {
    pub(crate) fn new(database: Database) -> Health {
        Health { database, checks: Mutex::new(Vec::new()), is_draining: AtomicBool::new(false) }
    }

    /// Adds something that the server depends on. The error is shown to whoever asks, so it names no secret.
    pub fn add_check<F>(&self, name: &'static str, check: impl Fn() -> F + Send + Sync + 'static)
    where
        F: Future<Output = Result<(), String>> + Send + 'static,
    {
        let check: Check = Arc::new(move || Box::pin(check()));
        self.checks.lock().unwrap_or_else(PoisonError::into_inner).push((name, check));
    }

    /// From now on the server is not ready, so that a load balancer sends requests elsewhere.
    pub fn start_draining(&self) {
        self.is_draining.store(true, Ordering::Relaxed);
    }

    /// Runs all checks.
    pub async fn readiness(&self) -> Readiness {
        let mut checks = vec![("database", self.check_database().await)];
        let added = self.checks.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for (name, check) in added {
            checks.push((name, within_timeout(check()).await));
        }
        let is_draining = self.is_draining.load(Ordering::Relaxed);
        let is_ready = !is_draining && checks.iter().all(|(_, result)| result.is_ok());
        Readiness { is_ready, checks }
    }

    async fn check_database(&self) -> Result<(), String> {
        let query = self.database.read(|connection| {
            connection.query_one("SELECT 1 AS one", &[])?;
            Ok::<_, DatabaseError>(())
        });
        within_timeout(async {
            query.await.map_err(|error| {
                tracing::warn!(%error, "the database does not answer");
                "the database does not answer".to_owned()
            })
        })
        .await
    }
}

async fn within_timeout(check: impl Future<Output = Result<(), String>>) -> Result<(), String> {
    tokio::time::timeout(CHECK_TIMEOUT, check)
        .await
        .unwrap_or_else(|_| Err("no answer in time".to_owned()))
}

/// `GET /health`: the process lives. It asks nobody, so that a broken database does not get it restarted.
#[expect(clippy::unused_async, reason = "a handler")]
pub async fn get_health() -> Response {
    let headers = [(CACHE_CONTROL, HeaderValue::from_static("no-store"))];
    (headers, Json(json!({ "status": "ok", "version": env!("CARGO_PKG_VERSION") }))).into_response()
}

/// `GET /ready`: 200 if the server can serve requests, else 503, with each check.
pub async fn get_ready(State(server): State<Server>) -> Response {
    let Readiness { is_ready, checks } = server.health().readiness().await;
    let (status, word) = if is_ready {
        (StatusCode::OK, "ready")
    } else {
        (StatusCode::SERVICE_UNAVAILABLE, "not ready")
    };
    let checks: Map<String, Value> = checks
        .into_iter()
        .map(|(name, result)| (name.to_owned(), result.err().unwrap_or("ok".to_owned()).into()))
        .collect();
    let headers = [(CACHE_CONTROL, HeaderValue::from_static("no-store"))];
    (status, headers, Json(json!({ "status": word, "checks": checks }))).into_response()
}
