//! Repairs front matter that is not valid YAML but that a person can read (OC-6).
//!
//! Real files contain unquoted colons, tabs, values that begin with `@` or `*`, text after a
//! closing quote. The front matter is split into its top-level entries; each one that does not
//! parse on its own gets the smallest rewrite that does. Every rewrite is reported with the exact
//! edit.

use std::collections::HashSet;

use super::fence::{key_of, lines_from};
use super::yaml::{self, Mapping};
use crate::diagnostic::{Diagnostic, Edit, Findings, Fix, FixSafety};
use crate::rules;
use crate::span::Span;
use crate::text::shorten;

/// Maximum number of entries to repair one by one, so that the work stays linear on hostile input.
const MAX_CHUNKS: usize = 2_000;

/// Reads the readable entries of `text`, which failed to parse with `error`. Returns `None` if
/// there are none.
pub(super) fn repair(
    text: &str,
    base: usize,
    error: &yaml::YamlError,
    findings: &mut Findings,
) -> Option<Mapping<'static>> {
    if let Some((marker, cleaned)) = without_conflict_markers(text) {
        let span = marker.shift(base);
        findings.push(
            rules::MERGE_CONFLICT
                .at(span, "an unresolved merge conflict")
                .help("keep one side and remove the three marker lines"),
        );
        return read_conflict(&cleaned, base, findings);
    }
    let mut root = Mapping::default();
    let mut diagnostics: Vec<Diagnostic> = Vec::new();
    let mut repaired = false;
    let mut keys = 0;
    let mut seen = HashSet::new();
    for chunk in chunks(text) {
        let source = chunk.slice(text);
        let chunk_base = base + chunk.start as usize;
        let Some((mapping, change)) = read_chunk(source, chunk_base) else {
            if !source.trim().is_empty() {
                let inside = (error.offset >= chunk_base
                    && error.offset < chunk_base + source.len())
                .then_some(error);
                diagnostics.push(unreadable(source, chunk_base, inside));
            }
            continue;
        };
        keys += 1;
        if let Some(change) = change {
            repaired = true;
            diagnostics.push(change);
        }
        for entry in mapping.entries {
            if !seen.insert(entry.key.clone()) {
                diagnostics.push(
                    rules::DUPLICATE_KEY
                        .at(entry.key_span, format!("`{}` is given twice", entry.key))
                        .help("keep one of the two"),
                );
            }
            root.entries.push(entry);
        }
    }
    if keys == 0 {
        return None;
    }
    if !repaired && diagnostics.is_empty() {
        // Every entry parses on its own, so the problem is between them. Nothing is lost, but the
        // problem must be reported.
        diagnostics.push(invalid(error));
    }
    findings.extend(diagnostics);
    Some(root)
}

/// The first marker of an unresolved merge conflict, and the text with all markers replaced by
/// spaces, so that spans stay valid.
fn without_conflict_markers(text: &str) -> Option<(Span, String)> {
    let is_marker = |line: &str| {
        line.starts_with("<<<<<<< ")
            || line.starts_with(">>>>>>> ")
            || line.starts_with("||||||| ")
            || line == "======="
    };
    let opening = lines_from(text, 0).find(|line| line.text.starts_with("<<<<<<< "))?;
    let mut cleaned = String::with_capacity(text.len());
    for line in lines_from(text, 0) {
        let whole = &text[line.start..line.next];
        if is_marker(line.text) {
            cleaned.extend(std::iter::repeat_n(' ', line.text.len()));
            cleaned.push_str(&whole[line.text.len()..]);
        } else {
            cleaned.push_str(whole);
        }
    }
    Some((Span::new(opening.start, opening.start + opening.text.len()), cleaned))
}

/// Reads both sides of a conflict. Offers no fix: only a person knows which side is right.
fn read_conflict(text: &str, base: usize, findings: &mut Findings) -> Option<Mapping<'static>> {
    let mut found = Findings::default();
    let root = match yaml::parse(text, base, &mut found) {
        Ok(Some(node)) => match node.content {
            yaml::YamlContent::Mapping(mapping) => Some(mapping.into_owned()),
            _ => None,
        },
        Ok(None) => None,
        Err(error) => repair(text, base, &error, &mut found),
    };
    findings.extend(
        found.into_sorted().into_iter().map(|diagnostic| Diagnostic { fix: None, ..diagnostic }),
    );
    root
}

