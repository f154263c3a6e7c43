use prowess_core::{ModelDelta, ModelRequest};
use serde_json::{Value, json};

use super::{AnthropicReader, body};
use crate::dialect::{AnswerProgress, OmittedParts};
use crate::openai::tests::conversation;
use crate::sse::SseEvent;

#[test]
fn writes_a_conversation_as_json() {
    let whole = body("m", &conversation(), OmittedParts::default());
    insta::assert_snapshot!(format!("{whole:#}"));
}

#[test]
fn always_sends_a_token_limit() {
    let body = body("m", &ModelRequest::default(), OmittedParts::default());
    assert_eq!(body["max_tokens"], super::USUAL_MAX_TOKENS);
    assert_eq!(body.get("temperature"), None);
}

#[test]
fn omits_unsupported_parts() {
    let without = OmittedParts { schema: true, temperature: true, ..OmittedParts::default() };
    let body = body("m", &conversation(), without);
    for name in ["output_config", "temperature"] {
        assert_eq!(body.get(name), None, "{name}");
    }
}

/// The deltas of events, or the error.
fn check(events: &[Value]) -> String {
    let mut reader = AnthropicReader::default();
    let mut progress = AnswerProgress::default();
    for event in events {
        let event = SseEvent { kind: String::new(), data: event.to_string() };
        if let Err(error) = reader.event(&event, &mut progress) {
            return format!("{:?}: {}", error.kind, error.message);
        }
    }
    let pieces = progress.pieces.iter().map(|piece| match piece {
        ModelDelta::Text(text) => format!("text {text}"),
        ModelDelta::ToolCall(call) => format!("call {} {} {}", call.id, call.name, call.arguments),
        ModelDelta::Usage(usage) => format!("usage {} {}", usage.input, usage.output),
        ModelDelta::End(stop) => format!("end {stop:?}"),
    });
    pieces.collect::<Vec<_>>().join(", ")
}

#[test]
fn events_become_deltas() {
    let start = json!({ "type": "message_start", "message": { "usage": {
        "input_tokens": 3, "cache_read_input_tokens": 4, "output_tokens": 1,
    } } });
    let stop = |reason: &str| {
        json!({
            "type": "message_delta", "delta": { "stop_reason": reason },
            "usage": { "output_tokens": 9 },
        })
    };
    let end = json!({ "type": "message_stop" });
    let block = |index: u64, block: Value| json!({ "type": "content_block_start", "index": index, "content_block": block });
    let delta = |index: u64, delta: Value| json!({ "type": "content_block_delta", "index": index, "delta": delta });
    let close = |index: u64| json!({ "type": "content_block_stop", "index": index });
    for (events, wanted) in [
        (
            vec![
                start.clone(),
                json!({ "type": "ping" }),
                block(0, json!({ "type": "thinking", "thinking": "" })),
                delta(0, json!({ "type": "thinking_delta", "thinking": "hm" })),
                close(0),
                block(1, json!({ "type": "text", "text": "" })),
                delta(1, json!({ "type": "text_delta", "text": "a" })),
                close(1),
                stop("end_turn"),
                json!({ "type": "some_day" }),
                end.clone(),
            ],
            "text a, usage 7 9, end Done",
        ),
        // A call in fragments, and one of a tool without parameters.
        (
            vec![
                start.clone(),
                block(0, json!({ "type": "tool_use", "id": "c1", "name": "look", "input": {} })),
                block(1, json!({ "type": "tool_use", "id": "c2", "name": "see", "input": {} })),
                delta(0, json!({ "type": "input_json_delta", "partial_json": "{\"a\"" })),
                delta(0, json!({ "type": "input_json_delta", "partial_json": ":1}" })),
                close(0),
                close(1),
                stop("tool_use"),
                end.clone(),
            ],
            "call c1 look {\"a\":1}, call c2 see {}, usage 7 9, end ToolCalls",
        ),
        (vec![stop("max_tokens"), end.clone()], "usage 0 9, end Length"),
        (vec![stop("refusal"), end.clone()], "usage 0 9, end Filtered"),
        (vec![stop("pause_turn"), end], "usage 0 9, end Other(\"pause_turn\")"),
        (
            vec![
                start,
                json!({ "type": "error", "error": { "type": "overloaded_error", "message": "Overloaded" } }),
            ],
            "Provider: the provider aborted its answer: Overloaded",
        ),
        (
            vec![
                json!({ "type": "error", "error": { "type": "rate_limit_error", "message": "Slow down" } }),
            ],
            "RateLimited { retry_after: None }: the provider aborted its answer: Slow down",
        ),
    ] {
        assert_eq!(check(&events), wanted);
    }
}

#[test]
fn the_fast_path_only_accepts_plain_text() {
    let short = |data: &str| super::only_text(data);
    let text =
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a"}}"#;
    assert_eq!(short(text).as_deref(), Some("a"));
    for data in [
        r#"{"type":"content_block_delta","delta":{"type":"input_json_delta","partial_json":"a"}}"#,
        r#"{"type":"content_block_delta","delta":{"text":"a","partial_json":"b"}}"#,
        r#"{"type":"message_delta","delta":{"text":"a"}}"#,
        r#"{"delta":{"text":"a"}}"#,
        r#"{"type":"ping"}"#,
    ] {
        assert_eq!(short(data), None, "{data}");
    }
}
