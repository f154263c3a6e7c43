//! Command templates: text to words with placeholders, and words with values to an argv (GIB §3.4, §3.5, R10, R11).
//!
//! No shell is involved anywhere: a value is one argument, whatever characters it holds.

use std::fmt::Write as _;

use serde_json::{Map, Value};

use crate::skill::Parameter;

/// A piece of an argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TemplateFragment {
    /// Literal text.
    Literal(String),
    /// `{{name}}` or `{{name:modifier}}`.
    Variable {
        /// Name of the parameter.
        name: String,
        /// The part after the colon: a flag or a default.
        modifier: Option<String>,
    },
}

/// One argument of a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TemplateArgument {
    /// The fragments, in order.
    pub fragments: Vec<TemplateFragment>,
}

/// A parsed command line; the first argument is the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandTemplate {
    /// The words.
    pub arguments: Vec<TemplateArgument>,
}

/// Why a command line can't be parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TemplateError {
    /// A quote is opened and never closed.
    UnclosedQuote(char),
    /// The command is empty.
    Empty,
}

impl std::fmt::Display for TemplateError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            TemplateError::UnclosedQuote(quote) => write!(f, "the quote {quote} is never closed"),
            TemplateError::Empty => f.write_str("the command is empty"),
        }
    }
}

impl std::error::Error for TemplateError {}

impl TemplateArgument {
    /// The placeholder, if it is the only fragment.
    pub fn lone_variable(&self) -> Option<(&str, Option<&str>)> {
        match self.fragments.as_slice() {
            [TemplateFragment::Variable { name, modifier }] => Some((name, modifier.as_deref())),
            _ => None,
        }
    }

    /// The text, if it contains no placeholder.
    pub fn literal(&self) -> Option<&str> {
        match self.fragments.as_slice() {
            [] => Some(""),
            [TemplateFragment::Literal(text)] => Some(text),
            _ => None,
        }
    }

    /// The argument as text with its placeholders.
    pub fn to_template(&self) -> String {
        self.fragments.iter().fold(String::new(), |mut text, fragment| {
            match fragment {
                TemplateFragment::Literal(literal) => text.push_str(literal),
                TemplateFragment::Variable { name, modifier: None } => {
                    _ = write!(text, "{{{{{name}}}}}");
                }
                TemplateFragment::Variable { name, modifier: Some(modifier) } => {
                    _ = write!(text, "{{{{{name}:{modifier}}}}}");
                }
            }
            text
        })
    }
}

impl CommandTemplate {
    /// Every placeholder's name, in order, with repetitions.
    pub fn variables(&self) -> impl Iterator<Item = &str> {
        self.arguments.iter().flat_map(|argument| &argument.fragments).filter_map(|fragment| {
            match fragment {
                TemplateFragment::Variable { name, .. } => Some(name.as_str()),
                TemplateFragment::Literal(_) => None,
            }
        })
    }
}

/// The first command of a code block: comment lines are skipped, a backslash at a line's end continues it.
pub fn first_command(block: &str) -> String {
    let mut command = String::new();
    for line in block.lines() {
        let line = line.trim_end_matches('\r');
        let trimmed = line.trim();
        if command.is_empty() && (trimmed.is_empty() || trimmed.starts_with('#')) {
            continue;
        }
        match trimmed.strip_suffix('\\') {
            Some(continued) => {
                command.push_str(continued);
                command.push(' ');
            }
            None => {
                command.push_str(trimmed);
                break;
            }
        }
    }
    command.trim().to_owned()
}

/// Parses a command line by POSIX word splitting; `{{…}}` is never split.
pub fn parse(text: &str) -> Result<CommandTemplate, TemplateError> {
    let mut arguments = Vec::new();
    let mut current: Option<TemplateArgument> = None;
    let mut rest = text;
    let mut quote: Option<char> = None;
    while let Some(character) = rest.chars().next() {
        if let Some((fragment, behind)) = variable(rest) {
            current
                .get_or_insert_with(|| TemplateArgument { fragments: Vec::new() })
                .fragments
                .push(fragment);
            rest = behind;
            continue;
        }
        rest = &rest[character.len_utf8()..];
        match (quote, character) {
            (None, '\'' | '"') => {
                quote = Some(character);
                current.get_or_insert_with(|| TemplateArgument { fragments: Vec::new() });
            }
            (Some(open), _) if open == character => quote = None,
            (None, _) if character.is_whitespace() => arguments.extend(current.take()),
            (None, '\\') => {
                if let Some(escaped) = rest.chars().next() {
                    push(&mut current, escaped);
                    rest = &rest[escaped.len_utf8()..];
                }
            }
            // Inside double quotes a backslash escapes only what would otherwise mean something.
            (Some('"'), '\\') => match rest.chars().next() {
                Some(escaped @ ('"' | '\\' | '$' | '`')) => {
                    push(&mut current, escaped);
                    rest = &rest[escaped.len_utf8()..];
                }
                _ => push(&mut current, '\\'),
            },
            _ => push(&mut current, character),
        }
    }
    if let Some(open) = quote {
        return Err(TemplateError::UnclosedQuote(open));
    }
    arguments.extend(current);
    if arguments.is_empty() { Err(TemplateError::Empty) } else { Ok(CommandTemplate { arguments }) }
}

