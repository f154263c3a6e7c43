//! `GET /api/v1/index/{namespace}/{name}`: the sparse index.

use axum::extract::{Path, State};
use axum::response::Response;
use http::HeaderMap;
use prowess_server::problem::HandlerResult;

use super::parameters;
use super::{Content, respond};
use crate::error::RegistryError;
use crate::registry::Registry;
use crate::viewer::Viewer;

#[utoipa::path(
    get, path = "/api/v1/index/{namespace}/{name}", tag = "skills",
    summary = "Return the index of a skill",
    params(
        ("namespace" = String, Path, description = "The namespace"),
        ("name" = String, Path, description = "The name of the skill")
    ),
    responses(
        (
            status = 200, description = "One JSON object a line", body = String,
            content_type = "application/jsonl"
        )
    )
)]
pub(super) async fn index(
    State(registry): State<Registry>,
    Path((namespace, name)): Path<(String, String)>,
    viewer: Viewer,
    headers: HeaderMap,
) -> HandlerResult<Response> {
    let skill = parameters::skill(&namespace, &name)?;
    let body = registry.index(&skill, &viewer).await?.ok_or_else(RegistryError::no_skill)?;
    Ok(respond(
        &headers,
        Content {
            bytes: body.text.into(),
            content_type: "application/jsonl",
            tag: None,
            is_public: body.is_public,
            file_name: None,
        },
    ))
}
