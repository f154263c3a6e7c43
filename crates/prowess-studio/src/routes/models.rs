//! Models: what can be chosen, a test, and the list that administrators edit.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use futures_util::StreamExt as _;
use prowess_core::{Message, ModelDelta, ModelRequest, Remedy, Usage};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::Problems;
use crate::caller::{AdminCaller, Caller};
use crate::models::{ListedModel, ModelList};
use crate::problem::ApiProblem;
use crate::request::{Body, line};
use crate::studio::Studio;

/// Maximum number of models in the list.
const MAX_MODELS: usize = 200;
/// How long a test may take.
const TEST_TIME: Duration = Duration::from_secs(30);
/// Maximum length of the answer of a test, in bytes.
const MAX_TEST_TEXT: usize = 2_000;

pub(super) fn routes() -> OpenApiRouter<Studio> {
    OpenApiRouter::new()
        .routes(routes!(list_models, set_models))
        .routes(routes!(test_model))
        .routes(routes!(discover_models))
}

#[derive(Serialize, ToSchema)]
struct ModelView {
    id: String,
    provider: String,
    name: String,
    is_default: bool,
    is_local: bool,
    has_key: bool,
    input_price: Option<f64>,
    output_price: Option<f64>,
}

#[derive(Serialize, ToSchema)]
struct ModelsView {
    models: Vec<ModelView>,
    default: Option<String>,
    currency: Option<String>,
}

#[derive(Deserialize, ToSchema)]
struct TestModel {
    model: Option<String>,
}

#[derive(Serialize, ToSchema)]
struct ModelTest {
    ok: bool,
    model: Option<String>,
    first_token_ms: Option<u64>,
    duration_ms: u64,
    text: String,
    usage: Option<TestUsage>,
    error: Option<String>,
    hints: Vec<String>,
}

#[derive(Serialize, ToSchema)]
struct TestUsage {
    input_tokens: u64,
    output_tokens: u64,
}

#[derive(Serialize, ToSchema)]
struct LocalServers {
    servers: Vec<LocalServerView>,
}

#[derive(Serialize, ToSchema)]
struct LocalServerView {
    provider: String,
    base_url: String,
    models: Vec<String>,
}

/// List models
#[utoipa::path(get, path = "/models", tag = "models",
    responses((status = 200, body = ModelsView), Problems))]
async fn list_models(
    State(studio): State<Studio>,
    _caller: Caller,
) -> Result<Json<ModelsView>, ApiProblem> {
    Ok(Json(models_view(&studio)))
}

fn models_view(studio: &Studio) -> ModelsView {
    let models = &studio.shared.models;
    let list = models.list();
    let default = models.name_of(None);
    let mut listed = list.models.clone();
    if let Some(default) = &default
        && !listed.iter().any(|model| model.id == *default)
    {
        listed
            .insert(0, ListedModel { id: default.clone(), input_price: None, output_price: None });
    }
    let settings = models.settings().ok();
    let views = listed.into_iter().map(|model| {
        let (provider, name) = model.id.split_once('/').unwrap_or(("", &model.id));
        let known = settings
            .as_ref()
            .and_then(|settings| settings.providers.iter().find(|known| known.name == provider));
        ModelView {
            provider: provider.to_owned(),
            name: name.to_owned(),
            is_default: default.as_deref() == Some(model.id.as_str()),
            is_local: known.is_some_and(|known| known.is_local),
            has_key: known.is_some_and(|known| models.has_key(known)),
            input_price: model.input_price,
            output_price: model.output_price,
            id: model.id.clone(),
        }
    });
    ModelsView { models: views.collect(), default, currency: list.currency }
}

/// Change the list of models
#[utoipa::path(put, path = "/models", tag = "models", request_body = ModelList,
    responses((status = 200, body = ModelsView), Problems))]
