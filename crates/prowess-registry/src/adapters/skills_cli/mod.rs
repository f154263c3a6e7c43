//! The endpoints of the `skills` command line: its search. It installs through `.well-known`, which every registry has.

use axum::Json;
use axum::Router;
use axum::extract::{RawQuery, State};
use axum::routing::get;
use prowess_server::problem::HandlerResult;
use serde_json::{Value, json};

use crate::app::AppState;
use crate::error::RegistryError;
use crate::registry::Registry;
use crate::search::{SearchFilters, SearchRequest};

/// Results if the client does not say how many.
const PAGE: usize = 10;
const MAX_PAGE: usize = 100;

pub(super) fn router() -> Router<AppState> {
    Router::new().route("/api/search", get(search))
}

/// `GET /api/search?q&limit&owner`.
async fn search(
    State(registry): State<Registry>,
    RawQuery(query): RawQuery,
) -> HandlerResult<Json<Value>> {
    let pairs = url::form_urlencoded::parse(query.as_deref().unwrap_or_default().as_bytes());
    let pairs: Vec<(String, String)> =
        pairs.map(|(name, value)| (name.into_owned(), value.into_owned())).collect();
    let text = |name: &str| {
        let found = pairs.iter().find(|(known, value)| known == name && !value.is_empty());
        found.map(|(_, value)| value.clone())
    };
    let limit = text("limit").and_then(|limit| limit.parse().ok()).unwrap_or(PAGE);
    let request = SearchRequest {
        text: text("q").unwrap_or_default(),
        filters: SearchFilters {
            namespace: text("owner").into_iter().collect(),
            ..SearchFilters::default()
        },
        limit: limit.clamp(1, MAX_PAGE),
        ..SearchRequest::default()
    };
    let failed = || {
        RegistryError::of("search-failed", prowess_core::ProblemKind::Internal, "the search failed")
    };
    let found = tokio::task::spawn_blocking(move || registry.search_index().search(&request)).await;
    let found = found.map_err(|_| failed())?.map_err(|_| failed())?;
    let skills: Vec<Value> = found
        .hits
        .iter()
        .map(|hit| {
            let skill = &hit.skill;
            json!({
                "id": format!("{}/{}", skill.namespace, skill.name),
                "skillId": skill.name,
                "name": skill.name,
                "installs": skill.downloads,
                "source": skill.namespace,
                "description": skill.description,
            })
        })
        .collect();
    Ok(Json(json!({ "skills": skills, "count": found.total })))
}
