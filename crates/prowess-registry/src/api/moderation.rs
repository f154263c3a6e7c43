//! What administrators do.

use axum::Json;
use axum::extract::rejection::JsonRejection;
use axum::extract::{Path, RawQuery, State};
use http::StatusCode;
use prowess_server::Server;
use prowess_server::problem::{HandlerResult, invalid_input};
use prowess_trust::Role as KeyRole;
use serde::Deserialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

use super::Caller;
use super::manage::{KeyBody, ReasonBody};
use super::parameters::{self, QueryParameters};
use super::views::card_json;
use crate::manage::Decision;
use crate::query::require_moderator;
use crate::registry::Registry;

/// A badge, or none.
#[derive(Deserialize, ToSchema)]
pub(super) struct BadgeBody {
    badge: Option<String>,
}

/// A prefix and who may use it.
#[derive(Deserialize, ToSchema)]
pub(super) struct PrefixBody {
    prefix: String,
    namespace: String,
}

type Body<T> = Result<Json<T>, JsonRejection>;

/// `POST /skills/{namespace}/{name}/{version}/revoke` with a `reason`.
#[utoipa::path(
    post, path = "/api/v1/skills/{namespace}/{name}/{version}/revoke", tag = "moderation",
    summary = "Revoke a version (administrators)",
    description = "A `reason` is needed. From then on the version is 410 everywhere.",
    params(
        ("namespace" = String, Path, description = "The namespace"),
        ("name" = String, Path, description = "The name of the skill"),
        ("version" = String, Path, description = "The version")
    ),
    request_body = ReasonBody, responses((status = 204, description = "Done")),
    security(("token" = []))
)]
pub(super) async fn revoke(
    State(registry): State<Registry>,
    Path(path): Path<(String, String, String)>,
    Caller(actor): Caller,
    body: Body<ReasonBody>,
) -> HandlerResult<StatusCode> {
    let Json(body) = body?;
    let (skill, version) = parameters::skill_version(&path)?;
    registry.revoke(&actor, &skill, &version, body.reason.as_deref().unwrap_or_default()).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// `POST /skills/{namespace}/{name}/approve`.
#[utoipa::path(
    post, path = "/api/v1/skills/{namespace}/{name}/approve", tag = "moderation",
    summary = "Approve a held skill (administrators)",
    params(
        ("namespace" = String, Path, description = "The namespace"),
        ("name" = String, Path, description = "The name of the skill")
    ),
    responses((status = 204, description = "Done")), security(("token" = []))
)]
pub(super) async fn approve(
    State(registry): State<Registry>,
    Path((namespace, name)): Path<(String, String)>,
    Caller(actor): Caller,
) -> HandlerResult<StatusCode> {
    let skill = parameters::skill(&namespace, &name)?;
    registry.moderate(&actor, &skill, Decision::Approve, "").await?;
    Ok(StatusCode::NO_CONTENT)
}

/// `POST /skills/{namespace}/{name}/hide` with a `reason`.
#[utoipa::path(
    post, path = "/api/v1/skills/{namespace}/{name}/hide", tag = "moderation",
    summary = "Hide a skill (administrators)",
    params(
        ("namespace" = String, Path, description = "The namespace"),
        ("name" = String, Path, description = "The name of the skill")
    ),
    request_body = ReasonBody, responses((status = 204, description = "Done")),
    security(("token" = []))
)]
pub(super) async fn hide(
    State(registry): State<Registry>,
    Path((namespace, name)): Path<(String, String)>,
    Caller(actor): Caller,
    body: Body<ReasonBody>,
) -> HandlerResult<StatusCode> {
    let Json(body) = body?;
    let skill = parameters::skill(&namespace, &name)?;
    registry
        .moderate(&actor, &skill, Decision::Hide, body.reason.as_deref().unwrap_or_default())
        .await?;
    Ok(StatusCode::NO_CONTENT)
}

