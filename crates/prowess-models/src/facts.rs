//! Facts that servers report about their models. Each server has its own format, and many report nothing.

use std::time::Duration;

use prowess_core::{ModelError, ModelFacts};
use reqwest::Client;
use reqwest::header::HeaderMap;
use serde_json::{Value, json};

use crate::provider::Provider;
use crate::transport::page;

/// Timeout of a request: facts are optional.
const LIMIT: Duration = Duration::from_secs(5);

/// Requests facts about a model from its provider.
pub(crate) async fn ask(
    client: &Client,
    headers: &HeaderMap,
    provider: &Provider,
    model: &str,
) -> Result<ModelFacts, ModelError> {
    let get = |url| client.get(url).headers(headers.clone());
    let list = page(client, provider, get(provider.address("models")), LIMIT).await?;
    let entry = list.as_ref().and_then(|list| entry(list, model));
    let mut facts = entry.map_or_else(ModelFacts::default, of_entry);
    let owner = entry.and_then(|entry| entry["owned_by"].as_str()).unwrap_or_default();
    if provider.name == "ollama" || owner == "library" {
        let request = client.post(provider.beside("api/show")).headers(headers.clone());
        let request = request.body(json!({ "model": model }).to_string());
        let shown = page(client, provider, request, LIMIT).await?.unwrap_or_default();
        let loaded = page(client, provider, get(provider.beside("api/ps")), LIMIT).await?;
        facts = of_ollama(&shown, &loaded.unwrap_or_default(), model);
    } else if provider.name == "llamacpp" || owner == "llamacpp" {
        let props = page(client, provider, get(provider.beside("props")), LIMIT).await?;
        // The context size that the server was started with may be far smaller than the model's.
        let context =
            props.and_then(|props| props["default_generation_settings"]["n_ctx"].as_u64());
        facts.context = context.or(facts.context);
    } else if provider.name == "lmstudio" {
        let list = page(client, provider, get(provider.beside("api/v0/models")), LIMIT).await?;
        if let Some(found) = list.as_ref().and_then(|list| self::entry(list, model)) {
            facts.context = of_entry(found).context.or(facts.context);
        }
    }
    Ok(facts)
}

fn entry<'l>(list: &'l Value, model: &str) -> Option<&'l Value> {
    let entries = list["data"].as_array()?;
    let named = entries.iter().find(|entry| entry["id"] == model);
    // llama.cpp with one model returns it for any name.
    named.or_else(|| match entries.as_slice() {
        [only] if only["owned_by"] == "llamacpp" => Some(only),
        _ => None,
    })
}

/// Reads the fields of vLLM, llama.cpp, LM Studio, public gateways and Anthropic, the most reliable first.
fn of_entry(entry: &Value) -> ModelFacts {
    let context = [
        &entry["loaded_context_length"],
        &entry["max_model_len"],
        &entry["meta"]["n_ctx"],
        &entry["context_length"],
        &entry["context_window"],
        &entry["max_context_length"],
        &entry["max_input_tokens"],
        &entry["meta"]["n_ctx_train"],
    ];
    ModelFacts {
        context: context.into_iter().find_map(Value::as_u64),
        parameters: entry["meta"]["n_params"].as_u64(),
    }
}

/// Reads the facts of Ollama, which reports the model's context size but truncates conversations to the size it was
/// loaded with (`num_ctx`).
fn of_ollama(shown: &Value, loaded: &Value, model: &str) -> ModelFacts {
    let info = &shown["model_info"];
    let possible = info["general.architecture"]
        .as_str()
        .and_then(|architecture| info[format!("{architecture}.context_length")].as_u64());
    let configured = shown["parameters"].as_str().and_then(|parameters| {
        parameters.lines().find_map(|line| {
            let mut words = line.split_whitespace();
            (words.next()? == "num_ctx").then(|| words.next()?.parse::<u64>().ok())?
        })
    });
    let is_meant = |name: &Value| {
        let name = name.as_str().unwrap_or_default();
        name == model || name.strip_suffix(":latest") == Some(model)
    };
    let loaded = loaded["models"].as_array().into_iter().flatten();
    let in_use = loaded
        .filter(|entry| is_meant(&entry["name"]) || is_meant(&entry["model"]))
        .find_map(|entry| entry["context_length"].as_u64());
    ModelFacts {
        context: in_use.or(match (configured, possible) {
            (Some(configured), Some(possible)) => Some(configured.min(possible)),
            (one, other) => one.or(other),
        }),
        parameters: info["general.parameter_count"].as_u64(),
    }
}
