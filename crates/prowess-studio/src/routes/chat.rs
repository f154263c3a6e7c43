//! Chats: messages with streamed answers, sessions with branches, export.

use std::fmt::Write as _;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use http::{HeaderValue, StatusCode, header};
use prowess_core::RunId;
use prowess_engine::CHAT_LIMIT;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::Problems;
use super::skills::blocking;
use crate::caller::Caller;
use crate::chat::{
    ChatMessage, ChatReply, ChatSession, NewExchange, PlainChat, SessionSummary, SkillCall, finish,
    history, mention_values, mentions, plain_skill, recorded,
};
use crate::problem::ApiProblem;
use crate::prompt_job::PromptJob;
use crate::request::{Body, UrlPath, UrlQuery, limit, line, new_id, text};
use crate::runs::{NewRun, OnDisconnect, RunEnd, RunKind};
use crate::skills::{OwnerSkills, SkillName};
use crate::studio::Studio;

/// Maximum size of a message.
const MAX_MESSAGE_BYTES: usize = 512 << 10;
/// Maximum length of the id of a session.
const MAX_SESSION_ID: usize = 128;
/// Maximum length of a title that is made of a message.
const MAX_TITLE: usize = 80;

pub(super) fn routes() -> OpenApiRouter<Studio> {
    OpenApiRouter::new()
        .routes(routes!(complete))
        .routes(routes!(list_sessions))
        .routes(routes!(get_session, change_session, delete_session))
        .routes(routes!(stop_session))
        .routes(routes!(export_session))
}

#[derive(Deserialize, ToSchema)]
struct ChatRequest {
    session_id: Option<String>,
    message: Option<String>,
    /// The message before this one: `null` for the first; absent for the session's head.
    #[serde(default, deserialize_with = "present")]
    #[expect(clippy::option_option, reason = "null and absent mean different things")]
    #[schema(value_type = Option<String>)]
    parent_id: Option<Option<String>>,
    /// An answer that is to be written again.
    retry_of: Option<String>,
    model: Option<String>,
    #[serde(alias = "kb_id")]
    knowledge_base: Option<String>,
    #[serde(default)]
    inputs: Map<String, Value>,
    #[serde(default)]
    on_disconnect: OnDisconnect,
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct SessionQuery {
    /// Words of the title.
    search: Option<String>,
    limit: Option<i64>,
    before: Option<String>,
}

#[derive(Serialize, ToSchema)]
struct SessionList {
    sessions: Vec<SessionSummary>,
    next: Option<String>,
}

#[derive(Deserialize, ToSchema)]
struct ChangeSession {
    title: Option<String>,
    head: Option<String>,
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct ExportQuery {
    /// `markdown` or `json`.
    format: Option<String>,
}

/// A member that is present, be it null or not.
#[expect(clippy::option_option, reason = "null and absent mean different things")]
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Option<String>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}

fn session_not_found(id: &str) -> ApiProblem {
    ApiProblem::not_found("session-not-found", "session_id", "Session", id)
}

fn session_id(id: Option<String>) -> Result<String, ApiProblem> {
    let Some(id) = id else { return new_id("c") };
    let is_fine = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    if (1..=MAX_SESSION_ID).contains(&id.len()) && id.bytes().all(is_fine) {
        return Ok(id);
    }
    let message =
        format!("Expected 1 to {MAX_SESSION_ID} letters, digits, hyphens and underscores");
    Err(ApiProblem::invalid("session_id", message))
}

/// Send a message
///
/// The answer is a stream of server-sent events.
#[utoipa::path(post, path = "/chat/completions", tag = "chat", request_body = ChatRequest,
    responses((status = 200, content_type = "text/event-stream", body = String), Problems))]
