//! What reaches a reader of text or JSON.

use serde_json::json;

use super::{inline, json_text, visible_lines};

#[test]
fn text_in_a_line_stays_in_its_line() {
    assert_eq!(inline("plain"), "plain");
    assert_eq!(inline("a\nb\rc"), "a\\nb\\rc");
    assert_eq!(inline("\u{1b}[31mred \u{202e}"), "\\u{1b}[31mred \\u{202e}");
}

#[test]
fn a_carriage_return_can_not_overwrite_its_line() {
    assert_eq!(visible_lines("a\r\nb\n"), "a\nb\n");
    assert_eq!(visible_lines("safe\revil\n"), "safe\\revil\n");
}

#[test]
fn json_keeps_its_values_and_hides_nothing() {
    let value = json!({ "a": "x\u{202e}y\u{e0041}\u{7f}", "b": "tab\there" });
    let text = json_text(&value);
    assert!(text.contains("x\\u202ey\\udb40\\udc41\\u007f"), "{text}");
    assert_eq!(serde_json::from_str::<serde_json::Value>(&text).expect("JSON"), value);
}
