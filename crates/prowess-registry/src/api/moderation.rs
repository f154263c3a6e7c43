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

use super::Caller;
use super::manage::{KeyBody, ReasonBody};
use super::parameters::{self, QueryParameters};
use super::views::card_json;
use crate::manage::Decision;
use crate::query::require_moderator;
use crate::registry::Registry;

/// A badge, or none.
#[derive(Deserialize)]
pub(super) struct BadgeBody {
    badge: Option<String>,
}

/// A prefix and who may use it.
#[derive(Deserialize)]
pub(super) struct PrefixBody {
    prefix: String,
    namespace: String,
}

type Body<T> = Result<Json<T>, JsonRejection>;

/// `POST /skills/{namespace}/{name}/{version}/revoke` with a `reason`.
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
pub(super) async fn held(
    State(registry): State<Registry>,
    Caller(actor): Caller,
) -> HandlerResult<Json<Value>> {
    let held = registry.held_skills(&actor).await?;
    let held = held.iter().map(|it| json!({ "skill": card_json(&it.card), "reason": it.reason }));
    Ok(Json(json!({ "held": held.collect::<Vec<Value>>() })))
}

/// `POST /moderation/keys`: registers the key of an auditor or a root.
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
pub(super) async fn audit(
    State(server): State<Server>,
    Caller(actor): Caller,
    RawQuery(query): RawQuery,
) -> HandlerResult<Json<Value>> {
    require_moderator(&actor)?;
    let query = QueryParameters::parse(query.as_deref());
    let before = query.number("before", 0, 0, usize::MAX)?;
    let before = (before > 0).then_some(before as u64);
    let entries = server.audit().entries(before, query.number("limit", 100, 1, 500)?).await?;
    Ok(Json(json!({ "entries": entries })))
}