async fn complete(
    State(studio): State<Studio>,
    caller: Caller,
    Body(request): Body<ChatRequest>,
) -> Result<Response, ApiProblem> {
    let id = session_id(request.session_id.clone())?;
    let session = studio.shared.chats.session(&caller.id, &id).await?;
    let turn = Turn::of(&request, session.as_ref())?;
    let admission = studio.admit(&caller.id).await?;
    let now = studio.now();
    let exchange_id = new_id("m")?;
    let answer_id = new_id("m")?;
    let reply = reply(&studio, &caller, &request, &turn, session.as_ref()).await?;
    let names: Vec<String> = match &reply {
        ChatReply::Skills(calls) => calls.iter().map(|call| call.name.clone()).collect(),
        ChatReply::Plain(_) => Vec::new(),
    };
    let message = turn.is_new.then(|| (exchange_id.clone(), turn.message.clone()));
    let user_message = if turn.is_new { Some(exchange_id) } else { turn.parent.clone() };
    let exchange = NewExchange {
        owner: caller.id.clone(),
        session: id.clone(),
        title: title(&turn.message),
        message,
        parent: turn.parent,
        answer: answer_id.clone(),
        skills: names.clone(),
        now,
    };
    studio.shared.chats.begin(exchange).await?;
    let model = studio.shared.models.name_of(request.model.as_deref());
    let new = NewRun {
        owner: caller.id.clone(),
        kind: RunKind::Chat,
        subject: names.first().cloned(),
        version: None,
        price: model.as_deref().and_then(|name| studio.shared.models.price(name)),
        model,
        inputs: recorded(&turn.message, &names),
        on_disconnect: request.on_disconnect,
        job: None,
        earlier: None,
    };
    let written = answer_id.clone();
    let started = studio.shared.runs.start(new, admission, move |scope| async move {
        let envelope = reply.run(scope).await;
        RunEnd {
            envelope,
            at_end: Some(Box::new(move |transaction, run| finish(transaction, &written, run))),
        }
    });
    let live = match started {
        Ok(live) => live,
        Err(problem) => {
            // The message stays, and so does an answer that says that it was not written.
            studio.shared.chats.abandon(&answer_id).await?;
            return Err(problem);
        }
    };
    studio.shared.chats.set_run(&answer_id, &live.id.to_string()).await?;
    let mut response = studio.shared.runs.respond(&live).await;
    let mut tell = |name: &'static str, value: &str| {
        if let Ok(value) = HeaderValue::from_str(value) {
            response.headers_mut().insert(name, value);
        }
    };
    tell("x-session-id", &id);
    tell("x-message-id", &answer_id);
    if let Some(user_message) = &user_message {
        tell("x-user-message-id", user_message);
    }
    Ok(response)
}

/// What a request asks for: a message with its place in the tree.
struct Turn {
    message: String,
    /// The message before, or for an answer that is written again, the message that it answers.
    parent: Option<String>,
    /// Whether the message is new.
    is_new: bool,
}

impl Turn {
    fn of(request: &ChatRequest, session: Option<&ChatSession>) -> Result<Self, ApiProblem> {
        let find = |id: &str| {
            session.and_then(|session| session.messages.iter().find(|message| message.id == id))
        };
        let missing = |field: &str, id: &str| {
            ApiProblem::not_found("message-not-found", field, "Message", id)
        };
        if let Some(answer) = &request.retry_of {
            let found = find(answer).filter(|message| message.role == "assistant");
            let asked = found.and_then(|message| message.parent_id.as_deref()).and_then(find);
            let asked = asked.ok_or_else(|| missing("retry_of", answer))?;
            let (message, parent) = (asked.content.clone(), Some(asked.id.clone()));
            return Ok(Self { message, parent, is_new: false });
        }
        let message = request.message.clone().unwrap_or_default();
        if message.trim().is_empty() {
            return Err(ApiProblem::invalid("message", "The message is empty"));
        }
        text("message", &message, MAX_MESSAGE_BYTES)?;
        let parent = match &request.parent_id {
            None => session.and_then(|session| session.head.clone()),
            Some(None) => None,
            Some(Some(id)) => {
                let found = find(id).filter(|message| message.role == "assistant");
                Some(found.ok_or_else(|| missing("parent_id", id))?.id.clone())
            }
        };
        Ok(Self { message, parent, is_new: true })
    }
}

