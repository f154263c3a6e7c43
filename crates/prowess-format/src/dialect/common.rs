//! Fields that several dialects read and write alike.

use serde_json::{Map, Value};

use crate::document::yaml::{Mapping, Node};
use crate::emit::{WrittenSkill, YamlWriter};
use crate::skill::{OptionalText, Parameter, Skill};
use crate::span::{Span, Spanned};

/// A text field.
pub(crate) fn text(mapping: &Mapping<'_>, key: &str) -> OptionalText {
    mapping.get(key).and_then(spanned)
}

/// A scalar with its span.
pub(crate) fn spanned(node: &Node<'_>) -> OptionalText {
    node.text()
        .filter(|text| !text.trim().is_empty())
        .map(|text| Spanned::new(text.trim().to_owned(), node.span))
}

/// A list of texts, or a single one.
pub(crate) fn texts(mapping: &Mapping<'_>, key: &str) -> Vec<Spanned<String>> {
    mapping.get(key).map(|node| texts_of(node)).unwrap_or_default()
}

/// The texts of a list, or the one text of a scalar.
pub(crate) fn texts_of(node: &Node<'_>) -> Vec<Spanned<String>> {
    match node.sequence() {
        Some(items) => items.iter().filter_map(spanned).collect(),
        None => spanned(node).into_iter().collect(),
    }
}

/// A list of texts, or one text with commas in it (SKL layer 3: tags).
pub(crate) fn comma_texts(mapping: &Mapping<'_>, key: &str) -> Vec<Spanned<String>> {
    let Some(node) = mapping.get(key) else { return Vec::new() };
    if node.sequence().is_some() {
        return texts_of(node);
    }
    let words =
        node.text().unwrap_or_default().split(',').map(str::trim).filter(|word| !word.is_empty());
    words.map(|word| Spanned::new(word.to_owned(), node.span)).collect()
}

/// `allowed-tools`: entries separated by spaces or commas outside parentheses, or a list
/// (SKL-L1-5).
pub fn tool_patterns(mapping: &Mapping<'_>, key: &str) -> Vec<Spanned<String>> {
    let Some(node) = mapping.get(key) else { return Vec::new() };
    let mut patterns = Vec::new();
    for entry in texts_of(node) {
        let (mut depth, mut word) = (0_i32, String::new());
        for character in entry.value.chars().chain([' ']) {
            match character {
                '(' => depth += 1,
                ')' => depth -= 1,
                _ => {}
            }
            if depth <= 0 && (character.is_whitespace() || character == ',') {
                if !word.is_empty() {
                    patterns.push(Spanned::new(std::mem::take(&mut word), entry.span));
                }
            } else {
                word.push(character);
            }
        }
        if !word.trim().is_empty() {
            patterns.push(Spanned::new(word.trim().to_owned(), entry.span));
        }
    }
    patterns
}

/// A boolean field.
pub(crate) fn boolean(mapping: &Mapping<'_>, key: &str) -> Option<Spanned<bool>> {
    let node = mapping.get(key)?;
    node.boolean().map(|value| Spanned::new(value, node.span))
}

/// A whole number.
pub(crate) fn integer(mapping: &Mapping<'_>, key: &str) -> Option<Spanned<i64>> {
    let node = mapping.get(key)?;
    node.integer().map(|value| Spanned::new(value, node.span))
}

/// Any value.
pub(crate) fn json(mapping: &Mapping<'_>, key: &str) -> Option<Value> {
    mapping.get(key).map(Node::to_json)
}

/// The entries whose keys are not in `known`.
pub(crate) fn rest(mapping: &Mapping<'_>, known: &[&str]) -> Vec<(String, Value)> {
    mapping
        .entries
        .iter()
        .filter(|entry| !known.contains(&&*entry.key))
        .map(|entry| (entry.key.to_string(), entry.value.to_json()))
        .collect()
}

/// Fills `slot` if it is empty: earlier layers win.
pub(crate) fn fill<T>(slot: &mut Option<T>, value: Option<T>) {
    if slot.is_none() {
        *slot = value;
    }
}

/// Fills a list if it is empty.
pub(crate) fn fill_list<T>(slot: &mut Vec<T>, value: Vec<T>) {
    if slot.is_empty() {
        *slot = value;
    }
}

/// Reads the fields that mean the same in every dialect: name, version, description, licence,
/// authors, tags and URLs.
pub(crate) fn read_identity(root: &Mapping<'_>, skill: &mut Skill) {
    fill(&mut skill.name, text(root, "name"));
    fill(&mut skill.version, text(root, "version"));
    fill(&mut skill.description, text(root, "description"));
    fill(&mut skill.license, text(root, "license"));
    fill_list(&mut skill.authors, texts(root, "authors"));
    fill_list(&mut skill.authors, texts(root, "author"));
    fill_list(&mut skill.tags, comma_texts(root, "tags"));
    fill(&mut skill.homepage, text(root, "homepage"));
    fill(&mut skill.repository, text(root, "repository"));
}

