//! The routes, one file per group.

mod account;
mod approvals;
mod changes;
mod chat;
mod check;
mod company;
mod knowledge;
mod models;
mod overview;
mod runs;
mod skill_run;
mod skills;
mod workflows;

use axum::Router;
use serde::Serialize;
use utoipa::{IntoResponses, OpenApi, ToSchema};
use utoipa_axum::router::OpenApiRouter;

use crate::problem::ApiProblem;
use crate::runs::{EarlierEvents, RunKind, RunStatus, TakenRun};
use crate::studio::{Studio, StudioLimits};

/// Continues a run of a server that is gone, or ends it with what it has told so far.
pub(crate) async fn take_over(studio: &Studio, run: TakenRun) -> Result<(), ApiProblem> {
    let earlier = run.id.parse().ok().map(|id| EarlierEvents {
        id,
        gone: run.frames.first().map_or(0, |(number, _)| number - 1),
        frames: run.frames.iter().map(|(_, frame)| frame.clone()).collect(),
    });
    let continued = match (earlier, run.kind.as_str()) {
        (Some(earlier), "skill") => skill_run::run_again(studio, &run, earlier).await,
        (Some(earlier), "workflow") => workflows::go_on(studio, &run, earlier).await,
        _ => Err(ApiProblem::invalid("kind", "an answer of a chat is not continued")),
    };
    let Err(problem) = continued else { return Ok(()) };
    tracing::warn!(run_id = run.id, message = problem.message, "a run ends with what it has told");
    let interrupted = studio.shared.runs.inner.store.interrupt(run, studio.now()).await;
    interrupted.map_err(ApiProblem::from)
}

/// The body of an error.
#[derive(Serialize, ToSchema)]
#[schema(as = Problem)]
pub(crate) struct ProblemBody {
    detail: ProblemDetail,
}

/// What is wrong, and where.
#[derive(Serialize, ToSchema)]
pub(crate) struct ProblemDetail {
    field: String,
    message: String,
}

/// The errors that every route may answer with.
#[derive(IntoResponses)]
#[expect(dead_code, reason = "only described")]
pub(crate) enum Problems {
    /// The request is invalid.
    #[response(status = 400)]
    Invalid(ProblemBody),
    /// A token is needed.
    #[response(status = 401)]
    Unauthorized(ProblemBody),
    /// Not allowed.
    #[response(status = 403)]
    Forbidden(ProblemBody),
    /// It does not exist, or belongs to somebody else.
    #[response(status = 404)]
    NotFound(ProblemBody),
    /// It conflicts with what exists.
    #[response(status = 409)]
    Conflict(ProblemBody),
    /// Too large.
    #[response(status = 413)]
    TooLarge(ProblemBody),
    /// The type of the body is not supported.
    #[response(status = 415)]
    UnsupportedType(ProblemBody),
    /// `If-Match` is required.
    #[response(status = 428)]
    PreconditionRequired(ProblemBody),
    /// A limit is reached.
    #[response(status = 429)]
    RateLimited(ProblemBody),
    /// An internal error.
    #[response(status = 500)]
    Internal(ProblemBody),
    /// Unavailable for the moment.
    #[response(status = 503)]
    Unavailable(ProblemBody),
}

#[derive(OpenApi)]
#[openapi(
    info(title = "Prowess studio", description = "Prompt skills, chat, knowledge bases and workflows"),
    components(schemas(ProblemBody, ProblemDetail, RunKind, RunStatus)),
    modifiers(&Bearer)
)]
struct Description;

/// The way to send a token.
struct Bearer;

impl utoipa::Modify for Bearer {
    fn modify(&self, document: &mut utoipa::openapi::OpenApi) {
        use utoipa::openapi::security::{
            Http, HttpAuthScheme, SecurityRequirement, SecurityScheme,
        };
        let scheme = SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer));
        document.components.get_or_insert_default().add_security_scheme("bearer", scheme);
        document.security = Some(vec![SecurityRequirement::new("bearer", Vec::<String>::new())]);
    }
}

/// The routes below `/api/v1`, and their description.
fn api(upload_bytes: u64) -> (Router<Studio>, utoipa::openapi::OpenApi) {
    OpenApiRouter::with_openapi(Description::openapi())
        .nest(
            "/api/v1",
            OpenApiRouter::new()
                .merge(account::routes())
                .merge(approvals::routes())
                .merge(changes::routes())
                .merge(chat::routes())
                .merge(check::routes())
                .merge(company::routes())
                .merge(knowledge::routes(upload_bytes))
                .merge(models::routes())
                .merge(overview::routes())
                .merge(runs::routes())
                .merge(skill_run::routes())
                .merge(skills::routes())
                .merge(workflows::routes()),
        )
        .split_for_parts()
}

/// The description of the API as JSON.
pub fn openapi() -> String {
    let mut text = api(StudioLimits::USUAL.upload_bytes).1.to_pretty_json().unwrap_or_default();
    text.push('\n');
    text
}

/// All routes.
pub(crate) fn router(studio: Studio) -> Router {
    let (router, description) = api(studio.shared.limits.upload_bytes);
    let json = description.to_json().unwrap_or_default();
    router
        .route(
            "/api/v1/openapi.json",
            axum::routing::get(|| async move {
                ([(http::header::CONTENT_TYPE, "application/json")], json)
            }),
        )
        .fallback(crate::web::fallback)
        .with_state(studio)
}
