//! The tables of fields. Each table checks front matter, generates the JSON Schema and the
//! reference page, and tells which fields are known, so reader and schema can't disagree.

use std::borrow::Cow;

use serde_json::{Map, Value, json};

use crate::diagnostic::{Edit, Findings, Fix, Rule, Severity};
use crate::document::yaml::{Mapping, Node, YamlContent, YamlEntry, YamlStyle, brief};
use crate::formats;
use crate::rules;
use crate::span::Span;
use crate::specification::Section;
use crate::text::{alternatives, closest};

/// One field of front matter.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// The key.
    pub name: &'static str,
    /// The allowed values.
    pub shape: Shape,
    /// Whether it is required.
    pub need: Need,
    /// The default, as shown in the reference.
    pub default: &'static str,
    /// The section of the specification that defines it.
    pub section: Section,
    /// What it is for.
    pub about: &'static str,
    /// The rule for an invalid value, if the field has its own.
    pub rule: Option<&'static Rule>,
    /// Whether the dialect's own reader ignores an invalid value: it is then a warning, and the
    /// schema accepts it.
    pub lenient: bool,
    /// Common mistakes for this key that look more like another field.
    pub mistakes: &'static [&'static str],
}

/// Whether a field is required.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// A missing field is an error.
    Required,
    /// A missing field is a warning, and an error under `--strict`.
    Expected,
    /// The field may be missing.
    Optional,
}

/// The shape of a value.
#[derive(Clone, Copy, Debug)]
pub enum Shape {
    /// Anything.
    Any,
    /// Text with a maximum length; empty text is treated as missing if the field is required.
    Text {
        /// Maximum length in characters.
        most: usize,
    },
    /// Text only, not a number or a boolean: JSON distinguishes them.
    String {
        /// Maximum length in characters.
        most: usize,
    },
    /// Text in a named format.
    Format(&'static TextFormat),
    /// `true` or `false`.
    Boolean,
    /// A whole number in a range.
    Integer {
        /// The minimum.
        from: i64,
        /// The maximum.
        to: i64,
    },
    /// A number in a range.
    Number {
        /// The minimum.
        from: f64,
        /// The maximum.
        to: f64,
    },
    /// One of these values.
    Choice(&'static [&'static str]),
    /// One of these values, or an older alias, which is accepted with a warning.
    ChoiceOrAlias {
        /// The values.
        words: &'static [&'static str],
        /// The aliases, each with its value.
        aliases: &'static [(&'static str, &'static str)],
    },
    /// A list.
    List {
        /// The shape of each item.
        item: &'static Shape,
        /// Minimum number of items.
        least: usize,
        /// Maximum number of items.
        most: usize,
    },
    /// A map with known keys; others are allowed.
    Map(&'static [Field]),
    /// A map of names to values of one shape.
    MapOf(&'static Shape),
    /// Any one of these.
    Either(&'static [Shape]),
}

impl Shape {
    /// Whether a value contains other values.
    pub fn is_structure(&self) -> bool {
        matches!(self, Shape::List { .. } | Shape::Map(_) | Shape::MapOf(_))
    }
}

/// A named text format with a pattern for the schema and an equivalent check for the reader.
#[derive(Debug)]
pub struct TextFormat {
    /// Description in messages.
    pub title: &'static str,
    /// A regular expression of JSON Schema, in the subset that every validator knows: no classes of Unicode and nothing that
    /// looks ahead.
    pub pattern: &'static str,
    /// The most characters; `usize::MAX` if there is no limit.
    pub most: usize,
    /// JSON types that unquoted values in this format may have, such as the name `2048`.
    pub plain: &'static [&'static str],
    /// Checks a text and describes the problem.
    pub check: fn(&str) -> Result<(), String>,
}

/// Any text.
pub const TEXT: Shape = Shape::Text { most: usize::MAX };
/// A list of texts.
pub const TEXTS: Shape = Shape::List { item: &TEXT, least: 0, most: usize::MAX };
/// A text or a list of texts (R42 to R44).
pub const TEXT_OR_TEXTS: Shape = Shape::Either(&[TEXT, TEXTS]);
/// A map with any keys.
pub const ANY_MAP: Shape = Shape::MapOf(&Shape::Any);

impl Field {
    /// Creates an optional field.
    pub const fn new(
        name: &'static str,
        shape: Shape,
        section: Section,
        about: &'static str,
    ) -> Self {
        Self {
            name,
            shape,
            need: Need::Optional,
            default: "",
            section,
            about,
            rule: None,
            lenient: false,
            mistakes: &[],
        }
    }

    /// Makes the field required.
    #[must_use]
    pub const fn required(mut self) -> Self {
        self.need = Need::Required;
        self
    }

    /// Makes a missing field a warning.
    #[must_use]
    pub const fn expected(mut self) -> Self {
        self.need = Need::Expected;
        self
    }

    /// Sets the default that the reference shows.
    #[must_use]
    pub const fn default(mut self, default: &'static str) -> Self {
        self.default = default;
        self
    }

    /// Sets the rule for invalid values.
    #[must_use]
    pub const fn rule(mut self, rule: &'static Rule) -> Self {
        self.rule = Some(rule);
        self
    }

    /// Sets common mistakes for the key.
    #[must_use]
    pub const fn mistakes(mut self, mistakes: &'static [&'static str]) -> Self {
        self.mistakes = mistakes;
        self
    }

    /// Makes invalid values a warning.
    #[must_use]
    pub const fn lenient(mut self) -> Self {
        self.lenient = true;
        self
    }
}

