//! YAML text to a tree that knows the byte span of every key and value.
//!
//! The only module that knows the YAML library. Scalars keep their text as written, and are
//! resolved on demand (`1.10` stays `1.10` when read as text), as R39 requires: dates stay strings,
//! `null` is absence.

mod lane;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::HashSet;

use granit_parser::{Event, Parser, ScalarStyle, StructureStyle, Tag};
use serde_json::Value;

use crate::diagnostic::{Diagnostic, Findings};
use crate::rules;
use crate::span::Span;

/// Maximum size of front matter, in bytes; larger front matter is rejected without reading it
/// (NEG-13). The largest of 50,000 real ones has 38 KB.
pub const MAX_YAML_BYTES: usize = 1 << 20;
/// Maximum nesting depth (NEG-13).
pub const MAX_DEPTH: usize = 64;
/// Maximum number of nodes that aliases may add to the tree (NEG-13): an alias bomb adds billions.
pub const MAX_ALIAS_NODES: usize = 10_000;

/// Maximum number of values (NEG-13). No file in public collections comes close, and checks that
/// compare every pair of values stay fast.
pub const MAX_NODES: usize = 20_000;

/// One YAML value with its span.
#[derive(Clone, Debug, PartialEq)]
pub struct Node<'a> {
    /// The value's bytes in the document.
    pub span: Span,
    /// The value.
    pub content: YamlContent<'a>,
}

/// The content of a node.
#[derive(Clone, Debug, PartialEq)]
pub enum YamlContent<'a> {
    /// A single value.
    Scalar(Scalar<'a>),
    /// A list.
    Sequence(Vec<Node<'a>>),
    /// A map.
    Mapping(Mapping<'a>),
}

/// A single value, as text.
#[derive(Clone, Debug, PartialEq)]
pub struct Scalar<'a> {
    /// The text after YAML's escapes and folding.
    pub text: Cow<'a, str>,
    /// How it was written.
    pub style: YamlStyle,
}

/// How a scalar was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum YamlStyle {
    /// Without quotes: the only style that can be a number, a boolean or null.
    Plain,
    /// In single or double quotes.
    Quoted,
    /// As a `|` or `>` block.
    Block,
}

/// A map that keeps order, duplicates and spans.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Mapping<'a> {
    /// The entries as written.
    pub entries: Vec<YamlEntry<'a>>,
    /// Whether it was written in braces.
    pub flow: bool,
}

/// One entry of a map.
#[derive(Clone, Debug, PartialEq)]
pub struct YamlEntry<'a> {
    /// The key's text.
    pub key: Cow<'a, str>,
    /// The key's span.
    pub key_span: Span,
    /// The value.
    pub value: Node<'a>,
}

impl<'a> Mapping<'a> {
    /// The value of a key. Null is treated as absent (R39); the last of several duplicate keys
    /// wins, as in other readers.
    pub fn get(&self, key: &str) -> Option<&Node<'a>> {
        self.entry(key).map(|entry| &entry.value).filter(|node| !node.is_null())
    }

    /// The entry of a key, null or not.
    pub fn entry(&self, key: &str) -> Option<&YamlEntry<'a>> {
        // Nearly all lookups are for absent keys; comparing the first byte rejects most without a
        // call.
        let first = key.as_bytes().first();
        let same = |entry: &&YamlEntry<'a>| {
            entry.key.len() == key.len()
                && entry.key.as_bytes().first() == first
                && entry.key == key
        };
        self.entries.iter().rev().find(same)
    }

    /// Whether a key has a value other than null.
    pub fn has(&self, key: &str) -> bool {
        self.get(key).is_some()
    }
}