/// The finding for YAML that could not be read.
pub(super) fn invalid(error: &yaml::YamlError) -> Diagnostic {
    let rule = if error.limit { &rules::YAML_LIMIT } else { &rules::INVALID_YAML };
    let help = if error.limit {
        "front matter is for metadata: move long text into the body or another file"
    } else {
        "quote the value"
    };
    rule.at(Span::at(error.offset), error.message.clone()).help(help)
}

fn unreadable(source: &str, base: usize, error: Option<&yaml::YamlError>) -> Diagnostic {
    let message = match error {
        Some(error) => error.message.clone(),
        None => format!("`{}` is not a `key: value` line", shorten(source.trim(), 40)),
    };
    let start = base + (source.len() - source.trim_start().len());
    rules::INVALID_YAML
        .at(Span::new(start, start + source.trim().len()), message)
        .help("write it as `key: value`, with quotes around a value that contains `: `")
}

/// The top-level entries of a mapping, each from its key to the next key; what comes before the first key is one chunk too.
fn chunks(text: &str) -> Vec<Span> {
    let mut starts = vec![0];
    for line in lines_from(text, 0) {
        let top_level = line.text.starts_with(|character: char| !character.is_whitespace());
        if line.start != 0 && top_level && key_of(line.text).is_some() && starts.len() < MAX_CHUNKS
        {
            starts.push(line.start);
        }
    }
    let ends = starts.iter().skip(1).copied().chain([text.len()]);
    starts.iter().zip(ends).map(|(&start, end)| Span::new(start, end)).collect()
}

fn parse_mapping(text: &str) -> Option<Mapping<'_>> {
    let mut ignored = Findings::default();
    let node = yaml::parse(text, 0, &mut ignored).ok()??;
    match node.content {
        yaml::YamlContent::Mapping(mapping) if !mapping.entries.is_empty() => Some(mapping),
        _ => None,
    }
}

/// Rewrites a chunk; `None` if it does not apply.
type Rewrite = fn(&str) -> Option<String>;

fn read_chunk(source: &str, base: usize) -> Option<(Mapping<'static>, Option<Diagnostic>)> {
    if let Some(mapping) = parse_mapping(source) {
        let mut node = yaml::Node {
            span: Span::default(),
            content: yaml::YamlContent::Mapping(mapping.into_owned()),
        };
        node.map_spans(&|span| span.shift(base));
        let yaml::YamlContent::Mapping(mapping) = node.content else { return None };
        return Some((mapping, None));
    }
    // Rewrites that only change the notation are safe; those that decide which lines belong
    // together need review.
    let attempts: [(&str, FixSafety, Rewrite); 13] = [
        ("a tab can't indent YAML", FixSafety::Safe, untab),
        ("a no-break space is not a space in YAML", FixSafety::Safe, plain_spaces),
        ("a bracket is never closed", FixSafety::Suggested, close_brackets),
        ("a list begins on the line below its key", FixSafety::Suggested, break_before_dash),
        ("an apostrophe can't be inside single quotes", FixSafety::Safe, requote_apostrophes),
        ("a quote is opened or closed twice", FixSafety::Suggested, drop_stray_quotes),
        ("a value with a special character must be quoted", FixSafety::Safe, quote_text_lines),
        ("a comment in YAML begins with `#`", FixSafety::Safe, strip_slash_comments),
        ("a field can't be indented below a value", FixSafety::Suggested, outdent_keys),
        ("text over several lines must be a block scalar", FixSafety::Suggested, fold),
        ("a colon must be followed by a space", FixSafety::Safe, space_after_colon),
        ("a value with a special character must be quoted", FixSafety::Suggested, quote_lines),
        ("a value with a special character must be quoted", FixSafety::Suggested, quote_whole),
    ];
    attempts.iter().find_map(|(why, safety, attempt)| {
        let fixed = attempt(source)?;
        let mapping = parse_mapping(&fixed)?;
        let edit = smallest_edit(source, &fixed);
        let (prefix, old_end) = (edit.span.start as usize, edit.span.end as usize);
        let new_end = prefix + edit.text.len();
        let back = |offset: u32| {
            let offset = offset as usize;
            if offset <= prefix {
                offset
            } else if offset >= new_end {
                offset - new_end + old_end
            } else {
                // Within the rewritten part, but never inside a character.
                source.floor_char_boundary(offset.min(old_end))
            }
        };
        let mut node = yaml::Node {
            span: Span::default(),
            content: yaml::YamlContent::Mapping(mapping.into_owned()),
        };
        node.map_spans(&|span| Span::new(back(span.start), back(span.end)).shift(base));
        let yaml::YamlContent::Mapping(mapping) = node.content else { return None };
        let span = edit.span.shift(base);
        let shown = fixed[..prefix].rfind('\n').map_or(0, |at| at + 1);
        let shown = fixed[shown..].lines().next().unwrap_or_default().trim();
        let diagnostic = rules::REPAIRED_YAML
            .at(span, (*why).to_owned())
            .help(format!("write `{}`", shorten(shown, 100)))
            .fix(Fix {
                title: "rewrite the value as YAML".to_owned(),
                safety: *safety,
                edits: vec![Edit { span, text: edit.text }],
            });
        Some((mapping, Some(diagnostic)))
    })
}