async fn set_models(
    State(studio): State<Studio>,
    administrator: AdminCaller,
    Body(list): Body<ModelList>,
) -> Result<Json<ModelsView>, ApiProblem> {
    if list.models.len() > MAX_MODELS {
        return Err(ApiProblem::invalid("models", format!("At most {MAX_MODELS} are allowed")));
    }
    let names = list.models.iter().map(|model| &model.id).chain(list.default.as_ref());
    for name in names {
        let name = line("models", name)?;
        if name
            .split_once('/')
            .is_none_or(|(provider, model)| provider.is_empty() || model.is_empty())
        {
            return Err(ApiProblem::invalid("models", "A model is written `PROVIDER/NAME`"));
        }
    }
    if let Some(currency) = &list.currency {
        line("currency", currency)?;
    }
    let prices = list.models.iter().flat_map(|model| [model.input_price, model.output_price]);
    if prices.flatten().any(|price| !price.is_finite() || price < 0.0) {
        return Err(ApiProblem::invalid("models", "A price is not negative"));
    }
    let mut settings = studio.shared.settings.read().await?;
    settings.models = list.clone();
    studio.shared.settings.write(&settings).await?;
    studio.shared.settings.remember(settings);
    studio.shared.models.set_list(list);
    studio.audit(&administrator.0, "models-change", "models").await;
    Ok(Json(models_view(&studio)))
}

/// Test a model
#[utoipa::path(post, path = "/models/test", tag = "models", request_body = TestModel,
    responses((status = 200, body = ModelTest), Problems))]
async fn test_model(
    State(studio): State<Studio>,
    caller: Caller,
    Body(body): Body<TestModel>,
) -> Result<Json<ModelTest>, ApiProblem> {
    let _admission = studio.admit(&caller.id).await?;
    let begin = tokio::time::Instant::now();
    let millis = || u64::try_from(begin.elapsed().as_millis()).unwrap_or(u64::MAX);
    let mut test = ModelTest {
        ok: false,
        model: studio.shared.models.name_of(body.model.as_deref()),
        first_token_ms: None,
        duration_ms: 0,
        text: String::new(),
        usage: None,
        error: None,
        hints: Vec::new(),
    };
    let request = Arc::new(ModelRequest {
        messages: vec![Message::User("Reply with the word OK.".to_owned())],
        temperature: None,
        max_tokens: Some(20),
        ..ModelRequest::default()
    });
    let asked = async {
        let model = studio.shared.models.open(body.model.as_deref())?;
        let mut answer = model.answer(&request).await?;
        while let Some(delta) = answer.next().await {
            match delta? {
                ModelDelta::Text(piece) => {
                    test.first_token_ms.get_or_insert_with(millis);
                    if test.text.len() + piece.len() <= MAX_TEST_TEXT {
                        test.text.push_str(&piece);
                    }
                }
                ModelDelta::Usage(Usage { input, output }) => {
                    test.usage = Some(TestUsage { input_tokens: input, output_tokens: output });
                }
                ModelDelta::ToolCall(_) => {}
                ModelDelta::End(_) => break,
            }
        }
        Ok::<(), prowess_core::ModelError>(())
    };
    let result = tokio::time::timeout(TEST_TIME, asked).await;
    match result {
        Ok(Ok(())) => test.ok = true,
        Ok(Err(error)) => {
            test.error = Some(error.message);
            let advice = error.remedies.into_iter().filter_map(|remedy| match remedy {
                Remedy::Advice(advice) => Some(advice),
                _ => None,
            });
            test.hints = advice.collect();
        }
        Err(_) => test.error = Some(format!("no answer within {} s", TEST_TIME.as_secs())),
    }
    test.duration_ms = millis();
    Ok(Json(test))
}

/// Find local servers
#[utoipa::path(post, path = "/models/discover", tag = "models",
    responses((status = 200, body = LocalServers), Problems))]
async fn discover_models(
    State(studio): State<Studio>,
    _administrator: AdminCaller,
) -> Result<Json<LocalServers>, ApiProblem> {
    let models = &studio.shared.models;
    let settings =
        models.settings().map_err(|error| ApiProblem::from(prowess_core::Problem::from(error)))?;
    let found = prowess_models::find_local(&settings, models.environment()).await;
    let servers = found.into_iter().map(|server| LocalServerView {
        provider: server.provider,
        base_url: server.base_url,
        models: server.models,
    });
    Ok(Json(LocalServers { servers: servers.collect() }))
}