fn push(current: &mut Option<TemplateArgument>, character: char) {
    let argument = current.get_or_insert_with(|| TemplateArgument { fragments: Vec::new() });
    match argument.fragments.last_mut() {
        Some(TemplateFragment::Literal(text)) => text.push(character),
        _ => argument.fragments.push(TemplateFragment::Literal(character.to_string())),
    }
}

/// Maximum length of a name with its modifier, in bytes.
const MAX_PLACEHOLDER: usize = 1024;

/// A placeholder at the start of `text`, and what follows it.
fn variable(text: &str) -> Option<(TemplateFragment, &str)> {
    let inner = text.strip_prefix("{{")?;
    // Bounded, so that a line full of opening braces is not searched to its end at each of them.
    let nearby = &inner.as_bytes()[..inner.len().min(MAX_PLACEHOLDER)];
    let end = memchr::memmem::find(nearby, b"}}")?;
    let (name, modifier) = match inner[..end].split_once(':') {
        Some((name, modifier)) => (name, Some(modifier.to_owned())),
        None => (&inner[..end], None),
    };
    let valid = !name.is_empty()
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.'));
    valid.then(|| {
        (TemplateFragment::Variable { name: name.to_owned(), modifier }, &inner[end + 2..])
    })
}

/// Quotes a word for a shell, for previews and for writing templates. Placeholders stay as they
/// are.
pub fn quote(word: &str) -> String {
    let plain = !word.is_empty()
        && word.chars().all(|character| {
            character.is_alphanumeric()
                || matches!(
                    character,
                    '_' | '-'
                        | '.'
                        | '/'
                        | ':'
                        | '='
                        | '@'
                        | '%'
                        | '+'
                        | ','
                        | '{'
                        | '}'
                        | '~'
                        | '^'
                )
        });
    if plain {
        return word.to_owned();
    }
    if !word.contains('\'') {
        return format!("'{word}'");
    }
    let mut quoted = String::from('"');
    for character in word.chars() {
        if matches!(character, '"' | '\\' | '$' | '`') {
            quoted.push('\\');
        }
        quoted.push(character);
    }
    quoted.push('"');
    quoted
}

/// Joins words to one line that [`parse`] splits again.
pub fn join(words: &[String]) -> String {
    words.iter().map(|word| quote(word)).collect::<Vec<_>>().join(" ")
}

/// Why a template can't be rendered to an argv.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RenderError {
    /// A required parameter has no value (GIB §9.3).
    Missing {
        /// Name of the parameter.
        parameter: String,
    },
    /// A value does not have the declared type (GIB §3.3).
    WrongType {
        /// Name of the parameter.
        parameter: String,
        /// The declared type.
        expected: String,
        /// What was given.
        given: &'static str,
    },
    /// A value was given for an undeclared parameter.
    Undeclared {
        /// The name.
        parameter: String,
        /// The declared ones.
        known: Vec<String>,
    },
    /// The template can't be parsed.
    Template(TemplateError),
}

impl std::fmt::Display for RenderError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            RenderError::Missing { parameter } => {
                write!(f, "the required parameter `{parameter}` is missing")
            }
            RenderError::WrongType { parameter, expected, given } => {
                write!(f, "the parameter `{parameter}` is {given}, expected {expected}")
            }
            RenderError::Undeclared { parameter, known } => {
                f.write_str(&crate::text::no_such("parameter", parameter, known))
            }
            RenderError::Template(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for RenderError {}

/// An argv with warnings about its values.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct RenderedCommand {
    /// Program and arguments.
    pub argv: Vec<String>,
    /// Values that begin with `-` where the program may take them for an option (NEG-12): parameter and value.
    pub option_like: Vec<(String, String)>,
}