/// How a dialect treats unknown fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnknownFields {
    /// They are kept without a finding.
    Kept,
    /// A warning, whatever the strictness (GIB §9.2).
    Warned,
    /// A warning, and an error under `--strict` (the open standard).
    Forbidden,
}

/// Checks the required fields and the values of a mapping against a table of fields.
pub fn check(
    fields: &[Field],
    mapping: &Mapping<'_>,
    place: Span,
    context: &str,
    findings: &mut Findings,
) {
    check_each(fields.iter(), mapping, place, context, findings);
}

/// Checks a mapping against any selection of fields.
pub fn check_each<'f>(
    fields: impl Iterator<Item = &'f Field>,
    mapping: &Mapping<'_>,
    place: Span,
    context: &str,
    findings: &mut Findings,
) {
    let fields: Vec<&Field> = fields.collect();
    for field in &fields {
        let Some(node) = mapping.get(field.name) else {
            missing(field, &fields, mapping, place, context, findings);
            continue;
        };
        if matches!(field.need, Need::Required | Need::Expected)
            && node.text().is_some_and(|text| text.trim().is_empty())
        {
            missing(field, &fields, mapping, place, context, findings);
            continue;
        }
        let path = if context.is_empty() {
            Cow::Borrowed(field.name)
        } else {
            Cow::Owned(format!("{context}.{}", field.name))
        };
        let mut found = Findings::default();
        value(&field.shape, node, &path, field.rule, &mut found);
        for mut diagnostic in found.into_sorted() {
            if field.lenient && diagnostic.severity == Severity::Error {
                diagnostic.severity = Severity::Warning;
                diagnostic.strict = Severity::Warning;
            }
            findings.push(diagnostic);
        }
    }
}

fn missing(
    field: &Field,
    fields: &[&Field],
    mapping: &Mapping<'_>,
    place: Span,
    context: &str,
    findings: &mut Findings,
) {
    let (severity, strict) = match field.need {
        Need::Required => (Severity::Error, Severity::Error),
        Need::Expected => (Severity::Warning, Severity::Error),
        Need::Optional => return,
    };
    let owner = if context.is_empty() { String::new() } else { format!(" in `{context}`") };
    let rule = &rules::MISSING_FIELD;
    let add = format!("add `{}: …` ({}; {})", field.name, describe(&field.shape), field.section);
    let diagnostic = match (mapping.entry(field.name), misspelt(field, fields, mapping)) {
        (Some(empty), _) => {
            rule.at(empty.key_span, format!("`{}` is empty{owner}", field.name)).help(add)
        }
        (None, None) => rule.at(place, format!("`{}` is missing{owner}", field.name)).help(add),
        (None, Some(similar)) => rule
            .at(similar.key_span, format!("`{}` is missing{owner}", field.name))
            .help(format!("did you mean `{}` instead of `{}`?", field.name, similar.key))
            .fix(Fix::suggested(
                format!("rename it to `{}`", field.name),
                vec![Edit::replace(similar.key_span, field.name)],
            )),
    };
    findings.push(diagnostic.severity(severity, strict));
}

