//! Other clients' protocols, one folder each. They read a request, call the registry, and render what that client expects.

mod clawhub;
mod skills_cli;

use axum::Router;

use crate::app::AppState;

/// The routes of all adapters.
pub(crate) fn router() -> Router<AppState> {
    Router::new().merge(clawhub::router()).merge(skills_cli::router())
}
