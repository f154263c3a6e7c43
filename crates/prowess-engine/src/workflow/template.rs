//! Templates of workflows: text with `{{node.output.path}}` in it, substituted once.
//!
//! What is inserted is never looked at again (AFL §5.2): a value that holds `{{…}}` stays as it is.

use prowess_format::span::Span;
use serde_json::Value;

/// A text with references in it.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct WorkflowTemplate {
    pieces: Vec<Piece>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Text(String),
    Reference { reference: ValueReference, span: Span },
}

/// A way to a value: the output of a node, or a variable, and perhaps a part of it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ValueReference {
    /// The names and numbers between the dots; there is at least one.
    pub segments: Vec<String>,
}

/// Where references lead.
pub trait Lookup {
    /// The value, or `None` where there is none.
    fn value(&self, reference: &ValueReference) -> Option<&Value>;
}

impl ValueReference {
    /// Reads `node.output.path`; `None` for a text that is something else.
    pub fn parse(text: &str) -> Option<Self> {
        let segments: Vec<String> = text.split('.').map(str::to_owned).collect();
        let fine = segments.iter().all(|part| !part.is_empty() && part.chars().all(is_name));
        fine.then_some(Self { segments })
    }

    /// The first name: a node or a variable.
    pub fn root(&self) -> &str {
        self.segments.first().map_or("", String::as_str)
    }
}

impl std::fmt::Display for ValueReference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.segments.join("."))
    }
}

/// Letters, digits, underscore and hyphen, in any script: identifiers of nodes are often UUIDs.
pub(crate) fn is_name(character: char) -> bool {
    character.is_alphanumeric() || matches!(character, '_' | '-')
}

impl WorkflowTemplate {
    /// The text before the first reference; all of it, where there is none.
    pub fn beginning(&self) -> &str {
        match self.pieces.first() {
            Some(Piece::Text(text)) => text,
            Some(Piece::Reference { .. }) | None => "",
        }
    }

    /// Takes a text apart. Braces that hold no reference are text.
    pub fn parse(text: &str) -> Self {
        let mut pieces = Vec::new();
        let mut copied = 0;
        let mut from = 0;
        while let Some(at) = text[from..].find("{{").map(|at| from + at) {
            let Some((reference, end)) = reference_at(text, at) else {
                // Not two: `{{{x}}}` holds a reference one byte further on.
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

    /// The references and their places in the text, in order.
    pub fn references(&self) -> impl Iterator<Item = (&ValueReference, Span)> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Text(_) => None,
            Piece::Reference { reference, span } => Some((reference, *span)),
        })
    }

    /// The reference, where the text is nothing else: then the value keeps its type.
    pub fn lone_reference(&self) -> Option<&ValueReference> {
        match self.pieces.as_slice() {
            [Piece::Reference { reference, .. }] => Some(reference),
            _ => None,
        }
    }

    /// The text with values in the place of references; what has no value leaves nothing.
    pub fn render(&self, lookup: &dyn Lookup) -> String {
        self.render_with(lookup, |_, value| value)
    }

    /// The same with values that are changed for the place they come to: behind the text so far.
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

/// The reference that begins at byte `at`, and where it ends. Reading forwards keeps a text full of braces linear.
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

/// A part of a value: keys of objects, and places of lists counted from 0.
pub fn part_of<'v>(value: &'v Value, path: &[String]) -> Option<&'v Value> {
    path.iter().try_fold(value, |value, segment| match value {
        Value::Object(object) => object.get(segment),
        Value::Array(items) => items.get(segment.parse::<usize>().ok()?),
        _ => None,
    })
}

/// A value as text: texts as they are, nothing for null, JSON for everything else.
pub fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => value.to_string(),
    }
}

#[cfg(test)]
mod tests;
