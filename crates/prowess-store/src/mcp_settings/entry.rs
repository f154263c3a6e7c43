//! Adds and removes the entry of an MCP server in the text of a settings file. Pure: text in, edits out.
//!
//! An edit touches the entry and the adjacent comma; every other byte stays. Each result is read again and compared
//! with what was meant, so that an unusual file is refused and never damaged.

mod json;
mod toml;
mod yaml;

use prowess_format::diagnostic::{Edit, apply_edits};
use prowess_format::span::Span;
use serde_json::{Map, Value};

/// The format of a settings file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettingsFormat {
    /// JSON, perhaps with comments and trailing commas.
    Json,
    /// TOML.
    Toml,
    /// YAML.
    Yaml,
}

/// The entry of a server in a settings file.
#[derive(Clone, Debug, PartialEq)]
pub struct ServerEntry {
    /// The key of all servers, at the top of the file.
    pub container: String,
    /// The name of the server.
    pub name: String,
    /// The keys that the agent reads. Other keys of an existing entry are kept.
    pub value: Map<String, Value>,
}

/// Why an entry can't be added or removed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EntryError {
    /// The text does not parse.
    #[error("it can't be parsed: {0}")]
    Syntax(String),
    /// The text or the servers are not a map.
    #[error("{0} is not a map")]
    NotAMap(String),
    /// Another server has this name.
    #[error("its entry `{name}` starts something else")]
    Occupied {
        /// The name.
        name: String,
    },
    /// The text is valid, and written in a way that can't be edited safely.
    #[error("it is written in a way that can't be edited safely")]
    Unusual,
}

/// The edits that add an entry, or correct an existing one. None if the entry is there already.
pub fn add(
    text: &str,
    format: SettingsFormat,
    entry: &ServerEntry,
) -> Result<Vec<Edit>, EntryError> {
    let before = values(text, format)?;
    if let Some(existing) = server(&before, entry)? {
        // Also where this program has another name than usual.
        if entry.value.iter().all(|(key, value)| existing.get(key) == Some(value)) {
            return Ok(Vec::new());
        }
        if !is_ours(existing) {
            return Err(EntryError::Occupied { name: entry.name.clone() });
        }
    }
    let edits = match format {
        SettingsFormat::Json => json::add(text, entry),
        SettingsFormat::Toml => toml::add(text, entry),
        SettingsFormat::Yaml => yaml::add(text, entry),
    }?;
    let mut wanted = before;
    let servers = wanted.entry(entry.container.clone()).or_insert(Value::Null);
    if servers.is_null() {
        *servers = Value::Object(Map::new());
    }
    let servers = servers.as_object_mut().ok_or(EntryError::Unusual)?;
    let own = servers.entry(entry.name.clone()).or_insert(Value::Null);
    if own.is_null() {
        *own = Value::Object(Map::new());
    }
    own.as_object_mut().ok_or(EntryError::Unusual)?.extend(entry.value.clone());
    verified(text, format, edits, &wanted)
}

/// What happens to the map of servers when its last entry is removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EmptyContainer {
    /// It stays.
    Keep,
    /// It is removed too.
    Remove,
}

/// The edits that remove an entry. None if there is no such entry. Only the container and the name of `entry` are used.
pub fn remove(
    text: &str,
    format: SettingsFormat,
    entry: &ServerEntry,
    empty: EmptyContainer,
) -> Result<Vec<Edit>, EntryError> {
    let before = values(text, format)?;
    match server(&before, entry)? {
        None => return Ok(Vec::new()),
        Some(existing) if !is_ours(existing) => {
            return Err(EntryError::Occupied { name: entry.name.clone() });
        }
        Some(_) => {}
    }
    let mut wanted = before;
    let servers = wanted.get_mut(&entry.container).and_then(Value::as_object_mut);
    let servers = servers.ok_or(EntryError::Unusual)?;
    servers.shift_remove(&entry.name);
    let drop_container = servers.is_empty() && empty == EmptyContainer::Remove;
    if drop_container {
        wanted.shift_remove(&entry.container);
    }
    let edits = match format {
        SettingsFormat::Json => json::remove(text, entry, drop_container),
        SettingsFormat::Toml => toml::remove(text, entry),
        SettingsFormat::Yaml => {
            if !drop_container && is_empty_map(wanted.get(&entry.container)) {
                // A block without entries is null.
                wanted.insert(entry.container.clone(), Value::Null);
            }
            yaml::remove(text, entry, drop_container)
        }
    }?;
    if format == SettingsFormat::Toml && is_empty_map(wanted.get(&entry.container)) {
        // Without a header of its own, the container goes with its last table.
        if let Ok(edits) = verified(text, format, edits.clone(), &wanted) {
            return Ok(edits);
        }
        wanted.shift_remove(&entry.container);
    }
    verified(text, format, edits, &wanted)
}

