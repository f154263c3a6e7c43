//! Questions of tools that wait for an answer, and what was approved.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use http::StatusCode;
use prowess_core::RunId;
use prowess_engine::{ApprovalReply, ApprovalStore as _, FileApprovals};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::Problems;
use super::skills::blocking;
use crate::caller::Caller;
use crate::problem::ApiProblem;
use crate::questions::yes;
use crate::request::{Body, UrlPath, UrlQuery};
use crate::studio::Studio;
use crate::timestamp;

pub(super) fn routes() -> OpenApiRouter<Studio> {
    OpenApiRouter::new()
        .routes(routes!(list_questions))
        .routes(routes!(answer_question))
        .routes(routes!(list_approvals))
        .routes(routes!(revoke_approvals))
}

#[derive(Serialize, ToSchema)]
struct QuestionList {
    questions: Vec<Value>,
}

#[derive(Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum Answer {
    Once,
    Always,
    Deny,
}

#[derive(Deserialize, ToSchema)]
struct AnswerQuestion {
    answer: Answer,
}

#[derive(Serialize, ToSchema)]
struct ApprovalView {
    skill: String,
    tool: Option<String>,
    permissions: Vec<String>,
    digest: String,
    created_at: String,
}

#[derive(Serialize, ToSchema)]
struct ApprovalList {
    approvals: Vec<ApprovalView>,
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct RevokeQuery {
    tool: Option<String>,
}

#[derive(Serialize, ToSchema)]
struct Revoked {
    revoked: usize,
}

/// List the questions that wait
#[utoipa::path(get, path = "/approvals/pending", tag = "approvals",
    responses((status = 200, body = QuestionList), Problems))]
async fn list_questions(State(studio): State<Studio>, caller: Caller) -> Json<QuestionList> {
    Json(QuestionList { questions: studio.shared.questions.of(&caller.id) })
}

/// Answer a question
#[utoipa::path(post, path = "/approvals/pending/{id}", tag = "approvals", params(("id" = String, Path)),
    request_body = AnswerQuestion, responses((status = 204), Problems))]
async fn answer_question(
    State(studio): State<Studio>,
    caller: Caller,
    UrlPath(id): UrlPath<String>,
    Body(body): Body<AnswerQuestion>,
) -> Result<StatusCode, ApiProblem> {
    // A program must not give consent for a person.
    caller.identity.require_person()?;
    let missing = || ApiProblem::not_found("question-not-found", "id", "Question", &id);
    let parsed: RunId = id.parse().map_err(|_| missing())?;
    let (reply, action) = match body.answer {
        Answer::Once => (yes(false), "approval-once"),
        Answer::Always => (yes(true), "approval-always"),
        Answer::Deny => (ApprovalReply::No, "approval-deny"),
    };
    if !studio.shared.questions.answer(&caller.id, &parsed.to_string(), reply) {
        return Err(missing());
    }
    studio.audit(&caller, action, &id).await;
    Ok(StatusCode::NO_CONTENT)
}

async fn approvals_of(studio: &Studio, user: &str) -> Result<Arc<FileApprovals>, ApiProblem> {
    let (studio, user) = (studio.clone(), user.to_owned());
    blocking(move || Ok(Arc::new(FileApprovals::of(&studio.world_of(&user)?.state)))).await
}

/// List what was approved
#[utoipa::path(get, path = "/approvals", tag = "approvals",
    responses((status = 200, body = ApprovalList), Problems))]
async fn list_approvals(
    State(studio): State<Studio>,
    caller: Caller,
) -> Result<Json<ApprovalList>, ApiProblem> {
    let store = approvals_of(&studio, &caller.id).await?;
    let approvals = blocking(move || {
        let approvals = store.load().map_err(|error| failed(&error))?;
        let views = approvals.records().iter().map(|approval| ApprovalView {
            skill: approval.skill.clone(),
            tool: approval.tool.clone(),
            permissions: approval.grants.clone(),
            digest: approval.digest.as_str().to_owned(),
            created_at: timestamp::of_millis(
                i64::try_from(approval.given_at).unwrap_or(0).saturating_mul(1_000),
            ),
        });
        Ok(views.collect())
    });
    Ok(Json(ApprovalList { approvals: approvals.await? }))
}

/// Revoke approvals
#[utoipa::path(delete, path = "/approvals/{skill}", tag = "approvals",
    params(("skill" = String, Path), RevokeQuery),
    responses((status = 200, body = Revoked), Problems))]
async fn revoke_approvals(
    State(studio): State<Studio>,
    caller: Caller,
    UrlPath(skill): UrlPath<String>,
    UrlQuery(query): UrlQuery<RevokeQuery>,
) -> Result<Json<Revoked>, ApiProblem> {
    let store = approvals_of(&studio, &caller.id).await?;
    let subject = skill.clone();
    let revoked = blocking(move || {
        let revoked = store.revoke(&skill, query.tool.as_deref());
        Ok(revoked.map_err(|error| failed(&error))?.len())
    })
    .await?;
    if revoked > 0 {
        studio.audit(&caller, "approval-revoke", &subject).await;
    }
    Ok(Json(Revoked { revoked }))
}

fn failed(error: &prowess_engine::ApprovalStoreError) -> ApiProblem {
    ApiProblem::internal("using the approvals", error)
}
