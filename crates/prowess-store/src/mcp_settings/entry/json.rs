//! Entries in JSON, with comments or without.

use prowess_format::diagnostic::Edit;
use prowess_format::json::{self, Json, JsonContent, JsonEntry};
use prowess_format::span::Span;
use serde_json::{Map, Value};

use super::{EntryError, ServerEntry, indentation, line_end, line_start, newline};

/// The indentation of a new file.
const USUAL_INDENT: &str = "  ";

pub(super) fn values(text: &str) -> Result<Map<String, Value>, EntryError> {
    // Agents create empty files and fill them later.
    if is_blank(text) {
        return Ok(Map::new());
    }
    match parse(text)?.to_value() {
        Value::Object(values) => Ok(values),
        _ => Err(EntryError::NotAMap("its content".to_owned())),
    }
}

pub(super) fn add(text: &str, entry: &ServerEntry) -> Result<Vec<Edit>, EntryError> {
    let server = Value::Object(entry.value.clone());
    let servers = || Value::Object(Map::from_iter([(entry.name.clone(), server.clone())]));
    if is_blank(text) {
        let whole = Value::Object(Map::from_iter([(entry.container.clone(), servers())]));
        let whole = format!("{}\n", pretty(&whole, "", USUAL_INDENT, "\n"));
        return Ok(vec![Edit::replace(Span::at(text.len()), whole)]);
    }
    let root = parse(text)?;
    let editor = Editor { text, newline: newline(text), unit: unit(text, &root) };
    let Some(container) = last(&root, &entry.container) else {
        return Ok(editor.append(&root, &entry.container, &servers()));
    };
    if container.value.content == JsonContent::Null {
        let value = editor.written(&servers(), indentation(text, container.key_span.range().start));
        return Ok(vec![Edit::replace(container.value.span, value)]);
    }
    let Some(existing) = last(&container.value, &entry.name) else {
        return Ok(editor.append(&container.value, &entry.name, &server));
    };
    let mut merged = match existing.value.to_value() {
        Value::Object(merged) => merged,
        _ => Map::new(),
    };
    merged.extend(entry.value.clone());
    let indent = indentation(text, existing.key_span.range().start);
    Ok(vec![Edit::replace(existing.value.span, editor.written(&Value::Object(merged), indent))])
}

pub(super) fn remove(
    text: &str,
    entry: &ServerEntry,
    drop_container: bool,
) -> Result<Vec<Edit>, EntryError> {
    let root = parse(text)?;
    if drop_container {
        return removal(text, &root, &entry.container);
    }
    let container = last(&root, &entry.container).ok_or(EntryError::Unusual)?;
    removal(text, &container.value, &entry.name)
}

/// Removes an entry of an object with one comma, and its lines if nothing else is on them.
fn removal(text: &str, object: &Json, key: &str) -> Result<Vec<Edit>, EntryError> {
    let entries = object.entries();
    let at = entries.iter().rposition(|entry| entry.key == key).ok_or(EntryError::Unusual)?;
    let mut edits = Vec::new();
    let mut start = entries[at].key_span.range().start;
    let mut end = entries[at].value.span.range().end;
    if let Some(comma) = comma_after(text, end) {
        if text[end..comma].trim().is_empty() {
            end = comma + 1;
        } else {
            edits.push(Edit::replace(Span::new(comma, comma + 1), ""));
        }
    } else if let Some(before) = at.checked_sub(1).and_then(|before| entries.get(before)) {
        let comma = comma_after(text, before.value.span.range().end).ok_or(EntryError::Unusual)?;
        if text[comma + 1..start].chars().all(|character| character == ' ') {
            start = comma;
        } else {
            edits.push(Edit::replace(Span::new(comma, comma + 1), ""));
        }
    }
    let (line, rest) = (line_start(text, start), line_end(text, end));
    let is_alone = text[line..start].trim().is_empty() && text[end..rest].trim().is_empty();
    if is_alone && text[..rest].ends_with('\n') {
        (start, end) = (line, rest);
    } else if text[end..].starts_with(' ') {
        end += 1;
    }
    edits.push(Edit::replace(Span::new(start, end), ""));
    Ok(edits)
}

fn parse(text: &str) -> Result<Json, EntryError> {
    json::parse_with_comments(text).map_err(|error| {
        let line = text[..error.span.range().start.min(text.len())].matches('\n').count() + 1;
        EntryError::Syntax(format!("{} (line {line})", error.message))
    })
}

fn is_blank(text: &str) -> bool {
    text.trim_start_matches('\u{feff}').trim().is_empty()
}

/// The entry that readers use: the last one of a key.
fn last<'j>(object: &'j Json, key: &str) -> Option<&'j JsonEntry> {
    object.entries().iter().rfind(|entry| entry.key == key)
}

