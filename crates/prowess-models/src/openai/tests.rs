use prowess_core::{Message, ModelDelta, ModelRequest, ToolCall, ToolSpec};
use serde_json::{Value, json};

use super::{OpenAiReader, body, is_strict};
use crate::dialect::{AnswerProgress, OmittedParts};
use crate::sse::SseEvent;

fn call(id: &str, arguments: &str) -> ToolCall {
    ToolCall { id: id.to_owned(), name: "look".to_owned(), arguments: arguments.to_owned() }
}

pub(crate) fn conversation() -> ModelRequest {
    ModelRequest {
        system: Some("Be brief.".to_owned()),
        messages: vec![
            Message::User("Where is it?".to_owned()),
            Message::Assistant {
                text: String::new(),
                calls: vec![call("c1", "{\"at\":1}"), call("c2", "not JSON")],
            },
            Message::ToolResult { id: "c1".to_owned(), content: "here".to_owned() },
            Message::ToolResult { id: "c2".to_owned(), content: "there".to_owned() },
            Message::Assistant { text: "Here.".to_owned(), calls: Vec::new() },
        ],
        temperature: Some(1.5),
        max_tokens: Some(2000),
        tools: vec![ToolSpec {
            name: "look".to_owned(),
            description: "Looks.".to_owned(),
            parameters: json!({ "type": "object" }),
        }],
        schema: Some(json!({ "type": "object" })),
    }
}

#[test]
fn writes_a_conversation_as_json() {
    let whole = body("m", &conversation(), OmittedParts::default());
    insta::assert_snapshot!(format!("{whole:#}"));
}

#[test]
fn omits_unsupported_parts() {
    let without =
        OmittedParts { stream_options: true, schema: true, max_tokens: true, temperature: true };
    let body = body("m", &conversation(), without);
    for name in ["stream_options", "response_format", "max_tokens", "temperature"] {
        assert_eq!(body.get(name), None, "{name}");
    }
    assert_eq!(body["max_completion_tokens"], 2000);
}

#[test]
fn chooses_a_part_to_omit_after_an_error() {
    let schema = ModelRequest { schema: None, ..conversation() };
    for (complaint, request, wanted) in [
        ("Unknown field: stream_options", &schema, Some("stream_options")),
        ("include_usage: extra fields not permitted", &schema, Some("stream_options")),
        (
            "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.",
            &schema,
            Some("max_tokens"),
        ),
        ("'response_format' is not supported", &conversation(), Some("schema")),
        ("output_config: not permitted", &conversation(), Some("schema")),
        ("'response_format' is not supported", &schema, None),
        ("temperature has to be 1", &conversation(), None),
    ] {
        let less = OmittedParts::default().after(complaint, request);
        let left_out = less.map(|less| match less {
            OmittedParts { stream_options: true, .. } => "stream_options",
            OmittedParts { max_tokens: true, .. } => "max_tokens",
            OmittedParts { schema: true, .. } => "schema",
            OmittedParts { .. } => "nothing",
        });
        assert_eq!(left_out, wanted, "{complaint}");
        // An omitted part can't be omitted again, so this ends.
        if let Some(less) = less {
            assert_eq!(less.after(complaint, request), None, "{complaint}");
        }
    }
}

#[test]
fn only_closed_schemas_are_strict() {
    let closed = json!({
        "type": "object", "properties": { "a": { "type": "string" } },
        "required": ["a"], "additionalProperties": false,
    });
    let open = json!({ "type": "object", "properties": { "a": {} }, "required": ["a"] });
    for (schema, wanted) in [
        (closed.clone(), true),
        (open.clone(), false),
        (json!({ "type": "array", "items": closed }), true),
        (json!({ "type": "array", "items": open }), false),
        (json!({ "type": "object" }), false),
        (
            json!({ "type": "object", "properties": { "a": {} }, "additionalProperties": false }),
            false,
        ),
    ] {
        assert_eq!(is_strict(&schema), wanted, "{schema}");
    }
}

