//! Workflows: save, validate, import and export, execute with an event per node, resume.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use axum::Json;
use axum::extract::{DefaultBodyLimit, State};
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use prowess_engine::service::Owner;
use prowess_engine::workflow::{
    CheckContext, OpenRun, Workflow, WorkflowContext, WorkflowLimits, check, public_fetcher,
};
use prowess_engine::{CancellationToken, Consent, Engine};
use prowess_format::diagnostic::{Diagnostic, Severity};
use prowess_policy::Mode;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::Problems;
use super::runs::{EventsQuery, events_of, last_event};
use super::skills::blocking;
use crate::caller::Caller;
use crate::dify::{self, Loss};
use crate::limiter::Admission;
use crate::problem::ApiProblem;
use crate::questions::UserApprover;
use crate::request::{Body, UrlPath, UrlQuery, limit, line, new_id, revision, text};
use crate::runs::{EarlierEvents, LiveRun, NewRun, OnDisconnect, RunKind, TakenRun, WorkflowStart};
use crate::studio::Studio;
use crate::timestamp;
use crate::workflows::{Changed, ExecutionRecord, WorkflowRecord, WorkflowVersion, finish};

/// Maximum size of a workflow.
const MAX_WORKFLOW_BYTES: usize = 4 << 20;
/// Maximum length of a description, in bytes.
const MAX_DESCRIPTION: usize = 10_000;

pub(super) fn routes() -> OpenApiRouter<Studio> {
    OpenApiRouter::new()
        .routes(routes!(list_workflows, create_workflow))
        .routes(routes!(get_workflow, update_workflow, delete_workflow))
        .routes(routes!(validate_workflow))
        .routes(routes!(import_workflow))
        .routes(routes!(export_workflow))
        .routes(routes!(list_versions))
        .routes(routes!(get_version))
        .routes(routes!(execute_workflow))
        .routes(routes!(list_executions))
        .layer(DefaultBodyLimit::max(MAX_WORKFLOW_BYTES + (1 << 10)))
        .routes(routes!(get_execution))
        .routes(routes!(resume_execution))
        .routes(routes!(cancel_execution))
        .routes(routes!(get_execution_events))
}

#[derive(Deserialize, ToSchema)]
struct SaveWorkflow {
    name: String,
    #[serde(default)]
    description: String,
    #[schema(value_type = Object)]
    graph_data: Map<String, Value>,
}

#[derive(Deserialize, ToSchema)]
struct ValidateWorkflow {
    #[schema(value_type = Object)]
    graph_data: Map<String, Value>,
}

