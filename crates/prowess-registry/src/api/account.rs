//! The caller's account and tokens.

use std::time::Duration;

use axum::Json;
use axum::extract::rejection::JsonRejection;
use axum::extract::{Path, State};
use axum::response::{IntoResponse as _, Response};
use http::StatusCode;
use prowess_server::Secret;
use prowess_server::Server;
use prowess_server::identity::{ClientAddress, CurrentUser};
use prowess_server::log_in::LogIn;
use prowess_server::problem::{HandlerResult, invalid_input};
use prowess_server::tokens::{NewApiToken, Scope};
use serde::Deserialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

use super::Caller;
use crate::actor::Action;
use crate::registry::Registry;

/// A day.
const DAY: Duration = Duration::from_hours(24);
/// For how long a token of `log-in` is valid.
const LOG_IN_DAYS: u32 = 90;

/// A new token.
#[derive(Deserialize, ToSchema)]
pub(super) struct TokenBody {
    name: String,
    #[serde(default)]
    scopes: Vec<String>,
    #[serde(default)]
    days: Option<u32>,
}

/// A name and a password.
#[derive(Deserialize, ToSchema)]
pub(super) struct LogInBody {
    username: String,
    password: String,
    #[serde(default)]
    code: Option<String>,
}

/// `GET /whoami`.
#[utoipa::path(
    get, path = "/api/v1/whoami", tag = "account", summary = "Return the caller's account",
    responses((status = 200, description = "Success", body = Value)), security(("token" = []))
)]
pub(super) async fn whoami(
    State(registry): State<Registry>,
    Caller(actor): Caller,
) -> HandlerResult<Json<Value>> {
    let account = registry.account(&actor).await?;
    let namespaces = account
        .memberships
        .iter()
        .map(|it| json!({ "namespace": it.namespace, "kind": it.kind, "role": it.role }));
    let invitations = account.invitations.iter().map(|it| {
        json!({ "namespace": it.namespace, "role": it.role, "invited_by": it.invited_by, "transfer": it.is_transfer })
    });
    let scopes = actor
        .scopes
        .as_ref()
        .map(|scopes| scopes.iter().map(ToString::to_string).collect::<Vec<_>>());
    Ok(Json(json!({
        "username": actor.username,
        "administrator": actor.is_administrator,
        "namespaces": namespaces.collect::<Vec<Value>>(),
        "invitations": invitations.collect::<Vec<Value>>(),
        "scopes": scopes,
    })))
}

/// `GET /tokens`: the caller's tokens, without their secrets.
#[utoipa::path(
    get, path = "/api/v1/tokens", tag = "account",
    summary = "List the caller's tokens, without their secrets",
    responses((status = 200, description = "Success", body = Value)), security(("token" = []))
)]
pub(super) async fn list_tokens(
    State(server): State<Server>,
    CurrentUser(identity): CurrentUser,
) -> HandlerResult<Json<Value>> {
    identity.require_person()?;
    let tokens = server.tokens().of_user(&identity.user.id).await?;
    Ok(Json(json!({ "tokens": tokens })))
}

/// `POST /tokens`: makes a token. Its secret is in this response and nowhere else.
#[utoipa::path(
    post, path = "/api/v1/tokens", tag = "account", summary = "Create a token",
    description = "Its secret is in this response and nowhere else.", request_body = TokenBody,
    responses((status = 201, description = "Success", body = Value)), security(("token" = []))
)]
pub(super) async fn create_token(
    State(server): State<Server>,
    CurrentUser(identity): CurrentUser,
    body: Result<Json<TokenBody>, JsonRejection>,
) -> HandlerResult<Response> {
    identity.require_person()?;
    let Json(body) = body?;
    let scopes: Result<Vec<Scope>, _> =
        body.scopes.iter().map(|scope| Action::parse_scope(scope)).collect();
    let scopes = scopes.map_err(|error| invalid_input("invalid-scope", error))?;
    let new = NewApiToken {
        user_id: identity.user.id.clone(),
        name: body.name,
        scopes,
        lifetime: body.days.map(|days| DAY * days),
    };
    let (token, secret) = server.tokens().create(new).await?;
    let body = json!({ "token": secret.expose(), "id": token.id, "expires_at": token.expires_at });
    Ok((StatusCode::CREATED, Json(body)).into_response())
}

/// `DELETE /tokens/{id}`.
#[utoipa::path(
    delete, path = "/api/v1/tokens/{id}", tag = "account", summary = "Revoke a token",
    params(("id" = String, Path, description = "The identifier of the token")),
    responses((status = 204, description = "Done")), security(("token" = []))
)]
pub(super) async fn revoke_token(
    State(server): State<Server>,
    CurrentUser(identity): CurrentUser,
    Path(id): Path<String>,
) -> HandlerResult<StatusCode> {
    server.tokens().revoke(&identity.user.id, &id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// `POST /log-in`: a token for a command line, from a name and a password. The password itself is not kept by the client.
#[utoipa::path(
    post, path = "/api/v1/log-in", tag = "account",
    summary = "Return a token for a name and a password", request_body = LogInBody,
    responses((status = 201, description = "Success", body = Value))
)]
pub(super) async fn log_in(
    State(server): State<Server>,
    ClientAddress(address): ClientAddress,
    body: Result<Json<LogInBody>, JsonRejection>,
) -> HandlerResult<Response> {
    let Json(body) = body?;
    let log_in = LogIn {
        username: body.username,
        password: Secret::new(body.password),
        code: body.code.map(Secret::new),
        address,
    };
    let user = server.log_ins().authenticate(log_in).await?;
    let new = NewApiToken {
        user_id: user.id.clone(),
        name: "prowess login".to_owned(),
        scopes: vec![Scope::everything()],
        lifetime: Some(DAY * LOG_IN_DAYS),
    };
    let (token, secret) = server.tokens().create(new).await?;
    let body = json!({ "token": secret.expose(), "username": user.username.as_str(), "expires_at": token.expires_at });
    Ok((StatusCode::CREATED, Json(body)).into_response())
}
