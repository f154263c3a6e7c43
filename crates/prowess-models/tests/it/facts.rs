//! What servers say about their models.

use prowess_core::{Model as _, ModelErrorKind, ModelFacts};
use prowess_models::{ModelSettings, find_local};
use prowess_testkit::{Reply, Script, ScriptedProvider};
use serde_json::{Value, json};

use crate::{model, model_with, run};

fn check(provider: &str, pages: &[(&str, Value)], context: Option<u64>, parameters: Option<u64>) {
    let script = pages
        .iter()
        .fold(Script::new([]), |script, (path, value)| script.page(path, Reply::json(200, value)));
    let server = ScriptedProvider::start(script);
    let model = model_with("openai", server.url(), |known| provider.clone_into(&mut known.name));
    let facts = run(model.facts()).expect("facts");
    assert_eq!(facts, ModelFacts { context, parameters }, "{provider} {pages:?}");
}

fn list(entry: Value) -> (&'static str, Value) {
    let mut entry = entry;
    entry["id"] = "m".into();
    ("/v1/models", json!({ "object": "list", "data": [{ "id": "other" }, entry] }))
}

#[test]
fn reads_the_facts_of_different_servers() {
    // vLLM, a gateway, llama.cpp before and with `/props`, LM Studio, and servers that say nothing.
    check("vllm", &[list(json!({ "max_model_len": 32768 }))], Some(32768), None);
    check("work", &[list(json!({ "context_length": 200_000 }))], Some(200_000), None);
    let meta =
        json!({ "owned_by": "llamacpp", "meta": { "n_ctx_train": 8192, "n_params": 134_515_008 } });
    check("work", &[list(meta.clone())], Some(8192), Some(134_515_008));
    let props = json!({ "default_generation_settings": { "n_ctx": 2048 } });
    check("llamacpp", &[list(meta), ("/props", props)], Some(2048), Some(134_515_008));
    let studio = json!({ "data": [
        { "id": "m", "max_context_length": 131_072, "loaded_context_length": 4096 },
    ] });
    check("lmstudio", &[list(json!({})), ("/api/v0/models", studio)], Some(4096), None);
    let only = json!({ "data": [
        { "id": "/a/file.gguf", "owned_by": "llamacpp", "meta": { "n_ctx": 2048 } },
    ] });
    check("work", &[("/v1/models", only)], Some(2048), None);
    check("openai", &[list(json!({ "owned_by": "system" }))], None, None);
    check("openai", &[("/v1/models", json!({ "data": [] }))], None, None);
    check("openai", &[("/v1/models", json!([1]))], None, None);
    check("openai", &[], None, None);
}

#[test]
fn reads_the_context_size_of_a_loaded_ollama_model() {
    let shown = |parameters: &str| {
        json!({
            "parameters": parameters,
            "model_info": {
                "general.architecture": "llama",
                "general.parameter_count": 3_212_749_888_u64,
                "llama.context_length": 131_072,
            },
        })
    };
    let entry = list(json!({ "owned_by": "library" }));
    let parameters = Some(3_212_749_888);
    let plain = ("/api/show", shown("stop \"<|eot_id|>\""));
    check("ollama", &[entry.clone(), plain.clone()], Some(131_072), parameters);
    let limited = ("/api/show", shown("temperature 1\nnum_ctx    4096"));
    check("ollama", &[entry.clone(), limited.clone()], Some(4096), parameters);
    let loaded = json!({ "models": [{ "name": "m:latest", "context_length": 8192 }] });
    check("ollama", &[entry.clone(), limited, ("/api/ps", loaded)], Some(8192), parameters);
    // Behind another name it is known by the owner of its models.
    check("work", &[entry, plain], Some(131_072), parameters);
}

#[test]
fn the_ollama_request_names_the_model() {
    let provider = ScriptedProvider::start(Script::new([]));
    run(model("ollama", &provider).facts()).expect("facts");
    let asked = provider.requests();
    let shown = asked.iter().find(|asked| asked.target == "/api/show").expect("it is asked");
    assert_eq!(shown.json(), json!({ "model": "m" }));
}

#[test]
fn an_unreachable_server_is_an_error() {
    let model = model_with("openai", "http://127.0.0.1:1", |_| ());
    let error = run(model.facts()).expect_err("nobody listens");
    assert_eq!(error.kind, ModelErrorKind::Unreachable);
}

#[test]
fn only_local_servers_are_discovered() {
    let (path, models) = list(json!({}));
    let ollama = ScriptedProvider::start(Script::new([]).page(path, Reply::json(200, &models)));
    let other = ScriptedProvider::start(Reply::bytes(200, "text/html", "<h1>a web site</h1>"));
    let strict = ScriptedProvider::start(Reply::json(401, &json!({})));
    let config = format!(
        "[providers.llamacpp]\nbase_url = \"{}\"\n[providers.vllm]\nbase_url = \"{}\"\n\
         [providers.lmstudio]\nbase_url = \"http://127.0.0.1:1\"\n\
         [providers.lemonade]\nbase_url = \"http://127.0.0.1:1\"\n",
        other.url(),
        strict.url(),
    );
    let variables = vec![("OLLAMA_HOST".to_owned(), ollama.url().to_owned())];
    let settings = ModelSettings::of(&variables, Some(&config), std::path::Path::new("/nowhere"));
    let found = run(find_local(&settings.expect("settings"), &variables));
    let [found] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!(found.provider, "ollama");
    assert_eq!(found.base_url, format!("{}/v1", ollama.url()));
    assert_eq!(found.models, ["other", "m"]);
}
