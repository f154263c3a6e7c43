//! Finds the test functions of a Rust file: enough of a lexer to never mistake a string for code.

use std::collections::BTreeSet;
use std::ops::Range;

/// A function with a test attribute, wherever it stands, `proptest!` blocks included.
#[derive(Debug)]
pub(super) struct TestFunction<'text> {
    pub(super) name: &'text str,
    /// From the first comment or attribute above the function to its closing brace.
    pub(super) region: Range<usize>,
    /// `#[ignore]`: it does not run, so it shows nothing.
    pub(super) ignored: bool,
}

pub(super) fn test_functions(source: &str) -> Vec<TestFunction<'_>> {
    let tokens = tokens(source);
    let mut functions = Vec::new();
    let mut head = Head::default();
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        let text = &source[token.range.clone()];
        match token.kind {
            Kind::Comment => {
                let next = tokens.get(at + 1).map_or(source.len(), |next| next.range.start);
                if belongs_to_next(text, &source[token.range.end..next]) {
                    head.start.get_or_insert(token.range.start);
                } else if !head.has_attribute {
                    head = Head::default();
                }
                at += 1;
            }
            Kind::Punctuation if text == "#" && is(&tokens, source, at + 1, "[") => {
                let end = closing(&tokens, source, at + 1);
                head.start.get_or_insert(token.range.start);
                head.has_attribute = true;
                match attribute_name(&tokens[at + 2..end.min(tokens.len())], source) {
                    Some("test" | "rstest" | "test_case") => head.is_test = true,
                    Some("ignore") => head.ignored = true,
                    _ => {}
                }
                at = end + 1;
            }
            Kind::Word if text == "fn" && head.is_test => {
                let open = body_start(&tokens, source, at);
                let close = closing(&tokens, source, open);
                functions.push(TestFunction {
                    name: tokens.get(at + 1).map_or("", |name| &source[name.range.clone()]),
                    region: head.start.unwrap_or(token.range.start)
                        ..tokens.get(close).map_or(source.len(), |token| token.range.end),
                    ignored: head.ignored,
                });
                head = Head::default();
                at = close + 1;
            }
            Kind::Word if matches!(text, "pub" | "async" | "unsafe" | "const" | "extern") => {
                at += 1;
            }
            Kind::Word | Kind::Punctuation | Kind::Literal => {
                head = Head::default();
                at += 1;
            }
        }
    }
    functions
}

/// Every function of a file with the names in its body.
pub(super) fn functions(source: &str) -> Vec<(&str, BTreeSet<&str>)> {
    let tokens = tokens(source);
    let mut functions = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        if token.kind != Kind::Word || &source[token.range.clone()] != "fn" {
            continue;
        }
        let Some(name) = tokens.get(at + 1) else { continue };
        let open = body_start(&tokens, source, at);
        let end = closing(&tokens, source, open).min(tokens.len());
        let words = names(tokens.get(open..end).unwrap_or_default(), source);
        functions.push((&source[name.range.clone()], words));
    }
    functions
}

/// The names in a part of a file, comments and strings left out.
pub(super) fn names_in<'text>(source: &'text str, region: &Range<usize>) -> BTreeSet<&'text str> {
    let tokens = tokens(source);
    let inside: Vec<Token> =
        tokens.into_iter().filter(|token| region.contains(&token.range.start)).collect();
    names(&inside, source)
}

fn names<'text>(tokens: &[Token], source: &'text str) -> BTreeSet<&'text str> {
    let words = tokens.iter().filter(|token| token.kind == Kind::Word);
    words.map(|token| &source[token.range.clone()]).collect()
}

/// What has been read of an item before its keyword.
#[derive(Default)]
struct Head {
    start: Option<usize>,
    has_attribute: bool,
    is_test: bool,
    ignored: bool,
}

/// Documentation always belongs to the item below; a plain comment only when no empty line parts them.
fn belongs_to_next(comment: &str, gap: &str) -> bool {
    if comment.starts_with("//!") || comment.starts_with("/*!") {
        return false;
    }
    comment.starts_with("///") || gap.matches('\n').count() < 2
}