/// The shortest single replacement that turns `old` into `new`.
fn smallest_edit(old: &str, new: &str) -> Edit {
    let prefix = old
        .char_indices()
        .zip(new.chars())
        .find(|((_, a), b)| a != b)
        .map_or(old.len().min(new.len()), |((at, _), _)| at);
    let suffix: usize = old[prefix..]
        .chars()
        .rev()
        .zip(new[prefix..].chars().rev())
        .take_while(|(a, b)| a == b)
        .map(|(character, _)| character.len_utf8())
        .sum();
    Edit {
        span: Span::new(prefix, old.len() - suffix),
        text: new[prefix..new.len() - suffix].to_owned(),
    }
}

fn untab(source: &str) -> Option<String> {
    let mut changed = false;
    let mut result = String::new();
    for line in lines_from(source, 0) {
        let indent = line.text.len() - line.text.trim_start_matches([' ', '\t']).len();
        let whole = &source[line.start..line.next];
        changed |= whole[..indent].contains('\t');
        result.push_str(&whole[..indent].replace('\t', "  "));
        result.push_str(&whole[indent..]);
    }
    // Some files have both tabs and unquoted values.
    changed.then(|| {
        quote_lines(&result).filter(|_| parse_mapping(&result).is_none()).unwrap_or(result)
    })
}

/// Replaces no-break and other wide spaces where YAML needs a plain one: in the indentation, and after a colon or a dash.
fn plain_spaces(source: &str) -> Option<String> {
    let is_wide = |character: char| character.is_whitespace() && !character.is_ascii();
    let mut changed = false;
    let mut result = String::new();
    for line in lines_from(source, 0) {
        let (value_start, _) = value_of(line.text);
        let (head, tail) = source[line.start..line.next].split_at(value_start);
        changed |= head.contains(is_wide);
        result
            .extend(head.chars().map(|character| if is_wide(character) { ' ' } else { character }));
        result.push_str(tail);
    }
    changed.then_some(result)
}

/// `'it's'` becomes `"it's"`: the quotes are the author's, and the apostrophe is text.
fn requote_apostrophes(source: &str) -> Option<String> {
    let mut changed = false;
    let mut result = String::new();
    for line in lines_from(source, 0) {
        let whole = &source[line.start..line.next];
        let (start, value) = value_of(line.text);
        let inner = value.strip_prefix('\'').and_then(|value| value.strip_suffix('\''));
        let inner = inner.filter(|inner| {
            let is_letter = |letter: Option<char>| letter.is_some_and(char::is_alphanumeric);
            inner.match_indices('\'').all(|(at, _)| {
                is_letter(inner[..at].chars().next_back())
                    && is_letter(inner[at + 1..].chars().next())
            }) && !inner.contains(['"', '\\'])
                && wants_quotes(value)
        });
        match inner {
            Some(inner) => {
                changed = true;
                result.push_str(&line.text[..start]);
                result.push_str(&quoted(inner));
                result.push_str(&whole[start + value.len()..]);
            }
            None => result.push_str(whole),
        }
    }
    changed.then_some(result)
}

/// Removes a quote too many at the start or the end of a value: `"text""`, `""text"`, `'text"`.
fn drop_stray_quotes(source: &str) -> Option<String> {
    let mut changed = false;
    let mut result = String::new();
    for line in lines_from(source, 0) {
        let whole = &source[line.start..line.next];
        let (start, value) = value_of(line.text);
        let inner = value.trim_matches(['"', '\'']);
        let is_stray = value.starts_with(['"', '\''])
            && value.ends_with(['"', '\''])
            && !inner.is_empty()
            && !inner.contains(['"', '\\'])
            && wants_quotes(value);
        if is_stray {
            changed = true;
            result.push_str(&line.text[..start]);
            result.push_str(&quoted(inner));
            result.push_str(&whole[start + value.len()..]);
        } else {
            result.push_str(whole);
        }
    }
    changed.then_some(result)
}