#[derive(Clone, Serialize, ToSchema)]
struct WorkflowView {
    id: String,
    name: String,
    description: String,
    revision: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    graph_data: Option<Value>,
    inputs: Vec<String>,
    created_at: String,
    updated_at: String,
    user_id: String,
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct WorkflowQuery {
    /// Words of the name or the description.
    search: Option<String>,
}

#[derive(Serialize, ToSchema)]
struct WorkflowList {
    workflows: Vec<WorkflowView>,
    /// The same, by the name of the reference implementation.
    items: Vec<WorkflowView>,
    total: usize,
}

#[derive(Serialize, ToSchema)]
struct Validation {
    is_valid: bool,
    diagnostics: Vec<Value>,
}

#[derive(Serialize, ToSchema)]
struct Imported {
    /// The members of the workflow are also beside it, as in the reference implementation.
    #[serde(flatten)]
    members: WorkflowView,
    workflow: WorkflowView,
    /// `agent-flow` or `dify`.
    format: &'static str,
    losses: Vec<Loss>,
}

#[derive(Serialize, ToSchema)]
struct WorkflowVersionList {
    versions: Vec<WorkflowVersion>,
}

#[derive(Deserialize, ToSchema)]
struct Execute {
    /// The value of the first start node.
    input: Option<Value>,
    /// Values by the names of the start nodes' inputs.
    #[serde(default)]
    inputs: Map<String, Value>,
    model: Option<String>,
    #[serde(default = "goes_on")]
    on_disconnect: OnDisconnect,
}

/// An execution is recorded and expensive, so it does not end with its reader.
fn goes_on() -> OnDisconnect {
    OnDisconnect::Continue
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct ExecutionQuery {
    limit: Option<i64>,
}

#[derive(Serialize, ToSchema)]
struct ExecutionList {
    executions: Vec<ExecutionView>,
}

#[derive(Serialize, ToSchema)]
struct ExecutionView {
    id: String,
    workflow_id: String,
    revision: i64,
    status: String,
    inputs: Map<String, Value>,
    output: Option<Value>,
    error: Option<String>,
    run_id: Option<String>,
    can_resume: bool,
    started_at: String,
    ended_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    nodes: Option<Vec<NodeView>>,
}

#[derive(Serialize, ToSchema)]
struct NodeView {
    node_id: String,
    /// `complete` or `pending`.
    status: &'static str,
    output: Option<Value>,
}

fn workflow_not_found(id: &str) -> ApiProblem {
    ApiProblem::not_found("workflow-not-found", "id", "Workflow", id)
}

async fn workflow_of(
    studio: &Studio,
    caller: &Caller,
    id: &str,
) -> Result<WorkflowRecord, ApiProblem> {
    let found = studio.shared.workflows.get(caller.sees(), id).await?;
    found.ok_or_else(|| workflow_not_found(id))
}

fn view(record: &WorkflowRecord, with_graph: bool) -> WorkflowView {
    let graph = &record.document["workflow"]["graph_data"];
    let (workflow, _) = prowess_engine::workflow::read(&record.document.to_string());
    WorkflowView {
        id: record.id.clone(),
        name: record.name.clone(),
        description: record.description.clone(),
        revision: record.revision,
        graph_data: with_graph.then(|| graph.clone()),
        inputs: workflow
            .map(|workflow| workflow.inputs().into_iter().map(str::to_owned).collect())
            .unwrap_or_default(),
        created_at: timestamp::of_millis(record.created_at),
        updated_at: timestamp::of_millis(record.updated_at),
        user_id: record.owner.clone(),
    }
}

fn with_etag(status: StatusCode, record: &WorkflowRecord) -> Response {
    let mut response = (status, Json(view(record, true))).into_response();
    let tag = HeaderValue::from_str(&format!("\"{}\"", record.revision)).expect("a number");
    response.headers_mut().insert(header::ETAG, tag);
    response
}

/// The file in the exchange format. Its unknown members are kept.
fn document(name: &str, description: &str, graph: Map<String, Value>) -> Value {
    let mut document =
        json!({ "version": 1, "workflow": { "name": name, "description": description } });
    document["workflow"]["graph_data"] = Value::Object(graph);
    document
}

/// Refuses what can't be drawn: everything else may be saved unfinished, and is validated when it runs.
fn require_graph(document: &Value) -> Result<(), ApiProblem> {
    let graph = &document["workflow"]["graph_data"];
    for list in ["nodes", "edges"] {
        if !graph[list].is_array() {
            let field = format!("graph_data.{list}");
            return Err(ApiProblem::invalid(field, "Expected a list"));
        }
    }
    if document.to_string().len() > MAX_WORKFLOW_BYTES {
        return Err(ApiProblem::too_large("graph_data", "The workflow is too large"));
    }
    Ok(())
}

/// List workflows
#[utoipa::path(get, path = "/workflows", tag = "workflows", params(WorkflowQuery),
    responses((status = 200, body = WorkflowList), Problems))]
