//! Placeholders: the shape of a secret without the secret.

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
fn a_placeholder_has_the_shape_and_nothing_else_of_the_value() {
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
    assert_eq!(placeholder("  0123456789\n").expect("blanks don't count").len(), 10);
}

#[test]
fn some_values_can_have_no_placeholder() {
    for (value, expected) in [
        ("", PlaceholderError::Short),
        ("abcdefg-------", PlaceholderError::Short),
        ("two words are no header", PlaceholderError::Character),
        ("line\nbreak-in-the-middle", PlaceholderError::Character),
        ("pässwörd-with-umlauts", PlaceholderError::Character),
        (&"x".repeat(20_000), PlaceholderError::Long),
    ] {
        assert_eq!(placeholder(value), Err(expected), "{value:.20}");
    }
}
