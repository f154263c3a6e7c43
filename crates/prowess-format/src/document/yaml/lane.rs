//! A fast path for simple front matter: keys with one-line values, nested by indentation.
//!
//! It reads an unambiguous subset of YAML and returns `None` at the first thing outside it: the
//! library then reads the text from the start. Both must produce the same tree, which a test checks
//! on every fixture and every corpus file and a fuzz target on generated input. It exists because
//! reading YAML took half of the time of checking a file.

use std::borrow::Cow;

use super::{Mapping, Node, Scalar, YamlContent, YamlEntry, YamlStyle};
use crate::span::Span;

/// Deeper nesting is left to the library, which has its own limit.
const MAX_DEPTH: usize = 8;

/// Longer texts and longer flow lists are left to the library, which counts values and compares
/// keys through a set.
const MAX_LINES: usize = 500;

struct Line {
    /// Column of the first character; moves right after a dash.
    indent: usize,
    /// Offset of the first character.
    start: usize,
    /// Offset after the last non-space character.
    end: usize,
}

pub(super) fn read(text: &str, base: usize) -> Option<Node<'_>> {
    let mut lane = Lane { text, base, lines: lines(text)?, at: 0 };
    let first = lane.lines.first()?;
    if first.indent != 0 {
        return None;
    }
    let node = lane.block(0, 0)?;
    (lane.at == lane.lines.len()).then_some(node)
}

/// The non-empty lines, without comments. `None` for tabs, control characters and exotic line
/// breaks.
fn lines(text: &str) -> Option<Vec<Line>> {
    let bytes = text.as_bytes();
    let mut lines = Vec::with_capacity(16);
    let mut start = 0;
    while start < bytes.len() {
        let end = memchr::memchr(b'\n', &bytes[start..]).map_or(bytes.len(), |at| start + at);
        let mut line = &bytes[start..end];
        if let [rest @ .., b'\r'] = line {
            line = rest;
        }
        if line.iter().any(|&byte| byte < 0x20 || byte == 0x7f) || has_exotic(line) {
            return None;
        }
        let indent = line.iter().take_while(|&&byte| byte == b' ').count();
        let length = line.len() - line.iter().rev().take_while(|&&byte| byte == b' ').count();
        if indent < line.len() && line[indent] != b'#' {
            if lines.len() == MAX_LINES {
                return None;
            }
            lines.push(Line { indent, start: start + indent, end: start + length });
        }
        start = end + 1;
    }
    Some(lines)
}

/// Whether UTF-8 text contains C1 controls, line separators or a byte order mark.
fn has_exotic(line: &[u8]) -> bool {
    if line.is_ascii() {
        return false;
    }
    line.windows(2).any(|pair| pair[0] == 0xc2 && pair[1] < 0xa0)
        || line.windows(3).any(|three| {
            matches!(
                three,
                [0xe2, 0x80, 0xa8 | 0xa9] | [0xef, 0xbb, 0xbf] | [0xef, 0xbf, 0xbe | 0xbf]
            )
        })
}

struct Lane<'a> {
    text: &'a str,
    base: usize,
    lines: Vec<Line>,
    at: usize,
}