/// `test` for `#[test]` and `#[tokio::test(flavor = "…")]`, `cfg` for `#[cfg(test)]`.
fn attribute_name<'text>(tokens: &[Token], source: &'text str) -> Option<&'text str> {
    tokens
        .iter()
        .take_while(|token| token.kind == Kind::Word || &source[token.range.clone()] == ":")
        .filter(|token| token.kind == Kind::Word)
        .last()
        .map(|token| &source[token.range.clone()])
}

pub(super) fn is(tokens: &[Token], source: &str, at: usize, text: &str) -> bool {
    tokens.get(at).is_some_and(|token| {
        token.kind == Kind::Punctuation && &source[token.range.clone()] == text
    })
}

/// The first `{` after the parameter list.
fn body_start(tokens: &[Token], source: &str, from: usize) -> usize {
    let mut at = from;
    while at < tokens.len() {
        if is(tokens, source, at, "{") {
            return at;
        }
        at = if is(tokens, source, at, "(") { closing(tokens, source, at) + 1 } else { at + 1 };
    }
    at
}

/// The bracket that closes the one at `open`; the end of the file when there is none.
pub(super) fn closing(tokens: &[Token], source: &str, open: usize) -> usize {
    let mut depth = 0_usize;
    for at in open..tokens.len() {
        if tokens[at].kind != Kind::Punctuation {
            continue;
        }
        match &source[tokens[at].range.clone()] {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return at;
                }
            }
            _ => {}
        }
    }
    tokens.len()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Comment,
    Word,
    /// Strings, characters, lifetimes: nothing in them is code.
    Literal,
    Punctuation,
}

#[derive(Debug)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) range: Range<usize>,
}

pub(super) fn tokens(source: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(character) = source[at..].chars().next() {
        let rest = &source[at..];
        let (kind, length) = if character.is_whitespace() {
            at += character.len_utf8();
            continue;
        } else if rest.starts_with("//") {
            (Kind::Comment, rest.find('\n').unwrap_or(rest.len()))
        } else if rest.starts_with("/*") {
            (Kind::Comment, block_comment(rest))
        } else if let Some(length) = string(rest) {
            (Kind::Literal, length)
        } else if character == '\'' {
            (Kind::Literal, quote(rest))
        } else if is_word(character) {
            (Kind::Word, rest.find(|character| !is_word(character)).unwrap_or(rest.len()))
        } else {
            (Kind::Punctuation, character.len_utf8())
        };
        tokens.push(Token { kind, range: at..at + length });
        at += length;
    }
    tokens
}

fn is_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

/// Block comments nest.
fn block_comment(rest: &str) -> usize {
    let mut depth = 0_usize;
    let mut at = 0;
    while at < rest.len() {
        if rest.as_bytes()[at..].starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if rest.as_bytes()[at..].starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    rest.len()
}

/// The length of a string literal of any kind (`"…"`, `b"…"`, `r#"…"#`, `cr"…"`) that starts here.
fn string(rest: &str) -> Option<usize> {
    let prefix = rest.find(|character: char| !"bcr".contains(character))?;
    if prefix > 2 {
        return None;
    }
    let is_raw = rest[..prefix].ends_with('r');
    let hashes = rest[prefix..].bytes().take_while(|&byte| byte == b'#').count();
    if hashes > 0 && !is_raw {
        return None;
    }
    let body = rest[prefix + hashes..].strip_prefix('"')?;
    let opening = prefix + hashes + 1;
    if is_raw {
        let end = format!("\"{}", "#".repeat(hashes));
        return Some(body.find(&end).map_or(rest.len(), |at| opening + at + end.len()));
    }
    Some(opening + escaped_until(body, '"'))
}

/// A character (`'x'`, `'\n'`) or a lifetime (`'a`).
fn quote(rest: &str) -> usize {
    let body = &rest[1..];
    let Some(first) = body.chars().next() else { return rest.len() };
    let is_character = first == '\\' || body[first.len_utf8()..].starts_with('\'');
    if is_character {
        return 1 + escaped_until(body, '\'');
    }
    1 + body.find(|character| !is_word(character)).unwrap_or(body.len())
}

/// The length up to and with the closing quote, stepping over escapes.
fn escaped_until(body: &str, close: char) -> usize {
    let mut characters = body.char_indices();
    while let Some((at, character)) = characters.next() {
        if character == '\\' {
            characters.next();
        } else if character == close {
            return at + close.len_utf8();
        }
    }
    body.len()
}