async fn list_workflows(
    State(studio): State<Studio>,
    caller: Caller,
    UrlQuery(query): UrlQuery<WorkflowQuery>,
) -> Result<Json<WorkflowList>, ApiProblem> {
    let search = query.search.unwrap_or_default().to_lowercase();
    let records = studio.shared.workflows.list(caller.sees()).await?;
    let matches = |record: &&WorkflowRecord| {
        let text = format!("{} {}", record.name, record.description).to_lowercase();
        search.split_whitespace().all(|word| text.contains(word))
    };
    let workflows: Vec<WorkflowView> =
        records.iter().filter(matches).map(|record| view(record, false)).collect();
    let items: Vec<WorkflowView> = workflows;
    Ok(Json(WorkflowList { total: items.len(), workflows: items.clone(), items }))
}

/// Create a workflow
#[utoipa::path(post, path = "/workflows", tag = "workflows", request_body = SaveWorkflow,
    responses((status = 201, body = WorkflowView), Problems))]
async fn create_workflow(
    State(studio): State<Studio>,
    caller: Caller,
    Body(new): Body<SaveWorkflow>,
) -> Result<Response, ApiProblem> {
    let name = line("name", &new.name)?;
    text("description", &new.description, MAX_DESCRIPTION)?;
    let document = document(&name, &new.description, new.graph_data);
    let record = create(&studio, &caller, name, new.description, document).await?;
    Ok(with_etag(StatusCode::CREATED, &record))
}

async fn create(
    studio: &Studio,
    caller: &Caller,
    name: String,
    description: String,
    document: Value,
) -> Result<WorkflowRecord, ApiProblem> {
    require_graph(&document)?;
    let now = studio.now();
    let record = WorkflowRecord {
        id: new_id("wf-")?,
        owner: caller.id.clone(),
        name,
        description,
        document,
        revision: 1,
        created_at: now,
        updated_at: now,
    };
    studio.shared.workflows.create(record.clone()).await?;
    studio.audit(caller, "workflow-create", &record.id).await;
    Ok(record)
}

/// Show a workflow
#[utoipa::path(get, path = "/workflows/{id}", tag = "workflows", params(("id" = String, Path)),
    responses((status = 200, body = WorkflowView), Problems))]
async fn get_workflow(
    State(studio): State<Studio>,
    caller: Caller,
    UrlPath(id): UrlPath<String>,
) -> Result<Response, ApiProblem> {
    Ok(with_etag(StatusCode::OK, &workflow_of(&studio, &caller, &id).await?))
}

/// Change a workflow
#[utoipa::path(put, path = "/workflows/{id}", tag = "workflows", params(("id" = String, Path)),
    request_body = SaveWorkflow, responses((status = 200, body = WorkflowView), Problems))]
async fn update_workflow(
    State(studio): State<Studio>,
    caller: Caller,
    UrlPath(id): UrlPath<String>,
    headers: HeaderMap,
    Body(new): Body<SaveWorkflow>,
) -> Result<Response, ApiProblem> {
    let before = workflow_of(&studio, &caller, &id).await?;
    let expected = revision(&headers)?.ok_or_else(|| {
        let message = "Send the revision that you have changed as `If-Match`";
        ApiProblem::new(StatusCode::PRECONDITION_REQUIRED, "if-match-required", "if-match", message)
    })?;
    let name = line("name", &new.name)?;
    text("description", &new.description, MAX_DESCRIPTION)?;
    // Members of the file that the canvas does not know stay.
    let mut document = before.document.clone();
    document["workflow"]["name"] = name.clone().into();
    document["workflow"]["description"] = new.description.clone().into();
    document["workflow"]["graph_data"] = Value::Object(new.graph_data);
    require_graph(&document)?;
    let record = WorkflowRecord {
        name,
        description: new.description,
        document,
        updated_at: studio.now(),
        ..before
    };
    match studio.shared.workflows.change(record, expected, &caller.id).await? {
        Changed::Saved(saved) => {
            studio.audit(&caller, "workflow-update", &saved.id).await;
            Ok(with_etag(StatusCode::OK, &saved))
        }
        Changed::Missing => Err(workflow_not_found(&id)),
        Changed::Conflict(current) => {
            let message =
                format!("The workflow was changed: it is at revision {}", current.revision);
            let current = serde_json::to_value(view(&current, true)).unwrap_or_default();
            Err(ApiProblem::conflict("revision-conflict", "if-match", message)
                .member("current", current))
        }
    }
}