/// The offset of the comma that follows a value.
fn comma_after(text: &str, at: usize) -> Option<usize> {
    let next = json::skip_comments(text, at);
    text[next..].starts_with(',').then_some(next)
}

/// One level of indentation of a text.
fn unit<'t>(text: &'t str, root: &Json) -> &'t str {
    let first = root.entries().first().map(|entry| entry.key_span.range().start);
    let own = first.filter(|first| text[root.span.range().start..*first].contains('\n'));
    let own = own.map(|first| indentation(text, first)).filter(|own| !own.is_empty());
    own.unwrap_or(USUAL_INDENT)
}

struct Editor<'t> {
    text: &'t str,
    newline: &'static str,
    unit: &'t str,
}

impl Editor<'_> {
    /// Appends an entry to an object, in the style of the object.
    fn append(&self, object: &Json, key: &str, value: &Value) -> Vec<Edit> {
        let quoted = Value::from(key).to_string();
        let outer = indentation(self.text, object.span.range().start);
        let Some(last) = object.entries().last() else {
            return vec![self.first(object, &quoted, value, outer)];
        };
        let first = object
            .entries()
            .first()
            .map_or(object.span.range().start, |first| first.key_span.range().start);
        let comma = comma_after(self.text, last.value.span.range().end);
        let end = comma.map_or(last.value.span.range().end, |comma| comma + 1);
        if !self.text[object.span.range().start..first].contains('\n') {
            let before = if comma.is_some() { "" } else { "," };
            let new = format!("{before} {quoted}: {}", compact(value));
            return vec![Edit::replace(Span::at(end), new)];
        }
        let indent = indentation(self.text, first);
        let value = pretty(value, indent, self.unit, self.newline);
        // A trailing comma is a habit of its author.
        let after = if comma.is_some() { "," } else { "" };
        let new = format!("{}{indent}{quoted}: {value}{after}", self.newline);
        let place = self.after_comments(end);
        if comma.is_some() {
            return vec![Edit::replace(Span::at(place), new)];
        }
        if place == end {
            return vec![Edit::replace(Span::at(end), format!(",{new}"))];
        }
        vec![Edit::replace(Span::at(end), ","), Edit::replace(Span::at(place), new)]
    }

    /// The first entry of an empty object.
    fn first(&self, object: &Json, quoted: &str, value: &Value, outer: &str) -> Edit {
        let inside = &self.text[object.span.range().start + 1..object.span.range().end - 1];
        let place = Span::at(object.span.range().start + 1);
        if !self.text.trim_end().contains('\n') {
            return Edit::replace(place, format!("{quoted}: {}", compact(value)));
        }
        let indent = format!("{outer}{}", self.unit);
        let value = pretty(value, &indent, self.unit, self.newline);
        let last =
            if inside.contains('\n') { String::new() } else { format!("{}{outer}", self.newline) };
        Edit::replace(place, format!("{}{indent}{quoted}: {value}{last}", self.newline))
    }

    /// The end of the comments on the line of an offset: they belong to what is before them.
    fn after_comments(&self, at: usize) -> usize {
        let mut end = at;
        loop {
            let rest = &self.text[end..];
            let comment = rest.trim_start_matches([' ', '\t']);
            let spaces = rest.len() - comment.len();
            if comment.starts_with("//") {
                let line = comment.lines().next().unwrap_or(comment);
                return end + spaces + line.len();
            }
            let closed = comment.starts_with("/*").then(|| comment.find("*/")).flatten();
            match closed.filter(|length| !comment[..*length].contains('\n')) {
                Some(length) => end += spaces + length + "*/".len(),
                None => return end,
            }
        }
    }

    /// A value that replaces another one.
    fn written(&self, value: &Value, indent: &str) -> String {
        if self.text.trim_end().contains('\n') {
            pretty(value, indent, self.unit, self.newline)
        } else {
            compact(value)
        }
    }
}

/// A value on one line.
fn compact(value: &Value) -> String {
    match value {
        Value::Object(entries) => {
            let entries = entries
                .iter()
                .map(|(key, value)| format!("{}: {}", Value::from(&**key), compact(value)));
            format!("{{{}}}", entries.collect::<Vec<_>>().join(", "))
        }
        Value::Array(items) => {
            format!("[{}]", items.iter().map(compact).collect::<Vec<_>>().join(", "))
        }
        other => other.to_string(),
    }
}

/// A value with one line for each entry of an object; lists of words stay on one line.
fn pretty(value: &Value, indent: &str, unit: &str, newline: &str) -> String {
    match value {
        Value::Object(entries) if !entries.is_empty() => {
            let inner = format!("{indent}{unit}");
            let lines = entries.iter().map(|(key, value)| {
                let value = pretty(value, &inner, unit, newline);
                format!("{newline}{inner}{}: {value}", Value::from(&**key))
            });
            format!("{{{}{newline}{indent}}}", lines.collect::<Vec<_>>().join(","))
        }
        other => compact(other),
    }
}
