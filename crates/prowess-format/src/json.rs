//! JSON with spans: the values that `serde_json` reads, with the place of each in the text.

use serde_json::{Map, Number, Value};

use crate::span::Span;

use crate::document::yaml::MAX_DEPTH;

/// A value with its span.
#[derive(Clone, Debug, PartialEq)]
pub struct Json {
    /// Its bytes in the text.
    pub span: Span,
    /// The value.
    pub content: JsonContent,
}

/// A value of each type.
#[derive(Clone, Debug, PartialEq)]
pub enum JsonContent {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number, as exact as it was written.
    Number(Number),
    /// A string without its escapes.
    String(String),
    /// A list.
    Array(Vec<Json>),
    /// An object, with duplicate keys in the order of the text.
    Object(Vec<JsonEntry>),
}

/// A key of an object with its value.
#[derive(Clone, Debug, PartialEq)]
pub struct JsonEntry {
    /// The key.
    pub key: String,
    /// The bytes of the key, with its quotes.
    pub key_span: Span,
    /// The value.
    pub value: Json,
}

/// Why a text is not JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JsonError {
    /// What is wrong.
    pub message: String,
    /// Where.
    pub span: Span,
    /// Whether it exceeds a limit rather than the grammar.
    pub is_limit: bool,
}

/// Reads a text that is one JSON value.
pub fn parse(text: &str) -> Result<Json, JsonError> {
    read(text, Grammar::Strict)
}

/// Reads a text that is one JSON value with comments (`//`, `/* */`) and trailing commas, as editors and agents write
/// their settings.
pub fn parse_with_comments(text: &str) -> Result<Json, JsonError> {
    read(text, Grammar::WithComments)
}

/// The offset of the first byte at or after `at` that is neither white space nor part of a comment. A comment that is
/// not terminated ends with the text.
pub fn skip_comments(text: &str, at: usize) -> usize {
    let mut reader = Reader { text, at, grammar: Grammar::WithComments };
    match reader.blanks() {
        Ok(()) => reader.at,
        Err(_) => text.len(),
    }
}

/// Which texts are accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Grammar {
    /// JSON.
    Strict,
    /// JSON with comments and trailing commas.
    WithComments,
}

fn read(text: &str, grammar: Grammar) -> Result<Json, JsonError> {
    let mut reader = Reader { text, at: 0, grammar };
    // A byte order mark is not JSON, but editors write it.
    if text.starts_with('\u{feff}') {
        reader.at = '\u{feff}'.len_utf8();
    }
    let value = reader.value(0)?;
    reader.blanks()?;
    if reader.at < text.len() {
        return Err(reader.error("unexpected text after the value"));
    }
    Ok(value)
}

impl Json {
    /// The word for the type.
    pub fn kind(&self) -> &'static str {
        match &self.content {
            JsonContent::Null => "null",
            JsonContent::Bool(_) => "a boolean",
            JsonContent::Number(_) => "a number",
            JsonContent::String(_) => "a string",
            JsonContent::Array(_) => "a list",
            JsonContent::Object(_) => "an object",
        }
    }

    /// The value without spans. The last of duplicate keys wins, as in other readers.
    pub fn to_value(&self) -> Value {
        match &self.content {
            JsonContent::Null => Value::Null,
            JsonContent::Bool(value) => (*value).into(),
            JsonContent::Number(number) => Value::Number(number.clone()),
            JsonContent::String(text) => text.clone().into(),
            JsonContent::Array(items) => items.iter().map(Json::to_value).collect(),
            JsonContent::Object(entries) => {
                let pairs = entries.iter().map(|entry| (entry.key.clone(), entry.value.to_value()));
                Value::Object(pairs.collect::<Map<_, _>>())
            }
        }
    }

    /// The entries of an object; none of anything else.
    pub fn entries(&self) -> &[JsonEntry] {
        match &self.content {
            JsonContent::Object(entries) => entries,
            _ => &[],
        }
    }

    /// The value of a key of an object. `null` counts as absent.
    pub fn get(&self, key: &str) -> Option<&Json> {
        let found = self.entries().iter().rfind(|entry| entry.key == key)?;
        (found.value.content != JsonContent::Null).then_some(&found.value)
    }

    /// The text, if it is one.
    pub fn as_str(&self) -> Option<&str> {
        match &self.content {
            JsonContent::String(text) => Some(text),
            _ => None,
        }
    }
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
    grammar: Grammar,
}