/// Delete a workflow
#[utoipa::path(delete, path = "/workflows/{id}", tag = "workflows", params(("id" = String, Path)),
    responses((status = 204), Problems))]
async fn delete_workflow(
    State(studio): State<Studio>,
    caller: Caller,
    UrlPath(id): UrlPath<String>,
) -> Result<StatusCode, ApiProblem> {
    let record = workflow_of(&studio, &caller, &id).await?;
    studio.shared.workflows.delete(&record.id).await?;
    studio.audit(&caller, "workflow-delete", &record.id).await;
    Ok(StatusCode::NO_CONTENT)
}

/// Validate a workflow
#[utoipa::path(post, path = "/workflows/validate", tag = "workflows", request_body = ValidateWorkflow,
    responses((status = 200, body = Validation), Problems))]
async fn validate_workflow(
    State(studio): State<Studio>,
    caller: Caller,
    Body(body): Body<ValidateWorkflow>,
) -> Result<Json<Validation>, ApiProblem> {
    let document = document("workflow", "", body.graph_data);
    require_graph(&document)?;
    let (_, diagnostics) = checked(&studio, &caller.id, document.to_string()).await?;
    let is_valid = !has_errors(&diagnostics);
    let diagnostics = located(&document, &diagnostics);
    Ok(Json(Validation { is_valid, diagnostics }))
}

async fn checked(
    studio: &Studio,
    owner: &str,
    text: String,
) -> Result<(Option<Workflow>, Vec<Diagnostic>), ApiProblem> {
    let bases = studio.shared.knowledge.list(Some(owner)).await?;
    let bases: Vec<String> = bases.into_iter().flat_map(|base| [base.id, base.name]).collect();
    let skills = studio.skills_of(Some(owner));
    blocking(move || Ok(check(&text, CheckContext { skills: &skills, bases: Some(&bases) }))).await
}

fn has_errors(diagnostics: &[Diagnostic]) -> bool {
    diagnostics.iter().any(|found| found.severity == Severity::Error)
}

/// Findings with the node or edge that they are about.
fn located(document: &Value, diagnostics: &[Diagnostic]) -> Vec<Value> {
    let text = document.to_string();
    let parsed = prowess_format::json::parse(&text).ok();
    let graph = parsed
        .as_ref()
        .and_then(|root| root.get("workflow"))
        .and_then(|workflow| workflow.get("graph_data"));
    let around = |list: &str, found: &Diagnostic| -> Option<String> {
        let prowess_format::json::JsonContent::Array(items) = &graph?.get(list)?.content else {
            return None;
        };
        let item = items.iter().find(|item| item.span.covers(found.span))?;
        item.get("id").and_then(prowess_format::json::Json::as_str).map(str::to_owned)
    };
    diagnostics
        .iter()
        .map(|found| {
            json!({
                "rule": found.rule.name, "severity": found.severity.as_str(),
                "message": found.message, "help": found.help,
                "node_id": around("nodes", found), "edge_id": around("edges", found),
            })
        })
        .collect()
}

/// Import a workflow
#[utoipa::path(post, path = "/workflows/import", tag = "workflows",
    request_body(content = String, content_type = "application/json"),
    responses((status = 201, body = Imported), Problems))]