/// `PUT /skills/{namespace}/{name}/badge`.
#[utoipa::path(
    put, path = "/api/v1/skills/{namespace}/{name}/badge", tag = "moderation",
    summary = "Set the badge of a skill, or remove it (administrators)",
    params(
        ("namespace" = String, Path, description = "The namespace"),
        ("name" = String, Path, description = "The name of the skill")
    ),
    request_body = BadgeBody, responses((status = 204, description = "Done")),
    security(("token" = []))
)]
pub(super) async fn badge(
    State(registry): State<Registry>,
    Path((namespace, name)): Path<(String, String)>,
    Caller(actor): Caller,
    body: Body<BadgeBody>,
) -> HandlerResult<StatusCode> {
    let Json(body) = body?;
    let skill = parameters::skill(&namespace, &name)?;
    registry.set_badge(&actor, &skill, body.badge.as_deref()).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// `GET /moderation/reports`.
#[utoipa::path(
    get, path = "/api/v1/moderation/reports", tag = "moderation",
    summary = "List the open reports (administrators)",
    responses((status = 200, description = "Success", body = Value)), security(("token" = []))
)]
pub(super) async fn reports(
    State(registry): State<Registry>,
    Caller(actor): Caller,
) -> HandlerResult<Json<Value>> {
    let reports: Vec<Value> = registry
        .open_reports(&actor)
        .await?
        .iter()
        .map(|it| {
            json!({
                "namespace": it.namespace,
                "name": it.name,
                "version": it.version,
                "user": it.username,
                "reason": it.reason,
                "detail": it.detail,
                "reported": it.reported,
            })
        })
        .collect();
    Ok(Json(json!({ "reports": reports })))
}

/// `GET /moderation/held`.
#[utoipa::path(
    get, path = "/api/v1/moderation/held", tag = "moderation",
    summary = "List the skills that wait for a moderator (administrators)",
    responses((status = 200, description = "Success", body = Value)), security(("token" = []))
)]
pub(super) async fn held(
    State(registry): State<Registry>,
    Caller(actor): Caller,
) -> HandlerResult<Json<Value>> {
    let held = registry.held_skills(&actor).await?;
    let held = held.iter().map(|it| json!({ "skill": card_json(&it.card), "reason": it.reason }));
    Ok(Json(json!({ "held": held.collect::<Vec<Value>>() })))
}

/// `POST /moderation/keys`: registers the key of an auditor or a root.
#[utoipa::path(
    post, operation_id = "add_registry_key", path = "/api/v1/moderation/keys", tag = "moderation",
    summary = "Register an auditor's key (administrators)", request_body = KeyBody,
    responses((status = 200, description = "Success", body = Value)), security(("token" = []))
)]
pub(super) async fn add_key(
    State(registry): State<Registry>,
    Caller(actor): Caller,
    body: Body<KeyBody>,
) -> HandlerResult<Json<Value>> {
    let Json(body) = body?;
    let role: KeyRole = body.role.as_deref().unwrap_or("auditor").parse().map_err(
        |error: prowess_trust::RoleError| invalid_input("invalid-role", error.to_string()),
    )?;
    let id = registry.add_key(&actor, None, role, &body.key).await?;
    Ok(Json(json!({ "key_id": id })))
}

/// `POST /moderation/prefixes`: allows a namespace to use a reserved prefix.
#[utoipa::path(
    post, path = "/api/v1/moderation/prefixes", tag = "moderation",
    summary = "Allow a namespace to use a reserved prefix (administrators)",
    request_body = PrefixBody, responses((status = 204, description = "Done")),
    security(("token" = []))
)]
pub(super) async fn allow_prefix(
    State(registry): State<Registry>,
    Caller(actor): Caller,
    body: Body<PrefixBody>,
) -> HandlerResult<StatusCode> {
    let Json(body) = body?;
    registry.allow_prefix(&actor, &body.prefix, &body.namespace).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// `GET /moderation/audit?before=`: the audit log, the newest entries first.
#[utoipa::path(
    get, path = "/api/v1/moderation/audit", tag = "moderation",
    summary = "List the audit log, the newest entries first (administrators)",
    params(
        ("before" = Option<u64>, Query, description = "Only entries before this one"),
        (
            "limit" = Option<u32>, Query, description = "The number of entries", minimum = 1,
            maximum = 500
        )
    ),
    responses((status = 200, description = "Success", body = Value)), security(("token" = []))
)]
pub(super) async fn audit(
    State(server): State<Server>,
    Caller(actor): Caller,
    RawQuery(query): RawQuery,
) -> HandlerResult<Json<Value>> {
    require_moderator(&actor)?;
    let query = QueryParameters::parse(query.as_deref());
    let before = query.number("before", 0, 0, usize::MAX >> 1)?;
    let before = (before > 0).then_some(before as u64);
    let entries = server.audit().entries(before, query.number("limit", 100, 1, 500)?).await?;
    Ok(Json(json!({ "entries": entries })))
}
