//! JSON with places: what `serde_json` reads, and where in the text each part of it stands.

use prowess_format::span::Span;
use serde_json::{Map, Number, Value};

/// How deep a text may be nested. Graphs need six levels; the rest is for fields of others.
const MAX_DEPTH: usize = 64;

/// A value and its place.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Json {
    pub(crate) span: Span,
    pub(crate) content: Content,
}

/// What a value is.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Content {
    Null,
    Bool(bool),
    Number(Number),
    String(String),
    Array(Vec<Json>),
    Object(Vec<Entry>),
}

/// A key and what it leads to.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Entry {
    pub(crate) key: String,
    pub(crate) key_span: Span,
    pub(crate) value: Json,
}

/// Why a text is no JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct JsonError {
    pub(crate) message: String,
    pub(crate) span: Span,
}

/// Reads a text that is one JSON value.
pub(crate) fn parse(text: &str) -> Result<Json, JsonError> {
    let mut reader = Reader { text, at: 0 };
    // A byte order mark is no JSON, and editors write it all the same.
    if text.starts_with('\u{feff}') {
        reader.at = '\u{feff}'.len_utf8();
    }
    let value = reader.value(0)?;
    reader.blanks();
    if reader.at < text.len() {
        return Err(reader.error("unexpected text after the value"));
    }
    Ok(value)
}

impl Json {
    /// The word for the type.
    pub(crate) fn kind(&self) -> &'static str {
        match &self.content {
            Content::Null => "null",
            Content::Bool(_) => "a boolean",
            Content::Number(_) => "a number",
            Content::String(_) => "a string",
            Content::Array(_) => "a list",
            Content::Object(_) => "an object",
        }
    }

    /// The value without its places. Of a key that stands twice the last one counts, as everywhere.
    pub(crate) fn to_value(&self) -> Value {
        match &self.content {
            Content::Null => Value::Null,
            Content::Bool(value) => (*value).into(),
            Content::Number(number) => Value::Number(number.clone()),
            Content::String(text) => text.clone().into(),
            Content::Array(items) => items.iter().map(Json::to_value).collect(),
            Content::Object(entries) => {
                let pairs = entries.iter().map(|entry| (entry.key.clone(), entry.value.to_value()));
                Value::Object(pairs.collect::<Map<_, _>>())
            }
        }
    }

    /// The entries of an object; none of anything else.
    pub(crate) fn entries(&self) -> &[Entry] {
        match &self.content {
            Content::Object(entries) => entries,
            _ => &[],
        }
    }

    /// What a key of an object leads to. `null` is as good as absent.
    pub(crate) fn get(&self, key: &str) -> Option<&Json> {
        let found = self.entries().iter().rfind(|entry| entry.key == key)?;
        (found.value.content != Content::Null).then_some(&found.value)
    }

    /// The text, if it is one.
    pub(crate) fn as_str(&self) -> Option<&str> {
        match &self.content {
            Content::String(text) => Some(text),
            _ => None,
        }
    }
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
}

impl Reader<'_> {
    fn value(&mut self, depth: usize) -> Result<Json, JsonError> {
        self.blanks();
        if depth > MAX_DEPTH {
            return Err(self.error(&format!("nested more than {MAX_DEPTH} levels deep")));
        }
        let start = self.at;
        let content = match self.peek() {
            Some(b'{') => self.object(depth)?,
            Some(b'[') => self.array(depth)?,
            Some(b'"') => Content::String(self.string()?.0),
            Some(b'-' | b'0'..=b'9') => self.number()?,
            Some(b'a'..=b'z') => self.word()?,
            Some(_) => return Err(self.error("expected a value")),
            None => return Err(self.error("the text ends where a value is expected")),
        };
        Ok(Json { span: Span::new(start, self.at), content })
    }

    fn object(&mut self, depth: usize) -> Result<Content, JsonError> {
        self.at += 1;
        let mut entries = Vec::new();
        loop {
            self.blanks();
            match self.peek() {
                Some(b'}') if entries.is_empty() => break,
                Some(b'"') => {}
                _ => return Err(self.error("expected a key in double quotes")),
            }
            let (key, key_span) = self.string()?;
            self.blanks();
            if self.peek() != Some(b':') {
                return Err(self.error("expected a colon after the key"));
            }
            self.at += 1;
            let value = self.value(depth + 1)?;
            entries.push(Entry { key, key_span, value });
            if !self.goes_on(b'}')? {
                break;
            }
        }
        self.at += 1;
        Ok(Content::Object(entries))
    }

    fn array(&mut self, depth: usize) -> Result<Content, JsonError> {
        self.at += 1;
        let mut items = Vec::new();
        self.blanks();
        if self.peek() != Some(b']') {
            loop {
                items.push(self.value(depth + 1)?);
                if !self.goes_on(b']')? {
                    break;
                }
            }
        }
        self.at += 1;
        Ok(Content::Array(items))
    }

    /// Steps over a comma; `false` at the end of the list or object, which stays where it is.
    fn goes_on(&mut self, end: u8) -> Result<bool, JsonError> {
        self.blanks();
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
                    });
                }
            }
        }
        self.at = end + 1;
        let span = Span::new(start, self.at);
        // The escapes are somebody else's craft.
        match self.text.get(start..self.at).map(serde_json::from_str) {
            Some(Ok(text)) => Ok((text, span)),
            Some(Err(error)) => {
                let error = error.to_string();
                let reason = error.split(" at line").next().unwrap_or(&error).to_owned();
                Err(JsonError { message: format!("this is not a JSON string: {reason}"), span })
            }
            None => Err(JsonError {
                message: "this string is not terminated".to_owned(),
                span: Span::at(start),
            }),
        }
    }

    fn number(&mut self) -> Result<Content, JsonError> {
        let rest = &self.text[self.at..];
        let length = rest
            .bytes()
            .take_while(|byte| matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E'))
            .count();
        let written = &rest[..length];
        let span = Span::new(self.at, self.at + length);
        self.at += length;
        serde_json::from_str(written)
            .map(Content::Number)
            .map_err(|_| JsonError { message: format!("`{written}` is not a number"), span })
    }

    fn word(&mut self) -> Result<Content, JsonError> {
        let rest = &self.text[self.at..];
        let length = rest.bytes().take_while(u8::is_ascii_alphanumeric).count();
        let content = match &rest[..length] {
            "true" => Content::Bool(true),
            "false" => Content::Bool(false),
            "null" => Content::Null,
            word => {
                let span = Span::new(self.at, self.at + length);
                return Err(JsonError { message: format!("`{word}` is not a JSON value"), span });
            }
        };
        self.at += length;
        Ok(content)
    }

    fn blanks(&mut self) {
        let rest = &self.text.as_bytes()[self.at..];
        self.at +=
            rest.iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r')).count();
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// At the character where reading stopped.
    fn error(&self, message: &str) -> JsonError {
        let length = self.text[self.at..].chars().next().map_or(0, char::len_utf8);
        JsonError { message: message.to_owned(), span: Span::new(self.at, self.at + length) }
    }
}

#[cfg(test)]
mod tests;
