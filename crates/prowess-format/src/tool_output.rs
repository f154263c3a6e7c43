//! The result of a tool, made from its output: the `output` block of a tool pack.

use serde_json::Value;

/// The most characters of a result when the tool does not say.
const MAX_CHARS: usize = 1_000;

/// The most bytes of a result, whatever the tool says.
const MOST_BYTES: usize = 4 << 20;

/// What a template holds in place of the output.
const PLACEHOLDER: &str = "{{output}}";

/// How the output of a tool becomes its result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputShape {
    /// Whether the output is read as JSON.
    pub is_json: bool,
    /// The key of a JSON output that counts.
    pub extract_field: Option<String>,
    /// Text around `{{output}}`.
    pub template: Option<String>,
    /// The most characters of the result.
    pub max_chars: usize,
}

/// A result with the number of bytes that `max_chars` has cut off.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShapedOutput {
    /// The result.
    pub text: String,
    /// How many bytes are missing at its end.
    pub left_out: usize,
}

impl OutputShape {
    /// Reads an `output` block; a tool pack without one has the defaults.
    pub fn of(output: Option<&Value>) -> Self {
        let option = |key: &str| output.and_then(|output| output.get(key));
        let text = |key: &str| option(key).and_then(Value::as_str).map(str::to_owned);
        let most = option("max_chars").and_then(Value::as_u64);
        Self {
            is_json: option("format").and_then(Value::as_str) == Some("json"),
            extract_field: text("extract_field"),
            template: text("template"),
            max_chars: most.map_or(MAX_CHARS, |most| usize::try_from(most).unwrap_or(usize::MAX)),
        }
    }

    /// Makes the result: parse if JSON, take one field, put it into the template, cut.
    ///
    /// Output that is not JSON, or that lacks the field, is taken as a whole: a tool never loses its output because of a
    /// wrong declaration. JSON without a template is not cut, because half of it would not be JSON.
    pub fn apply(&self, printed: &str) -> ShapedOutput {
        let printed = printed.trim_end_matches(['\n', '\r']);
        let value = self.value(printed);
        let inserted = match &value {
            None => printed.to_owned(),
            Some(Value::String(text)) => text.clone(),
            Some(other) => other.to_string(),
        };
        match &self.template {
            Some(template) => self.fill(template, &inserted),
            None if value.is_some_and(|value| !value.is_string()) => {
                ShapedOutput { text: inserted, left_out: 0 }
            }
            None => {
                let length = inserted.len();
                self.cut(inserted, length)
            }
        }
    }

    /// What counts of a JSON output.
    fn value(&self, printed: &str) -> Option<Value> {
        if !self.is_json {
            return None;
        }
        let parsed: Value = serde_json::from_str(printed).ok()?;
        match &self.extract_field {
            Some(field) => parsed.get(field).cloned(),
            None => Some(parsed),
        }
    }

    /// A short template can repeat a long output many times, so no more is written than can be left after the cut.
    fn fill(&self, template: &str, inserted: &str) -> ShapedOutput {
        let enough = self.max_chars.saturating_mul(char::MAX_LEN_UTF8).min(MOST_BYTES);
        let mut text = String::new();
        let mut length = 0;
        for (index, part) in template.split(PLACEHOLDER).enumerate() {
            let before = if index == 0 { "" } else { inserted };
            for piece in [before, part] {
                length += piece.len();
                if text.len() <= enough {
                    text.push_str(piece);
                }
            }
        }
        self.cut(text, length)
    }

    /// Truncates at a character boundary. `length` is the number of bytes that the whole result
    /// would have.
    fn cut(&self, mut text: String, length: usize) -> ShapedOutput {
        let by_characters = text.char_indices().nth(self.max_chars).map(|(at, _)| at);
        let by_bytes = (text.len() > MOST_BYTES).then(|| text.floor_char_boundary(MOST_BYTES));
        let Some(end) = [by_characters, by_bytes].into_iter().flatten().min() else {
            return ShapedOutput { text, left_out: 0 };
        };
        text.truncate(end);
        text.push_str("...");
        ShapedOutput { text, left_out: length - end }
    }
}
