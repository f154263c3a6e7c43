//! `POST /trusted-publishing/token`: a CI run gets a token for a skill.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::extract::rejection::JsonRejection;
use axum::response::{IntoResponse as _, Response};
use http::StatusCode;
use prowess_server::identity::ClientAddress;
use prowess_server::limits::{Limit, address_subject};
use prowess_server::problem::HandlerResult;
use serde::Deserialize;
use serde_json::json;
use utoipa::ToSchema;

use super::parameters;
use crate::registry::Registry;

/// Exchanges of one address: each may make the registry ask the issuer for its keys.
const EXCHANGES: Limit =
    Limit { name: "registry-exchange", burst: 30, period: Duration::from_mins(1) };

/// The identity of a run, and what it wants to publish.
#[derive(Deserialize, ToSchema)]
pub(super) struct ExchangeBody {
    /// The identity token.
    token: String,
    namespace: String,
    name: String,
}

#[utoipa::path(
    post, path = "/api/v1/trusted-publishing/token", tag = "account",
    summary = "Exchange the identity token of a CI run for a token that publishes one skill",
    request_body = ExchangeBody, responses((status = 201, description = "Success", body = Value))
)]
pub(super) async fn exchange(
    State(registry): State<Registry>,
    ClientAddress(address): ClientAddress,
    body: Result<Json<ExchangeBody>, JsonRejection>,
) -> HandlerResult<Response> {
    let Json(body) = body?;
    let skill = parameters::skill(&body.namespace, &body.name)?;
    registry.server().limits().check(EXCHANGES, &address_subject(address)).await?;
    let (token, secret) = registry.exchange_identity(&body.token, &skill).await?;
    let body = json!({ "token": secret.expose(), "id": token.id, "expires_at": token.expires_at });
    Ok((StatusCode::CREATED, Json(body)).into_response())
}
