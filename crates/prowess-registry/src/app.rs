//! The router: the API, the adapters for other clients, the pages, health and metrics.

use std::time::Duration;

use axum::Router;
use axum::extract::FromRef;
use axum::middleware::from_fn_with_state;
use axum::routing::{any, get};
use prowess_mcp::PublishedMcp;
use prowess_package::limits::PackageLimits;
use prowess_server::Server;
use prowess_server::health::{get_health, get_ready};
use prowess_server::http::{LayerOptions, with_layers};

use crate::registry::Registry;
use crate::{adapters, api, mcp, pages};

/// The largest upload: a package, and what surrounds it in a form.
pub const MAX_UPLOAD_BYTES: usize = (50 << 20) + (64 << 10);
const _: () = assert!(MAX_UPLOAD_BYTES as u64 > PackageLimits::PACKAGE.archive_bytes);
/// How long a client may pause during an upload.
const UPLOAD_PAUSE: Duration = Duration::from_secs(30);

/// What handlers get.
#[derive(Clone)]
pub struct AppState {
    /// The registry.
    pub registry: Registry,
    /// Accounts, limits, audit.
    pub server: Server,
    /// The public skills over MCP.
    mcp: PublishedMcp,
}

impl FromRef<AppState> for Server {
    fn from_ref(state: &AppState) -> Self {
        state.server.clone()
    }
}

impl FromRef<AppState> for PublishedMcp {
    fn from_ref(state: &AppState) -> Self {
        state.mcp.clone()
    }
}

impl FromRef<AppState> for Registry {
    fn from_ref(state: &AppState) -> Self {
        state.registry.clone()
    }
}

/// The routes of the API. Those of a mirror ask the upstream registry where they have no answer.
fn api(state: &AppState) -> Router<AppState> {
    let router = api::router();
    if state.registry.mirror().is_none() {
        return router;
    }
    router.layer(from_fn_with_state(state.clone(), api::answer_from_mirror))
}

/// The whole router.
pub fn router(registry: &Registry) -> Router {
    let server = registry.server().clone();
    let state =
        AppState { registry: registry.clone(), server: server.clone(), mcp: mcp::server(registry) };
    let router = Router::new()
        .route("/health", get(get_health))
        .route("/ready", get(get_ready))
        .route("/mcp", any(mcp::answer))
        .merge(api(&state))
        .merge(adapters::router())
        .merge(pages::router(&state))
        .fallback(pages::get_nothing)
        .with_state(state);
    let options = LayerOptions { body_timeout: UPLOAD_PAUSE, ..LayerOptions::default() };
    with_layers(router, &server, options)
}
