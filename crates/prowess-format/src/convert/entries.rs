//! Copies the source lines of a field into another dialect, with their comments and quotes.

use serde_json::Value;

use crate::diagnostic::Findings;
use crate::document::yaml::{self, YamlContent, YamlEntry};
use crate::document::{Document, Form, FrontMatter};

/// The lines of a top-level entry, with the comments directly above it and beside it. `None` if the
/// lines can't be copied on their own: repaired YAML, flow maps, aliases.
pub(super) fn lines(document: &Document<'_>, key: &str) -> Option<String> {
    let whole = document.form == Form::Markdown && document.front_matter == FrontMatter::Read;
    if !whole || document.root.flow {
        return None;
    }
    let entries = &document.root.entries;
    let at = entries.iter().position(|entry| entry.key == key)?;
    let start = start_of(document, entries, at)?;
    let end = match entries.get(at + 1) {
        Some(_) => start_of(document, entries, at + 1)?,
        None => document.yaml.end as usize,
    };
    let lines = document.text.get(start..end)?.replace("\r\n", "\n").replace('\r', "\n");
    let lines = lines.trim_end();
    // Verify that the lines mean the same on their own.
    let mut findings = Findings::default();
    let node = yaml::parse(lines, 0, &mut findings).ok()??;
    let YamlContent::Mapping(mapping) = node.content else { return None };
    let [only] = mapping.entries.as_slice() else { return None };
    let same = only.key == key && only.value.to_json() == entries[at].value.to_json();
    (same && !lines.lines().any(|line| line == "---" || line == "..."))
        .then(|| format!("{lines}\n"))
}

/// Where the lines of an entry begin: at its key, or at the comments directly above it.
fn start_of(document: &Document<'_>, entries: &[YamlEntry<'_>], at: usize) -> Option<usize> {
    let key = entries[at].key_span.start as usize;
    let text = document.text;
    let line_start = text[..key].rfind(['\n', '\r']).map_or(0, |at| at + 1);
    if line_start != key && !matches!(&text[line_start..key], "\"" | "'") {
        return None;
    }
    let floor = match at.checked_sub(1) {
        Some(before) => entries[before].value.span.end.max(entries[before].key_span.end) as usize,
        None => document.yaml.start as usize,
    };
    let mut start = line_start;
    while start > floor {
        let above = text[..start].trim_end_matches(['\n', '\r']);
        // A blank line ends the comment that belongs to the entry.
        if text[above.len()..start].matches('\n').count() > 1 {
            break;
        }
        let line = above.rfind(['\n', '\r']).map_or(0, |at| at + 1);
        if line < floor || !above[line..].starts_with('#') {
            break;
        }
        start = line;
    }
    Some(start)
}

/// Adds lines at the end of the front matter of a Markdown file.
pub(crate) fn insert(text: &str, lines: &str) -> String {
    let Some(close) = text.find("\n---\n").map(|at| at + 1) else { return text.to_owned() };
    format!("{}{lines}{}", &text[..close], &text[close..])
}

/// Counts the comment lines of the front matter that do not belong to a field in `carried`.
pub(super) fn comments_lost(document: &Document<'_>, carried: &[String]) -> usize {
    let count = |text: &str| text.lines().filter(|line| line.trim_start().starts_with('#')).count();
    if document.form != Form::Markdown {
        return 0;
    }
    // A `#` at the start of a line inside a text is not a comment.
    let in_values: usize =
        document.root.entries.iter().map(|entry| in_texts(&entry.value.to_json())).sum();
    let carried: usize = carried.iter().map(|lines| count(lines)).sum();
    count(document.yaml.slice(document.text)).saturating_sub(in_values + carried)
}

fn in_texts(value: &Value) -> usize {
    match value {
        Value::String(text) => {
            text.lines().filter(|line| line.trim_start().starts_with('#')).count()
        }
        Value::Array(items) => items.iter().map(in_texts).sum(),
        Value::Object(map) => map.values().map(in_texts).sum(),
        _ => 0,
    }
}