async fn import_workflow(
    State(studio): State<Studio>,
    caller: Caller,
    body: Result<Bytes, axum::extract::rejection::BytesRejection>,
) -> Result<(StatusCode, Json<Imported>), ApiProblem> {
    let bytes = body.map_err(|rejection| crate::request::too_large(&rejection))?;
    let text = std::str::from_utf8(&bytes)
        .map_err(|_| ApiProblem::invalid("body", "The file is not UTF-8"))?
        .trim_start_matches('\u{feff}')
        .to_owned();
    let import = blocking(move || dify::import(&text)).await?;
    let about = &import.document["workflow"];
    let name = about["name"].as_str().filter(|name| !name.trim().is_empty());
    let name = line("name", &prowess_format::text::shorten(name.unwrap_or("Imported"), 100))?;
    let description = about["description"].as_str().unwrap_or_default().to_owned();
    crate::request::text("description", &description, MAX_DESCRIPTION)?;
    let record = create(&studio, &caller, name, description, import.document).await?;
    let workflow = view(&record, true);
    let members = workflow.clone();
    let imported = Imported { members, workflow, format: import.format, losses: import.losses };
    Ok((StatusCode::CREATED, Json(imported)))
}

/// Export a workflow
#[utoipa::path(get, path = "/workflows/{id}/export", tag = "workflows", params(("id" = String, Path)),
    responses((status = 200, body = Object), Problems))]
async fn export_workflow(
    State(studio): State<Studio>,
    caller: Caller,
    UrlPath(id): UrlPath<String>,
) -> Result<Response, ApiProblem> {
    let record = workflow_of(&studio, &caller, &id).await?;
    let mut response = Json(&record.document).into_response();
    let disposition = format!("attachment; filename=\"{}.json\"", record.id);
    if let Ok(disposition) = HeaderValue::from_str(&disposition) {
        response.headers_mut().insert(header::CONTENT_DISPOSITION, disposition);
    }
    Ok(response)
}

/// List the saved revisions of a workflow
#[utoipa::path(get, path = "/workflows/{id}/versions", operation_id = "list_workflow_versions",
    tag = "workflows", params(("id" = String, Path)),
    responses((status = 200, body = WorkflowVersionList), Problems))]
async fn list_versions(
    State(studio): State<Studio>,
    caller: Caller,
    UrlPath(id): UrlPath<String>,
) -> Result<Json<WorkflowVersionList>, ApiProblem> {
    let record = workflow_of(&studio, &caller, &id).await?;
    let versions = studio.shared.workflows.versions(&record.id).await?;
    Ok(Json(WorkflowVersionList { versions }))
}

/// Show a revision of a workflow
#[utoipa::path(get, path = "/workflows/{id}/versions/{revision}",
    operation_id = "get_workflow_version", tag = "workflows",
    params(("id" = String, Path), ("revision" = i64, Path)),
    responses((status = 200, body = WorkflowView), Problems))]
async fn get_version(
    State(studio): State<Studio>,
    caller: Caller,
    UrlPath((id, revision)): UrlPath<(String, i64)>,
) -> Result<Json<WorkflowView>, ApiProblem> {
    let record = workflow_of(&studio, &caller, &id).await?;
    let document = studio.shared.workflows.version(&record.id, revision).await?;
    let document = document.ok_or_else(|| {
        let what = format!("{id} revision {revision}");
        ApiProblem::not_found("version-not-found", "revision", "Workflow", &what)
    })?;
    let about = |key: &str| document["workflow"][key].as_str().unwrap_or_default().to_owned();
    let (name, description) = (about("name"), about("description"));
    Ok(Json(view(&WorkflowRecord { name, description, document, revision, ..record }, true)))
}

/// Execute a workflow
///
/// The answer is a stream of server-sent events.
#[utoipa::path(post, path = "/workflows/{id}/execute", tag = "workflows", params(("id" = String, Path)),
    request_body = Execute,
    responses((status = 200, content_type = "text/event-stream", body = String), Problems))]
