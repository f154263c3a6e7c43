//! Source code as lines of classified pieces, for the view of a file and for code in a README.
//!
//! A lexer of our own with one table per language: five classes are all that the design has, and its time is linear in the
//! text. Highlighters with the grammars of editors match patterns with backtracking, which a text can be written against.

mod language;
#[cfg(test)]
mod tests;

pub(crate) use language::Language;

/// What a piece of source is. The name of the class in the style sheet is [`Class::name`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    /// Anything else.
    Plain,
    /// A key of YAML, JSON or TOML, a heading, the name of an attribute.
    Key,
    /// A string.
    Text,
    /// A comment.
    Comment,
    /// A word of the language.
    Keyword,
    /// A number or a constant.
    Number,
}

impl Class {
    /// Its class in the style sheet; none for plain text.
    pub(crate) fn name(self) -> Option<&'static str> {
        match self {
            Class::Plain => None,
            Class::Key => Some("key"),
            Class::Text => Some("str"),
            Class::Comment => Some("com"),
            Class::Keyword => Some("kw"),
            Class::Number => Some("num"),
        }
    }
}

/// A piece of a line. Pieces never hold a line break.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) class: Class,
    pub(crate) text: String,
}

/// A line of source, without its end.
pub(crate) type Line = Vec<Piece>;

/// Splits a text into lines of classified pieces. The pieces put together are the text.
pub(crate) fn lines(text: &str, language: Language) -> Vec<Line> {
    let mut lines: Vec<Line> = vec![Vec::new()];
    for (class, token) in tokens(text, language) {
        let mut parts = token.split('\n');
        if let Some(first) = parts.next() {
            push(lines.last_mut(), class, first);
        }
        for part in parts {
            lines.push(Vec::new());
            push(lines.last_mut(), class, part);
        }
    }
    // The end of the last line begins no new one.
    if text.ends_with('\n') || text.is_empty() {
        lines.pop();
    }
    lines
}

fn push(line: Option<&mut Line>, class: Class, text: &str) {
    let text = text.strip_suffix('\r').unwrap_or(text);
    let Some(line) = line else { return };
    if text.is_empty() {
        return;
    }
    match line.last_mut() {
        Some(last) if last.class == class => last.text.push_str(text),
        _ => line.push(Piece { class, text: text.to_owned() }),
    }
}

/// The pieces of a text in order; each borrows its part of it.
fn tokens(text: &str, language: Language) -> Vec<(Class, &str)> {
    if language == Language::Plain {
        return vec![(Class::Plain, text)];
    }
    let table = language.table();
    let mut tokens = Vec::new();
    let mut rest = text;
    let mut at_line_start = true;
    while !rest.is_empty() {
        let (class, length) = next(rest, at_line_start, table);
        let (token, after) = rest.split_at(length);
        at_line_start = if token.ends_with('\n') {
            true
        } else {
            at_line_start && token.trim_matches([' ', '\t', '-']).is_empty()
        };
        tokens.push((class, token));
        rest = after;
    }
    tokens
}

/// The class and the length of the first token of a text that is not empty; the length is never zero.
fn next(rest: &str, at_line_start: bool, table: &language::Table) -> (Class, usize) {
    let line_end = rest.find('\n').unwrap_or(rest.len());
    if at_line_start && table.headings && rest.starts_with('#') {
        return (Class::Key, line_end);
    }
    if table.line_comments.iter().any(|mark| rest.starts_with(mark)) {
        return (Class::Comment, line_end);
    }
    if let Some((open, close)) =
        table.block_comments.iter().find(|(open, _)| rest.starts_with(open))
    {
        let end = rest[open.len()..].find(close).map(|at| open.len() + at + close.len());
        return (Class::Comment, end.unwrap_or(rest.len()));
    }
    if let Some(quote) = table.strings.iter().find(|quote| rest.starts_with(**quote)) {
        let length = string_length(rest, quote, line_end);
        let is_key = table.keys && rest[length..].trim_start_matches(' ').starts_with(':');
        return (if is_key { Class::Key } else { Class::Text }, length);
    }
    let first = rest.chars().next().map_or(1, char::len_utf8);
    let word_length = rest
        .find(|character: char| !(character.is_alphanumeric() || matches!(character, '_' | '-')))
        .unwrap_or(rest.len());
    if word_length == 0 {
        return (Class::Plain, first);
    }
    let word = &rest[..word_length];
    if word.starts_with(|character: char| character.is_ascii_digit()) {
        let length = rest
            .find(|character: char| {
                !(character.is_ascii_alphanumeric() || matches!(character, '.' | '_'))
            })
            .unwrap_or(rest.len());
        return (Class::Number, length.max(first));
    }
    if at_line_start && table.keys {
        let after = rest[word_length..].trim_start_matches(' ');
        let separator = table.separator;
        if after.starts_with(separator) {
            return (Class::Key, word_length);
        }
    }
    // `-` belongs to words of YAML and of shells; elsewhere it is an operator.
    let plain = word.split('-').next().unwrap_or(word);
    let word = if table.dashes || plain.is_empty() { word } else { plain };
    if table.constants.contains(&word) {
        return (Class::Number, word.len());
    }
    if table.keywords.contains(&word) {
        return (Class::Keyword, word.len());
    }
    (Class::Plain, word.len())
}

/// How long a string is that begins with `quote`: up to its end, or up to that of the line if it has none and its quote does
/// not span lines.
fn string_length(rest: &str, quote: &str, line_end: usize) -> usize {
    let spans_lines = quote.len() == 3 || quote == "`";
    let limit = if spans_lines { rest.len() } else { line_end };
    let mut escaped = false;
    for (at, character) in rest[quote.len()..limit].char_indices() {
        if escaped {
            escaped = false;
        } else if character == '\\' {
            escaped = true;
        } else if rest[quote.len() + at..].starts_with(quote) {
            return quote.len() + at + quote.len();
        }
    }
    limit.max(quote.len())
}