impl<'a> Lane<'a> {
    /// The mapping or sequence whose first line is the current one.
    fn block(&mut self, indent: usize, depth: usize) -> Option<Node<'a>> {
        if depth > MAX_DEPTH {
            return None;
        }
        if self.is_item(self.lines.get(self.at)?) {
            self.sequence(indent, depth)
        } else {
            self.mapping(indent, depth)
        }
    }

    fn slice(&self, line: &Line) -> &'a str {
        &self.text[line.start..line.end]
    }

    fn is_item(&self, line: &Line) -> bool {
        let text = self.slice(line).as_bytes();
        text.first() == Some(&b'-') && matches!(text.get(1), None | Some(b' '))
    }

    fn mapping(&mut self, indent: usize, depth: usize) -> Option<Node<'a>> {
        let mut entries: Vec<YamlEntry<'a>> = Vec::with_capacity(8);
        while let Some(line) = self.lines.get(self.at) {
            if line.indent != indent {
                if line.indent > indent {
                    return None;
                }
                break;
            }
            if self.is_item(line) {
                // A list on the level of its key ends here; anything else is left to the library.
                if entries.is_empty() {
                    return None;
                }
                break;
            }
            let text = self.slice(line);
            let key_end = key_length(text.as_bytes())?;
            let key = &text[..key_end];
            if entries.iter().any(|entry| entry.key == key) {
                return None;
            }
            let key_span = self.span(line.start, line.start + key_end);
            let rest = &text[key_end + 1..];
            let value_start = line.start + text.len() - rest.trim_start_matches(' ').len();
            let (value_end, line_indent) = (line.end, line.indent);
            let is_block = matches!(self.text.as_bytes().get(value_start), Some(b'|' | b'>'));
            self.at += 1;
            let value = if value_start == value_end {
                let next = self.lines.get(self.at)?;
                let nested = next.indent;
                if nested > line_indent {
                    self.block(nested, depth + 1)?
                } else if nested == line_indent && self.is_item(next) {
                    self.sequence(nested, depth + 1)?
                } else {
                    return None;
                }
            } else if is_block {
                self.block_scalar(value_start, value_end, indent)?
            } else {
                let value = self.scalar(value_start, value_end)?;
                self.ends_here(indent)?;
                value
            };
            entries.push(YamlEntry { key: Cow::Borrowed(key), key_span, value });
        }
        let span = entries.first()?.key_span.join(entries.last()?.value.span);
        Some(Node { span, content: YamlContent::Mapping(Mapping { entries, flow: false }) })
    }

    fn sequence(&mut self, indent: usize, depth: usize) -> Option<Node<'a>> {
        let mut items: Vec<Node<'a>> = Vec::with_capacity(8);
        while let Some(line) = self.lines.get(self.at) {
            if line.indent != indent || !self.is_item(line) {
                if line.indent > indent {
                    return None;
                }
                break;
            }
            let text = self.slice(line);
            let content = text[1..].trim_start_matches(' ');
            if content.is_empty() || content.starts_with(['#', '-']) {
                return None;
            }
            let offset = text.len() - content.len();
            if key_length(content.as_bytes()).is_some() {
                // `- key: value`: a mapping whose column is that of its first key.
                let line = &mut self.lines[self.at];
                line.indent += offset;
                line.start += offset;
                let nested = line.indent;
                if depth >= MAX_DEPTH {
                    return None;
                }
                items.push(self.mapping(nested, depth + 1)?);
            } else {
                let (start, end) = (line.start + offset, line.end);
                self.at += 1;
                items.push(self.scalar(start, end)?);
                self.ends_here(indent)?;
            }
        }
        let span = items.first()?.span.join(items.last()?.span);
        Some(Node { span, content: YamlContent::Sequence(items) })
    }

    /// Returns `None` if a deeper line continues the value.
    fn ends_here(&self, indent: usize) -> Option<()> {
        self.lines.get(self.at).is_none_or(|next| next.indent <= indent).then_some(())
    }

    fn span(&self, start: usize, end: usize) -> Span {
        Span::new(start, end).shift(self.base)
    }

    fn node(&self, start: usize, end: usize, text: &'a str, style: YamlStyle) -> Node<'a> {
        let content = YamlContent::Scalar(Scalar { text: Cow::Borrowed(text), style });
        Node { span: self.span(start, end), content }
    }

    fn scalar(&self, start: usize, end: usize) -> Option<Node<'a>> {
        let text = &self.text[start..end];
        match text.as_bytes()[0] {
            quote @ (b'"' | b'\'') => {
                let inner = text.get(1..)?.strip_suffix(char::from(quote))?;
                let plain = !inner.as_bytes().iter().any(|&byte| byte == quote || byte == b'\\');
                plain.then(|| self.node(start, end, inner, YamlStyle::Quoted))
            }
            b'[' => self.flow_sequence(start, end),
            first if is_indicator(first) => None,
            _ => is_plain(text).then(|| self.node(start, end, text, YamlStyle::Plain)),
        }
    }

    /// `|` and `>` with or without `-`, whose lines all begin in the same column.
    fn block_scalar(&mut self, start: usize, header_end: usize, parent: usize) -> Option<Node<'a>> {
        let (folded, strip) = match &self.text[start..header_end] {
            "|" => (false, false),
            "|-" => (false, true),
            ">" => (true, false),
            ">-" => (true, true),
            _ => return None,
        };
        // The first non-empty line determines the column, including the `#` of a comment.
        let bytes = self.text.as_bytes();
        let mut at = header_end + memchr::memchr(b'\n', &bytes[header_end..])? + 1;
        let column = self.lines.get(self.at).map(|line| line.indent)?;
        if column <= parent {
            return None;
        }
        let mut text = String::with_capacity(128);
        let (mut blank_lines, mut first, mut end) = (0, None, bytes.len());
        while at < bytes.len() {
            let line_end = memchr::memchr(b'\n', &bytes[at..]).map_or(bytes.len(), |n| at + n);
            let line = self.text[at..line_end].trim_end_matches('\r');
            let indent = line.bytes().take_while(|&byte| byte == b' ').count();
            if indent == line.len() {
                // Spaces beyond the column would be content.
                if indent > column {
                    return None;
                }
                blank_lines += 1;
            } else if indent < column {
                // Comments after a block and text between the columns are left to the library.
                if indent > parent || line.as_bytes()[indent] == b'#' {
                    return None;
                }
                // The library includes in a block everything up to the next key.
                end = at + indent;
                break;
            } else if indent > column {
                return None;
            } else {
                let breaks = match (text.is_empty(), folded) {
                    (true, _) => blank_lines,
                    (false, true) if blank_lines == 0 => {
                        text.push(' ');
                        0
                    }
                    (false, true) => blank_lines,
                    (false, false) => blank_lines + 1,
                };
                text.extend(std::iter::repeat_n('\n', breaks));
                text.push_str(&line[column..]);
                blank_lines = 0;
                first.get_or_insert(at + column);
            }
            at = line_end + 1;
        }
        let first = first?;
        if !strip {
            text.push('\n');
        }
        while self.lines.get(self.at).is_some_and(|line| line.start < end) {
            self.at += 1;
        }
        let content =
            YamlContent::Scalar(Scalar { text: Cow::Owned(text), style: YamlStyle::Block });
        Some(Node { span: self.span(first, end), content })
    }

    /// `[a, 'b']` of plain words and quoted texts without a comma.
    fn flow_sequence(&self, start: usize, end: usize) -> Option<Node<'a>> {
        let inner = self.text[start..end].strip_prefix('[')?.strip_suffix(']')?;
        let mut items = Vec::new();
        let mut at = start + 1;
        for part in inner.split(',') {
            if items.len() == MAX_LINES {
                return None;
            }
            let word = part.trim_matches(' ');
            let simple = |byte: u8| {
                byte.is_ascii_alphanumeric() || matches!(byte, b' ' | b'_' | b'.' | b'/' | b'-')
            };
            let first = word.bytes().next();
            if first.is_none() && inner.is_empty() {
                break;
            }
            let word_start = at + part.len() - part.trim_start_matches(' ').len();
            items.push(match first? {
                b'"' | b'\'' => self.scalar(word_start, word_start + word.len())?,
                byte if byte.is_ascii_alphanumeric() && word.bytes().all(simple) => {
                    self.node(word_start, word_start + word.len(), word, YamlStyle::Plain)
                }
                _ => return None,
            });
            at += part.len() + 1;
        }
        Some(Node { span: self.span(start, end), content: YamlContent::Sequence(items) })
    }
}

