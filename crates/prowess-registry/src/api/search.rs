//! `GET /search` and suggestions while typing.

use axum::Json;
use axum::extract::{RawQuery, State};
use prowess_server::Server;
use prowess_server::identity::ClientAddress;
use prowess_server::problem::{HandlerResult, ProblemDocument, invalid_input};
use serde_json::{Map, Value, json};

use super::limit_reads;
use super::parameters::QueryParameters;
use super::views::hit_json;
use crate::registry::Registry;
use crate::search::{SearchError, SearchFilters, SearchRequest, SearchSort};
use crate::viewer::Viewer;

/// Results on a page, and the most.
const PAGE: usize = 20;
const MAX_PAGE: usize = 100;
/// The last result that can be asked for.
const MAX_OFFSET: usize = 1_000;

/// Reads a search from the parameters of a query.
pub(crate) fn request_of(query: Option<&str>) -> Result<SearchRequest, ProblemDocument> {
    let query = QueryParameters::parse(query);
    let sort = match query.text("sort") {
        None | Some("") => SearchSort::Relevance,
        Some(text) => SearchSort::parse(text).ok_or_else(|| {
            invalid_input(
                "invalid-parameter",
                "`sort` is `relevance`, `downloads`, `updated` or `created`",
            )
        })?,
    };
    // The continuation is a number of results; a name of its own keeps clients from counting pages.
    let offset = if query.text("cursor").is_some() {
        query.number("cursor", 0, 0, MAX_OFFSET)?
    } else {
        query.number("offset", 0, 0, MAX_OFFSET)?
    };
    Ok(SearchRequest {
        text: query.text("q").unwrap_or_default().to_owned(),
        filters: SearchFilters {
            tag: query.list("tag")?,
            permission: query.list("permission")?,
            category: query.list("category")?,
            tier: query.list("tier")?,
            badge: query.list("badge")?,
            dialect: query.list("dialect")?,
            agent: query.list("agent")?,
            license: query.list("license")?,
            namespace: query.list("namespace")?,
        },
        sort,
        offset,
        limit: query.number("limit", PAGE, 1, MAX_PAGE)?,
        facets: query.text("facets") != Some("false"),
    })
}

#[utoipa::path(
    get, path = "/api/v1/search", tag = "search", summary = "Search skills",
    params(
        ("q" = Option<String>, Query, description = "The words to search for"),
        (
            "tag" = Option<String>, Query,
            description = "Only skills with one of these, separated by commas", max_length = 300
        ),
        (
            "tier" = Option<String>, Query,
            description = "Only skills with one of these, separated by commas", max_length = 300
        ),
        (
            "category" = Option<String>, Query,
            description = "Only skills with one of these, separated by commas", max_length = 300
        ),
        (
            "badge" = Option<String>, Query,
            description = "Only skills with one of these, separated by commas", max_length = 300
        ),
        (
            "permission" = Option<String>, Query,
            description = "Only skills with one of these, separated by commas", max_length = 300
        ),
        (
            "dialect" = Option<String>, Query,
            description = "Only skills with one of these, separated by commas", max_length = 300
        ),
        (
            "agent" = Option<String>, Query,
            description = "Only skills with one of these, separated by commas", max_length = 300
        ),
        (
            "license" = Option<String>, Query,
            description = "Only skills with one of these, separated by commas", max_length = 300
        ),
        (
            "namespace" = Option<String>, Query,
            description = "Only skills with one of these, separated by commas", max_length = 300
        ),
        (
            "sort" = Option<String>, Query, description = "The order",
            pattern = "^(relevance|downloads|updated|created)?$"
        ),
        (
            "limit" = Option<u32>, Query, description = "The length of a page", minimum = 1,
            maximum = 100
        ),
        (
            "cursor" = Option<u32>, Query, description = "The `next` of the page before",
            minimum = 0, maximum = 1000
        )
    ),
    responses((status = 200, description = "Success", body = Value))
)]
pub(super) async fn search(
    State(registry): State<Registry>,
    State(server): State<Server>,
    RawQuery(query): RawQuery,
    viewer: Viewer,
    address: ClientAddress,
) -> HandlerResult<Json<Value>> {
    limit_reads(&server, &viewer, address).await?;
    let request = request_of(query.as_deref())?;
    let found = tokio::task::spawn_blocking(move || registry.search_index().search(&request)).await;
    let found = found.map_err(|_| failed())?.map_err(|error| logged(&error))?;
    let results: Vec<Value> =
        found.hits.iter().map(|hit| hit_json(&hit.skill, &hit.matches)).collect();
    let facets: Map<String, Value> = found
        .facets
        .into_iter()
        .map(|(facet, counts)| {
            let counts =
                counts.into_iter().map(|(value, count)| json!({ "value": value, "count": count }));
            (facet, counts.collect::<Vec<Value>>().into())
        })
        .collect();
    Ok(Json(json!({
        "results": results,
        "total": found.total,
        "total_is_exact": found.total_is_exact,
        "facets": facets,
        "did_you_mean": found.did_you_mean,
        "next": found.next.map(|next| next.to_string()),
    })))
}

#[utoipa::path(
    get, path = "/api/v1/search/suggest", tag = "search", summary = "Suggest skills while typing",
    params(("q" = Option<String>, Query, description = "The beginning of a word")),
    responses((status = 200, description = "Success", body = Value))
)]
pub(super) async fn suggest(
    State(registry): State<Registry>,
    State(server): State<Server>,
    RawQuery(query): RawQuery,
    viewer: Viewer,
    address: ClientAddress,
) -> HandlerResult<Json<Value>> {
    limit_reads(&server, &viewer, address).await?;
    let query = QueryParameters::parse(query.as_deref());
    let text = query.text("q").unwrap_or_default().to_owned();
    let found = tokio::task::spawn_blocking(move || registry.search_index().suggest(&text)).await;
    let found = found.map_err(|_| failed())?.map_err(|error| logged(&error))?;
    Ok(Json(json!({ "suggestions": found })))
}

fn logged(error: &SearchError) -> ProblemDocument {
    tracing::error!(%error, "a search failed");
    failed()
}

fn failed() -> ProblemDocument {
    crate::error::RegistryError::of(
        "search-failed",
        prowess_core::ProblemKind::Internal,
        "the search failed",
    )
    .into()
}
