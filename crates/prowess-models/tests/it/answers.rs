//! Answers in both dialects, however they come over the wire.

use prowess_core::{Model as _, ToolSpec};
use prowess_testkit::{Answer, Reply, ScriptedProvider};
use serde_json::json;

use crate::{DIALECTS, KEY, all, model, request, run};

fn check(answer: &Answer, change: impl Fn(Reply) -> Reply, wanted: &str) {
    for dialect in DIALECTS {
        let provider = ScriptedProvider::start(change(Reply::answer(answer.clone())));
        let said = run(all(&model(dialect, &provider), &request("Hi")));
        assert_eq!(said, wanted, "{dialect}");
    }
}

#[test]
fn text_usage_and_end() {
    check(
        &Answer::text(["Hel", "lo"]).usage(12, 2),
        |reply| reply,
        "text \"Hel\"\ntext \"lo\"\nusage 12 2\nend Done",
    );
}

#[test]
fn tool_calls_are_assembled() {
    check(
        &Answer::text(["I look."])
            .call("c1", "look", ["{\"a\"", ":1", "}"])
            .call("c2", "see", ["{}"])
            .usage(5, 9),
        |reply| reply,
        "text \"I look.\"\ncall c1 look {\"a\":1}\ncall c2 see {}\nusage 5 9\nend ToolCalls",
    );
}

#[test]
fn chunk_boundaries_line_endings_and_comments_do_not_matter() {
    let answer = Answer::text(["Grüße, 世界 😀"])
        .raw(": ping\n\n")
        .raw(": ping - 2026-11-15 10:00:00\n\n")
        .then("!")
        .usage(3, 4);
    let wanted = "text \"Grüße, 世界 😀\"\ntext \"!\"\nusage 3 4\nend Done";
    for bytes in [1, 2, 3, 7, 64] {
        check(&answer, |reply| reply.split_every(bytes), wanted);
        check(&answer, |reply| reply.split_every(bytes).crlf(), wanted);
    }
}

#[test]
fn the_token_limit_is_reported() {
    for (dialect, word) in [("openai", "length"), ("anthropic", "max_tokens")] {
        let provider = ScriptedProvider::start(Answer::text(["a"]).usage(1, 1).stop(word));
        let said = run(all(&model(dialect, &provider), &request("Hi")));
        assert_eq!(said, "text \"a\"\nusage 1 1\nend Length", "{dialect}");
    }
}

/// What AFL §3.2 lets a skill say about a model goes out as it is.
#[test]
fn temperature_and_tokens_reach_the_provider() {
    for dialect in DIALECTS {
        let provider = ScriptedProvider::start(Answer::text(["a"]));
        let mut request = request("Hi");
        request.temperature = Some(0.3);
        request.max_tokens = Some(321);
        run(all(&model(dialect, &provider), &request));
        let sent = provider.request(0);
        assert_eq!(sent.json()["temperature"], 0.3, "{dialect}");
        assert_eq!(sent.json()["max_tokens"], 321, "{dialect}");
        assert_eq!(sent.json()["stream"], true, "{dialect}");
    }
}

#[test]
fn paths_and_key_headers_follow_the_api() {
    for (dialect, path, header, value) in [
        ("openai", "/v1/chat/completions", "authorization", format!("Bearer {KEY}")),
        ("anthropic", "/v1/messages", "x-api-key", KEY.to_owned()),
    ] {
        let provider = ScriptedProvider::start(Answer::text(["a"]));
        let model = model(dialect, &provider);
        assert_eq!(model.name(), format!("{dialect}/m"));
        run(all(&model, &request("Hi")));
        let sent = provider.request(0);
        assert_eq!((sent.method.as_str(), sent.target.as_str()), ("POST", path));
        assert_eq!(sent.header(header), Some(value.as_str()));
        let version = sent.header("anthropic-version");
        assert_eq!(version, (dialect == "anthropic").then_some("2023-06-01"));
    }
}

#[test]
fn unsupported_parts_are_omitted_and_remembered() {
    let refused =
        |text: &str| Reply::json(400, &json!({ "error": { "message": text, "type": "invalid" } }));
    let provider = ScriptedProvider::start(vec![
        refused("Unknown parameter: stream_options"),
        refused("response_format of type json_schema is not supported"),
        refused("Use 'max_completion_tokens' instead."),
        Reply::answer(Answer::text(["a"]).usage(1, 1)),
        Reply::answer(Answer::text(["b"]).usage(1, 1)),
    ]);
    let model = model("openai", &provider);
    let mut request = request("Hi");
    request.schema = Some(json!({ "type": "object" }));
    request.max_tokens = Some(5);
    // Nobody has counted tokens, because nobody was asked to.
    assert_eq!(run(all(&model, &request)), "text \"a\"\nend Done");
    assert_eq!(run(all(&model, &request)), "text \"b\"\nend Done");
    let requests = provider.requests();
    assert_eq!(requests.len(), 5);
    for sent in &requests[3..] {
        let sent = sent.json();
        assert_eq!(sent.get("stream_options"), None);
        assert_eq!(sent.get("response_format"), None);
        assert_eq!(sent["max_completion_tokens"], 5);
    }
}

#[test]
fn tools_and_schemas_are_sent() {
    for dialect in DIALECTS {
        let provider = ScriptedProvider::start(Answer::text(["{}"]));
        let mut request = request("Hi");
        request.tools = vec![ToolSpec {
            name: "look".to_owned(),
            description: "Looks.".to_owned(),
            parameters: json!({ "type": "object" }),
        }];
        request.schema = Some(json!({ "type": "object" }));
        run(all(&model(dialect, &provider), &request));
        let sent = provider.request(0).json();
        let (tool, schema) = match dialect {
            "openai" => ("/tools/0/function/name", "/response_format/json_schema/schema/type"),
            _ => ("/tools/0/name", "/output_config/format/schema/type"),
        };
        assert_eq!(sent.pointer(tool), Some(&json!("look")), "{sent}");
        assert_eq!(sent.pointer(schema), Some(&json!("object")), "{sent}");
    }
}