/// An unknown key that resembles a missing field.
fn misspelt<'m, 'a>(
    field: &Field,
    fields: &[&Field],
    mapping: &'m Mapping<'a>,
) -> Option<&'m YamlEntry<'a>> {
    let unknown = |key: &str| !fields.iter().any(|known| known.name == key);
    let keys = mapping.entries.iter().map(|entry| &*entry.key).filter(|key| unknown(key));
    mapping.entry(closest(field.name, keys)?)
}

/// Checks one value.
fn value(
    shape: &Shape,
    node: &Node<'_>,
    path: &str,
    rule: Option<&'static Rule>,
    findings: &mut Findings,
) {
    let wrong = |rule_of_kind: &'static Rule, message: String, help: String| {
        rule.unwrap_or(rule_of_kind).at(node.span, message).help(help)
    };
    // A field's own rule is about its values; a value of the wrong kind is always a type error.
    let wrong_type = || {
        rules::WRONG_TYPE
            .at(node.span, format!("`{path}` is {}, expected {}", node.kind(), describe(shape)))
            .help(format!("write {}", describe(shape)))
    };
    match shape {
        Shape::Any => {}
        Shape::Text { most } => match node.scalar() {
            None => findings.push(wrong_type()),
            Some(scalar) => {
                let length = scalar.text.chars().count();
                if length > *most {
                    findings.push(wrong(
                        &rules::TOO_LONG,
                        format!("`{path}` has {length} characters, at most {most} are allowed"),
                        format!("shorten it by {} characters", length - most),
                    ));
                } else if scalar.style == YamlStyle::Plain
                    && !node.is_null()
                    && node.kind() != "text"
                {
                    unquoted(node, path, &scalar.text, findings);
                }
            }
        },
        Shape::String { most } => match node.scalar() {
            Some(_) if node.kind() == "text" => {
                value(&Shape::Text { most: *most }, node, path, rule, findings);
            }
            _ => findings.push(wrong_type()),
        },
        Shape::Format(format) => match node.scalar() {
            None => findings.push(wrong_type()),
            Some(scalar) => {
                if let Err(problem) = (format.check)(&scalar.text) {
                    findings.push(wrong(
                        &rules::WRONG_FORMAT,
                        // The problem already names the value.
                        if problem.starts_with('`') {
                            format!("{problem} (`{path}`)")
                        } else {
                            format!("`{path}` is not {}: {problem}", format.title)
                        },
                        match formats::suggestion(format, &scalar.text) {
                            Some(meant) => format!("did you mean `{meant}`?"),
                            None => format!("write {}", format.title),
                        },
                    ));
                } else if scalar.style == YamlStyle::Plain && node.kind() != "text" {
                    unquoted(node, path, &scalar.text, findings);
                }
            }
        },
        Shape::Boolean => match node.boolean() {
            Some(_) if node.is_yes_or_no() => {
                let word = node.boolean().unwrap_or_default().to_string();
                let fix = Fix::safe(
                    format!("write `{word}`"),
                    vec![Edit::replace(node.span, word.clone())],
                );
                findings.push(
                    rules::AMBIGUOUS_BOOLEAN
                        .at(
                            node.span,
                            format!("`{path}: {}` is a boolean only in YAML 1.1", brief(node)),
                        )
                        .help(format!("write `{word}`"))
                        .fix(fix),
                );
            }
            Some(_) => {}
            None => findings.push(wrong_type()),
        },
        Shape::Integer { from, to } => match node.integer() {
            Some(integer) if (*from..=*to).contains(&integer) => {}
            Some(integer) => findings.push(wrong(
                &rules::OUT_OF_RANGE,
                match *to {
                    i64::MAX => format!("`{path}` is {integer}, expected at least {from}"),
                    to => format!("`{path}` is {integer}, expected {from} to {to}"),
                },
                format!("write {}", describe(shape)),
            )),
            None => findings.push(wrong_type()),
        },
        Shape::Number { from, to } => match node.number() {
            Some(number) if (*from..=*to).contains(&number) => {}
            Some(number) => findings.push(wrong(
                &rules::OUT_OF_RANGE,
                format!("`{path}` is {number}, expected {from} to {to}"),
                format!("write a number from {from} to {to}"),
            )),
            None => findings.push(wrong_type()),
        },
        Shape::ChoiceOrAlias { words, aliases } => {
            let alias = node.text().and_then(|text| aliases.iter().find(|(old, _)| *old == text));
            let Some((old, word)) = alias else {
                return value(&Shape::Choice(words), node, path, rule, findings);
            };
            let fix = Fix::safe(format!("write `{word}`"), vec![Edit::replace(node.span, *word)]);
            findings.push(
                rule.unwrap_or(&rules::NOT_A_CHOICE)
                    .at(node.span, format!("`{old}` is an old name for `{word}`"))
                    .severity(Severity::Warning, Severity::Error)
                    .help(format!("write `{word}`"))
                    .fix(fix),
            );
        }
        Shape::Choice(words) => match node.text() {
            Some(text) if words.contains(&text) => {}
            Some(text) => {
                let help = match closest(text, words.iter().copied()) {
                    Some(word) => format!("did you mean `{word}`?"),
                    None => format!("write {}", alternatives(words)),
                };
                let message =
                    format!("`{path}` is `{}`, expected {}", brief(node), alternatives(words));
                let mut diagnostic = wrong(&rules::NOT_A_CHOICE, message, help);
                if let Some(word) = words.iter().find(|word| word.eq_ignore_ascii_case(text)) {
                    diagnostic = diagnostic.fix(Fix::safe(
                        format!("write `{word}`"),
                        vec![Edit::replace(node.span, *word)],
                    ));
                }
                findings.push(diagnostic);
            }
            None => findings.push(wrong_type()),
        },
        Shape::List { item, least, most } => match node.sequence() {
            None => findings.push(wrong_type()),
            Some(items) => {
                if items.len() < *least || items.len() > *most {
                    let range = if *most == usize::MAX {
                        format!("at least {least}")
                    } else {
                        format!("{least} to {most}")
                    };
                    findings.push(wrong(
                        &rules::OUT_OF_RANGE,
                        match items.len() {
                            0 => format!("`{path}` is empty, expected {range} entries"),
                            1 => format!("`{path}` has 1 entry, expected {range}"),
                            count => format!("`{path}` has {count} entries, expected {range}"),
                        },
                        format!("give {range} entries"),
                    ));
                }
                for (index, entry) in items.iter().enumerate() {
                    value(item, entry, &format!("{path}[{index}]"), rule, findings);
                }
            }
        },
        Shape::Map(fields) => match node.mapping() {
            None => findings.push(wrong_type()),
            Some(mapping) => check(fields, mapping, node.span, path, findings),
        },
        Shape::MapOf(inner) => match node.mapping() {
            None => findings.push(wrong_type()),
            Some(mapping) => {
                mapping.entries.iter().filter(|entry| !entry.value.is_null()).for_each(|entry| {
                    value(inner, &entry.value, &format!("{path}.{}", entry.key), rule, findings);
                });
            }
        },
        Shape::Either(shapes) => {
            // Report the alternative whose kind matches; if none matches, the type is wrong.
            match shapes.iter().find(|shape| fits_kind(shape, node)) {
                Some(shape) => value(shape, node, path, rule, findings),
                None => findings.push(wrong_type()),
            }
        }
    }
}