async fn execute_workflow(
    State(studio): State<Studio>,
    caller: Caller,
    UrlPath(id): UrlPath<String>,
    Body(wanted): Body<Execute>,
) -> Result<Response, ApiProblem> {
    let record = workflow_of(&studio, &caller, &id).await?;
    let text = record.document.to_string();
    let workflow = runnable(&studio, &caller.id, &record.document, &text).await?;
    if wanted.input.as_ref().is_some_and(|input| input == "") {
        return Err(ApiProblem::invalid("input", "Input cannot be empty"));
    }
    let mut inputs = wanted.inputs;
    if let (Some(input), Some(first)) = (wanted.input, workflow.inputs().first()) {
        inputs.entry((*first).to_owned()).or_insert(input);
    }
    let inputs = prowess_engine::workflow::inputs_of(&workflow, inputs)
        .map_err(|error| ApiProblem::invalid("inputs", error.to_string()))?;
    let admission = studio.admit(&caller.id).await?;
    let execution = ExecutionRecord {
        id: new_id("ex-")?,
        owner: caller.id.clone(),
        workflow_id: record.id.clone(),
        revision: record.revision,
        status: "running".to_owned(),
        document: text,
        inputs,
        settings: json!({ "model": wanted.model }),
        output: None,
        error: None,
        run_id: None,
        started_at: studio.now(),
        ended_at: None,
    };
    let open = studio.shared.workflows.begin(execution.clone(), studio.now()).await?;
    let beginning = Beginning { execution, workflow, open, on_disconnect: wanted.on_disconnect };
    respond(&studio, &caller.id, beginning, admission).await
}

/// A workflow without errors.
async fn runnable(
    studio: &Studio,
    owner: &str,
    document: &Value,
    text: &str,
) -> Result<Workflow, ApiProblem> {
    let (workflow, diagnostics) = checked(studio, owner, text.to_owned()).await?;
    let first = diagnostics.iter().find(|found| found.severity == Severity::Error);
    match (workflow, first) {
        (Some(workflow), None) => Ok(workflow),
        (_, first) => {
            let message = first.map_or("it can't be read", |found| found.message.as_str());
            let message = format!("The workflow has errors: {message}");
            Err(ApiProblem::invalid("graph_data", message)
                .member("diagnostics", Value::Array(located(document, &diagnostics))))
        }
    }
}

/// An execution that begins, or goes on.
struct Beginning {
    execution: ExecutionRecord,
    workflow: Workflow,
    open: OpenRun,
    on_disconnect: OnDisconnect,
}

/// Runs an execution, and answers with its events.
async fn respond(
    studio: &Studio,
    user: &str,
    beginning: Beginning,
    admission: Admission,
) -> Result<Response, ApiProblem> {
    let id = beginning.execution.id.clone();
    let run = start(studio, user, beginning, admission, None).await?;
    let mut response = studio.shared.runs.respond(&run).await;
    if let Ok(id) = HeaderValue::from_str(&id) {
        response.headers_mut().insert("x-execution-id", id);
    }
    Ok(response)
}

/// Continues the execution of a server that is gone.
pub(super) async fn go_on(
    studio: &Studio,
    taken: &TakenRun,
    earlier: EarlierEvents,
) -> Result<(), ApiProblem> {
    let gone = || ApiProblem::internal("continuing a workflow", &"there is no such execution");
    let workflows = &studio.shared.workflows;
    let execution = workflows.of_run(&taken.id).await?.ok_or_else(gone)?;
    let document: Value = serde_json::from_str(&execution.document).unwrap_or_default();
    let workflow = runnable(studio, &execution.owner, &document, &execution.document).await?;
    let open = workflows.take(&execution, studio.now(), Some(&taken.node)).await?;
    let open = open.ok_or_else(gone)?;
    let user = execution.owner.clone();
    let on_disconnect = OnDisconnect::Continue;
    let beginning = Beginning { execution, workflow, open, on_disconnect };
    start(studio, &user, beginning, Admission::taken_over(), Some(earlier)).await.map(|_| ())
}

