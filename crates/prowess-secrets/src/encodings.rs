//! The encodings in which a value is recognised: verbatim, base64, hexadecimal, URL-encoded, JSON.

use base64::Engine as _;
use base64::alphabet::Alphabet;
use base64::engine::general_purpose::{GeneralPurpose, NO_PAD};

/// All encodings of a value, always in the same order, so that those of two values can be paired.
/// May contain duplicates.
pub(crate) fn of(value: &str) -> Vec<String> {
    let bytes = value.as_bytes();
    let mut encodings = vec![value.to_owned()];
    for escaping in
        [Escaping::Needed, Escaping::BeyondAscii, Escaping::Markup, Escaping::Everything]
    {
        encodings
            .extend([json(value, escaping, Digits::Lower), json(value, escaping, Digits::Upper)]);
    }
    // PHP escapes slashes.
    encodings.push(json(value, Escaping::BeyondAscii, Digits::Lower).replace('/', "\\/"));
    for alphabet in [base64::alphabet::STANDARD, base64::alphabet::URL_SAFE] {
        for before in 0..3 {
            encodings.extend(aligned(bytes, before, &alphabet));
        }
    }
    for digits in [Digits::Lower, Digits::Upper] {
        encodings.push(bytes.iter().map(|byte| digits.of(u16::from(*byte), 2)).collect());
        // Every character escaped, even those that need not be (allowed by RFC 3986 §2.4).
        let escape = |byte: &u8| format!("%{}", digits.of(u16::from(*byte), 2));
        encodings.push(bytes.iter().map(escape).collect());
    }
    // Encoders differ in which characters they keep: RFC 3986 §2.3, Python's `quote`, JavaScript's
    // `encodeURIComponent` and `encodeURI`.
    for kept in ["-._~", "-._~/", "-._~!'()*", "-._~!'()*;/?:@&=+$,#"] {
        let escaped = percent(bytes, kept, Digits::Upper);
        // Forms encode a space as `+` (WHATWG URL §5.2).
        encodings.push(escaped.replace("%20", "+"));
        encodings.push(escaped);
        encodings.push(percent(bytes, kept, Digits::Lower));
    }
    encodings
}

/// Base64 of the value after `before` other bytes: the characters that depend on the value alone,
/// without and with the last character at the end of the input.
fn aligned(value: &[u8], before: usize, alphabet: &Alphabet) -> [String; 2] {
    let mut bytes = vec![0; before];
    bytes.extend_from_slice(value);
    let encoded = GeneralPurpose::new(alphabet, NO_PAD).encode(&bytes);
    // A character is six bits. One that mixes bits of the value with preceding bits can't be
    // predicted.
    let first = (before * 8).div_ceil(6);
    let last = bytes.len() * 8 / 6;
    [encoded[first..last].to_owned(), encoded[first..].to_owned()]
}

/// How hexadecimal digits are written.
#[derive(Clone, Copy)]
enum Digits {
    Lower,
    Upper,
}

impl Digits {
    fn of(self, number: u16, width: usize) -> String {
        match self {
            Self::Lower => format!("{number:0width$x}"),
            Self::Upper => format!("{number:0width$X}"),
        }
    }
}

fn percent(bytes: &[u8], kept: &str, digits: Digits) -> String {
    let mut text = String::with_capacity(bytes.len());
    for &byte in bytes {
        if byte.is_ascii_alphanumeric() || kept.as_bytes().contains(&byte) {
            text.push(char::from(byte));
        } else {
            text.push('%');
            text.push_str(&digits.of(u16::from(byte), 2));
        }
    }
    text
}

/// Which optional characters a JSON writer escapes as `\u`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Escaping {
    Needed,
    /// Non-ASCII characters, as Python does.
    BeyondAscii,
    /// Also characters special in HTML, as Go does.
    Markup,
    /// Every character, to evade detection.
    Everything,
}

/// The inside of a JSON string (RFC 8259 §7).
fn json(value: &str, escaping: Escaping, digits: Digits) -> String {
    let mut text = String::with_capacity(value.len());
    for character in value.chars() {
        let is_escaped = match escaping {
            Escaping::Needed => false,
            Escaping::BeyondAscii => !character.is_ascii(),
            Escaping::Markup => matches!(character, '<' | '>' | '&'),
            Escaping::Everything => true,
        };
        match character {
            _ if is_escaped => push_units(&mut text, character, digits),
            '"' | '\\' => text.extend(['\\', character]),
            '\n' => text.push_str("\\n"),
            '\r' => text.push_str("\\r"),
            '\t' => text.push_str("\\t"),
            character if character < ' ' => push_units(&mut text, character, digits),
            character => text.push(character),
        }
    }
    text
}

fn push_units(text: &mut String, character: char, digits: Digits) {
    for unit in character.encode_utf16(&mut [0; 2]) {
        text.push_str("\\u");
        text.push_str(&digits.of(*unit, 4));
    }
}
