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