/// Runs an execution, new or resumed.
async fn start(
    studio: &Studio,
    user: &str,
    beginning: Beginning,
    mut admission: Admission,
    earlier: Option<EarlierEvents>,
) -> Result<Arc<LiveRun>, ApiProblem> {
    let Beginning { execution, workflow, open, on_disconnect } = beginning;
    admission.begin_now().await?;
    let owner = user.to_owned();
    let (worlds, user) = (studio.clone(), owner.clone());
    let world = blocking(move || Ok(Arc::new(worlds.world_of(&user)?))).await?;
    let model = execution.settings["model"].as_str().map(str::to_owned);
    let model = studio.shared.models.name_of(model.as_deref());
    let live = Arc::new(OnceLock::new());
    let approver = UserApprover {
        questions: studio.shared.questions.clone(),
        owner: owner.clone(),
        live: Arc::clone(&live),
    };
    let context = WorkflowContext {
        engine: Engine::new(world),
        models: Arc::new(studio.shared.models.clone()),
        retriever: Some(studio.retriever_of(&owner)),
        skills: Arc::new(studio.skills_of(Some(&owner))),
        fetcher: Arc::new(public_fetcher()),
        consent: Consent::None,
        mode: Mode::Global,
        history: Arc::from([]),
        cancel: CancellationToken::default(),
        limits: WorkflowLimits::USUAL,
        executor: prowess_engine::workflow::NodeExecutor::default(),
    };
    let new = NewRun {
        owner,
        kind: RunKind::Workflow,
        subject: Some(execution.workflow_id.clone()),
        version: Some(execution.revision),
        price: model.as_deref().and_then(|name| studio.shared.models.price(name)),
        model,
        inputs: Value::Object(execution.inputs.clone()),
        on_disconnect,
        job: None,
        earlier,
    };
    let ended = execution.id.clone();
    let workflow_start = WorkflowStart {
        new,
        live,
        spawn: Box::new(move |service, owner: &Owner| {
            service.spawn_workflow(owner, workflow, open, context, Box::new(approver))
        }),
        at_end: Box::new(move |transaction, run| finish(transaction, &ended, run)),
        admission,
    };
    let run = studio.shared.runs.start_workflow(workflow_start)?;
    let run_id = run.id.to_string();
    let followed = Arc::clone(&run);
    studio.shared.workflows.hold(&execution.id, &run_id, studio.now()).await?;
    let (keeper, kept) = (studio.clone(), execution.id.clone());
    // Other servers take an execution that nobody holds.
    tokio::spawn(async move {
        loop {
            tokio::time::sleep(Duration::from_secs(10)).await;
            if keeper.shared.runs.live(run.id).is_none() {
                return;
            }
            let now = keeper.now();
            if let Err(error) = keeper.shared.workflows.hold(&kept, &run_id, now).await {
                tracing::warn!(%error, execution = kept, "the execution was not renewed");
            }
        }
    });
    Ok(followed)
}

/// List the executions of a workflow
#[utoipa::path(get, path = "/workflows/{id}/executions", tag = "workflows",
    params(("id" = String, Path), ExecutionQuery),
    responses((status = 200, body = ExecutionList), Problems))]
async fn list_executions(
    State(studio): State<Studio>,
    caller: Caller,
    UrlPath(id): UrlPath<String>,
    UrlQuery(query): UrlQuery<ExecutionQuery>,
) -> Result<Json<ExecutionList>, ApiProblem> {
    let record = workflow_of(&studio, &caller, &id).await?;
    let limit = limit(query.limit)?;
    let executions = studio.shared.workflows.executions(&record.id, limit).await?;
    let executions = executions.into_iter().map(|it| execution_view(it, None)).collect();
    Ok(Json(ExecutionList { executions }))
}

fn execution_view(record: ExecutionRecord, nodes: Option<Vec<NodeView>>) -> ExecutionView {
    ExecutionView {
        can_resume: !matches!(record.status.as_str(), "success" | "running"),
        started_at: timestamp::of_millis(record.started_at),
        ended_at: record.ended_at.map(timestamp::of_millis),
        id: record.id,
        workflow_id: record.workflow_id,
        revision: record.revision,
        status: record.status,
        inputs: record.inputs,
        output: record.output,
        error: record.error,
        run_id: record.run_id,
        nodes,
    }
}

type FoundExecution = (ExecutionRecord, std::collections::HashMap<String, Value>);

