//! Input values: parsed from a command line, checked against their declarations, and as text in a
//! prompt.

use std::fmt;

use serde_json::{Map, Value};

use crate::command::{has_type, kind_of};
use crate::formats;
use crate::skill::Parameter;

/// A problem with the inputs of a prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InputError {
    /// A required input has no value; its default is not used (R33).
    Missing {
        /// The input.
        input: String,
    },
    /// A value was given for an undeclared input. On its own that is only a warning; together with
    /// a missing input it is most likely the cause.
    Unknown {
        /// The name.
        input: String,
        /// The declared ones.
        known: Vec<String>,
    },
    /// A value does not have the declared type (SRT §4.4).
    WrongType {
        /// The input.
        input: String,
        /// The declared type.
        expected: String,
        /// What was given.
        given: &'static str,
    },
    /// A value has the right type but is still invalid.
    Invalid {
        /// The input.
        input: String,
        /// A description of what is expected.
        expected: &'static str,
        /// What was given.
        given: String,
    },
    /// A text from a command line can't be parsed as the type.
    Unreadable {
        /// A description of what is expected.
        expected: &'static str,
        /// What was given.
        given: String,
    },
    /// The values make the prompt too large.
    TooLarge {
        /// The limit in bytes.
        most: usize,
    },
}

impl InputError {
    /// The declared input that the error is about, if any.
    pub fn input(&self) -> Option<&str> {
        match self {
            InputError::Missing { input }
            | InputError::WrongType { input, .. }
            | InputError::Invalid { input, .. } => Some(input),
            InputError::Unknown { .. }
            | InputError::Unreadable { .. }
            | InputError::TooLarge { .. } => None,
        }
    }
}

impl fmt::Display for InputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // The exact message of AFL, which its clients match.
            InputError::Missing { input } => write!(f, "Missing required input: '{input}'"),
            InputError::Unknown { input, known } => {
                f.write_str(&crate::text::no_such("input", input, known))
            }
            InputError::WrongType { input, expected, given } => {
                write!(f, "the input `{input}` is {given}, expected `{expected}`")
            }
            InputError::Invalid { input, expected, given } => {
                write!(f, "the input `{input}` is `{}`, expected {expected}", shown(given))
            }
            InputError::Unreadable { expected, given } => {
                write!(f, "`{}` is not {expected}", shown(given))
            }
            InputError::TooLarge { most } => {
                write!(
                    f,
                    "the rendered prompt is larger than {} MiB: give shorter values",
                    most >> 20
                )
            }
        }
    }
}

impl std::error::Error for InputError {}

fn shown(text: &str) -> String {
    crate::text::shorten(text, 60)
}

/// Checks the values, in the order of the declarations.
pub(super) fn check(inputs: &[Parameter], values: &Map<String, Value>) -> Vec<InputError> {
    let mut errors: Vec<InputError> = inputs
        .iter()
        .filter_map(|input| match given(input, values) {
            Some(value) => check_value(input, value),
            None => input.required.then(|| InputError::Missing { input: input.name.value.clone() }),
        })
        .collect();
    if !errors.is_empty() {
        let unknown = unknown(inputs, values).map(|name| InputError::Unknown {
            input: name.clone(),
            known: inputs.iter().map(|input| input.name.value.clone()).collect(),
        });
        errors.extend(unknown);
    }
    errors
}

/// The given names that are not declared.
pub(super) fn unknown<'v>(
    inputs: &[Parameter],
    values: &'v Map<String, Value>,
) -> impl Iterator<Item = &'v String> {
    values.keys().filter(|name| !inputs.iter().any(|input| *input.name == **name))
}

/// The given value; null is treated as absent (R39).
fn given<'v>(input: &Parameter, values: &'v Map<String, Value>) -> Option<&'v Value> {
    values.get(input.name.as_str()).filter(|value| !value.is_null())
}

fn check_value(input: &Parameter, value: &Value) -> Option<InputError> {
    let kind = input.kind.as_str();
    // AFL §3.3: these are widgets of a form, not types; any value is accepted.
    if matches!(kind, "text" | "textarea") {
        return None;
    }
    if !has_type(value, kind) {
        return Some(InputError::WrongType {
            input: input.name.value.clone(),
            expected: kind.to_owned(),
            given: kind_of(value),
        });
    }
    let text = value.as_str()?;
    let expected = match kind {
        "url" if (formats::URL.check)(text).is_err() => formats::URL.title,
        // The caller checks whether the file exists.
        "file" if text.trim().is_empty() || text.contains('\0') => "the path of a file",
        _ => return None,
    };
    Some(InputError::Invalid { input: input.name.value.clone(), expected, given: text.to_owned() })
}

/// The text of an input in a prompt: the given value, the default, or nothing (AFL §5.2).
pub(super) fn text_of(input: &Parameter, values: &Map<String, Value>) -> String {
    let default = input.default.as_ref().filter(|default| !default.is_null());
    match (given(input, values).or(default), input.kind.as_str()) {
        (None, _) => String::new(),
        // Text is written as JSON too, with its quotes.
        (Some(value), "json") => value.to_string(),
        (Some(Value::String(text)), _) => text.clone(),
        (Some(value), _) => value.to_string(),
    }
}

/// Parses a text from a command line as a value of the declared type (R13); unknown types mean
/// text.
pub fn parse_input(text: &str, kind: &str) -> Result<Value, InputError> {
    let trimmed = text.trim();
    let expect = |value: Option<Value>, expected: &'static str| {
        value.ok_or_else(|| InputError::Unreadable { expected, given: text.to_owned() })
    };
    let json = || serde_json::from_str::<Value>(trimmed).ok();
    match kind {
        "integer" => {
            expect(json().filter(|value| has_type(value, kind)), "a whole number such as `5`")
        }
        "number" => expect(json().filter(Value::is_number), "a number such as `0.5`"),
        "boolean" => expect(boolean(trimmed).map(Value::Bool), "`true` or `false`"),
        "array" if trimmed.starts_with('[') => {
            expect(json().filter(Value::is_array), "a JSON array such as `[\"a\", \"b\"]`")
        }
        "array" => Ok(trimmed
            .split(',')
            .map(str::trim)
            .filter(|item| !item.is_empty())
            .map(|item| Value::String(item.to_owned()))
            .collect()),
        "object" => expect(json().filter(Value::is_object), "a JSON object such as `{\"key\": 1}`"),
        "json" => expect(json(), "JSON"),
        _ => Ok(Value::String(text.to_owned())),
    }
}

/// Parses a boolean: the words of R39, and the digits that command lines use.
fn boolean(word: &str) -> Option<bool> {
    match word.to_ascii_lowercase().as_str() {
        "true" | "yes" | "on" | "y" | "1" => Some(true),
        "false" | "no" | "off" | "n" | "0" => Some(false),
        _ => None,
    }
}
