//! Detects files that are not text.

use crate::diagnostic::Diagnostic;
use crate::rules;
use crate::span::Span;

/// Magic bytes of binary formats that are passed by mistake.
const BEGINNINGS: &[(&[u8], &str)] = &[
    (b"\x89PNG\r\n\x1a\n", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF87a", "a GIF image"),
    (b"GIF89a", "a GIF image"),
    (b"%PDF-", "a PDF document"),
    (b"PK\x03\x04", "a ZIP archive"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"\x7fELF", "a program"),
];

/// Byte order marks of UTF-16. A wrong encoding has its own rule.
const UTF_16: &[&[u8]] = &[b"\xff\xfe", b"\xfe\xff"];

/// Returns a diagnostic if the bytes are not text.
pub fn not_text(bytes: &[u8]) -> Option<Diagnostic> {
    if UTF_16.iter().any(|mark| bytes.starts_with(mark)) {
        return None;
    }
    let known = BEGINNINGS.iter().find(|(beginning, _)| bytes.starts_with(beginning));
    let why = match known {
        Some((_, what)) => format!("it begins like {what}"),
        // Text never contains NUL: YAML forbids it and editors can't type it.
        None => format!("byte {} is NUL", memchr::memchr(0, bytes)?),
    };
    Some(
        rules::NOT_TEXT
            .at(Span::at(0), format!("this is not a text file: {why}"))
            .help("pass a SKILL.md; if this is UTF-16 text, save it as UTF-8"),
    )
}
