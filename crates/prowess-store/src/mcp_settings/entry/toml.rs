//! Entries in TOML: one table `[container.name]` at the end of the file.

use std::fmt::Write as _;

use prowess_format::diagnostic::Edit;
use prowess_format::span::Span;
use serde_json::{Map, Value};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::{EntryError, ServerEntry, line_end, newline};

pub(super) fn values(text: &str) -> Result<Map<String, Value>, EntryError> {
    let table: toml::Table = toml::from_str(body(text)).map_err(|error| {
        let start = error.span().map_or(0, |span| span.start);
        let line = body(text).get(..start).unwrap_or_default().matches('\n').count() + 1;
        EntryError::Syntax(format!("{} (line {line})", error.message()))
    })?;
    Ok(table.into_iter().map(|(key, value)| (key, to_json(value))).collect())
}

pub(super) fn add(text: &str, entry: &ServerEntry) -> Result<Vec<Edit>, EntryError> {
    if let Some(edits) = corrections(text, entry) {
        return Ok(edits);
    }
    let newline = newline(text);
    let mut table = String::new();
    if !body(text).is_empty() {
        if !text.ends_with('\n') {
            table.push_str(newline);
        }
        table.push_str(newline);
    }
    let _ = write!(table, "[{}.{}]{newline}", key(&entry.container), key(&entry.name));
    for (name, value) in &entry.value {
        let _ = write!(table, "{} = {}{newline}", key(name), written(value)?);
    }
    Ok(vec![Edit::replace(Span::at(text.len()), table)])
}

/// Replaces the values of an entry that exists; `None` if there is none. Keys that it lacks can't be added this way, and
/// the check of the result refuses it.
fn corrections(text: &str, entry: &ServerEntry) -> Option<Vec<Edit>> {
    let skipped = text.len() - body(text).len();
    let root = DeTable::parse(body(text)).ok()?;
    let servers = find(root.get_ref(), &entry.container)?;
    let server = find(servers.get_ref().as_table()?, &entry.name)?;
    let server = server.get_ref().as_table()?;
    let edits = entry.value.iter().filter_map(|(name, value)| {
        let span = find(server, name)?.span();
        let span = Span::new(span.start + skipped, span.end + skipped);
        Some(Edit::replace(span, written(value).ok()?))
    });
    Some(edits.collect())
}

/// The value of a key.
fn find<'t, 'i>(table: &'t DeTable<'i>, name: &str) -> Option<&'t Spanned<DeValue<'i>>> {
    table.iter().find(|(key, _)| key.get_ref().as_ref() == name).map(|(_, value)| value)
}

/// Removes every table of the entry, each from its header to the next one. Comments before the next header stay.
pub(super) fn remove(text: &str, entry: &ServerEntry) -> Result<Vec<Edit>, EntryError> {
    let mut edits = Vec::new();
    let mut at = text.len() - body(text).len();
    let mut table: Option<usize> = None;
    // The start of the last header, or of the text.
    let mut section = at;
    // The end of the last line that belongs to the table.
    let mut last = at;
    while at < text.len() {
        let end = line_end(text, at);
        let line = text[at..end].trim();
        if line.starts_with('[') && !is_inside_value(&text[section..at]) {
            section = at;
            if let Some(start) = table.take() {
                edits.push(Edit::replace(Span::new(start, last), ""));
            }
            if is_header(line, entry) {
                table = Some(at);
            }
        }
        if !line.is_empty() && !line.starts_with('#') {
            last = end;
        }
        at = end;
    }
    if let Some(start) = table {
        edits.push(Edit::replace(Span::new(start, last), ""));
    }
    if edits.is_empty() { Err(EntryError::Unusual) } else { Ok(edits) }
}

/// Whether a text ends inside a value, such as a list over several lines: it does not parse alone then.
fn is_inside_value(section: &str) -> bool {
    toml::from_str::<toml::Table>(section).is_err()
}

/// Whether a line is the header of the entry, or of a table in it.
fn is_header(line: &str, entry: &ServerEntry) -> bool {
    let Ok(table) = toml::from_str::<toml::Table>(line) else { return false };
    let servers = table.get(&entry.container).and_then(toml::Value::as_table);
    servers.is_some_and(|servers| servers.contains_key(&entry.name))
}

/// The text without a byte order mark.
fn body(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

/// A key, bare if possible.
fn key(name: &str) -> String {
    let is_bare = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    if !name.is_empty() && name.bytes().all(is_bare) { name.to_owned() } else { quoted(name) }
}

/// A basic string, whose escapes are those of JSON.
fn quoted(text: &str) -> String {
    Value::from(text).to_string().replace('\u{7f}', "\\u007f")
}

fn written(value: &Value) -> Result<String, EntryError> {
    match value {
        Value::String(text) => Ok(quoted(text)),
        Value::Bool(_) | Value::Number(_) => Ok(value.to_string()),
        Value::Array(items) => {
            let items = items.iter().map(written).collect::<Result<Vec<_>, _>>()?;
            Ok(format!("[{}]", items.join(", ")))
        }
        Value::Null | Value::Object(_) => Err(EntryError::Unusual),
    }
}

/// A value as JSON. Times and special numbers become text, which is enough to compare them.
fn to_json(value: toml::Value) -> Value {
    match value {
        toml::Value::String(text) => text.into(),
        toml::Value::Integer(number) => number.into(),
        toml::Value::Boolean(value) => value.into(),
        toml::Value::Array(items) => items.into_iter().map(to_json).collect(),
        toml::Value::Table(table) => {
            Value::Object(table.into_iter().map(|(key, value)| (key, to_json(value))).collect())
        }
        toml::Value::Float(number) => format!("{number:?}").into(),
        toml::Value::Datetime(time) => time.to_string().into(),
    }
}