async fn execution_of(
    studio: &Studio,
    caller: &Caller,
    id: &str,
) -> Result<FoundExecution, ApiProblem> {
    let found = studio.shared.workflows.execution(caller.sees(), id).await?;
    found.ok_or_else(|| ApiProblem::not_found("execution-not-found", "id", "Execution", id))
}

/// Show an execution
#[utoipa::path(get, path = "/executions/{id}", tag = "workflows", params(("id" = String, Path)),
    responses((status = 200, body = ExecutionView), Problems))]
async fn get_execution(
    State(studio): State<Studio>,
    caller: Caller,
    UrlPath(id): UrlPath<String>,
) -> Result<Json<ExecutionView>, ApiProblem> {
    let (record, mut outputs) = execution_of(&studio, &caller, &id).await?;
    let (workflow, _) = prowess_engine::workflow::read(&record.document);
    let nodes = workflow.map(|workflow| {
        let nodes = workflow.nodes.iter().map(|node| {
            let output = outputs.remove(&node.id);
            let status = if output.is_some() { "complete" } else { "pending" };
            NodeView { node_id: node.id.clone(), status, output }
        });
        nodes.collect()
    });
    Ok(Json(execution_view(record, nodes)))
}

/// Resume an execution
///
/// The answer is a stream of server-sent events. Nodes that are complete are not run again.
#[utoipa::path(post, path = "/executions/{id}/resume", tag = "workflows", params(("id" = String, Path)),
    responses((status = 200, content_type = "text/event-stream", body = String), Problems))]
async fn resume_execution(
    State(studio): State<Studio>,
    caller: Caller,
    UrlPath(id): UrlPath<String>,
) -> Result<Response, ApiProblem> {
    let (record, _) = execution_of(&studio, &caller, &id).await?;
    let document: Value = serde_json::from_str(&record.document).unwrap_or_default();
    let workflow = runnable(&studio, &caller.id, &document, &record.document).await?;
    let admission = studio.admit(&caller.id).await?;
    let open =
        studio.shared.workflows.take(&record, studio.now(), None).await?.ok_or_else(|| {
            let message = match record.status.as_str() {
                "success" => "The execution is complete",
                _ => "The execution is still running",
            };
            ApiProblem::conflict("not-resumable", "id", message)
        })?;
    let on_disconnect = OnDisconnect::Continue;
    let beginning = Beginning { execution: record, workflow, open, on_disconnect };
    respond(&studio, &caller.id, beginning, admission).await
}

/// Cancel an execution
#[utoipa::path(post, path = "/executions/{id}/cancel", tag = "workflows", params(("id" = String, Path)),
    responses((status = 202), Problems))]
async fn cancel_execution(
    State(studio): State<Studio>,
    caller: Caller,
    UrlPath(id): UrlPath<String>,
) -> Result<StatusCode, ApiProblem> {
    let (record, _) = execution_of(&studio, &caller, &id).await?;
    if let Some(run) = record.run_id {
        let is_here = run.parse().is_ok_and(|run| studio.shared.runs.cancel(run));
        if !is_here {
            studio.shared.runs.inner.store.want_cancel(&run).await?;
        }
    }
    Ok(StatusCode::ACCEPTED)
}

/// Follow or replay the events of an execution
#[utoipa::path(get, path = "/executions/{id}/events", tag = "workflows",
    params(("id" = String, Path), EventsQuery),
    responses((status = 200, content_type = "text/event-stream", body = String), Problems))]
async fn get_execution_events(
    State(studio): State<Studio>,
    caller: Caller,
    UrlPath(id): UrlPath<String>,
    UrlQuery(query): UrlQuery<EventsQuery>,
    headers: HeaderMap,
) -> Result<Response, ApiProblem> {
    let (record, _) = execution_of(&studio, &caller, &id).await?;
    let after = last_event(&headers, query.after)?;
    events_of(&studio, &caller, &record.run_id.unwrap_or_default(), after).await
}