impl<'a> Node<'a> {
    /// The scalar, if it is one.
    pub fn scalar(&self) -> Option<&Scalar<'a>> {
        match &self.content {
            YamlContent::Scalar(scalar) => Some(scalar),
            YamlContent::Sequence(_) | YamlContent::Mapping(_) => None,
        }
    }

    /// The text of any scalar other than null.
    pub fn text(&self) -> Option<&str> {
        self.scalar().filter(|_| !self.is_null()).map(|scalar| &*scalar.text)
    }

    /// The items of a list.
    pub fn sequence(&self) -> Option<&[Node<'a>]> {
        match &self.content {
            YamlContent::Sequence(items) => Some(items),
            YamlContent::Scalar(_) | YamlContent::Mapping(_) => None,
        }
    }

    /// The map.
    pub fn mapping(&self) -> Option<&Mapping<'a>> {
        match &self.content {
            YamlContent::Mapping(mapping) => Some(mapping),
            YamlContent::Scalar(_) | YamlContent::Sequence(_) => None,
        }
    }

    /// Whether it is YAML's null.
    pub fn is_null(&self) -> bool {
        self.scalar()
            .is_some_and(|scalar| scalar.style == YamlStyle::Plain && is_null(&scalar.text))
    }

    /// A boolean of YAML 1.2, or one of YAML 1.1's words (R39).
    pub fn boolean(&self) -> Option<bool> {
        let scalar = self.scalar().filter(|scalar| scalar.style == YamlStyle::Plain)?;
        core_boolean(&scalar.text).or_else(|| yes_or_no(&scalar.text))
    }

    /// Whether it is a boolean in YAML 1.1 only, such as `yes`.
    pub fn is_yes_or_no(&self) -> bool {
        self.scalar().is_some_and(|scalar| {
            scalar.style == YamlStyle::Plain
                && core_boolean(&scalar.text).is_none()
                && yes_or_no(&scalar.text).is_some()
        })
    }

    /// A whole number.
    pub fn integer(&self) -> Option<i64> {
        self.scalar()
            .filter(|scalar| scalar.style == YamlStyle::Plain)
            .and_then(|scalar| core_integer(&scalar.text))
    }

    /// Any number.
    pub fn number(&self) -> Option<f64> {
        let scalar = self.scalar().filter(|scalar| scalar.style == YamlStyle::Plain)?;
        #[expect(
            clippy::cast_precision_loss,
            reason = "limits of numbers in front matter are small"
        )]
        core_integer(&scalar.text)
            .map(|integer| integer as f64)
            .or_else(|| core_float(&scalar.text))
    }

    /// The name of this kind of value in messages.
    pub fn kind(&self) -> &'static str {
        match &self.content {
            YamlContent::Sequence(_) => "a list",
            YamlContent::Mapping(_) => "a map",
            YamlContent::Scalar(_) if self.is_null() => "empty",
            YamlContent::Scalar(scalar) if scalar.style != YamlStyle::Plain => "text",
            YamlContent::Scalar(scalar) if core_boolean(&scalar.text).is_some() => "a boolean",
            YamlContent::Scalar(_) if self.number().is_some() => "a number",
            YamlContent::Scalar(_) => "text",
        }
    }

    /// The value by YAML 1.2's core schema.
    pub fn to_json(&self) -> Value {
        match &self.content {
            YamlContent::Sequence(items) => Value::Array(items.iter().map(Node::to_json).collect()),
            YamlContent::Mapping(mapping) => mapping.to_json(),
            YamlContent::Scalar(scalar) if scalar.style != YamlStyle::Plain => {
                Value::String(scalar.text.to_string())
            }
            YamlContent::Scalar(scalar) => {
                let text = &*scalar.text;
                if is_null(text) {
                    return Value::Null;
                }
                if let Some(boolean) = core_boolean(text) {
                    return Value::Bool(boolean);
                }
                if let Some(integer) = core_integer(text) {
                    return Value::from(integer);
                }
                match core_float(text).and_then(serde_json::Number::from_f64) {
                    Some(number) => Value::Number(number),
                    None => Value::String(text.to_owned()),
                }
            }
        }
    }

    fn into_owned(self) -> Node<'static> {
        let content = match self.content {
            YamlContent::Scalar(scalar) => YamlContent::Scalar(Scalar {
                text: Cow::Owned(scalar.text.into_owned()),
                style: scalar.style,
            }),
            YamlContent::Sequence(items) => {
                YamlContent::Sequence(items.into_iter().map(Node::into_owned).collect())
            }
            YamlContent::Mapping(mapping) => YamlContent::Mapping(mapping.into_owned()),
        };
        Node { span: self.span, content }
    }

    fn count(&self) -> usize {
        1 + match &self.content {
            YamlContent::Scalar(_) => 0,
            YamlContent::Sequence(items) => items.iter().map(Node::count).sum(),
            YamlContent::Mapping(mapping) => {
                mapping.entries.iter().map(|entry| 1 + entry.value.count()).sum()
            }
        }
    }

    /// Maps every span, for trees that were read from a repaired text.
    pub(super) fn map_spans(&mut self, map: &impl Fn(Span) -> Span) {
        self.span = map(self.span);
        match &mut self.content {
            YamlContent::Scalar(_) => {}
            YamlContent::Sequence(items) => items.iter_mut().for_each(|item| item.map_spans(map)),
            YamlContent::Mapping(mapping) => mapping.entries.iter_mut().for_each(|entry| {
                entry.key_span = map(entry.key_span);
                entry.value.map_spans(map);
            }),
        }
    }
}

