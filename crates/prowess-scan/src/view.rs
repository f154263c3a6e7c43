//! Texts as they are compared: in lower case, without marks that nobody sees or reads, each byte with its place in the file.

use std::ops::Range;

use unicode_normalization::UnicodeNormalization as _;

use crate::confusables;
use crate::hidden;

/// A text with the way back to the bytes that it was made of.
#[derive(Clone, Debug, Default)]
pub(crate) struct View {
    /// The text.
    pub(crate) text: String,
    /// The place in the original of every byte, and the end.
    map: Vec<u32>,
}

/// How a text is folded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fold {
    /// Marks of Markdown and line breaks mean nothing.
    Prose,
    /// Every character counts, and a line is a unit.
    Code,
}

impl View {
    /// The place of a range in the original.
    pub(crate) fn original(&self, range: &Range<usize>) -> Range<usize> {
        let at = |offset: usize| self.map.get(offset).copied().unwrap_or_default() as usize;
        let start = at(range.start);
        // The end is that of the last character of the range, not the start of the one after what was left out.
        let end = if range.end > range.start { at(range.end - 1) + 1 } else { start };
        start..end.max(start)
    }

    /// Ends a unit: no pattern without `\n` goes over it.
    pub(crate) fn end_unit(&mut self, at: usize) {
        if !self.text.is_empty() && !self.text.ends_with('\n') {
            self.trim_space();
            self.push('\n', at);
        }
    }

    fn trim_space(&mut self) {
        while self.text.ends_with(' ') {
            self.text.pop();
            self.map.pop();
        }
    }

    fn push(&mut self, character: char, at: usize) {
        let place = u32::try_from(at).unwrap_or(u32::MAX);
        self.text.push(character);
        self.map.extend(std::iter::repeat_n(place, character.len_utf8()));
    }

    /// A space, unless there is one.
    fn space(&mut self, at: usize) {
        if !self.text.is_empty() && !self.text.ends_with([' ', '\n']) {
            self.push(' ', at);
        }
    }

    /// Adds a part of a text. Offsets are those of the whole text.
    pub(crate) fn append(&mut self, text: &str, range: Range<usize>, fold: Fold) {
        let end = range.end.min(text.len());
        let mut at = range.start;
        let bytes = text.as_bytes();
        let mut line_start = true;
        while at < end {
            let byte = bytes[at];
            if !byte.is_ascii() {
                let Some(character) = text.get(at..).and_then(|rest| rest.chars().next()) else {
                    at += 1;
                    continue;
                };
                self.other(text, character, at);
                at += character.len_utf8();
                line_start = false;
                continue;
            }
            match (byte, fold) {
                (b'\n', Fold::Code) => {
                    // A line that ends with a backslash goes on.
                    if self.text.ends_with('\\') {
                        self.text.pop();
                        self.map.pop();
                        self.space(at);
                    } else {
                        self.end_unit(at);
                    }
                    line_start = true;
                }
                (b'\n', Fold::Prose) => {
                    self.space(at);
                    line_start = true;
                }
                (b' ' | b'\t' | b'\r' | 0x0b | 0x0c, _) => self.space(at),
                (0..=0x1f | 0x7f, _) => {}
                (b'*' | b'`', Fold::Prose) => {}
                (b'>' | b'#', Fold::Prose) if line_start => {
                    at += 1;
                    continue;
                }
                (b'<', Fold::Prose) => {
                    if let Some(length) = dropped_markup(&bytes[at..end]) {
                        at += length;
                        continue;
                    }
                    self.push('<', at);
                }
                (b'&', Fold::Prose) => {
                    if let Some((character, length)) = entity(&bytes[at..end]) {
                        if character.is_ascii() {
                            self.push(character.to_ascii_lowercase(), at);
                        } else {
                            self.other(text, character, at);
                        }
                        at += length;
                        continue;
                    }
                    self.push('&', at);
                }
                // `_` of emphasis stands at an end of a word, that of a name inside.
                (b'_', Fold::Prose)
                    if at == 0
                        || !bytes[at - 1].is_ascii_alphanumeric()
                        || bytes.get(at + 1).is_none_or(|next| !next.is_ascii_alphanumeric()) => {}
                _ => self.push(char::from(byte.to_ascii_lowercase()), at),
            }
            if !byte.is_ascii_whitespace() {
                line_start = false;
            }
            at += 1;
        }
    }

