//! Changes of tools: those that wait for a decision, and those that were applied and can be undone.

use std::path::Path;

use axum::Json;
use axum::extract::State;
use http::StatusCode;
use prowess_core::{ChangesState, Problem, wire};
use prowess_engine::World;
use prowess_engine::changes::{self, AcceptPattern, ChangesError, KeptRun};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::Problems;
use super::skills::blocking;
use crate::caller::Caller;
use crate::problem::ApiProblem;
use crate::request::{Body, UrlPath};
use crate::studio::Studio;
use crate::timestamp;

/// Maximum number of patterns in one decision.
const MAX_PATTERNS: usize = 100;
/// Maximum size of a patch that is shown on a page.
const MAX_PATCH_BYTES: usize = 8 << 20;

pub(super) fn routes() -> OpenApiRouter<Studio> {
    OpenApiRouter::new()
        .routes(routes!(list_changes))
        .routes(routes!(decide_changes))
        .routes(routes!(show_patch))
}

/// A run whose changes are kept.
#[derive(Serialize, ToSchema)]
struct ChangesView {
    run: String,
    tool: String,
    state: String,
    started_at: String,
    changes: Value,
    changes_applied: bool,
}

#[derive(Serialize, ToSchema)]
struct ChangesList {
    runs: Vec<ChangesView>,
}

/// What becomes of the changes.
#[derive(Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum ChangesAction {
    Apply,
    Discard,
    Undo,
}

#[derive(Deserialize, ToSchema)]
struct DecideChanges {
    action: ChangesAction,
    /// Patterns of paths whose changes are applied although they need a decision.
    #[serde(default)]
    accept: Vec<String>,
}

#[derive(Serialize, ToSchema)]
struct PatchView {
    patch: String,
    /// Whether the patch is longer than what is shown.
    truncated: bool,
}

/// List the runs whose changes are kept
///
/// Those that wait for a decision, and those that were applied and can be undone; the latest last.
#[utoipa::path(get, path = "/changes", tag = "approvals",
    responses((status = 200, body = ChangesList), Problems))]
async fn list_changes(
    State(studio): State<Studio>,
    caller: Caller,
) -> Result<Json<ChangesList>, ApiProblem> {
    let runs = blocking(move || {
        let world = studio.world_of(&caller.id)?;
        let kept = changes::list(&world.state).map_err(|error| failed(error, ""))?;
        Ok(kept.iter().map(view).collect())
    });
    Ok(Json(ChangesList { runs: runs.await? }))
}

/// Apply, discard or undo the changes of a run
///
/// All of them or none. Changes that need a decision are applied if `accept` has a pattern for their path, relative to the
/// user's working folder; others are never applied.
#[utoipa::path(post, path = "/changes/{run}", tag = "approvals", params(("run" = String, Path)),
    request_body = DecideChanges, responses((status = 204), Problems))]
async fn decide_changes(
    State(studio): State<Studio>,
    caller: Caller,
    UrlPath(run): UrlPath<String>,
    Body(body): Body<DecideChanges>,
) -> Result<StatusCode, ApiProblem> {
    // A program must not give consent for a person.
    caller.identity.require_person()?;
    if body.accept.len() > MAX_PATTERNS {
        let message = format!("at most {MAX_PATTERNS} patterns are allowed");
        return Err(ApiProblem::invalid("accept", message));
    }
    let action = match body.action {
        ChangesAction::Apply => "changes-apply",
        ChangesAction::Discard => "changes-discard",
        ChangesAction::Undo => "changes-undo",
    };
    let (served, user, id) = (studio.clone(), caller.id.clone(), run.clone());
    blocking(move || decide(&served.world_of(&user)?, &id, &body)).await?;
    studio.audit(&caller, action, &run).await;
    Ok(StatusCode::NO_CONTENT)
}

fn decide(world: &World, run: &str, decision: &DecideChanges) -> Result<(), ApiProblem> {
    let failed = |error| failed(error, run);
    match decision.action {
        ChangesAction::Apply => {
            let parse = |text: &String| AcceptPattern::parse(text, &world.current);
            let patterns: Result<Vec<_>, _> = decision.accept.iter().map(parse).collect();
            let patterns =
                patterns.map_err(|error| ApiProblem::invalid("accept", error.to_string()))?;
            let accepts = |path: &Path| patterns.iter().any(|pattern| pattern.covers(path));
            changes::apply(&world.state, run, &accepts).map_err(failed)?;
        }
        ChangesAction::Discard => changes::discard(&world.state, run).map_err(failed)?,
        ChangesAction::Undo => drop(changes::undo(&world.state, run).map_err(failed)?),
    }
    Ok(())
}

/// Show the changes of a run as a patch
#[utoipa::path(get, path = "/changes/{run}/patch", tag = "approvals", params(("run" = String, Path)),
    responses((status = 200, body = PatchView), Problems))]
async fn show_patch(
    State(studio): State<Studio>,
    caller: Caller,
    UrlPath(run): UrlPath<String>,
) -> Result<Json<PatchView>, ApiProblem> {
    let patch = blocking(move || {
        let world = studio.world_of(&caller.id)?;
        let mut patch = Vec::new();
        changes::write_patch(&world.state, &run, &world.current, &mut patch)
            .map_err(|error| failed(error, &run))?;
        let truncated = patch.len() > MAX_PATCH_BYTES;
        patch.truncate(MAX_PATCH_BYTES);
        Ok(PatchView { patch: String::from_utf8_lossy(&patch).into_owned(), truncated })
    });
    Ok(Json(patch.await?))
}

fn view(run: &KeptRun) -> ChangesView {
    let started = run.started.duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    ChangesView {
        run: run.changes.run.clone(),
        tool: run.title.clone(),
        state: run.changes.state.as_str().to_owned(),
        started_at: timestamp::of_millis(i64::try_from(started.as_millis()).unwrap_or(0)),
        changes: wire::changes(&run.changes),
        changes_applied: run.changes.state == ChangesState::Applied,
    }
}

fn failed(error: ChangesError, run: &str) -> ApiProblem {
    match error {
        ChangesError::Unknown(_) => ApiProblem::not_found("run-not-found", "run", "Run", run),
        error => Problem::from(error).into(),
    }
}