impl Mapping<'_> {
    /// The map by YAML 1.2's core schema.
    pub fn to_json(&self) -> Value {
        Value::Object(
            self.entries
                .iter()
                .map(|entry| (entry.key.to_string(), entry.value.to_json()))
                .collect(),
        )
    }

    /// Converts to a map that owns its text.
    pub fn into_owned(self) -> Mapping<'static> {
        let entries = self.entries.into_iter().map(|entry| YamlEntry {
            key: Cow::Owned(entry.key.into_owned()),
            key_span: entry.key_span,
            value: entry.value.into_owned(),
        });
        Mapping { entries: entries.collect(), flow: self.flow }
    }
}

/// Whether a plain scalar is null in YAML 1.2.
pub fn is_null(text: &str) -> bool {
    matches!(text, "" | "~" | "null" | "Null" | "NULL")
}

fn core_boolean(text: &str) -> Option<bool> {
    match text {
        "true" | "True" | "TRUE" => Some(true),
        "false" | "False" | "FALSE" => Some(false),
        _ => None,
    }
}

fn yes_or_no(text: &str) -> Option<bool> {
    match text {
        "yes" | "Yes" | "YES" | "on" | "On" | "ON" | "y" | "Y" => Some(true),
        "no" | "No" | "NO" | "off" | "Off" | "OFF" | "n" | "N" => Some(false),
        _ => None,
    }
}

fn core_integer(text: &str) -> Option<i64> {
    let first = *text.as_bytes().first()?;
    if !(first.is_ascii_digit() || first == b'-' || first == b'+') {
        return None;
    }
    if let Some(digits) = text.strip_prefix("0x") {
        return i64::from_str_radix(digits, 16).ok();
    }
    if let Some(digits) = text.strip_prefix("0o") {
        return i64::from_str_radix(digits, 8).ok();
    }
    text.parse().ok()
}

fn core_float(text: &str) -> Option<f64> {
    // Rust's own parser also takes `inf`, `nan` and `infinity`, which are words in YAML.
    let first = *text.as_bytes().first()?;
    if !(first.is_ascii_digit() || matches!(first, b'-' | b'+' | b'.'))
        || !text.bytes().any(|byte| byte.is_ascii_digit())
    {
        return None;
    }
    if text.bytes().any(|byte| byte.is_ascii_alphabetic() && !matches!(byte, b'e' | b'E')) {
        return None;
    }
    text.parse().ok()
}

/// Whether a text written without quotes would be read as something other than that text.
pub fn needs_quotes(text: &str) -> bool {
    let plain = Node {
        span: Span::default(),
        content: YamlContent::Scalar(Scalar { text: Cow::Borrowed(text), style: YamlStyle::Plain }),
    };
    plain.is_null() || plain.boolean().is_some() || plain.number().is_some() || !reads_back(text)
}

fn reads_back(text: &str) -> bool {
    let bytes = text.as_bytes();
    let (Some(first), Some(last)) = (bytes.first(), bytes.last()) else { return false };
    if lane::is_indicator(*first) || matches!(first, b' ' | b'\t' | b'=') {
        return false;
    }
    if matches!(last, b' ' | b'\t' | b':') || text.chars().any(needs_escape) {
        return false;
    }
    !text.contains(": ") && !text.contains(" #") && !text.contains(":\t")
}