/// Quotes values that are certainly text. A value in brackets may be a broken list or map, and one that begins with a quote
/// may have a quote too many: quoting those would hide the mistake.
fn quote_text_lines(source: &str) -> Option<String> {
    /// Fields whose value is a text in every dialect.
    const TEXTS: &[&str] =
        &["argument-hint", "compatibility", "description", "license", "name", "when_to_use"];
    let is_text = |key: &str| TEXTS.contains(&key.trim_matches(['"', '\'']));
    let is_doubtful = |line: &str| {
        let (start, value) = value_of(line);
        let key = key_of(line[..start].trim_start()).map(|(key, _)| key);
        let is_bracket = value.starts_with(['[', '{']) && !key.is_some_and(is_text);
        let quotes = value.matches(['"']).count();
        let is_stray = value.starts_with('"') && quotes > 1 && value[1..].starts_with('"')
            || value.starts_with('"') && value.ends_with("\"\"");
        (is_bracket || is_stray) && wants_quotes(value)
    };
    if lines_from(source, 0).any(|line| is_doubtful(line.text)) {
        return None;
    }
    quote_lines(source)
}

/// Appends the brackets that a flow collection on the last line lacks.
fn close_brackets(source: &str) -> Option<String> {
    let text = source.trim_end();
    let mut open = Vec::new();
    let mut quote = None;
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match (quote, character) {
            (Some('"'), '\\') => _ = characters.next(),
            (Some(mark), _) if mark == character => quote = None,
            (Some(_), _) => {}
            (None, '"') => quote = Some('"'),
            (None, '{') => open.push('}'),
            (None, '[') => open.push(']'),
            (None, '}' | ']') if open.pop() != Some(character) => {
                return None;
            }
            _ => {}
        }
    }
    if open.is_empty() || quote.is_some() {
        return None;
    }
    let closing: String = open.iter().rev().collect();
    Some(format!("{text}{closing}{}", &source[text.len()..]))
}

/// Quotes each value that is not valid without quotes.
fn quote_lines(source: &str) -> Option<String> {
    let mut changed = false;
    let mut result = String::new();
    // Lines of a block scalar are text already.
    let mut block: Option<usize> = None;
    for line in lines_from(source, 0) {
        let whole = &source[line.start..line.next];
        let indent = line.text.len() - line.text.trim_start().len();
        if let Some(parent) = block {
            if line.text.trim().is_empty() || indent > parent {
                result.push_str(whole);
                continue;
            }
            block = None;
        }
        let (start, value) = value_of(line.text);
        if value.starts_with(['|', '>'])
            && value.trim_start_matches(['|', '>', '-', '+']).trim().is_empty()
        {
            block = Some(indent);
        }
        if wants_quotes(value) {
            changed = true;
            result.push_str(&line.text[..start]);
            result.push_str(&quoted(value));
            result.push_str(&whole[start + value.len()..]);
        } else {
            result.push_str(whole);
        }
    }
    changed.then_some(result)
}

/// The value of a line `key: value`, `- value` or `- key: value`, and where it starts.
fn value_of(line: &str) -> (usize, &str) {
    let mut at = line.len() - line.trim_start().len();
    while let Some(rest) = line[at..].strip_prefix("- ") {
        at = line.len() - rest.trim_start().len();
    }
    if let Some((_, after_colon)) = key_of(&line[at..]) {
        at += after_colon;
        at += line[at..].len() - line[at..].trim_start().len();
    }
    (at, line[at..].trim_end())
}

fn wants_quotes(value: &str) -> bool {
    let Some(first) = value.chars().next() else { return false };
    match first {
        '"' | '\'' => {
            let mut ignored = Findings::default();
            yaml::parse(value, 0, &mut ignored).is_err()
        }
        '[' | '{' => {
            let mut ignored = Findings::default();
            let closes = value.ends_with([']', '}']) || value.ends_with(',');
            !closes
                || (value.ends_with([']', '}'])
                    && yaml::parse(value, 0, &mut ignored).is_err()
                    && !value.contains("//"))
        }
        '|' | '>' => {
            !value
                .trim_start_matches([
                    '|', '>', '-', '+', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9',
                ])
                .trim_start()
                .is_empty()
                && !value.contains(" #")
        }
        '@' | '`' | '*' | '&' | '%' | '!' => true,
        _ => value.contains(": ") || value.ends_with(':'),
    }
}

