//! The spellings in which a value is found again: as it is, in base64, in hexadecimal, in addresses, in JSON.

use base64::Engine as _;
use base64::alphabet::Alphabet;
use base64::engine::general_purpose::{GeneralPurpose, NO_PAD};

/// All spellings of a value, always in the same order, so that those of two values can be paired. The same text may be
/// in it twice.
pub(crate) fn of(value: &str) -> Vec<String> {
    let bytes = value.as_bytes();
    let mut spellings = vec![value.to_owned()];
    for escaped in [Escaped::Needed, Escaped::BeyondAscii, Escaped::Markup, Escaped::Everything] {
        spellings
            .extend([json(value, escaped, Digits::Lower), json(value, escaped, Digits::Upper)]);
    }
    // PHP writes a slash so.
    spellings.push(json(value, Escaped::BeyondAscii, Digits::Lower).replace('/', "\\/"));
    for alphabet in [base64::alphabet::STANDARD, base64::alphabet::URL_SAFE] {
        for before in 0..3 {
            spellings.extend(aligned(bytes, before, &alphabet));
        }
    }
    for digits in [Digits::Lower, Digits::Upper] {
        spellings.push(bytes.iter().map(|byte| digits.of(u16::from(*byte), 2)).collect());
        // Every character escaped, also those that need not be (RFC 3986 §2.4 lets anybody do it).
        let escape = |byte: &u8| format!("%{}", digits.of(u16::from(*byte), 2));
        spellings.push(bytes.iter().map(escape).collect());
    }
    // Which characters stay as they are differs: RFC 3986 §2.3, Python's `quote`, JavaScript's `encodeURIComponent`
    // and `encodeURI`.
    for kept in ["-._~", "-._~/", "-._~!'()*", "-._~!'()*;/?:@&=+$,#"] {
        let escaped = percent(bytes, kept, Digits::Upper);
        // Forms write a blank as `+` (WHATWG URL §5.2).
        spellings.push(escaped.replace("%20", "+"));
        spellings.push(escaped);
        spellings.push(percent(bytes, kept, Digits::Lower));
    }
    spellings
}

/// Base64 of the value with `before` bytes in front of it: the characters that depend on nothing else, and the same with
/// the last character as it is where nothing follows.
fn aligned(value: &[u8], before: usize, alphabet: &Alphabet) -> [String; 2] {
    let mut bytes = vec![0; before];
    bytes.extend_from_slice(value);
    let encoded = GeneralPurpose::new(alphabet, NO_PAD).encode(&bytes);
    // A character is six bits. One that mixes our bits with those in front is not ours to predict.
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

/// Which characters a writer of JSON escapes as `\u` although it need not.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Escaped {
    Needed,
    /// As Python does.
    BeyondAscii,
    /// Also those that mean something in HTML, as Go does.
    Markup,
    /// As nobody does but those who want it unread.
    Everything,
}

/// The inside of a JSON string (RFC 8259 §7).
fn json(value: &str, escaped: Escaped, digits: Digits) -> String {
    let mut text = String::with_capacity(value.len());
    for character in value.chars() {
        let is_escaped = match escaped {
            Escaped::Needed => false,
            Escaped::BeyondAscii => !character.is_ascii(),
            Escaped::Markup => matches!(character, '<' | '>' | '&'),
            Escaped::Everything => true,
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
