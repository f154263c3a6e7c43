//! Finds the front matter of a SKILL.md by its fences.
//!
//! R6: a BOM is skipped, blank lines may come first if a mapping follows, a fence may have trailing
//! spaces (with a warning), an indented `---` is never a fence. R7: an opening fence without a
//! closing one is an error.

use crate::span::Span;

/// How the fences divide a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Division {
    /// No line `---` opens the file.
    NoFrontMatter,
    /// `---js` and the like: another language than YAML (NEG-2).
    OtherLanguage { opening: Span },
    /// The opening fence has no closing one.
    Unterminated { opening: Span, yaml_start: usize },
    /// Both fences are there.
    Fenced { opening: Span, yaml: Span, closing: Span, body: usize, blanks_first: bool },
}

/// A line without its line break, and the offset of the next one.
#[derive(Clone, Copy)]
pub(super) struct Line<'a> {
    pub(super) start: usize,
    pub(super) text: &'a str,
    pub(super) next: usize,
}

/// The line that starts at `start`; LF, CRLF and CR end a line.
pub(super) fn line_at(text: &str, start: usize) -> Option<Line<'_>> {
    let rest = text.get(start..).filter(|rest| !rest.is_empty())?;
    let bytes = rest.as_bytes();
    let end = memchr::memchr2(b'\n', b'\r', bytes).unwrap_or(bytes.len());
    let next = match bytes.get(end) {
        Some(b'\r') if bytes.get(end + 1) == Some(&b'\n') => end + 2,
        Some(_) => end + 1,
        None => end,
    };
    Some(Line { start, text: &rest[..end], next: start + next })
}

pub(super) fn lines_from(text: &str, start: usize) -> impl Iterator<Item = Line<'_>> {
    let mut at = start;
    std::iter::from_fn(move || {
        let line = line_at(text, at)?;
        at = line.next;
        Some(line)
    })
}

fn is_fence(line: &str) -> bool {
    line.strip_prefix("---")
        .is_some_and(|rest| rest.bytes().all(|byte| matches!(byte, b' ' | b'\t')))
}

/// The start of the text, after a byte order mark.
pub(super) fn text_start(text: &str) -> usize {
    if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 }
}

pub(super) fn divide(text: &str) -> Division {
    let start = text_start(text);
    let Some(opening) = lines_from(text, start).find(|line| !line.text.trim().is_empty()) else {
        return Division::NoFrontMatter;
    };
    let span = Span::new(opening.start, opening.start + opening.text.len());
    if !is_fence(opening.text) {
        let language = opening.text.strip_prefix("---").map(str::trim_end);
        return match language {
            Some(word)
                if !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_alphanumeric()) =>
            {
                Division::OtherLanguage { opening: span }
            }
            _ => Division::NoFrontMatter,
        };
    }
    let blanks_first = opening.start != start;
    match closing_fence(text, opening.next) {
        Some(closing) => Division::Fenced {
            opening: span,
            yaml: Span::new(opening.next, closing.start),
            closing: Span::new(closing.start, closing.start + closing.text.len()),
            body: closing.next,
            blanks_first,
        },
        // After blank lines, `---` is a thematic break unless fields follow.
        None if blanks_first && !begins_fields(text, opening.next) => Division::NoFrontMatter,
        None => Division::Unterminated { opening: span, yaml_start: opening.next },
    }
}

/// Whether the line at an offset is one of the two fields that every client reads.
fn begins_fields(text: &str, start: usize) -> bool {
    line_at(text, start)
        .and_then(|line| key_of(line.text))
        .is_some_and(|(key, _)| matches!(key, "name" | "description"))
}

fn closing_fence(text: &str, from: usize) -> Option<Line<'_>> {
    if text[from..].starts_with("---") {
        let line = line_at(text, from)?;
        if is_fence(line.text) {
            return Some(line);
        }
    }
    // Jumping from one `---` to the next is much faster than going line by line.
    memchr::memmem::find_iter(&text.as_bytes()[from..], b"---").find_map(|at| {
        let at = from + at;
        let begins_line = at > 0 && matches!(text.as_bytes()[at - 1], b'\n' | b'\r');
        let line = begins_line.then(|| line_at(text, at)).flatten()?;
        is_fence(line.text).then_some(line)
    })
}

/// Where an unterminated front matter seems to end: before the first line that can't belong to a YAML mapping.
pub(super) fn probable_end(text: &str, yaml_start: usize) -> usize {
    let mut end = yaml_start;
    // A line `# …` may be a comment or the first heading, depending on what follows.
    let mut after_hash = false;
    for line in lines_from(text, yaml_start) {
        let trimmed = line.text.trim_start();
        if trimmed.is_empty() {
            continue;
        }
        let indented = trimmed.len() != line.text.len();
        if trimmed.starts_with('#') && !indented {
            after_hash = true;
            continue;
        }
        let ruler = trimmed.trim_end();
        let fence_like =
            ruler.len() >= 3 && ruler.chars().all(|character| matches!(character, '-' | '—' | '–'));
        let belongs =
            starts_with_key(line.text) || (!after_hash && (indented || trimmed.starts_with("- ")));
        if fence_like || !belongs {
            break;
        }
        after_hash = false;
        end = line.next;
    }
    end
}

/// Whether a line begins like `key:` or `key: value`.
pub(super) fn starts_with_key(line: &str) -> bool {
    key_of(line).is_some()
}

/// The key of a line `key: value` or `key:` and the offset after its colon.
pub(super) fn key_of(line: &str) -> Option<(&str, usize)> {
    let colon = line.find(':')?;
    let key = &line[..colon];
    let name = key.trim_matches(['"', '\'']);
    let plausible = !name.is_empty()
        && name.len() <= 64
        && name.chars().all(|character| {
            character.is_alphanumeric() || matches!(character, '_' | '-' | '.' | '$' | '/')
        });
    let separated = line[colon + 1..].chars().next().is_none_or(char::is_whitespace);
    (plausible && separated).then_some((key, colon + 1))
}
