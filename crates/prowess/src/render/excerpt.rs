//! The source line of a finding, made safe for a terminal.

use std::ops::Range;

use prowess_format::span::{LineIndex, Span};
use prowess_format::text::is_deceptive;

/// One line of a text, with the range to underline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Excerpt {
    /// The line, deceptive characters as escapes.
    pub(crate) line: String,
    /// The bytes of `line` to underline.
    pub(crate) mark: Range<usize>,
}

/// The most bytes of a line on each side of the range: a line may have megabytes.
const CONTEXT: usize = 2_000;

impl Excerpt {
    /// The first line of a span. A span of several lines is underlined to the end of the first.
    pub(crate) fn new(text: &str, lines: &LineIndex, span: Span) -> Self {
        let start = floor(text, span.range().start);
        let number = lines.position(text, start).line;
        let begin = floor(text, lines.start_of(number).max(start.saturating_sub(CONTEXT)));
        let rest = &text[begin..];
        let length = rest.find(['\n', '\r']).unwrap_or(rest.len());
        let limit = floor(text, (begin + length).min(start + CONTEXT));
        let line = &text[begin..limit.max(begin)];
        let end = floor(text, span.range().end).clamp(start, limit.max(start));
        let mut escaped = String::with_capacity(line.len());
        let mut mark = 0..0;
        for (at, character) in line.char_indices() {
            if begin + at == start {
                mark.start = escaped.len();
            }
            if begin + at == end {
                mark.end = escaped.len();
            }
            if is_deceptive(character) {
                escaped.extend(character.escape_unicode());
            } else {
                escaped.push(character);
            }
        }
        if start >= begin + line.len() {
            mark.start = escaped.len();
        }
        if end >= begin + line.len() {
            mark.end = escaped.len();
        }
        mark.end = mark.end.max(mark.start);
        Self { line: escaped, mark }
    }
}

/// The nearest character boundary at or before an offset.
fn floor(text: &str, offset: usize) -> usize {
    let mut offset = offset.min(text.len());
    while !text.is_char_boundary(offset) {
        offset -= 1;
    }
    offset
}

#[cfg(test)]
mod tests;
