//! Escaping of deceptive characters in text and JSON.

use serde_json::json;

use super::{inline, json_text, visible_lines};

#[test]
fn line_breaks_are_escaped_inside_a_line() {
    assert_eq!(inline("plain"), "plain");
    assert_eq!(inline("a\nb\rc"), "a\\nb\\rc");
    assert_eq!(inline("\u{1b}[31mred \u{202e}"), "\\u{1b}[31mred \\u{202e}");
}

#[test]
fn a_carriage_return_cannot_overwrite_its_line() {
    assert_eq!(visible_lines("a\r\nb\n"), "a\nb\n");
    assert_eq!(visible_lines("safe\revil\n"), "safe\\revil\n");
}

#[test]
fn json_escapes_deceptive_characters_and_keeps_its_values() {
    let value = json!({ "a": "x\u{202e}y\u{e0041}\u{7f}", "b": "tab\there" });
    let text = json_text(&value);
    assert!(text.contains("x\\u202ey\\udb40\\udc41\\u007f"), "{text}");
    assert_eq!(serde_json::from_str::<serde_json::Value>(&text).expect("JSON"), value);
}
