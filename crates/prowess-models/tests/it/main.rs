//! Asks scripted providers over real HTTP.

mod answers;
mod cancelling;
mod choosing;
mod facts;
mod failures;
mod keys;
mod proxies;
mod real_model;

use std::future::poll_fn;
use std::path::Path;
use std::time::Duration;

use prowess_core::{Message, Model as _, ModelDelta, ModelError, ModelRequest, ModelStream};
use prowess_models::{ModelSettings, Provider, RemoteModel, RetryPolicy};
use prowess_testkit::ScriptedProvider;

/// The key of every test. No text that anybody sees may hold it.
const KEY: &str = "sk-test-5d41402abc4b2a76";

/// Both dialects, by the names of providers that speak them.
const DIALECTS: [&str; 2] = ["openai", "anthropic"];

/// Retries without pauses: what is tested is whether there is one, and how long it is has a test of its own.
const AT_ONCE: RetryPolicy = RetryPolicy {
    attempts: 3,
    pause: Duration::ZERO,
    short_pause: Duration::ZERO,
    longest_pause: Duration::from_secs(1),
};

/// Variables that send a provider's requests to the scripted one, with a key.
fn variables(url: &str) -> Vec<(String, String)> {
    let pairs = [
        ("OPENAI_BASE_URL", url),
        ("OPENAI_API_KEY", KEY),
        ("ANTHROPIC_BASE_URL", url),
        ("ANTHROPIC_API_KEY", KEY),
        ("OLLAMA_HOST", url),
    ];
    pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec()
}

/// A model of the scripted provider; `change` may turn the provider's knobs.
fn model_with(dialect: &str, url: &str, change: impl FnOnce(&mut Provider)) -> RemoteModel {
    let variables = variables(url);
    let settings = ModelSettings::of(&variables, None, Path::new("/nowhere")).expect("settings");
    let mut choice = settings.choose(Some(&format!("{dialect}/m"))).expect("a known provider");
    change(&mut choice.provider);
    RemoteModel::open(&choice, &variables).expect("a model").with_retries(AT_ONCE)
}

fn model(dialect: &str, provider: &ScriptedProvider) -> RemoteModel {
    model_with(dialect, provider.url(), |_| ())
}

fn request(text: &str) -> ModelRequest {
    ModelRequest { messages: vec![Message::User(text.to_owned())], ..ModelRequest::default() }
}

async fn next(stream: &mut ModelStream) -> Option<Result<ModelDelta, ModelError>> {
    poll_fn(|cx| stream.as_mut().poll_next(cx)).await
}

/// Everything that a model answers, one line a piece, and the error at the end if there is one.
async fn all(model: &RemoteModel, request: &ModelRequest) -> String {
    let mut stream = match model.answer(request).await {
        Ok(stream) => stream,
        Err(error) => return told(&error),
    };
    let mut lines = Vec::new();
    while let Some(piece) = next(&mut stream).await {
        lines.push(match piece {
            Ok(ModelDelta::Text(text)) => format!("text {text:?}"),
            Ok(ModelDelta::ToolCall(call)) => {
                format!("call {} {} {}", call.id, call.name, call.arguments)
            }
            Ok(ModelDelta::Usage(usage)) => format!("usage {} {}", usage.input, usage.output),
            Ok(ModelDelta::End(stop)) => format!("end {stop:?}"),
            Err(error) => told(&error),
        });
    }
    lines.join("\n")
}

/// All texts of an error, none of which may hold the key.
fn told(error: &ModelError) -> String {
    let mut text = format!("{:?}: {error}", error.kind);
    for hint in error.remedies.iter().map(ToString::to_string) {
        text.push_str("\n  hint: ");
        text.push_str(&hint);
    }
    assert!(!text.contains(KEY), "the key is in {text}");
    assert!(!format!("{error:?}").contains(KEY), "the key is in {error:?}");
    text
}

/// Runs a future as a program would.
fn run<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(future)
}