/// The text as a YAML scalar in quotes. A quote that the author forgot to close is dropped.
fn quoted(value: &str) -> String {
    let value = match value.strip_prefix('"') {
        Some(rest) if !rest.contains('"') => rest,
        _ => value,
    };
    if !value.contains(['"', '\\']) && !value.chars().any(char::is_control) {
        return format!("\"{value}\"");
    }
    format!("'{}'", value.replace('\'', "''"))
}

/// `key: - one` with further items below becomes a list.
fn break_before_dash(source: &str) -> Option<String> {
    let mut lines = lines_from(source, 0).skip_while(|line| line.text.trim().is_empty());
    let first = lines.next()?;
    let (_, after_colon) = key_of(first.text)?;
    let value = first.text[after_colon..].trim();
    if !value.starts_with("- ") {
        return None;
    }
    let mut result = format!("{}\n  {value}\n", &source[..first.start + after_colon]);
    for line in lines {
        let text = line.text.trim();
        if !text.is_empty() && !text.starts_with("- ") {
            return None;
        }
        result.push_str("  ");
        result.push_str(text);
        result.push('\n');
    }
    Some(result)
}

/// Outdents a line `key: value` that is indented below another value.
fn outdent_keys(source: &str) -> Option<String> {
    let first = lines_from(source, 0).find(|line| !line.text.trim().is_empty())?;
    let (_, after_colon) = key_of(first.text)?;
    let value = first.text[after_colon..].trim();
    if value.is_empty() || value.starts_with(['|', '>', '[', '{']) {
        return None;
    }
    let mut changed = false;
    let mut result = source[..first.next].to_owned();
    for line in lines_from(source, first.next) {
        let trimmed = line.text.trim_start();
        if trimmed.len() != line.text.len() && begins_a_field(trimmed) {
            changed = true;
            result.push_str(trimmed);
            result.push_str(&source[line.start + line.text.len()..line.next]);
        } else {
            result.push_str(&source[line.start..line.next]);
        }
    }
    changed.then(|| match parse_mapping(&result) {
        Some(_) => result,
        None => quote_lines(&result).unwrap_or(result),
    })
}

/// Whether a line begins with a field of any dialect. Another word before a colon may be part of a
/// sentence.
fn begins_a_field(line: &str) -> bool {
    let Some((key, _)) = key_of(line) else { return false };
    crate::dialect::ALL.iter().flat_map(|dialect| dialect.fields).any(|field| field.name == key)
}

/// Whether a line after the first begins like a field, which joining the lines would swallow.
fn swallows_a_field(source: &str) -> bool {
    lines_from(source, 0).skip(1).any(|line| begins_a_field(line.text.trim_start()))
}

fn quote_whole(source: &str) -> Option<String> {
    let line = lines_from(source, 0)
        .find(|line| !line.text.trim().is_empty() && !line.text.starts_with('#'))?;
    let (_, after_colon) = key_of(line.text)?;
    let rest = source[line.next..].trim();
    let value = line.text[after_colon..].trim();
    let text = if rest.is_empty() {
        value.to_owned()
    } else {
        format!("{value} {}", rest.split_whitespace().collect::<Vec<_>>().join(" "))
    };
    let notation = value.starts_with(['|', '>', '"', '\'']) && !rest.is_empty();
    if text.is_empty() || notation || swallows_a_field(source) {
        return None;
    }
    Some(format!("{} '{}'\n", &source[..line.start + after_colon], text.replace('\'', "''")))
}

/// `key: text` with indented lines below becomes a folded block.
fn fold(source: &str) -> Option<String> {
    let line = lines_from(source, 0)
        .find(|line| !line.text.trim().is_empty() && !line.text.starts_with('#'))?;
    let (_, after_colon) = key_of(line.text)?;
    let value = line.text[after_colon..].trim();
    let rest: Vec<&str> = lines_from(source, line.next).map(|line| line.text).collect();
    let continued = rest.iter().any(|line| !line.trim().is_empty());
    let notation = value.starts_with(['|', '>', '[', '{', '"', '\'']);
    if value.is_empty() || !continued || notation || swallows_a_field(source) {
        return None;
    }
    let mut result = format!("{} >-\n  {value}\n", &source[..line.start + after_colon]);
    for line in rest {
        result.push_str("  ");
        result.push_str(line.trim());
        result.push('\n');
    }
    Some(result)
}

