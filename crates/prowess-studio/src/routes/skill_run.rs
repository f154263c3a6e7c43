//! Runs a skill and streams its events (specification §7.1, §8).

use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::response::Response;
use prowess_server::database::DatabaseKind;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::Problems;
use super::skills::{blocking, version_of, visible_skill};
use crate::caller::Caller;
use crate::limiter::Admission;
use crate::problem::ApiProblem;
use crate::prompt_job::PromptJob;
use crate::request::{Body, UrlPath};
use crate::runs::{EarlierEvents, LiveRun, NewRun, OnDisconnect, RunEnd, RunKind, TakenRun};
use crate::skills::{SkillName, load_text, stored_owner};
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
    let admission = studio.admit(&caller.id).await?;
    let run = SkillRun {
        name: stored.name,
        text,
        owner,
        inputs: wanted.inputs,
        model: wanted.model,
        on_disconnect: wanted.on_disconnect,
    };
    let live = start(&studio, &caller.id, version, run, admission, None).await?;
    Ok(studio.shared.runs.respond(&live).await)
}

/// What a run of a skill needs, also on another server.
struct SkillRun {
    name: SkillName,
    text: String,
    /// The owner of the skill.
    owner: String,
    inputs: Map<String, Value>,
    model: Option<String>,
    on_disconnect: OnDisconnect,
}

impl SkillRun {
    fn to_json(&self) -> Value {
        json!({
            "name": self.name.as_str(), "text": self.text, "owner": self.owner,
            "inputs": self.inputs, "model": self.model,
        })
    }

    fn from_json(value: &Value) -> Option<Self> {
        let text = |key: &str| value[key].as_str().map(str::to_owned);
        Some(Self {
            name: value["name"].as_str()?.parse().ok()?,
            text: text("text")?,
            owner: text("owner")?,
            inputs: value["inputs"].as_object()?.clone(),
            model: text("model"),
            // Nobody can be reading it yet.
            on_disconnect: OnDisconnect::Continue,
        })
    }
}

/// Runs the skill of a server that is gone again. What was told of its answer is void.
pub(super) async fn run_again(
    studio: &Studio,
    taken: &TakenRun,
    earlier: EarlierEvents,
) -> Result<(), ApiProblem> {
    let run = taken.job.as_ref().and_then(SkillRun::from_json);
    let run = run.ok_or_else(|| ApiProblem::internal("continuing a run", &"it has no job"))?;
    let admission = Admission::taken_over();
    start(studio, &taken.owner, taken.version, run, admission, Some(earlier)).await.map(|_| ())
}

async fn start(
    studio: &Studio,
    user: &str,
    version: Option<i64>,
    run: SkillRun,
    admission: Admission,
    earlier: Option<EarlierEvents>,
) -> Result<Arc<LiveRun>, ApiProblem> {
    let (opener, runner) = (studio.clone(), user.to_owned());
    let skills = studio.skills_of(Some(&run.owner));
    // Only other servers read it.
    let is_shared = studio.server().database().kind() == DatabaseKind::Postgres;
    let recorded = is_shared.then(|| run.to_json());
    let (text, skill_name) = (run.text, run.name.clone());
    let (skill, world) = blocking(move || {
        let skill = load_text(&text, &skill_name)
            .map_err(|reason| ApiProblem::invalid("content", reason))?;
        Ok((Arc::new(skill), Arc::new(opener.world_of(&runner)?)))
    })
    .await?;
    let model = studio.shared.models.open(run.model.as_deref());
    let name_of_model = studio.shared.models.name_of(run.model.as_deref());
    let job = PromptJob {
        time: skill
            .skill
            .timeout_secs
            .as_ref()
            .and_then(|seconds| u64::try_from(seconds.value).ok())
            .map_or(MAX_RUN, |seconds| Duration::from_secs(seconds).min(MAX_RUN)),
        skill,
        values: run.inputs,
        history: Vec::new(),
        world,
        model,
        retriever: Some(studio.retriever_of(&run.owner)),
        skills,
    };
    let is_again = earlier.is_some();
    let new = NewRun {
        owner: user.to_owned(),
        kind: RunKind::Skill,
        subject: Some(run.name.as_str().to_owned()),
        version,
        price: name_of_model.as_deref().and_then(|name| studio.shared.models.price(name)),
        model: name_of_model,
        inputs: Value::Object(job.values.clone()),
        on_disconnect: run.on_disconnect,
        job: recorded,
        earlier,
    };
    studio.shared.runs.start(new, admission, move |scope| async move {
        if is_again {
            let message = "the server was stopped: the run begins again on another one";
            scope.live.custom("restart", &json!({ "message": message }));
        }
        let mut sink = |event: &prowess_core::Event| scope.event(event);
        RunEnd::from(job.run(&scope, &mut sink).await)
    })
}
