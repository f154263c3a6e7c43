//! Runs: their records, their events again, and how to cancel one.

use axum::Json;
use axum::body::Body as ResponseBody;
use axum::extract::State;
use axum::response::Response;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use prowess_core::RunId;
use serde::{Deserialize, Serialize};
use serde_json::json;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::Problems;
use crate::caller::Caller;
use crate::events::frame;
use crate::problem::ApiProblem;
use crate::request::{UrlPath, UrlQuery, limit};
use crate::runs::{RunFilter, RunKind, RunRecord, RunStatus, StoredEvents};
use crate::studio::Studio;

pub(super) fn routes() -> OpenApiRouter<Studio> {
    OpenApiRouter::new()
        .routes(routes!(list_runs))
        .routes(routes!(get_run, delete_run))
        .routes(routes!(get_run_events))
        .routes(routes!(cancel_run))
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct RunQuery {
    /// A skill, or the id of a workflow.
    skill: Option<String>,
    kind: Option<RunKind>,
    status: Option<RunStatus>,
    limit: Option<i64>,
    /// The `next` of the previous page.
    before: Option<String>,
}

#[derive(Serialize, ToSchema)]
struct RunList {
    runs: Vec<RunRecord>,
    next: Option<String>,
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct EventsQuery {
    /// The number of the last event that the client has; the header `Last-Event-ID` wins.
    pub(super) after: Option<u64>,
}

fn run_not_found(id: &str) -> ApiProblem {
    ApiProblem::not_found("run-not-found", "id", "Run", id)
}

/// List runs
#[utoipa::path(get, path = "/runs", tag = "runs", params(RunQuery),
    responses((status = 200, body = RunList), Problems))]
async fn list_runs(
    State(studio): State<Studio>,
    caller: Caller,
    UrlQuery(query): UrlQuery<RunQuery>,
) -> Result<Json<RunList>, ApiProblem> {
    let limit = limit(query.limit)?;
    let filter = RunFilter {
        owner: caller.sees().map(str::to_owned),
        kind: query.kind,
        subject: query.skill,
        status: query.status,
        before: query.before,
        limit: limit + 1,
    };
    let mut runs = studio.shared.runs.inner.store.list(filter).await?;
    let is_more = runs.len() > usize::try_from(limit).unwrap_or(usize::MAX);
    runs.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
    let next = runs.last().filter(|_| is_more).map(|run| run.id.clone());
    Ok(Json(RunList { runs, next }))
}

/// Show a run
#[utoipa::path(get, path = "/runs/{id}", tag = "runs", params(("id" = String, Path)),
    responses((status = 200, body = RunRecord), Problems))]
async fn get_run(
    State(studio): State<Studio>,
    caller: Caller,
    UrlPath(id): UrlPath<String>,
) -> Result<Json<RunRecord>, ApiProblem> {
    Ok(Json(visible_run(&studio, &caller, &id).await?))
}

pub(super) async fn visible_run(
    studio: &Studio,
    caller: &Caller,
    id: &str,
) -> Result<RunRecord, ApiProblem> {
    if id.parse::<RunId>().is_err() {
        return Err(run_not_found(id));
    }
    let run = studio.shared.runs.inner.store.get(id, caller.sees()).await?;
    run.ok_or_else(|| run_not_found(id))
}

/// Delete a finished run
#[utoipa::path(delete, path = "/runs/{id}", tag = "runs", params(("id" = String, Path)),
    responses((status = 204), Problems))]
async fn delete_run(
    State(studio): State<Studio>,
    caller: Caller,
    UrlPath(id): UrlPath<String>,
) -> Result<StatusCode, ApiProblem> {
    let run = visible_run(&studio, &caller, &id).await?;
    if !studio.shared.runs.inner.store.delete(&run.id).await? {
        let message = "The run goes on: cancel it first";
        return Err(ApiProblem::conflict("run-running", "id", message));
    }
    Ok(StatusCode::NO_CONTENT)
}

/// Cancel a run
#[utoipa::path(post, path = "/runs/{id}/cancel", tag = "runs", params(("id" = String, Path)),
    responses((status = 202), Problems))]
async fn cancel_run(
    State(studio): State<Studio>,
    caller: Caller,
    UrlPath(id): UrlPath<String>,
) -> Result<StatusCode, ApiProblem> {
    let parsed: RunId = id.parse().map_err(|_| run_not_found(&id))?;
    match studio.shared.runs.live(parsed) {
        Some(live) if caller.may_see(Some(&live.owner)) => {
            studio.shared.runs.cancel(parsed);
        }
        Some(_) => return Err(run_not_found(&id)),
        // It has ended, and there is nothing to cancel.
        None => {
            let run = visible_run(&studio, &caller, &id).await?;
            // Or it runs on another server.
            studio.shared.runs.inner.store.want_cancel(&run.id).await?;
        }
    }
    Ok(StatusCode::ACCEPTED)
}

