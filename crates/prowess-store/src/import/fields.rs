//! The fields of a JSON object, taken one by one; the rest is preserved.

use serde_json::{Map, Value};

use super::ImportProblem;

/// The remaining fields of an object.
pub(super) struct Fields {
    place: String,
    fields: Map<String, Value>,
}

impl Fields {
    /// The fields of a whole file.
    pub(super) fn root(value: Value) -> Result<Self, ImportProblem> {
        Self::of(String::new(), value)
    }

    fn of(place: String, value: Value) -> Result<Self, ImportProblem> {
        match value {
            Value::Object(fields) => Ok(Self { place, fields }),
            other => {
                let place = if place.is_empty() { "line 1".to_owned() } else { place };
                Err(ImportProblem {
                    place,
                    why: format!("expected an object, found {}", kind(&other)),
                })
            }
        }
    }

    /// Creates a problem at a field.
    pub(super) fn problem(&self, key: &str, why: impl Into<String>) -> ImportProblem {
        ImportProblem { place: self.at(key), why: why.into() }
    }

    fn at(&self, key: &str) -> String {
        let dot = if self.place.is_empty() { "" } else { "." };
        format!("{}{dot}{key}", self.place)
    }

    /// Takes a string; `null` and the empty string count as missing.
    pub(super) fn text(&mut self, key: &str) -> Result<Option<String>, ImportProblem> {
        match self.fields.shift_remove(key) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text).filter(|text| !text.is_empty())),
            Some(other) => Err(self.problem(key, format!("expected text, found {}", kind(&other)))),
        }
    }

    /// Takes a required string.
    pub(super) fn required(&mut self, key: &str) -> Result<String, ImportProblem> {
        self.text(key)?.ok_or_else(|| self.problem(key, "is missing"))
    }

    /// Takes a time: a string, or milliseconds since 1970.
    pub(super) fn time(&mut self, key: &str) -> Result<Option<String>, ImportProblem> {
        match self.fields.shift_remove(key) {
            Some(Value::Number(milliseconds)) => Ok(Some(format!("{milliseconds} ms since 1970"))),
            Some(other) => {
                self.fields.insert(key.to_owned(), other);
                self.text(key)
            }
            None => Ok(None),
        }
    }

    /// Takes a boolean; `false` if it is missing.
    pub(super) fn flag(&mut self, key: &str) -> Result<bool, ImportProblem> {
        match self.fields.shift_remove(key) {
            None | Some(Value::Null) => Ok(false),
            Some(Value::Bool(flag)) => Ok(flag),
            Some(other) => {
                Err(self.problem(key, format!("expected true or false, found {}", kind(&other))))
            }
        }
    }

    /// Takes the format version, which must be a supported one.
    pub(super) fn version(&mut self, key: &str, known: &[u64]) -> Result<(), ImportProblem> {
        let found = self.fields.shift_remove(key);
        let version = found.as_ref().and_then(Value::as_u64);
        if version.is_some_and(|version| known.contains(&version)) {
            return Ok(());
        }
        let newest = known.iter().max().copied().unwrap_or_default();
        Err(match version {
            Some(version) if version > newest => self.problem(
                key,
                format!("the file has version {version}, but this program supports version {newest}: update prowess"),
            ),
            _ => self.problem(key, format!("expected {newest}")),
        })
    }

    /// Takes the skills by name, in the order of the file. Each must be an object.
    pub(super) fn skills(&mut self) -> Result<Vec<(String, Fields)>, ImportProblem> {
        let place = self.at("skills");
        let skills = match self.fields.shift_remove("skills") {
            None | Some(Value::Null) => {
                return Err(ImportProblem { place, why: "is missing".to_owned() });
            }
            Some(skills) => Self::of(place.clone(), skills)?,
        };
        let fields = |(name, value): (String, Value)| {
            let fields = Self::of(format!("{place}.{name}"), value)?;
            Ok((name, fields))
        };
        skills.fields.into_iter().map(fields).collect()
    }

    /// The remaining fields, as JSON.
    pub(super) fn rest(self) -> Vec<(String, String)> {
        self.fields.into_iter().map(|(key, value)| (key, value.to_string())).collect()
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}