/// Whether a character is written as an escape: YAML does not allow it, or some readers fold or reject it.
pub fn needs_escape(character: char) -> bool {
    // YAML 1.2 §5.1 excludes the two noncharacters at the end of the first plane.
    character.is_control()
        || matches!(character, '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
}

/// Why a text is not YAML.
#[derive(Clone, Debug, PartialEq)]
pub struct YamlError {
    /// What is wrong.
    pub message: String,
    /// Where, in the text that was given.
    pub offset: usize,
    /// Whether a limit was exceeded, which can't be repaired.
    pub limit: bool,
}

enum Open<'a> {
    Sequence {
        span: Span,
        anchor: usize,
        items: Vec<Node<'a>>,
        flow: bool,
    },
    Mapping {
        span: Span,
        anchor: usize,
        mapping: Mapping<'a>,
        key: Option<(Cow<'a, str>, Span)>,
        seen: HashSet<Cow<'a, str>>,
    },
}

/// Maximum number of keys that are compared one by one.
const FEW: usize = 32;

/// Reads the first YAML document of `text`; spans are offset by `base`. Returns `None` if the text
/// contains no value.
///
/// Duplicate keys are reported and kept (R39, NEG-11).
pub fn parse<'a>(
    text: &'a str,
    base: usize,
    findings: &mut Findings,
) -> Result<Option<Node<'a>>, YamlError> {
    if text.len() > MAX_YAML_BYTES {
        let message = format!("{} bytes of YAML exceed the limit of {MAX_YAML_BYTES}", text.len());
        return Err(YamlError { message, offset: base, limit: true });
    }
    match lane::read(text, base) {
        Some(node) => Ok(Some(node)),
        None => parse_by_library(text, base, findings),
    }
}

fn parse_by_library<'a>(
    text: &'a str,
    base: usize,
    findings: &mut Findings,
) -> Result<Option<Node<'a>>, YamlError> {
    let options = granit_parser::options! {
        emit_comments: false,
        flow_nesting_limit: MAX_DEPTH,
        block_nesting_limit: MAX_DEPTH,
    };
    let mut stack: Vec<Open<'a>> = Vec::new();
    let mut anchors: Vec<(usize, Node<'a>)> = Vec::new();
    let mut alias_nodes = 0;
    let mut nodes = 0;
    let mut root = None;
    for next in Parser::new_from_str_with_options(text, options) {
        let (event, place) = next.map_err(|error| YamlError {
            message: error.info(),
            offset: base + error.marker().byte_offset().unwrap_or(0),
            limit: error.info().contains("recursion limit") || error.info().contains("nesting"),
        })?;
        let range = place.byte_range().unwrap_or(0..0);
        let span = Span::new(range.start, range.end).shift(base);
        nodes += usize::from(!matches!(event, Event::SequenceEnd | Event::MappingEnd));
        if nodes > MAX_NODES {
            let message = format!("more than {MAX_NODES} values");
            return Err(YamlError { message, offset: span.start as usize, limit: true });
        }
        let (node, anchor) = match event {
            Event::Scalar(scalar, style, anchor, tag) => {
                let tag = tag.as_deref();
                report_tag(tag, span, findings);
                let style = match style {
                    // `!!str 2` is explicitly text.
                    ScalarStyle::Plain if tag.is_some_and(|tag| tag.suffix() == "str") => {
                        YamlStyle::Quoted
                    }
                    ScalarStyle::Plain => YamlStyle::Plain,
                    ScalarStyle::SingleQuoted | ScalarStyle::DoubleQuoted => YamlStyle::Quoted,
                    _ => YamlStyle::Block,
                };
                (
                    Node { span, content: YamlContent::Scalar(Scalar { text: scalar, style }) },
                    anchor,
                )
            }
            Event::SequenceStart(style, anchor, tag) => {
                report_tag(tag.as_deref(), span, findings);
                let flow = style == StructureStyle::Flow;
                stack.push(Open::Sequence { span, anchor, items: Vec::new(), flow });
                depth_guard(&stack, span)?;
                continue;
            }
            Event::MappingStart(style, anchor, tag) => {
                report_tag(tag.as_deref(), span, findings);
                let mapping = Mapping { entries: Vec::new(), flow: style == StructureStyle::Flow };
                stack.push(Open::Mapping {
                    span,
                    anchor,
                    mapping,
                    key: None,
                    seen: HashSet::new(),
                });
                depth_guard(&stack, span)?;
                continue;
            }
            Event::SequenceEnd => {
                let Some(Open::Sequence { span: start, anchor, items, flow }) = stack.pop() else {
                    continue;
                };
                // The library starts a block at its first dash or item and ends it at the next
                // token. First to last item is the range that a person expects.
                let span = match (items.first(), items.last()) {
                    (Some(first), Some(last)) if !flow => first.span.join(last.span),
                    _ => start.join(span),
                };
                (Node { span, content: YamlContent::Sequence(items) }, anchor)
            }
            Event::MappingEnd => {
                let Some(Open::Mapping { span: start, anchor, mapping, .. }) = stack.pop() else {
                    continue;
                };
                let span = match (mapping.entries.first(), mapping.entries.last()) {
                    (Some(first), Some(last)) if !mapping.flow => {
                        first.key_span.join(last.value.span)
                    }
                    _ => start.join(span),
                };
                (Node { span, content: YamlContent::Mapping(mapping) }, anchor)
            }
            Event::Alias(id) => {
                let Some((_, target)) = anchors.iter().rev().find(|(anchor, _)| *anchor == id)
                else {
                    let message = "an alias inside its own anchor".to_owned();
                    return Err(YamlError { message, offset: span.start as usize, limit: true });
                };
                alias_nodes += target.count();
                if alias_nodes > MAX_ALIAS_NODES {
                    let message = format!("aliases expand to more than {MAX_ALIAS_NODES} values");
                    return Err(YamlError { message, offset: span.start as usize, limit: true });
                }
                let mut node = target.clone();
                node.span = span;
                (node, 0)
            }
            Event::DocumentEnd => break,
            _ => continue,
        };
        if anchor != 0 {
            anchors.push((anchor, node.clone()));
        }
        match stack.last_mut() {
            None => root = Some(node),
            Some(Open::Sequence { items, .. }) => items.push(node),
            Some(Open::Mapping { mapping, key, seen, .. }) => match key.take() {
                None => {
                    let text = match node.content {
                        YamlContent::Scalar(scalar) => scalar.text,
                        YamlContent::Sequence(_) | YamlContent::Mapping(_) => {
                            findings.push(
                                rules::INVALID_YAML
                                    .at(node.span, "a list or a map as a key")
                                    .help("quote it if it is meant as text"),
                            );
                            Cow::Borrowed("")
                        }
                    };
                    *key = Some((text, node.span));
                }
                Some((text, key_span)) => {
                    // A hash set pays only where there are many keys.
                    let is_new = mapping.entries.len() >= FEW && {
                        if seen.is_empty() {
                            seen.extend(mapping.entries.iter().map(|entry| entry.key.clone()));
                        }
                        seen.insert(text.clone())
                    };
                    if !is_new
                        && let Some(first) = mapping.entries.iter().find(|entry| entry.key == text)
                    {
                        findings.push(duplicate_key(&text, key_span, &first.value));
                    }
                    mapping.entries.push(YamlEntry { key: text, key_span, value: node });
                }
            },
        }
    }
    Ok(root)
}