impl Reader<'_> {
    fn value(&mut self, depth: usize) -> Result<Json, JsonError> {
        self.blanks()?;
        if depth > MAX_DEPTH {
            let error = self.error(&format!("nested more than {MAX_DEPTH} levels deep"));
            return Err(JsonError { is_limit: true, ..error });
        }
        let start = self.at;
        let content = match self.peek() {
            Some(b'{') => self.object(depth)?,
            Some(b'[') => self.array(depth)?,
            Some(b'"') => JsonContent::String(self.string()?.0),
            Some(b'-' | b'0'..=b'9') => self.number()?,
            Some(b'a'..=b'z') => self.word()?,
            Some(_) => return Err(self.error("expected a value")),
            None => return Err(self.error("the text ends where a value is expected")),
        };
        Ok(Json { span: Span::new(start, self.at), content })
    }

    fn object(&mut self, depth: usize) -> Result<JsonContent, JsonError> {
        self.at += 1;
        let mut entries = Vec::new();
        loop {
            self.blanks()?;
            match self.peek() {
                Some(b'}') if entries.is_empty() => break,
                Some(b'"') => {}
                Some(b'}') if self.grammar == Grammar::WithComments => break,
                Some(b'}') => return Err(self.error("trailing comma")),
                _ => return Err(self.error("expected a key in double quotes")),
            }
            let (key, key_span) = self.string()?;
            self.blanks()?;
            if self.peek() != Some(b':') {
                return Err(self.error("expected a colon after the key"));
            }
            self.at += 1;
            let value = self.value(depth + 1)?;
            entries.push(JsonEntry { key, key_span, value });
            if !self.goes_on(b'}')? {
                break;
            }
        }
        self.at += 1;
        Ok(JsonContent::Object(entries))
    }

    fn array(&mut self, depth: usize) -> Result<JsonContent, JsonError> {
        self.at += 1;
        let mut items = Vec::new();
        self.blanks()?;
        if self.peek() != Some(b']') {
            loop {
                items.push(self.value(depth + 1)?);
                if !self.goes_on(b']')? {
                    break;
                }
                self.blanks()?;
                if self.peek() == Some(b']') {
                    if self.grammar == Grammar::WithComments {
                        break;
                    }
                    return Err(self.error("trailing comma"));
                }
            }
        }
        self.at += 1;
        Ok(JsonContent::Array(items))
    }

    /// Steps over a comma; `false` at the end of the list or object, which stays where it is.
    fn goes_on(&mut self, end: u8) -> Result<bool, JsonError> {
        self.blanks()?;
        match self.peek() {
            Some(b',') => {
                self.at += 1;
                Ok(true)
            }
            Some(found) if found == end => Ok(false),
            _ => Err(self.error(&format!("expected a comma or `{}`", char::from(end)))),
        }
    }

    fn string(&mut self) -> Result<(String, Span), JsonError> {
        let start = self.at;
        let bytes = self.text.as_bytes();
        let mut end = start + 1;
        loop {
            match bytes.get(end) {
                Some(b'"') => break,
                // Whatever is escaped, it is not the end.
                Some(b'\\') => end += 2,
                Some(_) => end += 1,
                None => {
                    let span = Span::new(start, self.text.len());
                    return Err(JsonError {
                        message: "this string is not terminated".to_owned(),
                        span,
                        is_limit: false,
                    });
                }
            }
        }
        self.at = end + 1;
        let span = Span::new(start, self.at);
        // `serde_json` decodes the escapes.
        match self.text.get(start..self.at).map(serde_json::from_str) {
            Some(Ok(text)) => Ok((text, span)),
            Some(Err(error)) => {
                let error = error.to_string();
                let reason = error.split(" at line").next().unwrap_or(&error).to_owned();
                let message = format!("this is not a JSON string: {reason}");
                Err(JsonError { message, span, is_limit: false })
            }
            None => Err(JsonError {
                message: "this string is not terminated".to_owned(),
                span: Span::at(start),
                is_limit: false,
            }),
        }
    }

    fn number(&mut self) -> Result<JsonContent, JsonError> {
        let rest = &self.text[self.at..];
        let length = rest
            .bytes()
            .take_while(|byte| matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E'))
            .count();
        let written = &rest[..length];
        let span = Span::new(self.at, self.at + length);
        self.at += length;
        serde_json::from_str(written).map(JsonContent::Number).map_err(|_| JsonError {
            message: format!("`{written}` is not a number"),
            span,
            is_limit: false,
        })
    }

    fn word(&mut self) -> Result<JsonContent, JsonError> {
        let rest = &self.text[self.at..];
        let length = rest.bytes().take_while(u8::is_ascii_alphanumeric).count();
        let content = match &rest[..length] {
            "true" => JsonContent::Bool(true),
            "false" => JsonContent::Bool(false),
            "null" => JsonContent::Null,
            word => {
                let span = Span::new(self.at, self.at + length);
                let message = format!("`{word}` is not a JSON value");
                return Err(JsonError { message, span, is_limit: false });
            }
        };
        self.at += length;
        Ok(content)
    }

    /// Skips white space and, where the grammar has them, comments.
    fn blanks(&mut self) -> Result<(), JsonError> {
        loop {
            let rest = &self.text.as_bytes()[self.at..];
            self.at +=
                rest.iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r')).count();
            if self.grammar == Grammar::Strict {
                return Ok(());
            }
            let rest = &self.text[self.at..];
            self.at += if rest.starts_with("//") {
                rest.find('\n').unwrap_or(rest.len())
            } else if let Some(comment) = rest.strip_prefix("/*") {
                let Some(length) = comment.find("*/") else {
                    return Err(self.error("this comment is not terminated"));
                };
                length + "/**/".len()
            } else {
                return Ok(());
            };
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// At the character where reading stopped.
    fn error(&self, message: &str) -> JsonError {
        let length = self.text[self.at..].chars().next().map_or(0, char::len_utf8);
        let span = Span::new(self.at, self.at + length);
        JsonError { message: message.to_owned(), span, is_limit: false }
    }
}

#[cfg(test)]
mod tests;
