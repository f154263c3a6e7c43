//! ClawHub's HTTP API below `/clawhub`, for clients that read: search, explore, inspect, install, update, and signing in with
//! a token.
//!
//! Its slugs have no namespace; `ownerHandle` has it. Errors are plain text there.

mod skills;
mod text;

use axum::Json;
use axum::Router;
use axum::extract::State;
use axum::routing::get;
use http::{HeaderMap, header};
use prowess_server::Server;
use serde_json::{Value, json};

use crate::app::AppState;

pub(super) fn router() -> Router<AppState> {
    Router::new()
        .route("/.well-known/clawhub.json", get(discovery))
        .route("/.well-known/clawdhub.json", get(discovery))
        .route("/clawhub/.well-known/clawhub.json", get(discovery))
        .route("/clawhub/api/v1/search", get(skills::search))
        .route("/clawhub/api/v1/skills", get(skills::list))
        .route("/clawhub/api/v1/skills/{a}", get(skills::skill))
        .route("/clawhub/api/v1/skills/{a}/versions", get(skills::versions))
        .route("/clawhub/api/v1/skills/{a}/versions/{b}", get(skills::version))
        .route("/clawhub/api/v1/download", get(skills::download))
        .route("/clawhub/api/v1/resolve", get(skills::resolve))
        .route("/clawhub/api/v1/whoami", get(skills::whoami))
}

/// Where the API is. Clients want an absolute address: the configured one, or the one that they have used themselves.
async fn discovery(State(server): State<Server>, headers: HeaderMap) -> Json<Value> {
    let base = match server.public_url() {
        Some(url) => url.as_str().trim_end_matches('/').to_owned(),
        None => {
            let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
            format!("http://{}", host.unwrap_or("127.0.0.1"))
        }
    };
    Json(json!({ "apiBase": format!("{base}/clawhub"), "registry": format!("{base}/clawhub") }))
}