/// Follow or replay the events of a run
#[utoipa::path(get, path = "/runs/{id}/events", tag = "runs", params(("id" = String, Path), EventsQuery),
    responses((status = 200, content_type = "text/event-stream", body = String), Problems))]
async fn get_run_events(
    State(studio): State<Studio>,
    caller: Caller,
    UrlPath(id): UrlPath<String>,
    UrlQuery(query): UrlQuery<EventsQuery>,
    headers: HeaderMap,
) -> Result<Response, ApiProblem> {
    let after = last_event(&headers, query.after)?;
    events_of(&studio, &caller, &id, after).await
}

/// The number of the last event that the client has.
pub(super) fn last_event(headers: &HeaderMap, query: Option<u64>) -> Result<u64, ApiProblem> {
    let Some(value) = headers.get("last-event-id") else { return Ok(query.unwrap_or(0)) };
    let number = value.to_str().ok().and_then(|text| text.trim().parse().ok());
    number.ok_or_else(|| ApiProblem::invalid("last-event-id", "Expected the number of an event"))
}

/// The events of a run after a number: live ones as they come, or those of the record.
pub(super) async fn events_of(
    studio: &Studio,
    caller: &Caller,
    id: &str,
    after: u64,
) -> Result<Response, ApiProblem> {
    let parsed: RunId = id.parse().map_err(|_| run_not_found(id))?;
    if let Some(live) = studio.shared.runs.live(parsed) {
        if !caller.may_see(Some(&live.owner)) {
            return Err(run_not_found(id));
        }
        return Ok(studio.shared.runs.follow(&live, after));
    }
    let run = visible_run(studio, caller, id).await?;
    if run.status == RunStatus::Running.as_str() {
        return Ok(studio.shared.runs.follow_elsewhere(parsed, after));
    }
    let stored = studio.shared.runs.inner.store.events(&run.id).await?;
    let body = match stored {
        Some(stored) => replay(&stored, after),
        // It was interrupted before anything was recorded.
        None => {
            let message = run.error.unwrap_or_else(|| format!("the run is {}", run.status));
            let error = frame(after + 1, "error", &json!({ "message": message }));
            let done = frame(after + 2, "done", &json!({ "status": "error", "message": message }));
            String::from_utf8_lossy(&error).into_owned() + &String::from_utf8_lossy(&done)
        }
    };
    let mut response = Response::new(ResponseBody::from(body));
    let headers = response.headers_mut();
    let event_stream = HeaderValue::from_static("text/event-stream; charset=utf-8");
    headers.insert(header::CONTENT_TYPE, event_stream);
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    if let Ok(id) = HeaderValue::from_str(&run.id) {
        headers.insert("x-run-id", id);
    }
    Ok(response)
}

/// The frames after a number. They are numbered without gaps from the first one that was kept.
fn replay(stored: &StoredEvents, after: u64) -> String {
    let gone = u64::try_from(stored.gone).unwrap_or(0);
    let mut body = String::new();
    if after < gone {
        let gap = frame(gone, "gap", &json!({ "from": after + 1, "to": gone }));
        body.push_str(&String::from_utf8_lossy(&gap));
    }
    let skip = usize::try_from(after.saturating_sub(gone)).unwrap_or(usize::MAX);
    // A frame has no empty line inside: its data is one line.
    let mut rest = stored.frames.as_str();
    for _ in 0..skip {
        match rest.find("\n\n") {
            Some(end) => rest = &rest[end + 2..],
            None => break,
        }
    }
    body + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_replayed_from_any_event() {
        let one = |id: u32| format!("id: {id}\nevent: x\ndata: {{}}\n\n");
        let frames = [one(3), one(4), one(5)].concat();
        let stored = StoredEvents { gone: 2, frames };
        let ids = |after| -> Vec<String> {
            let body = replay(&stored, after);
            body.lines().filter_map(|line| line.strip_prefix("id: ").map(str::to_owned)).collect()
        };
        assert_eq!(ids(0), ["2", "3", "4", "5"]);
        assert_eq!(ids(2), ["3", "4", "5"]);
        assert_eq!(ids(4), ["5"]);
        assert_eq!(ids(5), Vec::<String>::new());
        assert_eq!(ids(99), Vec::<String>::new());
        assert!(
            replay(&stored, 1).starts_with("id: 2\nevent: gap\ndata: {\"from\":2,\"to\":2}\n\n")
        );
    }
}