    /// A character outside ASCII: nothing, the one that it looks like, or its parts without accents.
    fn other(&mut self, text: &str, character: char, at: usize) {
        if hidden::is_invisible(character) {
            return;
        }
        if character.is_whitespace() {
            self.space(at);
            return;
        }
        // In a word of its own alphabet a letter is no disguise; what it looks like is written in ASCII all the same, since
        // phrases in that alphabet are folded in the same way.
        let _ = text;
        if let Some(known) = confusables::ascii(character) {
            for known in known.chars() {
                self.push(known, at);
            }
            return;
        }
        for part in std::iter::once(character).nfkd().take(MAX_PARTS) {
            if part.is_ascii() {
                if part == ' ' { self.space(at) } else { self.push(part.to_ascii_lowercase(), at) }
            } else if is_mark(part) {
            } else if let Some(known) = confusables::ascii(part) {
                for known in known.chars() {
                    self.push(known, at);
                }
            } else {
                for lower in part.to_lowercase() {
                    self.push(lower, at);
                }
            }
        }
    }

    /// Ends the view.
    pub(crate) fn finish(&mut self, length: usize) {
        self.map.push(u32::try_from(length).unwrap_or(u32::MAX));
    }
}

/// The most parts of one character; the longest of Unicode has 18.
const MAX_PARTS: usize = 18;

fn is_mark(character: char) -> bool {
    matches!(character, '\u{300}'..='\u{36f}' | '\u{1ab0}'..='\u{1aff}' | '\u{1dc0}'..='\u{1dff}' | '\u{20d0}'..='\u{20ff}' | '\u{fe20}'..='\u{fe2f}')
}

/// A phrase as it is in a view.
pub(crate) fn folded(text: &str) -> String {
    let mut view = View::default();
    view.append(text, 0..text.len(), Fold::Prose);
    view.text
}

/// Inline markup that does not separate words.
const INLINE_TAGS: &[&[u8]] = &[
    b"a", b"abbr", b"b", b"big", b"code", b"del", b"em", b"font", b"i", b"ins", b"kbd", b"mark",
    b"s", b"small", b"span", b"strike", b"strong", b"sub", b"sup", b"tt", b"u", b"wbr",
];
/// The longest tag and the longest comment that are read as nothing.
const MAX_TAG: usize = 200;

/// The length of markup that a reader does not see: an inline tag, or a comment.
fn dropped_markup(bytes: &[u8]) -> Option<usize> {
    if bytes.starts_with(b"<!--") {
        // A comment is a unit of its own.
        return Some(memchr::memmem::find(bytes, b"-->").map_or(bytes.len(), |end| end + 3));
    }
    let end = bytes.iter().take(MAX_TAG).position(|byte| *byte == b'>')?;
    let inner = bytes.get(1..end)?;
    let inner = inner.strip_prefix(b"/").unwrap_or(inner);
    let name = inner.split(|byte| byte.is_ascii_whitespace() || *byte == b'/').next()?;
    let name = name.to_ascii_lowercase();
    INLINE_TAGS.contains(&name.as_slice()).then_some(end + 1)
}

/// A character reference of HTML, and its length.
fn entity(bytes: &[u8]) -> Option<(char, usize)> {
    let end = bytes.iter().take(12).position(|byte| *byte == b';')?;
    let name = std::str::from_utf8(bytes.get(1..end)?).ok()?;
    let character = match name {
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "quot" => '"',
        "apos" => '\'',
        "nbsp" => '\u{a0}',
        "zwj" => '\u{200d}',
        "zwnj" => '\u{200c}',
        "shy" => '\u{ad}',
        _ => {
            let number = name.strip_prefix('#')?;
            let code = match number.strip_prefix(['x', 'X']) {
                Some(hex) => u32::from_str_radix(hex, 16).ok()?,
                None => number.parse().ok()?,
            };
            char::from_u32(code)?
        }
    };
    Some((character, end + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn disguises_are_read_as_what_they_look_like() {
        for (text, expected) in [
            ("Ignоre ALL", "ignore all"),
            ("Ig*no*re **all**", "ignore all"),
            ("i\u{200b}gn\u{200d}ore", "ignore"),
            ("ig<b>no</b>re", "ignore"),
            ("&#105;gnore&nbsp;all", "ignore all"),
            ("ｉｇｎｏｒｅ", "ignore"),
            ("ígnörè", "ignore"),
            ("ig<!-- x -->nore\nall", "ignore all"),
            ("~/.ssh/id_rsa _really_", "~/.ssh/id_rsa really"),
            ("𝐢𝐠𝐧𝐨𝐫𝐞", "ignore"),
        ] {
            assert_eq!(folded(text), expected, "{text}");
        }
    }

    #[test]
    fn every_byte_has_its_place() {
        let text = "a  *b*\u{200b}c\n é";
        let mut view = View::default();
        view.append(text, 0..text.len(), Fold::Prose);
        view.finish(text.len());
        assert_eq!(view.text, "a bc e");
        let original = view.original(&(2..4));
        assert_eq!(&text[original], "b*\u{200b}c");
    }
}
