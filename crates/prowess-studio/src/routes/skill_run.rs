//! Runs a skill and streams its events (specification §7.1, §8).

use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::response::Response;
use serde::Deserialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::Problems;
use super::skills::{blocking, version_of, visible_skill};
use crate::caller::Caller;
use crate::problem::ApiProblem;
use crate::prompt_job::PromptJob;
use crate::request::{Body, UrlPath};
use crate::runs::{NewRun, OnDisconnect, RunEnd, RunKind};
use crate::skills::{load_text, stored_owner};
use crate::studio::Studio;

/// The longest run of a skill that states no limit of its own.
const MAX_RUN: Duration = Duration::from_mins(10);

pub(super) fn routes() -> OpenApiRouter<Studio> {
    OpenApiRouter::new().routes(routes!(run_skill))
}

#[derive(Deserialize, ToSchema)]
struct RunSkill {
    /// The values of the inputs, by name.
    #[serde(default)]
    inputs: Map<String, Value>,
    /// Another model than the default.
    model: Option<String>,
    /// An earlier version.
    version: Option<i64>,
    #[serde(default)]
    on_disconnect: OnDisconnect,
}

/// Run a skill
///
/// The answer is a stream of server-sent events.
#[utoipa::path(post, path = "/skills/{name}/run", tag = "runs", params(("name" = String, Path)),
    request_body = RunSkill,
    responses((status = 200, content_type = "text/event-stream", body = String), Problems))]
async fn run_skill(
    State(studio): State<Studio>,
    caller: Caller,
    UrlPath(name): UrlPath<String>,
    Body(wanted): Body<RunSkill>,
) -> Result<Response, ApiProblem> {
    let stored = visible_skill(&studio, &caller, &name).await?;
    let (text, version) = match wanted.version {
        Some(version) => (version_of(&studio, &stored.name, version).await?.content, Some(version)),
        None => (stored.text.clone(), None),
    };
    // The skill's own things are its owner's, also when an administrator runs it.
    let owner = stored_owner(&stored).unwrap_or_else(|| caller.id.clone());
    studio.admit(&caller.id).await?;
    let (opener, runner) = (studio.clone(), caller.id.clone());
    let skills = studio.skills_of(Some(&owner));
    let skill_name = stored.name.clone();
    let (skill, world) = blocking(move || {
        let skill = load_text(&text, &skill_name)
            .map_err(|reason| ApiProblem::invalid("content", reason))?;
        Ok((Arc::new(skill), Arc::new(opener.world_of(&runner)?)))
    })
    .await?;
    let model = studio.shared.models.open(wanted.model.as_deref());
    let name_of_model = studio.shared.models.name_of(wanted.model.as_deref());
    let job = PromptJob {
        time: skill
            .skill
            .timeout_secs
            .as_ref()
            .and_then(|seconds| u64::try_from(seconds.value).ok())
            .map_or(MAX_RUN, |seconds| Duration::from_secs(seconds).min(MAX_RUN)),
        skill,
        values: wanted.inputs,
        history: Vec::new(),
        world,
        model,
        retriever: Some(studio.retriever_of(&owner)),
        skills,
    };
    let new = NewRun {
        owner: caller.id,
        kind: RunKind::Skill,
        subject: Some(stored.name.as_str().to_owned()),
        version,
        price: name_of_model.as_deref().and_then(|name| studio.shared.models.price(name)),
        model: name_of_model,
        inputs: Value::Object(job.values.clone()),
        on_disconnect: wanted.on_disconnect,
    };
    let live = studio.shared.runs.start(new, move |scope| async move {
        let mut sink = |event: &prowess_core::Event| scope.event(event);
        RunEnd::from(job.run(&scope, &mut sink).await)
    })?;
    Ok(studio.shared.runs.follow(&live, 0))
}