/// The length of a plain key before `:` and a space or the end of the line.
fn key_length(line: &[u8]) -> Option<usize> {
    let length = line
        .iter()
        .take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.'))
        .count();
    let first = line.first().filter(|byte| byte.is_ascii_alphanumeric() || **byte == b'_');
    (first.is_some()
        && line.get(length) == Some(&b':')
        && matches!(line.get(length + 1), None | Some(b' ')))
    .then_some(length)
}

/// Whether a plain scalar can't begin with this byte.
pub(super) fn is_indicator(byte: u8) -> bool {
    matches!(
        byte,
        b'-' | b'?'
            | b':'
            | b','
            | b'['
            | b']'
            | b'{'
            | b'}'
            | b'#'
            | b'&'
            | b'*'
            | b'!'
            | b'|'
            | b'>'
            | b'\''
            | b'"'
            | b'%'
            | b'@'
            | b'`'
    )
}

/// Whether a text is one plain scalar: no `: `, no ` #`, no colon at the end.
fn is_plain(text: &str) -> bool {
    let bytes = text.as_bytes();
    !text.ends_with(':')
        && memchr::memchr_iter(b':', bytes).all(|at| bytes.get(at + 1) != Some(&b' '))
        && memchr::memchr_iter(b'#', bytes).all(|at| at == 0 || bytes[at - 1] != b' ')
}
