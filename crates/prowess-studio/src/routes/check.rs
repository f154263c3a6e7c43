//! A text while it is written: findings, and the prompt that it renders to. Nothing is saved or sent to a model.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use prowess_engine::{CommandOutputs, PromptCall, render_call};
use prowess_format::render::InputError;
use prowess_format::tokens::estimated_tokens;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::Problems;
use super::skills::{blocking, visible_skill};
use crate::caller::Caller;
use crate::problem::ApiProblem;
use crate::request::Body;
use crate::skills::{MAX_CONTENT_BYTES, SkillName, diagnostics_json, load_text, read};
use crate::studio::Studio;

/// Maximum size of a text that is checked. Above what can be saved, so that a text that is too long is checked too.
const MAX_CHECKED_BYTES: usize = 512 << 10;
/// What a model is told without a knowledge base (specification §6).
const SYSTEM: &str = "You are a helpful AI assistant.";

pub(super) fn routes() -> OpenApiRouter<Studio> {
    OpenApiRouter::new().routes(routes!(check)).routes(routes!(render))
}

#[derive(Deserialize, ToSchema)]
struct CheckText {
    content: String,
    /// The name that the text is saved under.
    name: Option<String>,
}

#[derive(Serialize, ToSchema)]
struct CheckResult {
    diagnostics: Vec<Value>,
    bytes: usize,
    limit: usize,
    tokens: usize,
}

#[derive(Deserialize, ToSchema)]
struct RenderText {
    /// A text, or else the name of a skill.
    content: Option<String>,
    name: Option<String>,
    #[serde(default)]
    inputs: Map<String, Value>,
}

#[derive(Serialize, ToSchema)]
struct RenderResult {
    system: &'static str,
    prompt: String,
    warnings: Vec<String>,
    /// Required inputs without a value.
    missing: Vec<String>,
    tokens: usize,
}

/// Check a text
#[utoipa::path(post, path = "/check", tag = "skills", request_body = CheckText,
    responses((status = 200, body = CheckResult), Problems))]
async fn check(
    _caller: Caller,
    Body(body): Body<CheckText>,
) -> Result<Json<CheckResult>, ApiProblem> {
    require_size(&body.content)?;
    let checked = blocking(move || {
        let name = body.name.as_deref().filter(|name| name.parse::<SkillName>().is_ok());
        let text = &body.content;
        let found = read(text, name);
        Ok(CheckResult {
            diagnostics: diagnostics_json(text, &found.diagnostics),
            bytes: text.len(),
            limit: MAX_CONTENT_BYTES,
            tokens: estimated_tokens(text),
        })
    });
    checked.await.map(Json)
}

/// Render a prompt
#[utoipa::path(post, path = "/render", tag = "skills", request_body = RenderText,
    responses((status = 200, body = RenderResult), Problems))]
async fn render(
    State(studio): State<Studio>,
    caller: Caller,
    Body(body): Body<RenderText>,
) -> Result<Json<RenderResult>, ApiProblem> {
    let (text, name) = match (body.content, body.name) {
        (Some(content), name) => (content, name),
        (None, Some(name)) => (visible_skill(&studio, &caller, &name).await?.text, Some(name)),
        (None, None) => {
            return Err(ApiProblem::invalid("content", "Expected `content` or `name`"));
        }
    };
    require_size(&text)?;
    let rendered = blocking(move || {
        let name = name.and_then(|name| name.parse::<SkillName>().ok());
        let name = name.map_or_else(|| "skill".parse().map_err(ApiProblem::from), Ok)?;
        let own = read(&text, None);
        let name = own.skill.name_text().and_then(|said| said.parse().ok()).unwrap_or(name);
        let skill =
            load_text(&text, &name).map_err(|reason| ApiProblem::invalid("content", reason))?;
        let world = Arc::new(studio.world_of(&caller.id)?);
        let call = PromptCall {
            skill: &skill,
            values: &body.inputs,
            arguments: None,
            history: &[],
            time: None,
            commands: CommandOutputs::NotRun,
        };
        let (prompt, warnings, missing) = match render_call(&call, &world) {
            Ok(rendered) => (rendered.text, rendered.warnings, Vec::new()),
            Err(errors) => {
                let missing = errors.iter().filter_map(|error| match error {
                    InputError::Missing { .. } => error.input().map(str::to_owned),
                    _ => None,
                });
                let missing: Vec<String> = missing.collect();
                let other = errors.iter().filter(|it| !matches!(it, InputError::Missing { .. }));
                let warnings = other.map(ToString::to_string).collect();
                (String::new(), warnings, missing)
            }
        };
        Ok(RenderResult {
            system: SYSTEM,
            tokens: estimated_tokens(SYSTEM) + estimated_tokens(&prompt),
            prompt,
            warnings,
            missing,
        })
    });
    rendered.await.map(Json)
}

fn require_size(text: &str) -> Result<(), ApiProblem> {
    if text.len() <= MAX_CHECKED_BYTES {
        return Ok(());
    }
    let message = format!("Expected at most {MAX_CHECKED_BYTES} bytes");
    Err(ApiProblem::too_large("content", message))
}
