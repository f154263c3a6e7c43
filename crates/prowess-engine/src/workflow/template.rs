//! Templates of workflows: text with `{{node.output.path}}` references, substituted once.
//!
//! Inserted values are not expanded again (AFL §5.2): a value that contains `{{…}}` stays as it is.

use prowess_format::span::Span;
use serde_json::Value;

/// A text with references.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct WorkflowTemplate {
    pieces: Vec<Piece>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Text(String),
    Reference { reference: ValueReference, span: Span },
}

/// A reference to a value: the output of a node or a variable, optionally with a path into it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ValueReference {
    /// The segments between the dots; at least one.
    pub segments: Vec<String>,
}

/// Resolves references.
pub trait Lookup {
    /// The value, or `None` if there is none.
    fn value(&self, reference: &ValueReference) -> Option<&Value>;
}

impl ValueReference {
    /// Parses `node.output.path`; `None` for any other text.
    pub fn parse(text: &str) -> Option<Self> {
        let segments: Vec<String> = text.split('.').map(str::to_owned).collect();
        let fine = segments.iter().all(|part| !part.is_empty() && part.chars().all(is_name));
        fine.then_some(Self { segments })
    }

    /// The first segment: a node or a variable.
    pub fn root(&self) -> &str {
        self.segments.first().map_or("", String::as_str)
    }
}

impl std::fmt::Display for ValueReference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.segments.join("."))
    }
}

/// Whether a character may be part of a name: letters in any script, digits, underscore and hyphen. Node ids are often
/// UUIDs.
pub(crate) fn is_name(character: char) -> bool {
    character.is_alphanumeric() || matches!(character, '_' | '-')
}

impl WorkflowTemplate {
    /// The text before the first reference.
    pub fn beginning(&self) -> &str {
        match self.pieces.first() {
            Some(Piece::Text(text)) => text,
            Some(Piece::Reference { .. }) | None => "",
        }
    }

    /// Parses a text. Braces without a reference are literal text.
    pub fn parse(text: &str) -> Self {
        let mut pieces = Vec::new();
        let mut copied = 0;
        let mut from = 0;
        while let Some(at) = text[from..].find("{{").map(|at| from + at) {
            let Some((reference, end)) = reference_at(text, at) else {
                // Not two: `{{{x}}}` contains a reference one byte further on.
                from = at + 1;
                continue;
            };
            if at > copied {
                pieces.push(Piece::Text(text[copied..at].to_owned()));
            }
            pieces.push(Piece::Reference { reference, span: Span::new(at, end) });
            (copied, from) = (end, end);
        }
        if copied < text.len() {
            pieces.push(Piece::Text(text[copied..].to_owned()));
        }
        Self { pieces }
    }

    /// The references and their positions in the text, in order.
    pub fn references(&self) -> impl Iterator<Item = (&ValueReference, Span)> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Text(_) => None,
            Piece::Reference { reference, span } => Some((reference, *span)),
        })
    }

    /// The reference if the text is nothing else; then the value keeps its type.
    pub fn lone_reference(&self) -> Option<&ValueReference> {
        match self.pieces.as_slice() {
            [Piece::Reference { reference, .. }] => Some(reference),
            _ => None,
        }
    }

    /// Renders the text with the values of references; a missing value becomes an empty string.
    pub fn render(&self, lookup: &dyn Lookup) -> String {
        self.render_with(lookup, |_, value| value)
    }

    /// Renders the text with values that are converted depending on the text before them.
    pub(crate) fn render_with(
        &self,
        lookup: &dyn Lookup,
        fit: impl Fn(&str, String) -> String,
    ) -> String {
        self.pieces.iter().fold(String::new(), |mut text, piece| {
            match piece {
                Piece::Text(piece) => text.push_str(piece),
                Piece::Reference { reference, .. } => {
                    let value = lookup.value(reference).map_or_else(String::new, text_of);
                    let value = fit(&text, value);
                    text.push_str(&value);
                }
            }
            text
        })
    }
}

/// Parses the reference at byte `at`; returns it with its end. Scanning forwards keeps a text full of braces linear.
fn reference_at(text: &str, at: usize) -> Option<(ValueReference, usize)> {
    let inner = text.get(at..)?.strip_prefix("{{")?;
    let blank = |from: usize| inner[from..].bytes().take_while(|byte| *byte == b' ').count();
    let start = blank(0);
    let length = inner[start..].find(|it: char| !is_name(it) && it != '.')?;
    let end = start + length;
    let close = end + blank(end);
    let reference = ValueReference::parse(&inner[start..end])?;
    inner[close..].starts_with("}}").then_some((reference, at + 2 + close + 2))
}

/// A part of a value: keys of objects, and indexes of lists from 0.
pub fn part_of<'v>(value: &'v Value, path: &[String]) -> Option<&'v Value> {
    path.iter().try_fold(value, |value, segment| match value {
        Value::Object(object) => object.get(segment),
        Value::Array(items) => items.get(segment.parse::<usize>().ok()?),
        _ => None,
    })
}

/// A value as text: strings unchanged, an empty string for null, JSON for everything else.
pub fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => value.to_string(),
    }
}

#[cfg(test)]
mod tests;
