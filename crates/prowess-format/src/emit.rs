//! Writes front matter: values to YAML that reads back as the same values.

use std::fmt::Write as _;

use serde_json::Value;

use crate::document::yaml::{needs_escape, needs_quotes};
use crate::span::Spanned;

/// A YAML mapping under construction.
#[derive(Clone, Debug, Default)]
pub struct YamlWriter {
    text: String,
}

/// The output of a dialect's writer: the main file and other files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenSkill {
    /// The text of the main file.
    pub text: String,
    /// The main file's name; `SKILL.md` except for tool packs.
    pub file_name: String,
    /// Other files, by relative path.
    pub files: Vec<(String, String)>,
}

impl WrittenSkill {
    /// A SKILL.md with front matter.
    pub fn markdown(yaml: &YamlWriter, body: &str) -> Self {
        let gap = if body.is_empty() || body.starts_with(['\n', '\r']) { "" } else { "\n" };
        Self {
            text: format!("---\n{}---\n{gap}{body}", yaml.text),
            file_name: "SKILL.md".to_owned(),
            files: Vec::new(),
        }
    }
}

impl YamlWriter {
    /// An empty mapping.
    pub fn new() -> Self {
        Self::default()
    }

    /// The text so far.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether there is an entry of this key.
    pub fn has(&self, key: &str) -> bool {
        let key = scalar(key);
        // Everything below an entry is indented.
        self.text
            .lines()
            .any(|line| line.strip_prefix(&key).is_some_and(|rest| rest.starts_with(':')))
    }

    /// Writes `key: text`, if there is a text.
    pub fn text(&mut self, key: &str, text: Option<&str>) {
        if let Some(text) = text {
            self.value(key, &Value::String(text.to_owned()));
        }
    }

    /// Writes a list of texts on one line, if it is not empty.
    pub fn texts(&mut self, key: &str, texts: &[Spanned<String>]) {
        if texts.is_empty() {
            return;
        }
        let items: Vec<String> = texts.iter().map(|text| flow_scalar(text.as_str())).collect();
        let _ = writeln!(self.text, "{}: [{}]", scalar(key), items.join(", "));
    }

    /// Writes `key: true` or `key: false`, if declared.
    pub fn boolean(&mut self, key: &str, value: Option<bool>) {
        if let Some(value) = value {
            let _ = writeln!(self.text, "{key}: {value}");
        }
    }

    /// Writes any value except null.
    pub fn value(&mut self, key: &str, value: &Value) {
        if !value.is_null() {
            entry(&mut self.text, 0, key, value);
        }
    }

    /// Writes lines verbatim: an entry copied from the source text.
    pub fn raw(&mut self, lines: &str) {
        self.text.push_str(lines);
        if !lines.ends_with('\n') {
            self.text.push('\n');
        }
    }
}

fn entry(out: &mut String, indent: usize, key: &str, value: &Value) {
    let pad = " ".repeat(indent);
    let key = scalar(key);
    match value {
        Value::Array(items) if items.is_empty() => _ = writeln!(out, "{pad}{key}: []"),
        Value::Object(map) if map.is_empty() => _ = writeln!(out, "{pad}{key}: {{}}"),
        Value::Array(items) => {
            let _ = writeln!(out, "{pad}{key}:");
            sequence(out, indent + 2, items);
        }
        Value::Object(map) => {
            let _ = writeln!(out, "{pad}{key}:");
            for (key, value) in map {
                entry(out, indent + 2, key, value);
            }
        }
        Value::String(text) if wants_block(text) => {
            let _ = write!(out, "{pad}{key}: ");
            block(out, indent + 2, text);
        }
        other => _ = writeln!(out, "{pad}{key}: {}", inline(other)),
    }
}

fn sequence(out: &mut String, indent: usize, items: &[Value]) {
    let pad = " ".repeat(indent);
    for item in items {
        match item {
            Value::Object(map) if !map.is_empty() => {
                // The first entry shares the line with the dash.
                let mut inner = String::new();
                for (key, value) in map {
                    entry(&mut inner, indent + 2, key, value);
                }
                let _ = write!(out, "{pad}- {}", &inner[indent + 2..]);
            }
            Value::Array(inner) if !inner.is_empty() => {
                let _ = writeln!(out, "{pad}- {}", flow(item));
            }
            Value::String(text) if wants_block(text) => {
                let _ = write!(out, "{pad}- ");
                block(out, indent + 2, text);
            }
            other => _ = writeln!(out, "{pad}- {}", inline(other)),
        }
    }
}

/// Whether a text is best written as a literal block: several lines, none of which a block would change.
fn wants_block(text: &str) -> bool {
    text.contains('\n')
        && !text.starts_with([' ', '\n', '\t'])
        && text.chars().all(|character| character == '\n' || !needs_escape(character))
        && !text.lines().any(|line| line.trim().is_empty() && !line.is_empty())
        && !text.trim_end_matches('\n').is_empty()
}

fn block(out: &mut String, indent: usize, text: &str) {
    let body = text.trim_end_matches('\n');
    let chomp = match text.len() - body.len() {
        0 => "-",
        1 => "",
        _ => "+",
    };
    let pad = " ".repeat(indent);
    let _ = writeln!(out, "|{chomp}");
    for line in body.split('\n') {
        if line.is_empty() {
            out.push('\n');
        } else {
            let _ = writeln!(out, "{pad}{line}");
        }
    }
    for _ in 1..text.len() - body.len() {
        out.push('\n');
    }
}

fn inline(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(boolean) => boolean.to_string(),
        Value::Number(number) => number.to_string(),
        Value::String(text) => scalar(text),
        Value::Array(_) | Value::Object(_) => flow(value),
    }
}

fn flow(value: &Value) -> String {
    match value {
        Value::Array(items) => {
            format!("[{}]", items.iter().map(flow).collect::<Vec<_>>().join(", "))
        }
        Value::Object(map) => format!(
            "{{{}}}",
            map.iter()
                .map(|(key, value)| format!("{}: {}", flow_scalar(key), flow(value)))
                .collect::<Vec<_>>()
                .join(", ")
        ),
        Value::String(text) => flow_scalar(text),
        other => inline(other),
    }
}

fn flow_scalar(text: &str) -> String {
    if text.contains([',', '[', ']', '{', '}']) { double_quoted(text) } else { scalar(text) }
}

/// A text as a YAML scalar on one line: plain where that reads back, otherwise in double quotes.
pub fn scalar(text: &str) -> String {
    if needs_quotes(text) { double_quoted(text) } else { text.to_owned() }
}

fn double_quoted(text: &str) -> String {
    let mut quoted = String::from('"');
    for character in text.chars() {
        match character {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            '\r' => quoted.push_str("\\r"),
            _ if u32::from(character) < 0x20 || u32::from(character) == 0x7f => {
                _ = write!(quoted, "\\x{:02x}", u32::from(character));
            }
            _ if needs_escape(character) => _ = write!(quoted, "\\u{:04x}", u32::from(character)),
            _ => quoted.push(character),
        }
    }
    quoted.push('"');
    quoted
}
