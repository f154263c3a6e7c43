//! ClawHub's HTTP API below `/clawhub`: search, explore, inspect, install, update, publish, delete, and signing in with a token.
//!
//! Its slugs have no namespace; `ownerHandle` has it. Errors are plain text there.

mod publish;
mod skills;
mod text;

use axum::Json;
use axum::Router;
use axum::extract::{DefaultBodyLimit, State};
use axum::routing::{get, post};
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
        .route("/clawhub/api/v1/skills", get(skills::list).post(publish::publish))
        .route("/clawhub/api/v1/skills/-/upload-url", post(publish::upload_url))
        .route(
            "/clawhub/api/v1/skills/-/uploads/{a}",
            post(publish::upload).layer(DefaultBodyLimit::max(publish::MAX_FILE_BYTES)),
        )
        .route("/clawhub/api/v1/skills/{a}", get(skills::skill).delete(publish::delete))
        .route("/clawhub/api/v1/skills/{a}/versions", get(skills::versions))
        .route("/clawhub/api/v1/skills/{a}/versions/{b}", get(skills::version))
        .route("/clawhub/api/v1/download", get(skills::download))
        .route("/clawhub/api/v1/resolve", get(skills::resolve))
        .route("/clawhub/api/v1/whoami", get(skills::whoami))
}

/// Where the API is. Clients want an absolute address.
async fn discovery(State(server): State<Server>, headers: HeaderMap) -> Json<Value> {
    let base = base(&server, &headers);
    Json(json!({ "apiBase": format!("{base}/clawhub"), "registry": format!("{base}/clawhub") }))
}

/// The configured address of the registry, or the one that the client has used itself.
fn base(server: &Server, headers: &HeaderMap) -> String {
    if let Some(url) = server.public_url() {
        return url.as_str().trim_end_matches('/').to_owned();
    }
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
    format!("http://{}", host.unwrap_or("127.0.0.1"))
}
