use serde_json::json;

use super::{ServerAnswer, answer};

#[test]
fn the_blocks_of_an_answer_become_its_text() {
    let picture = "A".repeat(400);
    let of = |result| answer(&result).expect("a result");
    for (result, text) in [
        (
            json!({ "content": [{ "type": "text", "text": "a" }, { "type": "text", "text": "b" }] }),
            "a\nb",
        ),
        (
            json!({ "content": [{ "type": "image", "data": picture }] }),
            "[image of about 300 bytes]",
        ),
        (json!({ "content": [{ "type": "resource_link", "uri": "x://y" }] }), "x://y"),
        (json!({ "content": [{ "type": "resource", "resource": { "text": "t" } }] }), "t"),
        (json!({ "content": [{ "type": "resource", "resource": { "uri": "x://y" } }] }), "[x://y]"),
        (json!({ "content": [{ "type": "news" }, 1, null] }), ""),
        (json!({ "structuredContent": { "a": 1 } }), r#"{"a":1}"#),
        (json!({ "content": "no list" }), ""),
        (json!([]), ""),
    ] {
        assert_eq!(of(result.clone()).text, text, "{result}");
    }
    let failed = of(json!({ "content": [], "isError": true, "structuredContent": null }));
    assert_eq!(failed, ServerAnswer { is_error: true, ..ServerAnswer::default() });
}

#[test]
fn a_question_of_a_server_is_an_error() {
    for (kind, expected) in [
        ("input_required", "wants to ask you something, which is not possible here"),
        ("later", "answered with a result of an unknown type"),
    ] {
        let error = answer(&json!({ "resultType": kind })).expect_err("an error");
        assert_eq!(error.message, expected);
    }
}
