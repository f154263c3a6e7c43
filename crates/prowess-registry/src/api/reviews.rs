//! Ratings, reviews and reports.

use axum::Json;
use axum::extract::rejection::JsonRejection;
use axum::extract::{Path, RawQuery, State};
use http::StatusCode;
use prowess_server::problem::{HandlerResult, ProblemDocument, invalid_input};
use serde::Deserialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

use super::parameters::{self, QueryParameters};
use super::{Caller, views};
use crate::actor::Action;
use crate::error::RegistryError;
use crate::query::RatingView;
use crate::registry::Registry;
use crate::viewer::Viewer;

/// A rating: a whole number, which JSON has no type for (NEG-14).
#[derive(Deserialize, ToSchema)]
pub(super) struct RatingBody {
    #[serde(default)]
    #[schema(value_type = u8, required = true, minimum = 1, maximum = 5)]
    rating: Value,
    #[serde(default)]
    review: Option<String>,
}

/// A report.
#[derive(Deserialize, ToSchema)]
pub(super) struct ReportBody {
    reason: String,
    #[serde(default)]
    detail: String,
    #[serde(default)]
    version: Option<String>,
}

/// The number, if it is written as a whole one: `4.0` and `"4"` are refused.
fn whole(value: &Value) -> Result<i64, ProblemDocument> {
    value
        .as_i64()
        .ok_or_else(|| invalid_input("invalid-rating", "a rating is a whole number from 1 to 5"))
}

fn rating_json(view: &RatingView) -> Value {
    let mut value = views::rating(view.mean_hundredths, view.count);
    value["own"] = json!(view.own);
    value["rating"] = value["mean"].clone();
    value
}

/// `GET /skills/{namespace}/{name}/rating`.
#[utoipa::path(
    get, path = "/api/v1/skills/{namespace}/{name}/rating", tag = "reviews",
    summary = "Return the ratings of a skill",
    params(
        ("namespace" = String, Path, description = "The namespace"),
        ("name" = String, Path, description = "The name of the skill")
    ),
    responses((status = 200, description = "Success", body = Value))
)]
pub(super) async fn rating(
    State(registry): State<Registry>,
    Path((namespace, name)): Path<(String, String)>,
    viewer: Viewer,
) -> HandlerResult<Json<Value>> {
    let skill = parameters::skill(&namespace, &name)?;
    let found = registry.rating(&skill, &viewer).await?.ok_or_else(RegistryError::no_skill)?;
    Ok(Json(rating_json(&found)))
}

/// `PUT /skills/{namespace}/{name}/rating`.
#[utoipa::path(
    put, path = "/api/v1/skills/{namespace}/{name}/rating", tag = "reviews",
    summary = "Rate a skill",
    params(
        ("namespace" = String, Path, description = "The namespace"),
        ("name" = String, Path, description = "The name of the skill")
    ),
    request_body = RatingBody, responses((status = 200, description = "Success", body = Value)),
    security(("token" = []))
)]
pub(super) async fn rate(
    State(registry): State<Registry>,
    Path((namespace, name)): Path<(String, String)>,
    Caller(actor): Caller,
    body: Result<Json<RatingBody>, JsonRejection>,
) -> HandlerResult<Json<Value>> {
    let Json(body) = body?;
    let skill = parameters::skill(&namespace, &name)?;
    actor.require(Action::Review, Some(&skill))?;
    let rated = registry.rate(&actor, &skill, whole(&body.rating)?, body.review.as_deref()).await?;
    Ok(Json(rating_json(&rated)))
}

/// `DELETE /skills/{namespace}/{name}/rating`.
#[utoipa::path(
    delete, path = "/api/v1/skills/{namespace}/{name}/rating", tag = "reviews",
    summary = "Take a rating back",
    params(
        ("namespace" = String, Path, description = "The namespace"),
        ("name" = String, Path, description = "The name of the skill")
    ),
    responses((status = 204, description = "Done")), security(("token" = []))
)]
pub(super) async fn unrate(
    State(registry): State<Registry>,
    Path((namespace, name)): Path<(String, String)>,
    Caller(actor): Caller,
) -> HandlerResult<StatusCode> {
    let skill = parameters::skill(&namespace, &name)?;
    actor.require(Action::Review, Some(&skill))?;
    registry.unrate(&actor, &skill).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// `GET /skills/{namespace}/{name}/reviews`.
#[utoipa::path(
    get, path = "/api/v1/skills/{namespace}/{name}/reviews", tag = "reviews",
    summary = "List the reviews of a skill",
    params(
        ("namespace" = String, Path, description = "The namespace"),
        ("name" = String, Path, description = "The name of the skill"),
        (
            "offset" = Option<u32>, Query, description = "How many to skip", minimum = 0,
            maximum = 10000
        )
    ),
    responses((status = 200, description = "Success", body = Value))
)]
pub(super) async fn reviews(
    State(registry): State<Registry>,
    Path((namespace, name)): Path<(String, String)>,
    RawQuery(query): RawQuery,
    viewer: Viewer,
) -> HandlerResult<Json<Value>> {
    let skill = parameters::skill(&namespace, &name)?;
    let offset = QueryParameters::parse(query.as_deref()).number("offset", 0, 0, 10_000)?;
    let found =
        registry.reviews(&skill, offset, &viewer).await?.ok_or_else(RegistryError::no_skill)?;
    let reviews: Vec<Value> = found
        .reviews
        .iter()
        .map(|it| {
            json!({
                "user": it.username,
                "rating": it.rating,
                "text": it.text,
                "version": it.version,
                "written": it.written,
            })
        })
        .collect();
    Ok(Json(json!({ "reviews": reviews, "next": found.next })))
}

/// `POST /skills/{namespace}/{name}/reviews`: a rating with a text.
#[utoipa::path(
    post, path = "/api/v1/skills/{namespace}/{name}/reviews", tag = "reviews",
    summary = "Review a skill: a rating with a text",
    params(
        ("namespace" = String, Path, description = "The namespace"),
        ("name" = String, Path, description = "The name of the skill")
    ),
    request_body = RatingBody, responses((status = 200, description = "Success", body = Value)),
    security(("token" = []))
)]
pub(super) async fn review(
    state: State<Registry>,
    path: Path<(String, String)>,
    caller: Caller,
    body: Result<Json<RatingBody>, JsonRejection>,
) -> HandlerResult<Json<Value>> {
    rate(state, path, caller, body).await
}

/// `POST /skills/{namespace}/{name}/reports`.
#[utoipa::path(
    post, path = "/api/v1/skills/{namespace}/{name}/reports", tag = "reviews",
    summary = "Report a skill to the moderators",
    params(
        ("namespace" = String, Path, description = "The namespace"),
        ("name" = String, Path, description = "The name of the skill")
    ),
    request_body = ReportBody, responses((status = 202, description = "Received")),
    security(("token" = []))
)]
pub(super) async fn report(
    State(registry): State<Registry>,
    Path((namespace, name)): Path<(String, String)>,
    Caller(actor): Caller,
    body: Result<Json<ReportBody>, JsonRejection>,
) -> HandlerResult<StatusCode> {
    let Json(body) = body?;
    let skill = parameters::skill(&namespace, &name)?;
    actor.require(Action::Review, Some(&skill))?;
    registry.report(&actor, &skill, body.version.as_deref(), &body.reason, &body.detail).await?;
    Ok(StatusCode::ACCEPTED)
}