/// Reads one input or parameter from a map (AFL §3.3, SRT §4.4, GAIA §2.1).
pub(crate) fn parameter(
    mapping: &Mapping<'_>,
    name: Spanned<String>,
    fallback_kind: &str,
) -> Parameter {
    let kind =
        text(mapping, "type").unwrap_or_else(|| Spanned::new(fallback_kind.to_owned(), name.span));
    Parameter {
        name,
        kind,
        required: boolean(mapping, "required").is_some_and(|required| required.value),
        description: text(mapping, "description").map(|text| text.value),
        default: json(mapping, "default"),
        label: text(mapping, "label").map(|text| text.value),
        source: text(mapping, "source").map(|text| text.value),
        extra: rest(
            mapping,
            &["name", "type", "required", "description", "default", "label", "source"],
        ),
    }
}

/// The `inputs` list of prompt dialects; entries without a name are skipped (AFL-3.3-1).
pub(crate) fn inputs(root: &Mapping<'_>, fallback_kind: &str) -> Vec<Parameter> {
    let Some(items) = root.get("inputs").and_then(|node| node.sequence()) else {
        return Vec::new();
    };
    items
        .iter()
        .filter_map(Node::mapping)
        .filter_map(|mapping| Some(parameter(mapping, text(mapping, "name")?, fallback_kind)))
        .collect()
}

/// The body of a document, without the blank line that separates it from the fence.
pub(crate) fn body(document: &crate::document::Document<'_>) -> String {
    document.body_text().to_owned()
}

/// Writes what [`read_identity`] reads, with the authors under `author_key`.
pub(crate) fn write_identity(skill: &Skill, yaml: &mut YamlWriter, author_key: &str) {
    yaml.text("name", skill.name.as_ref().map(|name| name.as_str()));
    yaml.text("version", skill.version.as_ref().map(|version| version.as_str()));
    yaml.text("description", skill.description.as_ref().map(|description| description.as_str()));
    match author_key {
        "author" => yaml.text("author", joined(&skill.authors).as_deref()),
        key => yaml.texts(key, &skill.authors),
    }
    yaml.text("license", skill.license.as_ref().map(|license| license.as_str()));
}

/// Joins several texts in one line, for dialects with a single `author`.
pub(crate) fn joined(texts: &[Spanned<String>]) -> Option<String> {
    (!texts.is_empty())
        .then(|| texts.iter().map(|text| text.as_str()).collect::<Vec<_>>().join(", "))
}

/// Writes the `inputs` list.
pub(crate) fn write_inputs(
    inputs: &[Parameter],
    yaml: &mut YamlWriter,
    kind: impl Fn(&str) -> String,
    default: impl Fn(&Value) -> Value,
) {
    let entries: Vec<Value> = inputs
        .iter()
        .map(|input| {
            let mut map = Map::new();
            let mut put = |key: &str, value: Option<Value>| {
                if let Some(value) = value {
                    map.insert(key.to_owned(), value);
                }
            };
            put("name", Some(Value::String(input.name.value.clone())));
            put("label", input.label.clone().map(Value::String));
            put("type", Some(Value::String(kind(&input.kind))));
            put("required", input.required.then_some(Value::Bool(true)));
            put("default", input.default.as_ref().map(&default));
            put("description", input.description.clone().map(Value::String));
            for (key, value) in &input.extra {
                put(key, Some(value.clone()));
            }
            Value::Object(map)
        })
        .collect();
    if !entries.is_empty() {
        yaml.value("inputs", &Value::Array(entries));
    }
}

/// When a dialect writes `required`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Required {
    /// For each parameter.
    Always,
    /// Only for required parameters.
    WhenTrue,
}

/// Writes the parameters of a tool by name, as [`parameter`] reads them.
pub(crate) fn write_parameters(parameters: &[Parameter], required: Required) -> Map<String, Value> {
    let write = |parameter: &Parameter| {
        let mut map = Map::new();
        let mut put = |key: &str, value: Option<Value>| {
            if let Some(value) = value {
                map.insert(key.to_owned(), value);
            }
        };
        put("type", Some(Value::String(parameter.kind.value.clone())));
        let said = parameter.required || required == Required::Always;
        put("required", said.then_some(Value::Bool(parameter.required)));
        put("default", parameter.default.clone());
        put("label", parameter.label.clone().map(Value::String));
        put("description", parameter.description.clone().map(Value::String));
        put("source", parameter.source.clone().map(Value::String));
        // The original value, such as `yes`, is written above.
        map.extend(parameter.extra.iter().filter(|(key, _)| key != "required").cloned());
        (parameter.name.value.clone(), Value::Object(map))
    };
    parameters.iter().map(write).collect()
}

/// Joins front matter and body of a Markdown dialect, unknown fields last.
pub(crate) fn finish(skill: &Skill, mut yaml: YamlWriter) -> WrittenSkill {
    // A field that the dialect reads without listing it is in the model twice, but is written once.
    for (key, value) in skill.extra.iter().filter(|(key, _)| !yaml.has(key)).collect::<Vec<_>>() {
        yaml.value(key, value);
    }
    WrittenSkill::markdown(&yaml, &skill.body)
}

/// The empty span of computed values.
pub(crate) const NOWHERE: Span = Span { start: 0, end: 0 };
