//! The spellings in which a value is found again: as it is, in base64, in hexadecimal, in addresses, in JSON.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::alphabet::Alphabet;
use base64::engine::general_purpose::{GeneralPurpose, NO_PAD};

/// All spellings of a value, always in the same order, so that those of two values can be paired. The same text may be
/// in it twice.
pub(crate) fn of(value: &str) -> Vec<String> {
    let bytes = value.as_bytes();
    let mut spellings = vec![value.to_owned(), json(value, false), json(value, true)];
    for alphabet in [base64::alphabet::STANDARD, base64::alphabet::URL_SAFE] {
        for before in 0..3 {
            spellings.extend(aligned(bytes, before, &alphabet));
        }
    }
    spellings
        .extend([hexadecimal(bytes, "0123456789abcdef"), hexadecimal(bytes, "0123456789ABCDEF")]);
    // Which characters stay as they are differs: RFC 3986 §2.3, Python's `quote`, JavaScript's `encodeURIComponent`
    // and `encodeURI`.
    for kept in ["-._~", "-._~/", "-._~!'()*", "-._~!'()*;/?:@&=+$,#"] {
        let escaped = percent(bytes, kept, true);
        // Forms write a blank as `+` (WHATWG URL §5.2).
        spellings.push(escaped.replace("%20", "+"));
        spellings.push(escaped);
        spellings.push(percent(bytes, kept, false));
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

fn hexadecimal(bytes: &[u8], digits: &str) -> String {
    let digit = |at: u8| char::from(digits.as_bytes()[usize::from(at)]);
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

fn percent(bytes: &[u8], kept: &str, upper: bool) -> String {
    let mut text = String::with_capacity(bytes.len());
    for &byte in bytes {
        if byte.is_ascii_alphanumeric() || kept.as_bytes().contains(&byte) {
            text.push(char::from(byte));
        } else if upper {
            write!(text, "%{byte:02X}").expect("writing to a String succeeds");
        } else {
            write!(text, "%{byte:02x}").expect("writing to a String succeeds");
        }
    }
    text
}

/// The inside of a JSON string (RFC 8259 §7), with other characters as they are or as `\u` escapes, which Python prefers.
fn json(value: &str, ascii: bool) -> String {
    let mut text = String::with_capacity(value.len());
    for character in value.chars() {
        match character {
            '"' | '\\' => text.extend(['\\', character]),
            '\n' => text.push_str("\\n"),
            '\r' => text.push_str("\\r"),
            '\t' => text.push_str("\\t"),
            character if character < ' ' || (ascii && !character.is_ascii()) => {
                for unit in character.encode_utf16(&mut [0; 2]) {
                    write!(text, "\\u{unit:04x}").expect("writing to a String succeeds");
                }
            }
            character => text.push(character),
        }
    }
    text
}
