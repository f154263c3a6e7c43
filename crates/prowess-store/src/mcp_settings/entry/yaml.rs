//! Entries in YAML: a block map in a block map.

use std::fmt::Write as _;

use prowess_format::diagnostic::{Edit, Findings};
use prowess_format::document::yaml::{self, Mapping, Node};
use prowess_format::span::Span;
use serde_json::{Map, Value};

use super::{EntryError, ServerEntry, indentation, line_end, line_start, newline};

/// The indentation of new maps.
const UNIT: &str = "  ";

pub(super) fn values(text: &str) -> Result<Map<String, Value>, EntryError> {
    match parse(text)?.map(|node| node.to_json()) {
        None | Some(Value::Null) => Ok(Map::new()),
        Some(Value::Object(values)) => Ok(values),
        Some(_) => Err(EntryError::NotAMap("its content".to_owned())),
    }
}

pub(super) fn add(text: &str, entry: &ServerEntry) -> Result<Vec<Edit>, EntryError> {
    let root = parse(text)?;
    let newline = newline(text);
    let container =
        root.as_ref().and_then(Node::mapping).and_then(|root| root.entry(&entry.container));
    let Some(container) = container else {
        let mut new = String::new();
        if !text.is_empty() && !text.ends_with('\n') {
            new.push_str(newline);
        }
        let _ =
            write!(new, "{}:{newline}{}", scalar(&entry.container), block(entry, UNIT, newline)?);
        return Ok(vec![Edit::replace(Span::at(text.len()), new)]);
    };
    if container.value.is_null() {
        let place = line_end(text, container.key_span.range().end);
        let new = block(entry, UNIT, newline)?;
        let new = if text[..place].ends_with('\n') { new } else { format!("{newline}{new}") };
        return Ok(vec![Edit::replace(Span::at(place), new)]);
    }
    let servers = container.value.mapping().filter(|servers| !servers.flow);
    let servers = servers.ok_or(EntryError::Unusual)?;
    if let Some(existing) = servers.entry(&entry.name) {
        let own = existing.value.mapping().ok_or(EntryError::Unusual)?;
        let edits = entry
            .value
            .iter()
            .filter(|(key, value)| own.get(key).map(Node::to_json).as_ref() != Some(*value));
        let edits = edits.map(|(key, value)| {
            let node = own.get(key).ok_or(EntryError::Unusual)?;
            Ok(Edit::replace(node.span, flow(value)?))
        });
        return edits.collect();
    }
    let (first, last) = ends(servers).ok_or(EntryError::Unusual)?;
    let new = block(entry, indentation(text, first), newline)?;
    let place = line_end(text, last);
    let new = if text[..place].ends_with('\n') { new } else { format!("{newline}{new}") };
    Ok(vec![Edit::replace(Span::at(place), new)])
}

pub(super) fn remove(
    text: &str,
    entry: &ServerEntry,
    drop_container: bool,
) -> Result<Vec<Edit>, EntryError> {
    let root = parse(text)?.ok_or(EntryError::Unusual)?;
    let root = root.mapping().ok_or(EntryError::Unusual)?;
    let container = root.entry(&entry.container).ok_or(EntryError::Unusual)?;
    let found = if drop_container {
        container
    } else {
        let servers = container.value.mapping().filter(|servers| !servers.flow);
        servers.and_then(|servers| servers.entry(&entry.name)).ok_or(EntryError::Unusual)?
    };
    let start = line_start(text, found.key_span.range().start);
    let end = line_end(text, deepest_end(&found.value).max(found.key_span.range().end));
    Ok(vec![Edit::replace(Span::new(start, end), "")])
}

fn parse(text: &str) -> Result<Option<Node<'_>>, EntryError> {
    let mut findings = Findings::default();
    let skipped = text.len() - text.trim_start_matches('\u{feff}').len();
    yaml::parse(&text[skipped..], skipped, &mut findings).map_err(|error| {
        let before = text.get(..error.offset).unwrap_or_default();
        EntryError::Syntax(format!("{} (line {})", error.message, before.matches('\n').count() + 1))
    })
}

/// The start of the first key of a map, and the last byte of its last value.
fn ends(map: &Mapping<'_>) -> Option<(usize, usize)> {
    let first = map.entries.first()?.key_span.range().start;
    let last = map.entries.last()?;
    Some((first, deepest_end(&last.value).max(last.key_span.range().end)))
}

/// The end of the last scalar in a value: the span of a block may include the lines after it.
fn deepest_end(node: &Node<'_>) -> usize {
    if let Some(map) = node.mapping().filter(|map| !map.flow) {
        return ends(map).map_or(node.span.range().end, |(_, last)| last);
    }
    match node.sequence() {
        Some([.., last]) => deepest_end(last).max(last.span.range().start),
        _ => node.span.range().end,
    }
}

/// The entry as a block, indented.
fn block(entry: &ServerEntry, indent: &str, newline: &str) -> Result<String, EntryError> {
    let mut text = format!("{indent}{}:{newline}", scalar(&entry.name));
    for (key, value) in &entry.value {
        let _ = write!(text, "{indent}{UNIT}{}: {}{newline}", scalar(key), flow(value)?);
    }
    Ok(text)
}

/// A value on one line.
fn flow(value: &Value) -> Result<String, EntryError> {
    match value {
        Value::String(text) => Ok(scalar(text)),
        Value::Bool(_) | Value::Number(_) => Ok(value.to_string()),
        Value::Array(items) => {
            let items = items.iter().map(flow).collect::<Result<Vec<_>, _>>()?;
            Ok(format!("[{}]", items.join(", ")))
        }
        Value::Object(map) if map.is_empty() => Ok("{}".to_owned()),
        Value::Null | Value::Object(_) => Err(EntryError::Unusual),
    }
}

/// Text, in double quotes if needed. Their escapes are those of JSON.
fn scalar(text: &str) -> String {
    let is_plain =
        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'/' | b'.');
    if text.bytes().all(is_plain) && !yaml::needs_quotes(text) {
        text.to_owned()
    } else {
        Value::from(text).to_string()
    }
}
