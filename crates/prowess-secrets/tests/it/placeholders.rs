//! Placeholders have the shape of a secret and none of its characters.

use prowess_secrets::{Placeholder, PlaceholderError, Secret};

fn placeholder(value: &str) -> Result<String, PlaceholderError> {
    let mut next = 0_u8;
    let random = || {
        next = next.wrapping_mul(29).wrapping_add(101);
        next
    };
    Placeholder::new(&Secret::new("KEY", value), random).map(|made| made.text().to_owned())
}

#[test]
fn a_placeholder_keeps_the_shape_of_the_value_only() {
    let value = "ghp_AbcDef012-xyz";
    let made = placeholder(value).expect("it is long enough");
    let shape = |text: &str| -> String {
        let class = |character: char| match character {
            '0'..='9' => '0',
            'a'..='z' => 'a',
            'A'..='Z' => 'A',
            other => other,
        };
        text.chars().map(class).collect()
    };
    assert_eq!(shape(&made), shape(value));
    assert!(!made.starts_with("ghp"), "{made}");
    let hexadecimal = placeholder("00ff17aa93bc").expect("it is long enough");
    assert!(hexadecimal.bytes().all(|byte| byte.is_ascii_hexdigit()), "{hexadecimal}");
    assert_eq!(placeholder("  0123456789\n").expect("white space is ignored").len(), 10);
}

#[test]
fn unsuitable_values_get_no_placeholder() {
    for (value, expected) in [
        ("", PlaceholderError::Short),
        ("abcdefg-------", PlaceholderError::Short),
        ("two words with spaces", PlaceholderError::Character),
        ("line\nbreak-in-the-middle", PlaceholderError::Character),
        ("pässwörd-with-umlauts", PlaceholderError::Character),
        (&"x".repeat(20_000), PlaceholderError::Long),
    ] {
        assert_eq!(placeholder(value), Err(expected), "{value:.20}");
    }
}