/// The deltas of chunks, or the error.
fn check(deltas: &[Value]) -> String {
    let mut reader = OpenAiReader::default();
    let mut progress = AnswerProgress::default();
    for delta in deltas {
        let data = match delta {
            Value::String(text) => text.clone(),
            other => json!({ "choices": [other] }).to_string(),
        };
        let event = SseEvent { kind: String::new(), data };
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
fn chunks_become_deltas() {
    let done = json!("[DONE]");
    let fragment = |fields: Value| json!({ "delta": { "tool_calls": [fields] } });
    let named = |index: Value, id: &str, arguments: Value| {
        fragment(json!({
            "index": index, "id": id, "function": { "name": "look", "arguments": arguments },
        }))
    };
    for (chunks, wanted) in [
        (
            vec![json!({ "delta": { "role": "assistant", "content": null } }), done.clone()],
            "end Done",
        ),
        (
            vec![
                json!({ "delta": { "content": "a" } }),
                json!({ "delta": { "reasoning_content": "hm" } }),
                json!({ "delta": {}, "finish_reason": "length" }),
                json!("{\"choices\":[],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":1}}"),
                done.clone(),
            ],
            "text a, usage 3 1, end Length",
        ),
        // Fragments of two calls, one after the other.
        (
            vec![
                named(json!(0), "c1", json!("{\"a\"")),
                fragment(json!({ "index": 0, "function": { "arguments": ":1}" } })),
                named(json!(1), "c2", json!("{}")),
                json!({ "delta": {}, "finish_reason": "tool_calls" }),
                done.clone(),
            ],
            "call c1 look {\"a\":1}, call c2 look {}, end ToolCalls",
        ),
        // Whole calls with the same index, and `stop` as the reason.
        (
            vec![
                named(json!(0), "c1", json!("{}")),
                named(json!(0), "c2", json!("[]")),
                json!({ "delta": {}, "finish_reason": "stop" }),
                done.clone(),
            ],
            "call c1 look {}, call c2 look [], end ToolCalls",
        ),
        // Neither index nor id, and arguments that are an object.
        (
            vec![named(Value::Null, "", json!({ "a": 1 })), done.clone()],
            "call call_0 look {\"a\":1}, end ToolCalls",
        ),
        (
            vec![json!({ "delta": {}, "finish_reason": "content_filter" }), done.clone()],
            "end Filtered",
        ),
        (vec![json!({ "delta": {}, "finish_reason": "eos" }), done], "end Other(\"eos\")"),
        (
            vec![json!("{\"error\":{\"message\":\"out of memory\",\"code\":500}}")],
            "Provider: the provider aborted its answer: out of memory",
        ),
        (
            vec![json!("{\"error\":\"too much\"}")],
            "Provider: the provider aborted its answer: too much",
        ),
        (
            vec![json!("{")],
            "Protocol: an event of the answer is not JSON: EOF while parsing an object at line 1 column 1",
        ),
    ] {
        assert_eq!(check(&chunks), wanted);
    }
}

#[test]
fn the_number_of_calls_is_limited() {
    let call = |index: usize| {
        json!({ "delta": { "tool_calls": [
            { "index": index, "id": format!("c{index}"), "function": { "name": "look" } },
        ] } })
    };
    let calls: Vec<Value> = (0..=super::MOST_CALLS).map(call).collect();
    assert_eq!(check(&calls), "Protocol: the model requested more than 256 tool calls");
}

#[test]
fn the_fast_path_only_accepts_plain_text() {
    let short = |data: &str| super::only_text(data);
    let chunk = |delta: &str, rest: &str| {
        format!("{{\"id\":\"x\",\"choices\":[{{\"index\":0,\"delta\":{delta}{rest}}}]}}")
    };
    // Typical chunks of servers, with all their fields.
    for delta in [
        r#"{"content":"a\"\u00e4"}"#,
        r#"{"role":"assistant","content":"a\"ä"}"#,
        r#"{"content":"a\"ä","refusal":null,"tool_calls":null}"#,
    ] {
        for rest in ["", r#","finish_reason":null,"logprobs":{"content":[1,{}]}"#] {
            assert_eq!(short(&chunk(delta, rest)).as_deref(), Some("a\"ä"), "{delta}{rest}");
        }
    }
    for (delta, rest) in [
        (r#"{"content":""}"#, ""),
        (r#"{"content":null}"#, ""),
        (r#"{"content":[1]}"#, ""),
        (r#"{"content":"a","content":"b"}"#, ""),
        (r#"{"content":"a","reasoning":""}"#, ""),
        (r#"{"content":"a","refusal":"no"}"#, ""),
        (r#"{"content":"a","tool_calls":[]}"#, ""),
        (r#"{"content":"a"}"#, r#","finish_reason":"stop""#),
    ] {
        assert_eq!(short(&chunk(delta, rest)), None, "{delta}{rest}");
    }
    for data in [
        "[DONE]",
        "{}",
        r#"{"choices":[]}"#,
        r#"{"error":{},"choices":[{"delta":{"content":"a"}}]}"#,
        r#"{"choices":[{"delta":{"content":"a"}}],"usage":{"prompt_tokens":1}}"#,
        r#"{"choices":[{"delta":{"content":"a"}},{"delta":{"content":"b"}}]}"#,
        r#"{"choices":[{"delta":{"content":"a"}}]} x"#,
    ] {
        assert_eq!(short(data), None, "{data}");
    }
}