/// Substitutes values into a template. Reports every problem, not only the first.
pub fn render(
    template: &CommandTemplate,
    parameters: &[Parameter],
    values: &Map<String, Value>,
) -> Result<RenderedCommand, Vec<RenderError>> {
    let errors = check_values(parameters, values);
    if !errors.is_empty() {
        return Err(errors);
    }
    let value_of = |name: &str| -> Option<Value> {
        let given = values.get(name).filter(|value| !value.is_null());
        given.cloned().or_else(|| {
            parameters
                .iter()
                .find(|parameter| *parameter.name == name)
                .and_then(|parameter| parameter.default.clone())
        })
    };
    let mut rendered = RenderedCommand::default();
    // Whether the last word is a literal option such as `-n`, which belongs to the value after it.
    let mut lone_option = false;
    let mut options_ended = false;
    for argument in &template.arguments {
        let Some((name, modifier)) = argument.lone_variable() else {
            match embedded(argument, &value_of) {
                Some(word) => {
                    lone_option = argument.literal().is_some_and(|text| {
                        text.starts_with('-')
                            && text.len() > 1
                            && text != "--"
                            && !text.contains('=')
                    });
                    options_ended |= word == "--";
                    rendered.argv.push(word);
                }
                None => lone_option = false,
            }
            continue;
        };
        let flag = modifier.is_some_and(|modifier| modifier.starts_with('-'));
        let words = match (value_of(name), modifier) {
            (Some(Value::Bool(true)), Some(modifier)) if flag => vec![modifier.to_owned()],
            (Some(Value::Bool(false)) | None, Some(_)) if flag => Vec::new(),
            (None, Some(default)) => vec![default.to_owned()],
            (Some(Value::Array(items)), _) => items.iter().map(plain).collect(),
            (Some(value), _) => vec![plain(&value)],
            (None, None) => {
                // R11: omitting a value also omits the option before it.
                if lone_option {
                    rendered.argv.pop();
                }
                Vec::new()
            }
        };
        if !flag && !lone_option && !options_ended {
            rendered.option_like.extend(
                words
                    .iter()
                    .filter(|word| word.starts_with('-') && word.len() > 1)
                    .map(|word| (name.to_owned(), word.clone())),
            );
        }
        rendered.argv.extend(words);
        lone_option = false;
    }
    Ok(rendered)
}

/// Checks the values of a call: missing, of the wrong type, or undeclared.
pub fn check_values(parameters: &[Parameter], values: &Map<String, Value>) -> Vec<RenderError> {
    let mut errors = Vec::new();
    for parameter in parameters {
        match values.get(parameter.name.as_str()).filter(|value| !value.is_null()) {
            // R33: a default does not replace a required value.
            None if parameter.required => {
                errors.push(RenderError::Missing { parameter: parameter.name.value.clone() });
            }
            None => {}
            Some(value) if has_type(value, &parameter.kind) => {}
            Some(value) => errors.push(RenderError::WrongType {
                parameter: parameter.name.value.clone(),
                expected: parameter.kind.value.clone(),
                given: kind_of(value),
            }),
        }
    }
    for name in
        values.keys().filter(|name| !parameters.iter().any(|parameter| *parameter.name == **name))
    {
        errors.push(RenderError::Undeclared {
            parameter: name.clone(),
            known: parameters.iter().map(|parameter| parameter.name.value.clone()).collect(),
        });
    }
    errors
}

/// Whether a JSON value has a declared type (GIB §3.3; unknown types pass).
pub fn has_type(value: &Value, kind: &str) -> bool {
    match kind {
        "string" | "text" | "textarea" | "url" | "file" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "array" => value.as_array().is_some_and(|items| {
            items.iter().all(|item| !item.is_array() && !item.is_object() && !item.is_null())
        }),
        "object" => value.is_object(),
        _ => true,
    }
}

/// The name of a JSON value's type in messages.
pub fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(number) if number.is_f64() => "a number",
        Value::Number(_) => "an integer",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

/// Renders an argument with text around its placeholders. Returns `None` if a value is absent,
/// which drops the whole word (R11).
fn embedded(
    argument: &TemplateArgument,
    value_of: &impl Fn(&str) -> Option<Value>,
) -> Option<String> {
    let mut word = String::new();
    for fragment in &argument.fragments {
        match fragment {
            TemplateFragment::Literal(text) => word.push_str(text),
            TemplateFragment::Variable { name, modifier } => {
                let flag = modifier.as_deref().is_some_and(|modifier| modifier.starts_with('-'));
                let text = match (value_of(name), modifier) {
                    (Some(Value::Bool(true)), Some(modifier)) if flag => modifier.clone(),
                    (Some(Value::Bool(false)) | None, Some(_)) if flag => String::new(),
                    (Some(Value::Array(items)), _) => {
                        items.iter().map(plain).collect::<Vec<_>>().join(" ")
                    }
                    (Some(value), _) => plain(&value),
                    (None, Some(default)) => default.clone(),
                    (None, None) => return None,
                };
                if after_authority(&word) {
                    percent_encode(&mut word, &text);
                } else {
                    word.push_str(&text);
                }
            }
        }
    }
    Some(word)
}

/// R10: values are percent-encoded only in a URL, and only after the authority.
fn after_authority(word: &str) -> bool {
    let rest = word.strip_prefix("https://").or_else(|| word.strip_prefix("http://"));
    rest.is_some_and(|rest| rest.contains(['/', '?', '#']))
}

fn percent_encode(out: &mut String, text: &str) {
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~') {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
}

/// A value as one argument.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
