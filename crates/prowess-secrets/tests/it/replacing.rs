//! Secrets are replaced in every encoding and across chunk boundaries.

use proptest::prelude::*;
use prowess_secrets::{MAX_SECRET_BYTES, Placeholder, Replacer, Secret};

fn redacting(value: &str) -> Replacer {
    Replacer::redacting(&[Secret::new("KEY", value)])
}

/// Checks a text after a value was redacted.
fn check(value: &str, text: &str, expected: &str) {
    assert_eq!(redacting(value).text(text), expected, "{value:?} in {text:?}");
}

#[test]
fn common_encodings_are_found() {
    // Attack sandbox-F05. Each encoding was created with another program: base64, xxd, Python, JavaScript.
    let key = "s3cr3t/+value?";
    for (text, expected) in [
        ("s3cr3t/+value?", "[redacted: KEY]"),
        ("key=s3cr3t/+value?\n", "key=[redacted: KEY]\n"),
        ("czNjcjN0Lyt2YWx1ZT8=", "[redacted: KEY]="),
        ("eHMzY3IzdC8rdmFsdWU/eA==", "eH[redacted: KEY]eA=="),
        ("eHhzM2NyM3QvK3ZhbHVlP3g=", "eHh[redacted: KEY]3g="),
        ("eHMzY3IzdC8rdmFsdWU_eA==", "eH[redacted: KEY]eA=="),
        ("7333637233742f2b76616c75653f", "[redacted: KEY]"),
        ("7333637233742F2B76616C75653F", "[redacted: KEY]"),
        ("?k=s3cr3t%2F%2Bvalue%3F&x", "?k=[redacted: KEY]&x"),
        ("?k=s3cr3t%2f%2bvalue%3f&x", "?k=[redacted: KEY]&x"),
        ("?k=s3cr3t/%2Bvalue%3F&x", "?k=[redacted: KEY]&x"),
        ("%73%33%63%72%33%74%2F%2B%76%61%6C%75%65%3F", "[redacted: KEY]"),
        ("%73%33%63%72%33%74%2f%2b%76%61%6c%75%65%3f", "[redacted: KEY]"),
        (
            r"\u0073\u0033\u0063\u0072\u0033\u0074\u002f\u002b\u0076\u0061\u006c\u0075\u0065\u003f",
            "[redacted: KEY]",
        ),
        (
            r"\u0073\u0033\u0063\u0072\u0033\u0074\u002F\u002B\u0076\u0061\u006C\u0075\u0065\u003F",
            "[redacted: KEY]",
        ),
        (r#"{"k":"s3cr3t\/+value?"}"#, r#"{"k":"[redacted: KEY]"}"#),
    ] {
        check(key, text, expected);
    }
    check("line\none\"two\\", r#"{"a": "line\none\"two\\"}"#, r#"{"a": "[redacted: KEY]"}"#);
    check(
        "pässwörd",
        r#"["p\u00e4ssw\u00f6rd", "p\u00E4ssw\u00F6rd", "pässwörd"]"#,
        r#"["[redacted: KEY]", "[redacted: KEY]", "[redacted: KEY]"]"#,
    );
    check("a<b>c&d", r"a\u003cb\u003ec\u0026d", "[redacted: KEY]");
    check(
        "key-\u{1f511}-x",
        r"\u006b\u0065\u0079\u002d\ud83d\udd11\u002d\u0078",
        "[redacted: KEY]",
    );
    check("with space", "?q=with+space", "?q=[redacted: KEY]");
}

#[test]
fn surrounding_white_space_is_not_part_of_a_value() {
    check(" s3cr3t-value\n", "<s3cr3t-value>", "<[redacted: KEY]>");
}

#[test]
fn short_values_are_not_replaced() {
    check("short", "a short one", "a short one");
    check("longer", "a longer one", "a [redacted: KEY] one");
    assert!(redacting("short").is_empty());
}

#[test]
fn the_longest_secret_wins_if_one_is_a_prefix_of_another() {
    let both = Replacer::redacting(&[Secret::new("A", "abcdef"), Secret::new("B", "abcdefgh")]);
    assert_eq!(both.text("abcdef abcdefgh abcdefg"), "[redacted: A] [redacted: B] [redacted: A]g");
}

#[test]
fn only_possible_prefixes_are_held_back() {
    let mut stream = redacting("s3cr3t-value").stream();
    assert_eq!(stream.push(b"ready\n").as_ref(), b"ready\n");
    assert_eq!(stream.push(b"is s3cr").as_ref(), b"is ");
    assert_eq!(stream.push(b"ap").as_ref(), b"s3crap");
    assert_eq!(stream.push(b"s3cr3t-val").as_ref(), b"");
    assert_eq!(stream.finish(), b"s3cr3t-val");
}

#[test]
fn the_held_back_bytes_are_bounded() {
    // A value that repeats itself may begin at every byte of the stream.
    let value = "a".repeat(200);
    let mut stream = redacting(&value).stream();
    let mut length = 0;
    for _ in 0..1000 {
        length += stream.push(b"aaaaaaa").len();
        // JSON with every character escaped is the longest encoding of such a value.
        assert!(stream.held() < 1200);
    }
    let text = redacting(&value).bytes(&[b'a'; 7000]).len();
    assert_eq!(length + stream.finish().len(), text);
}

#[test]
fn the_longest_allowed_secret_is_found() {
    let value: String = (b'a'..=b'y').map(char::from).cycle().take(MAX_SECRET_BYTES).collect();
    let text = format!("<{value}>");
    check(&value, &text, "<[redacted: KEY]>");
}

#[test]
fn debug_output_contains_no_secret() {
    let secret = Secret::new("KEY", "s3cr3t-value");
    let shown = format!(
        "{secret:?} {:?} {:?}",
        redacting("s3cr3t-value"),
        redacting("s3cr3t-value").stream()
    );
    assert!(!shown.contains("s3cr"), "{shown}");
}

/// Values over few characters, so that prefixes overlap and secrets contain each other.
fn values() -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec("[ab/]{6,9}", 1..3)
}

proptest! {
    /// The result for a stream in chunks is that of the complete text.
    #[test]
    fn chunk_boundaries_make_no_difference(
        values in values(),
        pieces in prop::collection::vec("[ab/%2F6]{0,12}|[ab/]{0,20}", 0..12),
    ) {
        let secrets: Vec<Secret> = values.iter().map(|value| Secret::new("KEY", value)).collect();
        let replacer = Replacer::redacting(&secrets);
        let whole = pieces.concat();
        let mut stream = replacer.stream();
        let mut cut = Vec::new();
        for piece in &pieces {
            cut.extend_from_slice(&stream.push(piece.as_bytes()));
        }
        cut.extend(stream.finish());
        prop_assert_eq!(String::from_utf8_lossy(&cut), replacer.text(&whole));
    }

    /// Replacing the marks with the value restores the stream.
    #[test]
    fn nothing_but_the_secret_changes(before in ".{0,40}", between in ".{0,40}", cut in 0..200_usize) {
        let value = "\u{1}s3cr3t\u{2}";
        let whole = format!("{before}{value}{between}{value}");
        let mut stream = redacting(value).stream();
        let (one, other) = whole.as_bytes().split_at(cut.min(whole.len()));
        let mut out = stream.push(one).into_owned();
        out.extend_from_slice(&stream.push(other));
        out.extend(stream.finish());
        let out = String::from_utf8(out).expect("it was text and stays text");
        prop_assert!(!out.contains(value));
        prop_assert_eq!(out.replace("[redacted: KEY]", value), whole);
    }

    /// Responses of a server keep their length, whatever surrounds the secret.
    #[test]
    fn substitution_keeps_the_length(value in "[a-zA-Z0-9_.+/=-]{12,40}", around in "[a-z]{0,5}", seed: u8) {
        let mut next = seed;
        let random = || { next = next.wrapping_mul(5).wrapping_add(17); next };
        let Ok(placeholder) = Placeholder::new(&Secret::new("KEY", &value), random) else {
            return Ok(());
        };
        prop_assume!(placeholder.text() != value);
        let replacer = Replacer::substituting(std::slice::from_ref(&placeholder));
        let text = format!("{around}{value}{around}");
        prop_assert_eq!(replacer.text(&text).len(), text.len());
        prop_assert!(!replacer.text(&text).contains(&value));
        let hex = text.bytes().fold(String::new(), |hex, byte| format!("{hex}{byte:02x}"));
        prop_assert_eq!(replacer.text(&hex).len(), hex.len());
        prop_assert!(replacer.text(&hex) != hex);
    }
}