/// What the answer is made of.
async fn reply(
    studio: &Studio,
    caller: &Caller,
    request: &ChatRequest,
    turn: &Turn,
    session: Option<&ChatSession>,
) -> Result<ChatReply, ApiProblem> {
    let before: Vec<&ChatMessage> = match (session, &turn.parent) {
        (Some(session), parent) => session.branch(parent.as_deref()),
        (None, _) => Vec::new(),
    };
    // The message that is answered again is sent as the last one, and not twice.
    let before = if turn.is_new { &before[..] } else { &before[..before.len().saturating_sub(1)] };
    let history = history(before.iter().copied());
    let (studio, user) = (studio.clone(), caller.id.clone());
    let (message, inputs) = (turn.message.clone(), request.inputs.clone());
    let (wanted, base) = (request.model.clone(), request.knowledge_base.clone());
    blocking(move || {
        let world = Arc::new(studio.world_of(&user)?);
        let skills = studio.skills_of(Some(&user));
        let job = |skill, values, history| PromptJob {
            skill: Arc::new(skill),
            values,
            history,
            world: Arc::clone(&world),
            model: studio.shared.models.open(wanted.as_deref()),
            retriever: Some(studio.retriever_of(&user)),
            skills: skills.clone(),
            time: CHAT_LIMIT,
        };
        let Some((names, text)) = mentions(&message, |name| is_skill(&skills, name)) else {
            let mut values = Map::new();
            values.insert("message".to_owned(), Value::from(message.as_str()));
            let job = job(plain_skill(base.as_deref()), values, history);
            return Ok(ChatReply::Plain(Box::new(PlainChat { job })));
        };
        let calls = names.into_iter().map(|name| SkillCall {
            name: name.to_owned(),
            job: skill_of(&skills, name).map(|skill| {
                let values = mention_values(&skill.skill.inputs, text, &inputs);
                job(skill, values, Vec::new())
            }),
        });
        Ok(ChatReply::Skills(calls.collect()))
    })
    .await
}

fn is_skill(skills: &OwnerSkills, name: &str) -> bool {
    use prowess_engine::SkillResolver as _;
    name.parse::<SkillName>().is_ok() && skills.resolve(name).is_ok()
}

fn skill_of(skills: &OwnerSkills, name: &str) -> Result<prowess_engine::LoadedSkill, String> {
    use prowess_engine::SkillResolver as _;
    let skill = skills.resolve(name).map_err(|_| format!("Skill '{name}' not found"))?;
    Ok(prowess_engine::LoadedSkill { directory: None, ..(*skill).clone() })
}

fn title(message: &str) -> String {
    let line = message.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let line: String = line.chars().filter(|character| !character.is_control()).collect();
    prowess_format::text::shorten(&line, MAX_TITLE)
}

/// List chat sessions
#[utoipa::path(get, path = "/chat/sessions", tag = "chat", params(SessionQuery),
    responses((status = 200, body = SessionList), Problems))]
async fn list_sessions(
    State(studio): State<Studio>,
    caller: Caller,
    UrlQuery(query): UrlQuery<SessionQuery>,
) -> Result<Json<SessionList>, ApiProblem> {
    let limit = limit(query.limit)?;
    let search = query.search.unwrap_or_default();
    let chats = &studio.shared.chats;
    let mut sessions = chats.sessions(&caller.id, &search, query.before, limit + 1).await?;
    let most = usize::try_from(limit).unwrap_or(usize::MAX);
    let is_more = sessions.len() > most;
    sessions.truncate(most);
    let next = sessions.last().filter(|_| is_more).map(|session| session.id.clone());
    Ok(Json(SessionList { sessions, next }))
}

async fn own_session(
    studio: &Studio,
    caller: &Caller,
    id: &str,
) -> Result<ChatSession, ApiProblem> {
    if session_id(Some(id.to_owned())).is_err() {
        return Err(session_not_found(id));
    }
    let found = studio.shared.chats.session(&caller.id, id).await?;
    found.ok_or_else(|| session_not_found(id))
}

/// Show a chat session
#[utoipa::path(get, path = "/chat/sessions/{id}", tag = "chat", params(("id" = String, Path)),
    responses((status = 200, body = ChatSession), Problems))]
async fn get_session(
    State(studio): State<Studio>,
    caller: Caller,
    UrlPath(id): UrlPath<String>,
) -> Result<Json<ChatSession>, ApiProblem> {
    own_session(&studio, &caller, &id).await.map(Json)
}

/// Change the title or the selected branch
#[utoipa::path(patch, path = "/chat/sessions/{id}", tag = "chat", params(("id" = String, Path)),
    request_body = ChangeSession, responses((status = 200, body = ChatSession), Problems))]
