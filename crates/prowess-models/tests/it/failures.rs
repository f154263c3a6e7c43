//! What goes wrong at providers, as it is told, and what is tried again.

use std::fmt::Write as _;
use std::time::Duration;

use prowess_models::Provider;
use prowess_testkit::{Answer, Reply, ScriptedProvider};
use serde_json::json;

use crate::{DIALECTS, KEY, all, model, model_with, request, run};

/// What is told about each reply, with ports taken out.
fn check(replies: impl Fn() -> Vec<(&'static str, Reply)>) -> String {
    let mut told = String::new();
    for dialect in DIALECTS {
        let _ = writeln!(told, "# {dialect}");
        for (what, reply) in replies() {
            let provider = ScriptedProvider::start(reply);
            let said = run(all(&model(dialect, &provider), &request("Hi")));
            let said = said.replace(provider.url(), "http://[HOST]");
            let _ = writeln!(told, "{what}:\n  {}", said.replace('\n', "\n  "));
        }
    }
    told
}

#[test]
fn error_responses_have_advice() {
    let error =
        |message: &str, code: &str| json!({ "error": { "message": message, "code": code } });
    let told = check(|| {
        vec![
            (
                "wrong key",
                Reply::json(401, &error("Incorrect API key provided", "invalid_api_key")),
            ),
            ("not allowed", Reply::json(403, &json!({ "detail": "Forbidden" }))),
            (
                "no such model",
                Reply::json(404, &error("The model `m` does not exist", "model_not_found")),
            ),
            ("no such page", Reply::json(404, &json!({ "detail": "Not Found" }))),
            ("no quota", Reply::json(429, &error("You exceeded your quota", "insufficient_quota"))),
            (
                "long pause",
                Reply::json(429, &error("Slow down", "rate_limit")).header("retry-after", "120"),
            ),
            ("bad request", Reply::json(400, &json!({ "error": "invalid\n  temperature" }))),
            ("too large", Reply::json(413, &json!({ "message": "Request too large" }))),
            (
                "elsewhere",
                Reply::bytes(307, "text/plain", "").header("location", "http://127.0.0.1:1/"),
            ),
            ("a page", Reply::bytes(404, "text/html; charset=utf-8", "<h1>nginx</h1>")),
        ]
    });
    insta::assert_snapshot!(told);
}

#[test]
fn invalid_responses_are_reported() {
    let told = check(|| {
        vec![
            ("a page", Reply::bytes(200, "text/html", "<html>Log in</html>")),
            ("plain text", Reply::bytes(200, "text/plain", "hello")),
            ("an answer in one piece", Reply::json(200, &json!({ "choices": [] }))),
            (
                "an error with status 200",
                Reply::json(200, &json!({ "error": { "message": "no" } })),
            ),
            ("no JSON", Reply::bytes(200, "text/event-stream", "data: hello\n\n")),
            ("nothing", Reply::bytes(200, "text/event-stream", "")),
            ("early end", Reply::answer(Answer::text(["a"]).without_end())),
            ("hung up", Reply::answer(Answer::text(["a"]).then_hang_up())),
            (
                "error in the middle",
                Reply::answer(
                    Answer::text(["a"]).then_error(json!({ "message": "out of memory" })),
                ),
            ),
            ("endless line", Reply::bytes(200, "text/event-stream", vec![b'x'; 5 << 20])),
        ]
    });
    insta::assert_snapshot!(told);
}

#[test]
fn failures_before_the_first_token_are_retried() {
    let wait = || Reply::json(429, &json!({})).header("retry-after", "0");
    let overloaded = json!({ "type": "overloaded_error", "message": "Overloaded" });
    for dialect in DIALECTS {
        for (what, trouble) in [
            ("429", wait()),
            ("429 in milliseconds", Reply::json(429, &json!({})).header("retry-after-ms", "1.5")),
            ("500", Reply::json(500, &json!({}))),
            ("503", Reply::bytes(503, "text/html", "<h1>later</h1>")),
            ("529", Reply::json(529, &json!({}))),
            ("in the stream", Reply::answer(Answer::text([]).then_error(overloaded.clone()))),
            ("hung up", Reply::answer(Answer::text([]).then_hang_up())),
        ] {
            let answer = Reply::answer(Answer::text(["a"]).usage(1, 1));
            let provider = ScriptedProvider::start(vec![trouble.clone(), trouble, answer]);
            let said = run(all(&model(dialect, &provider), &request("Hi")));
            assert_eq!(said, "text \"a\"\nusage 1 1\nend Done", "{dialect} {what}");
            assert_eq!(provider.requests().len(), 3, "{dialect} {what}");
        }
    }
}

#[test]
fn retries_are_limited() {
    let trouble = Reply::json(500, &json!({ "error": { "message": "boom" } }));
    let provider = ScriptedProvider::start(vec![trouble; 9]);
    let said = run(all(&model("openai", &provider), &request("Hi")));
    insta::assert_snapshot!(said, @"
    Provider: `openai` reported an internal error: boom (tried 3 times)
      hint: try again later
    ");
    assert_eq!(provider.requests().len(), 3);
}

#[test]
fn permanent_errors_are_not_retried() {
    let broken = Answer::text(["a"]).then_error(json!({ "type": "overloaded_error" }));
    for (what, reply) in [
        ("400", Reply::json(400, &json!({}))),
        ("401", Reply::json(401, &json!({}))),
        ("404", Reply::json(404, &json!({}))),
        ("long pause", Reply::json(429, &json!({})).header("retry-after", "3600")),
        ("wrong content", Reply::bytes(200, "text/html", "")),
        ("after the first token", Reply::answer(broken)),
        ("hung up after the first token", Reply::answer(Answer::text(["a"]).then_hang_up())),
    ] {
        let provider = ScriptedProvider::start(vec![reply; 3]);
        run(all(&model("openai", &provider), &request("Hi")));
        assert_eq!(provider.requests().len(), 1, "{what}");
    }
}

#[test]
fn a_refused_connection_is_reported() {
    // Port 1 has had no server for decades.
    let local = run(all(&model_with("ollama", "http://127.0.0.1:1", |_| ()), &request("Hi")));
    insta::assert_snapshot!(local, @"
    Unreachable: could not connect to `ollama` at http://127.0.0.1:1: connection refused (tried 3 times)
      hint: start the server
      hint: list the available models
    ");
    // A test reaches nothing but this machine, so it is said not to be.
    let elsewhere = |provider: &mut Provider| provider.is_local = false;
    let other = run(all(&model_with("openai", "http://127.0.0.1:1", elsewhere), &request("Hi")));
    assert!(other.ends_with("hint: check the base URL, the network and `HTTPS_PROXY`"), "{other}");
}

#[test]
fn a_stalled_answer_times_out() {
    for dialect in DIALECTS {
        let provider = ScriptedProvider::start(Answer::text(["first"]).then_stall());
        let model = model_with(dialect, provider.url(), |provider| {
            provider.timeouts.stall = Duration::from_millis(20);
        });
        let said = run(all(&model, &request("Hi")));
        let (first, error) = said.split_once('\n').expect("a piece and an error");
        assert_eq!(first, "text \"first\"");
        assert!(error.starts_with("TimedOut: "), "{error}");
    }
}

#[test]
fn a_missing_first_token_times_out() {
    for dialect in DIALECTS {
        let provider = ScriptedProvider::start(vec![Answer::text([]).then_stall(); 3]);
        let model = model_with(dialect, provider.url(), |provider| {
            provider.timeouts.first_token = Duration::from_millis(20);
        });
        let said = run(all(&model, &request("Hi")));
        assert!(said.starts_with("TimedOut: ") && said.contains("sent no token"), "{said}");
        assert!(provider.requests().len() <= 1, "waiting longer is not tried again");
    }
}

#[test]
fn tls_failures_are_reported() {
    // The scripted provider speaks none, which is what a wrong port looks like.
    let provider = ScriptedProvider::start(Answer::text(["a"]));
    let secure = provider.url().replace("http://", "https://");
    let said = run(all(&model_with("openai", &secure, |_| ()), &request("Hi")));
    assert!(
        said.starts_with("Unreachable: could not connect to `openai` at https://127.0.0.1:"),
        "{said}"
    );
    assert!(provider.requests().iter().all(|sent| !format!("{sent:?}").contains(KEY)));
}