fn is_empty_map(value: Option<&Value>) -> bool {
    value.and_then(Value::as_object).is_some_and(Map::is_empty)
}

/// The edits that turn the text after `edits` back into `text`.
pub fn inverse(text: &str, edits: &[Edit]) -> Vec<Edit> {
    let mut edits: Vec<&Edit> = edits.iter().collect();
    edits.sort_by_key(|edit| (edit.span.range().start, edit.span.range().end));
    let mut removed = 0;
    let mut added = 0;
    let back = edits.into_iter().map(|edit| {
        let start = edit.span.range().start - removed + added;
        removed += edit.span.range().end - edit.span.range().start;
        added += edit.text.len();
        let span = Span::new(start, start + edit.text.len());
        Edit::replace(span, text.get(edit.span.range()).unwrap_or_default())
    });
    back.collect()
}

/// The value of a key at the top of a text, if the text can be read.
pub(super) fn container(text: &str, format: SettingsFormat, key: &str) -> Option<Value> {
    values(text, format).ok()?.shift_remove(key)
}

/// All values of a text as JSON.
fn values(text: &str, format: SettingsFormat) -> Result<Map<String, Value>, EntryError> {
    match format {
        SettingsFormat::Json => json::values(text),
        SettingsFormat::Toml => toml::values(text),
        SettingsFormat::Yaml => yaml::values(text),
    }
}

/// The entry as it is now.
fn server<'v>(
    values: &'v Map<String, Value>,
    entry: &ServerEntry,
) -> Result<Option<&'v Map<String, Value>>, EntryError> {
    let servers = match values.get(&entry.container) {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::Object(servers)) => servers,
        Some(_) => return Err(EntryError::NotAMap(format!("`{}`", entry.container))),
    };
    match servers.get(&entry.name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Object(server)) => Ok(Some(server)),
        Some(_) => Err(EntryError::NotAMap(format!("`{}.{}`", entry.container, entry.name))),
    }
}

/// Whether an entry starts this program as an MCP server, wherever it is installed.
fn is_ours(server: &Map<String, Value>) -> bool {
    let command = server.get("command").or_else(|| server.get("cmd"));
    let listed = command.and_then(Value::as_array);
    let program = listed.and_then(|words| words.first()).or(command).and_then(Value::as_str);
    let first = match listed {
        Some(words) => words.get(1),
        None => server.get("args").and_then(|args| args.get(0)),
    };
    let stem = program.and_then(|program| program.rsplit(['/', '\\']).next());
    let stem = stem.map(|name| name.strip_suffix(".exe").unwrap_or(name));
    stem == Some("prowess") && first.and_then(Value::as_str) == Some("mcp")
}

/// The edits, if the text after them means what was meant.
fn verified(
    text: &str,
    format: SettingsFormat,
    edits: Vec<Edit>,
    wanted: &Map<String, Value>,
) -> Result<Vec<Edit>, EntryError> {
    let after = apply_edits(text, &edits);
    let found = values(&after, format).map_err(|_| EntryError::Unusual)?;
    // Also the way back is checked, because an undo has no second chance.
    let back = apply_edits(&after, &inverse(text, &edits));
    if found == *wanted && back == text { Ok(edits) } else { Err(EntryError::Unusual) }
}

/// The line ending of a text.
fn newline(text: &str) -> &'static str {
    if text.contains("\r\n") { "\r\n" } else { "\n" }
}

/// The start of the line of an offset.
fn line_start(text: &str, at: usize) -> usize {
    text[..at].rfind('\n').map_or(0, |newline| newline + 1)
}

/// The end of the line of an offset, with its line break.
fn line_end(text: &str, at: usize) -> usize {
    text[at..].find('\n').map_or(text.len(), |length| at + length + 1)
}

/// The white space at the start of the line of an offset.
fn indentation(text: &str, at: usize) -> &str {
    let line = &text[line_start(text, at)..];
    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
}

#[cfg(test)]
mod tests;