/// Edits that turn JSON5 comments outside quotes into YAML: `// …` becomes `# …`, `/* … */` is
/// removed.
fn slash_comments(source: &str) -> Vec<Edit> {
    let bytes = source.as_bytes();
    let mut edits = Vec::new();
    let mut quote = None;
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        // Neither `https://` nor a path is a comment.
        let apart =
            at == 0 || matches!(bytes[at - 1], b' ' | b'\t' | b'\n' | b'\r' | b',' | b'{' | b'[');
        match (quote, byte) {
            (Some(b'"'), b'\\') => at += 1,
            (Some(mark), _) if mark == byte => quote = None,
            (Some(_), _) => {}
            (None, b'"' | b'\'') if apart || bytes[at - 1] == b':' => quote = Some(byte),
            (None, b'#') if apart => {
                at += memchr::memchr2(b'\n', b'\r', &bytes[at..]).unwrap_or(bytes.len() - at);
                continue;
            }
            (None, b'/') if apart && bytes.get(at + 1) == Some(&b'/') => {
                edits.push(Edit::replace(Span::new(at, at + 2), "#"));
                at += memchr::memchr2(b'\n', b'\r', &bytes[at..]).unwrap_or(bytes.len() - at);
                continue;
            }
            (None, b'/') if apart && bytes.get(at + 1) == Some(&b'*') => {
                let Some(end) = source[at + 2..].find("*/") else { break };
                let end = at + 2 + end + 2;
                let after_colon = end + usize::from(bytes.get(end) == Some(&b' '));
                edits.push(Edit::replace(Span::new(at, after_colon), ""));
                at = after_colon;
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    edits
}

fn strip_slash_comments(source: &str) -> Option<String> {
    let edits = slash_comments(source);
    (!edits.is_empty()).then(|| crate::diagnostic::apply_edits(source, &edits))
}

/// Reads the text again without JSON5 comments, which YAML takes for the beginning of the next key:
/// nothing fails and the key is lost.
pub(super) fn without_slash_comments(
    root: &Mapping<'_>,
    text: &str,
    base: usize,
    findings: &mut Findings,
) -> Option<Mapping<'static>> {
    if !has_comment_key(root) {
        return None;
    }
    let edits = slash_comments(text);
    // Spaces of the same length keep every span valid; `#` before a comment ends the line as well.
    let mut blanked = text.to_owned().into_bytes();
    for edit in &edits {
        let blank = if edit.text.is_empty() { b' ' } else { b'#' };
        blanked[edit.span.range()].fill(blank);
    }
    let blanked = String::from_utf8(blanked).ok()?;
    let mapping = parse_mapping(&blanked).filter(|mapping| !has_comment_key(mapping))?;
    let first = edits.first()?.span.shift(base);
    let edits = edits.iter().map(|edit| Edit::replace(edit.span.shift(base), edit.text.clone()));
    findings.push(
        rules::REPAIRED_YAML
            .at(first, "a comment in YAML begins with `#`")
            .help("write `# …`; YAML treats other comments as part of the next key")
            .fix(Fix::safe("write the comments as YAML", edits.collect())),
    );
    let content = yaml::YamlContent::Mapping(mapping.into_owned());
    let mut node = yaml::Node { span: Span::default(), content };
    node.map_spans(&|span| span.shift(base));
    match node.content {
        yaml::YamlContent::Mapping(mapping) => Some(mapping),
        yaml::YamlContent::Scalar(_) | yaml::YamlContent::Sequence(_) => None,
    }
}

fn has_comment_key(mapping: &Mapping<'_>) -> bool {
    mapping.entries.iter().any(|entry| {
        (mapping.flow && (entry.key.starts_with("//") || entry.key.starts_with("/*")))
            || entry.value.mapping().is_some_and(has_comment_key)
    })
}

/// Inserts a space into `name:value` at the start of a chunk without a valid key.
fn space_after_colon(source: &str) -> Option<String> {
    let mut changed = false;
    let mut result = String::new();
    for line in lines_from(source, 0) {
        let whole = &source[line.start..line.next];
        let colon = line.text.find(':').filter(|&at| {
            let key = &line.text[..at];
            at > 0
                && key
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
                && !line.text[at + 1..].starts_with(['/', ' '])
                && line.text.len() > at + 1
        });
        match colon {
            Some(at) => {
                changed = true;
                result.push_str(&whole[..=at]);
                result.push(' ');
                result.push_str(&whole[at + 1..]);
            }
            None => result.push_str(whole),
        }
    }
    changed.then_some(result)
}
