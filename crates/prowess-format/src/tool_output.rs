//! What becomes of a tool's output: the `output` block of a tool pack (TP-4).

use serde_json::Value;

/// Where a result is cut when the tool does not say.
const MAX_CHARS: usize = 1_000;

/// Shapes what a tool printed: parse if JSON, take one field, put it into a template, cut.
///
/// A field that is not there, or output that is not JSON, leaves the whole text: a tool never loses its output because
/// of a wrong declaration.
pub fn shape(printed: &str, output: Option<&Value>) -> Value {
    let option = |key: &str| output.and_then(|output| output.get(key));
    let text = printed.trim_end_matches(['\n', '\r']);
    let mut result = Value::String(text.to_owned());
    if option("format").and_then(Value::as_str) == Some("json")
        && let Ok(parsed) = serde_json::from_str::<Value>(text)
    {
        let field = option("extract_field").and_then(Value::as_str);
        result = match field.map(|field| parsed.get(field)) {
            Some(Some(value)) => value.clone(),
            Some(None) => result,
            None => parsed,
        };
    }
    if let Some(template) = option("template").and_then(Value::as_str) {
        let inserted = match &result {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        result = Value::String(template.replace("{{output}}", &inserted));
    }
    let most = option("max_chars").and_then(Value::as_u64);
    let most = most.map_or(MAX_CHARS, |most| usize::try_from(most).unwrap_or(usize::MAX));
    match result {
        Value::String(text) => Value::String(cut(text, most)),
        other => other,
    }
}

/// Counts characters, so that none is split.
fn cut(text: String, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((at, _)) => format!("{}...", &text[..at]),
        None => text,
    }
}