fn unquoted(node: &Node<'_>, path: &str, text: &str, findings: &mut Findings) {
    let quoted = format!("\"{text}\"");
    let fix = Fix::safe("quote it", vec![Edit::replace(node.span, quoted.clone())]);
    findings.push(
        rules::UNQUOTED_TEXT
            .at(node.span, format!("`{path}` is read as {}", node.kind()))
            .help(format!("write `{quoted}` so that every reader sees text"))
            .fix(fix),
    );
}

fn fits_kind(shape: &Shape, node: &Node<'_>) -> bool {
    match (shape, &node.content) {
        (Shape::Any, _) => true,
        (
            Shape::Text { .. }
            | Shape::String { .. }
            | Shape::Format(_)
            | Shape::Choice(_)
            | Shape::ChoiceOrAlias { .. },
            YamlContent::Scalar(_),
        ) => true,
        (Shape::Boolean, YamlContent::Scalar(_)) => node.boolean().is_some(),
        (Shape::Integer { .. }, YamlContent::Scalar(_)) => node.integer().is_some(),
        (Shape::Number { .. }, YamlContent::Scalar(_)) => node.number().is_some(),
        (Shape::List { .. }, YamlContent::Sequence(_)) => true,
        (Shape::Map(_) | Shape::MapOf(_), YamlContent::Mapping(_)) => true,
        (Shape::Either(shapes), _) => shapes.iter().any(|shape| fits_kind(shape, node)),
        _ => false,
    }
}

