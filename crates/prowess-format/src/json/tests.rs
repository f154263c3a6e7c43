use insta::assert_snapshot;
use proptest::prelude::*;

use super::*;

fn told(text: &str) -> String {
    match parse(text) {
        Ok(json) => json.to_value().to_string(),
        Err(JsonError { message, span, .. }) => format!("{span:?} {message}"),
    }
}

#[test]
fn says_where_a_text_is_no_json() {
    let texts = [
        "",
        "{",
        "[1,",
        "{\"a\" 1}",
        "{a: 1}",
        "[1 2]",
        "{\"a\": 1,}",
        "[1,]",
        "nul",
        "01",
        "-",
        "\"x",
        "\"\\q\"",
        "\"\\",
        "\"a\nb\"",
        "1 2",
        "é",
        "{\"a\": tru}",
    ];
    let all: Vec<String> = texts.iter().map(|text| format!("{text:?}: {}", told(text))).collect();
    assert_snapshot!(all.join("\n"));
}

#[test]
fn nesting_has_a_limit() {
    let nested = |levels: usize| format!("{}1{}", "[".repeat(levels), "]".repeat(levels));
    assert!(parse(&nested(MAX_DEPTH)).is_ok());
    assert!(told(&nested(MAX_DEPTH + 1)).contains("levels deep"));
    assert!(parse(&"[".repeat(1 << 20)).is_err());
}

#[test]
fn a_key_that_stands_twice_counts_once() {
    assert_eq!(told(r#"{"a": 1, "a": 2}"#), r#"{"a":2}"#);
    let json = parse(r#"{"a": 1, "a": 2, "b": null}"#).expect("it is JSON");
    assert_eq!(json.get("a").map(Json::to_value), Some(2.into()));
    assert_eq!(json.get("b"), None);
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-80_000i32..80_000).prop_map(|eighths| Value::from(f64::from(eighths) / 8.0)),
        ".*".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec((".{0,4}", inner), 0..6)
                .prop_map(|pairs| Value::Object(pairs.into_iter().collect())),
        ]
    })
}

/// Every place holds what it is said to hold.
fn places_are_right(text: &str, json: &Json) {
    let there = parse(json.span.slice(text)).expect("a place holds the value");
    assert_eq!(there.to_value(), json.to_value());
    if let JsonContent::Array(items) = &json.content {
        for item in items {
            places_are_right(text, item);
        }
    }
    for entry in json.entries() {
        assert_eq!(
            parse(entry.key_span.slice(text)).expect("a key").as_str(),
            Some(entry.key.as_str())
        );
        places_are_right(text, &entry.value);
    }
}

proptest! {
    #[test]
    fn reads_what_others_write(value in any_json(), pretty in any::<bool>()) {
        let text = if pretty { format!("{value:#}") } else { value.to_string() };
        let json = parse(&text).expect("it is JSON");
        prop_assert_eq!(json.to_value(), value);
        places_are_right(&text, &json);
    }

    #[test]
    fn takes_what_others_take_and_nothing_else(text in "[\\[\\]{}\",:0-9a-z\\\\ .e+-]{0,24}") {
        let theirs = serde_json::from_str::<Value>(&text);
        let ours = parse(&text);
        prop_assert_eq!(ours.is_ok(), theirs.is_ok(), "{}: {:?} {:?}", text, ours, theirs);
    }
}

#[test]
fn comments_and_trailing_commas_are_accepted_where_they_are_allowed() {
    let text = "\u{feff}// first\n{ /* a */ \"a\": [1, 2,], // \"b\": 1\n \"url\": \"http://x /* y */\", }\n// last";
    let value = super::parse_with_comments(text).expect("it is JSON with comments").to_value();
    assert_eq!(value, serde_json::json!({ "a": [1, 2], "url": "http://x /* y */" }));
    assert!(super::parse(text).is_err());
    for wrong in ["{} /* open", "{,}", "[,]", "{\"a\": 1,,}", "/", "{} x", "// only a comment"] {
        assert!(super::parse_with_comments(wrong).is_err(), "{wrong}");
    }
    assert_eq!(super::skip_comments("a // b\n /* c */ d", 1), 16);
    assert_eq!(super::skip_comments("a /* open", 1), 9);
}
