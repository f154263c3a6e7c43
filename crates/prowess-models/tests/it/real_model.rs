//! A real model behind a real server, where `PROWESS_REAL_MODEL_URL` names one. `cargo xtask real-model` starts one.
//!
//! The model is a very small one, so the questions are too. It takes no chances: its temperature is zero.

use prowess_core::{Message, Model, ModelDelta, ModelRequest, StopReason, Usage};
use prowess_models::choose;
use serde_json::{Value, json};

use crate::{DIALECTS, next, run};

/// How AFL §6 begins; a model this small needs words that it has seen before.
const PLAIN: &str = "You are a helpful AI assistant.";

/// What a model has said.
struct Said {
    text: String,
    pieces: usize,
    usage: Option<Usage>,
    end: Option<StopReason>,
}

/// The server, or nothing and a word about it.
#[expect(clippy::print_stderr, reason = "a test that does nothing says so")]
fn server() -> Option<String> {
    let url = std::env::var("PROWESS_REAL_MODEL_URL").ok();
    if url.is_none() {
        eprintln!("skipped: `cargo xtask real-model` runs this with a real model");
    }
    url
}

/// llama.cpp's server speaks both dialects, and answers with its one model whatever it is called.
fn model(dialect: &str, url: &str) -> Box<dyn Model> {
    let variables: Vec<_> = ["OPENAI_BASE_URL", "ANTHROPIC_BASE_URL"]
        .map(|name| (name.to_owned(), url.to_owned()))
        .to_vec();
    choose(Some(&format!("{dialect}/small")), &variables, std::path::Path::new("/nowhere"))
        .expect("a model")
}

fn ask(dialect: &str, url: &str, request: &ModelRequest) -> Said {
    said_by(&*model(dialect, url), request)
}

fn said_by(model: &dyn Model, request: &ModelRequest) -> Said {
    run(async {
        let mut stream = model.answer(request).await.expect("an answer");
        let mut said = Said { text: String::new(), pieces: 0, usage: None, end: None };
        while let Some(piece) = next(&mut stream).await {
            match piece.expect("a whole answer") {
                ModelDelta::Text(more) => {
                    said.text.push_str(&more);
                    said.pieces += 1;
                }
                ModelDelta::Usage(usage) => said.usage = Some(usage),
                ModelDelta::End(stop) => said.end = Some(stop),
                ModelDelta::ToolCall(call) => panic!("no tools were offered: {call:?}"),
            }
        }
        said
    })
}

fn question(system: &str, text: &str) -> ModelRequest {
    ModelRequest {
        system: Some(system.to_owned()),
        messages: vec![Message::User(text.to_owned())],
        temperature: Some(0.0),
        max_tokens: Some(32),
        ..ModelRequest::default()
    }
}

#[test]
fn it_answers_over_both_apis() {
    let Some(url) = server() else { return };
    for dialect in DIALECTS {
        let request = question(PLAIN, "What is the capital of France?");
        let said = ask(dialect, &url, &request);
        assert!(said.text.contains("Paris"), "{dialect}: {}", said.text);
        assert!(said.pieces > 1, "{dialect}: the answer came in one piece");
        assert!(
            matches!(said.end, Some(StopReason::Done | StopReason::Length)),
            "{dialect}: {:?}",
            said.end
        );
        let usage = said.usage.expect("the server counts");
        assert!(usage.input > 10 && (1..=32).contains(&usage.output), "{dialect}: {usage:?}");
    }
}

#[test]
fn it_respects_the_token_limit() {
    let Some(url) = server() else { return };
    for dialect in DIALECTS {
        let request = ModelRequest { max_tokens: Some(3), ..question("Talk.", "Tell a story.") };
        let said = ask(dialect, &url, &request);
        assert_eq!(said.end, Some(StopReason::Length), "{dialect}: {}", said.text);
        assert_eq!(said.usage.map(|usage| usage.output), Some(3), "{dialect}");
    }
}

/// Connections are kept for the next request, but not for the next runtime.
#[test]
fn a_model_works_from_several_runtimes() {
    let Some(url) = server() else { return };
    let model = model("openai", &url);
    let request = ModelRequest { max_tokens: Some(2), ..question(PLAIN, "Say yes.") };
    let first = said_by(&*model, &request).text;
    assert_eq!(said_by(&*model, &request).text, first);
    assert_eq!(said_by(&*model, &request).text, first);
}

#[test]
fn it_answers_in_a_schema() {
    let Some(url) = server() else { return };
    let schema = json!({
        "type": "object", "properties": { "city": { "type": "string" } },
        "required": ["city"], "additionalProperties": false,
    });
    let request = ModelRequest {
        schema: Some(schema),
        ..question("You answer with JSON.", "What is the capital of France?")
    };
    let said = ask("openai", &url, &request);
    let value: Value = serde_json::from_str(&said.text).expect("the server sees to the shape");
    assert!(value["city"].is_string(), "{value}");
}

#[test]
fn it_uses_the_context_of_the_prompt() {
    let Some(url) = server() else { return };
    let grounded = format!(
        "{PLAIN}\n\nAnswer the user's request based on the provided context. If the context doesn't \
         contain relevant information, say so clearly.\n\nContext:\n\
         [1] The captain of the ship Aurora is called Mirella."
    );
    let asked = "What is the captain of the ship Aurora called?";
    for dialect in DIALECTS {
        let with = ask(dialect, &url, &question(&grounded, asked));
        assert!(with.text.contains("Mirella"), "{dialect}: {}", with.text);
        let without = ask(dialect, &url, &question(PLAIN, asked));
        assert!(!without.text.contains("Mirella"), "{dialect}: {}", without.text);
    }
}

#[test]
fn it_reports_facts() {
    let Some(url) = server() else { return };
    let facts = run(async { model("openai", &url).facts().await }).expect("facts");
    assert_eq!((facts.context, facts.parameters), (Some(2048), Some(134_515_008)));
}