async fn change_session(
    State(studio): State<Studio>,
    caller: Caller,
    UrlPath(id): UrlPath<String>,
    Body(change): Body<ChangeSession>,
) -> Result<Json<ChatSession>, ApiProblem> {
    let session = own_session(&studio, &caller, &id).await?;
    let title = change.title.as_deref().map(|title| line("title", title)).transpose()?;
    if let Some(head) = &change.head
        && !session.messages.iter().any(|message| message.id == *head)
    {
        return Err(ApiProblem::not_found("message-not-found", "head", "Message", head));
    }
    studio.shared.chats.change(&caller.id, &id, title, change.head).await?;
    own_session(&studio, &caller, &id).await.map(Json)
}

/// Delete a chat session
#[utoipa::path(delete, path = "/chat/sessions/{id}", tag = "chat", params(("id" = String, Path)),
    responses((status = 204), Problems))]
async fn delete_session(
    State(studio): State<Studio>,
    caller: Caller,
    UrlPath(id): UrlPath<String>,
) -> Result<StatusCode, ApiProblem> {
    let session = own_session(&studio, &caller, &id).await?;
    cancel_answers(&studio, &caller, &session).await?;
    studio.shared.chats.delete(&caller.id, &id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Stop the answer that is being written
#[utoipa::path(post, path = "/chat/sessions/{id}/stop", tag = "chat", params(("id" = String, Path)),
    responses((status = 202), Problems))]
async fn stop_session(
    State(studio): State<Studio>,
    caller: Caller,
    UrlPath(id): UrlPath<String>,
) -> Result<StatusCode, ApiProblem> {
    let session = own_session(&studio, &caller, &id).await?;
    cancel_answers(&studio, &caller, &session).await?;
    Ok(StatusCode::ACCEPTED)
}

async fn cancel_answers(
    studio: &Studio,
    caller: &Caller,
    session: &ChatSession,
) -> Result<(), ApiProblem> {
    let running = session.messages.iter().filter(|it| it.status.as_deref() == Some("running"));
    for run in running.filter_map(|message| message.run_id.as_deref()) {
        let Ok(id) = run.parse::<RunId>() else { continue };
        match studio.shared.runs.live(id) {
            Some(live) if live.owner == caller.id => {
                studio.shared.runs.cancel(id);
            }
            Some(_) => {}
            None => studio.shared.runs.inner.store.want_cancel(run).await?,
        }
    }
    Ok(())
}

/// Export a chat session
#[utoipa::path(get, path = "/chat/sessions/{id}/export", tag = "chat",
    params(("id" = String, Path), ExportQuery),
    responses((status = 200, content_type = "text/markdown", body = String), Problems))]
async fn export_session(
    State(studio): State<Studio>,
    caller: Caller,
    UrlPath(id): UrlPath<String>,
    UrlQuery(query): UrlQuery<ExportQuery>,
) -> Result<Response, ApiProblem> {
    let session = own_session(&studio, &caller, &id).await?;
    let (kind, ending, body) = match query.format.as_deref() {
        None | Some("markdown") => ("text/markdown; charset=utf-8", "md", markdown(&session)),
        Some("json") => {
            let json = serde_json::to_string_pretty(&session).unwrap_or_default();
            ("application/json", "json", json)
        }
        Some(_) => {
            return Err(ApiProblem::invalid("format", "Expected `markdown` or `json`"));
        }
    };
    let mut response = body.into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    // The id has letters, digits, hyphens and underscores.
    let disposition = format!("attachment; filename=\"chat-{id}.{ending}\"");
    if let Ok(disposition) = HeaderValue::from_str(&disposition) {
        headers.insert(header::CONTENT_DISPOSITION, disposition);
    }
    Ok(response)
}

fn markdown(session: &ChatSession) -> String {
    let mut text = format!("# {}\n", session.title);
    for message in session.branch(session.head.as_deref()) {
        let who = if message.role == "user" { "You" } else { "Answer" };
        let _ = write!(text, "\n## {who} ({})\n\n{}\n", message.created_at, message.content.trim());
        let sources = message.sources.as_array().map_or(&[][..], Vec::as_slice);
        let injected = sources.iter().filter(|source| source["injected"] == true);
        for (at, source) in injected.enumerate() {
            let name = source["doc_id"].as_str().unwrap_or_default();
            let _ = write!(text, "\n[{}] {name}", at + 1);
        }
        if !sources.is_empty() {
            text.push('\n');
        }
    }
    text
}