/// Describes a shape in words.
pub fn describe(shape: &Shape) -> String {
    match shape {
        Shape::Any => "any value".to_owned(),
        Shape::Text { most } | Shape::String { most } if *most == usize::MAX => "text".to_owned(),
        Shape::Text { most } | Shape::String { most } => {
            format!("text of at most {most} characters")
        }
        Shape::Format(format) => format.title.to_owned(),
        Shape::Boolean => "`true` or `false`".to_owned(),
        Shape::Integer { from, to } if *to == i64::MAX => format!("a whole number from {from}"),
        Shape::Integer { from, to } => format!("a whole number from {from} to {to}"),
        Shape::Number { from, to } => format!("a number from {from} to {to}"),
        Shape::Choice(words) | Shape::ChoiceOrAlias { words, .. } => alternatives(words),
        Shape::List { item, .. } => match item {
            Shape::Text { .. } | Shape::String { .. } => "a list of strings".to_owned(),
            Shape::Map(_) => "a list of maps".to_owned(),
            other => format!("a list, each {}", describe(other)),
        },
        Shape::Map(_) | Shape::MapOf(_) => "a map".to_owned(),
        // The digits are accepted; nobody has to be told about them.
        Shape::Either([boolean @ Shape::Boolean, Shape::Integer { .. }]) => describe(boolean),
        Shape::Either(shapes) => shapes.iter().map(describe).collect::<Vec<_>>().join(", or "),
    }
}

/// The JSON Schema of a table of fields.
pub fn schema(fields: &[Field], unknown: UnknownFields) -> Value {
    let mut properties = Map::new();
    let mut required = Vec::new();
    for field in fields {
        let mut property = if field.lenient {
            json!({})
        } else {
            nullable(shape_schema(&field.shape), field.need)
        };
        if let Value::Object(map) = &mut property {
            map.insert("description".to_owned(), Value::String(field.about.to_owned()));
            if !field.default.is_empty() {
                let default = serde_json::from_str(field.default)
                    .unwrap_or_else(|_| Value::String(field.default.to_owned()));
                map.insert("default".to_owned(), default);
            }
            // Empty text is treated as missing, which is only a warning here.
            if let (Need::Expected, Shape::Format(format)) = (field.need, &field.shape) {
                let pattern = format!("^\\s*$|{}", format.pattern);
                map.insert("pattern".to_owned(), Value::String(pattern));
            }
            // Empty required text is treated as missing (GIB-2.2-2).
            if field.need == Need::Required
                && matches!(field.shape, Shape::Text { .. } | Shape::String { .. })
            {
                map.insert("pattern".to_owned(), Value::String("\\S".to_owned()));
            }
        }
        if field.need == Need::Required {
            required.push(Value::String(field.name.to_owned()));
        }
        properties.insert(field.name.to_owned(), property);
    }
    let mut schema = json!({ "type": "object", "properties": properties });
    if !required.is_empty() {
        schema["required"] = Value::Array(required);
    }
    // Unknown fields are at most warnings in an ordinary check, so the schema accepts them.
    if unknown == UnknownFields::Forbidden {
        schema["unevaluatedProperties"] = json!({ "deprecated": true });
    }
    schema
}