/// Reports a tag outside YAML's own schema. Such tags request code or unknown types and have no
/// effect (NEG-2).
fn report_tag(tag: Option<&Tag>, span: Span, findings: &mut Findings) {
    let Some(tag) = tag else { return };
    let core = ["str", "int", "float", "bool", "null", "map", "seq"];
    if core.contains(&tag.suffix()) {
        return;
    }
    let shown = if tag.handle().starts_with('!') { "!" } else { "!!" };
    findings.push(
        rules::UNKNOWN_TAG
            .at(span, format!("the tag `{shown}{}` has no effect", tag.suffix()))
            .help("remove it; quote the value if `!` is part of the text"),
    );
}

fn depth_guard(stack: &[Open<'_>], span: Span) -> Result<(), YamlError> {
    if stack.len() <= MAX_DEPTH {
        return Ok(());
    }
    let message = format!("nested deeper than {MAX_DEPTH} levels");
    Err(YamlError { message, offset: span.start as usize, limit: true })
}

/// The finding about a key that an earlier entry of the same map has.
pub(super) fn duplicate_key(key: &str, span: Span, first: &Node<'_>) -> Diagnostic {
    rules::DUPLICATE_KEY
        .at(span, format!("`{key}` is given twice"))
        .help(format!("keep one of the two; the first is `{key}: {}`", brief(first)))
}

/// A value abbreviated for a message.
pub fn brief(node: &Node<'_>) -> String {
    match &node.content {
        YamlContent::Sequence(_) => "[…]".to_owned(),
        YamlContent::Mapping(_) => "{…}".to_owned(),
        YamlContent::Scalar(scalar) => crate::text::shorten(&scalar.text, 40),
    }
}