/// Null is treated as absent (R39), so an optional field may be null.
fn nullable(schema: Value, need: Need) -> Value {
    if need == Need::Required || schema.as_object().is_some_and(Map::is_empty) {
        return schema;
    }
    let mut schema = schema;
    match schema.get_mut("type") {
        Some(Value::String(kind)) => {
            let kind = kind.clone();
            schema["type"] = json!([kind, "null"]);
            if let Some(Value::Array(words)) = schema.get_mut("enum") {
                words.push(Value::Null);
            }
            schema
        }
        Some(Value::Array(kinds)) => {
            kinds.push(Value::String("null".to_owned()));
            schema
        }
        _ => json!({ "anyOf": [schema, { "type": "null" }] }),
    }
}

fn shape_schema(shape: &Shape) -> Value {
    match shape {
        Shape::Any => json!({}),
        Shape::String { most } if *most == usize::MAX => json!({ "type": "string" }),
        Shape::String { most } => json!({ "type": "string", "maxLength": most }),
        // An unquoted number or boolean is accepted as text, with a warning.
        Shape::Text { most } if *most == usize::MAX => {
            json!({ "type": ["string", "number", "boolean"] })
        }
        Shape::Text { most } => {
            json!({ "type": ["string", "number", "boolean"], "maxLength": most })
        }
        Shape::Format(format) => {
            // A pattern only applies to strings, so plain values need no exception.
            let mut kinds = vec!["string"];
            kinds.extend(format.plain);
            let mut schema = match kinds.as_slice() {
                [kind] => json!({ "type": kind, "pattern": format.pattern }),
                kinds => json!({ "type": kinds, "pattern": format.pattern }),
            };
            if format.most != usize::MAX {
                schema["maxLength"] = json!(format.most);
            }
            // In Python, `$` also matches before a final line break.
            if format.pattern.ends_with('$') && (format.check)("1\n").is_err() {
                schema["not"] = json!({ "type": "string", "pattern": "\\n$" });
            }
            schema
        }
        // The booleans of YAML 1.1 are accepted, with a warning (R39).
        Shape::Boolean => {
            json!({ "enum": [true, false, "yes", "no", "on", "off", "Yes", "No", "On", "Off", "YES", "NO", "ON", "OFF", "y", "n", "Y", "N"] })
        }
        Shape::Integer { from, to } => {
            let mut schema = json!({ "type": "integer", "minimum": from });
            if *to != i64::MAX {
                schema["maximum"] = json!(to);
            }
            schema
        }
        Shape::Number { from, to } => json!({ "type": "number", "minimum": from, "maximum": to }),
        Shape::Choice(words) => json!({ "type": "string", "enum": words }),
        Shape::ChoiceOrAlias { words, aliases } => {
            let words = words.iter().chain(aliases.iter().map(|(old, _)| old));
            json!({ "type": "string", "enum": words.collect::<Vec<_>>() })
        }
        Shape::List { item, least, most } => {
            let mut schema = json!({ "type": "array", "items": shape_schema(item) });
            if *least > 0 {
                schema["minItems"] = json!(least);
            }
            if *most != usize::MAX {
                schema["maxItems"] = json!(most);
            }
            schema
        }
        Shape::Map(fields) => schema(fields, UnknownFields::Kept),
        Shape::MapOf(inner) => {
            json!({ "type": "object", "additionalProperties": nullable(shape_schema(inner), Need::Optional) })
        }
        Shape::Either(shapes) => {
            json!({ "anyOf": shapes.iter().map(shape_schema).collect::<Vec<_>>() })
        }
    }
}
