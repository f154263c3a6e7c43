//! The document layer: text to front matter with byte spans, and a body.
//!
//! Every text yields a document; problems become findings.

mod fence;
pub mod markdown;
mod misplaced;
mod repair;
pub mod yaml;

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::HashMap;

use crate::client;
use crate::diagnostic::{Edit, Findings, Fix, Severity};
use crate::json::{self, Json, JsonContent, JsonEntry, JsonError};
use crate::rules;
use crate::span::Span;
use fence::Division;
use markdown::Block;
use yaml::{Mapping, Node, Scalar, YamlContent, YamlEntry, YamlError, YamlStyle};

/// Maximum size of a skill file, in bytes. A larger one is rejected without reading it. OpenClaw
/// packages may have 50 MB, but no known SKILL.md comes close.
pub const MAX_FILE_BYTES: usize = 16 << 20;

/// What kind of text a document was read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Markdown with or without front matter.
    Markdown,
    /// A JSON object (tool packs).
    Json,
    /// A YAML mapping (agent manifests).
    Yaml,
}

/// Whether there is front matter, and how it was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrontMatter {
    /// None: a prose file.
    Absent,
    /// Valid.
    Read,
    /// Read after repairs, each of which is among the findings.
    Repaired,
    /// Present but unreadable; the findings say why.
    Broken,
}

/// Whether a line begins like a field of the front matter: `key:` or `key: value`.
pub(crate) fn begins_with_key(line: &str) -> bool {
    fence::starts_with_key(line)
}

/// A parsed skill file.
#[derive(Debug)]
pub struct Document<'a> {
    /// The whole text.
    pub text: &'a str,
    /// The kind of text.
    pub form: Form,
    /// Whether there is front matter.
    pub front_matter: FrontMatter,
    /// The YAML between the fences, or the whole text of a JSON or YAML document.
    pub yaml: Span,
    /// The opening fence; empty when there is none.
    pub opening: Span,
    /// The front matter's entries; empty when there are none.
    pub root: Mapping<'a>,
    /// Everything after the closing fence.
    pub body: Span,
    blocks: OnceCell<Vec<Block>>,
}

/// Decodes bytes to text. Invalid UTF-8 becomes replacement characters and a finding.
pub fn decode<'a>(bytes: &'a [u8], findings: &mut Findings) -> Cow<'a, str> {
    // `compat` reports the same error position as the standard library, in a fifth of the time.
    match simdutf8::compat::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(error) => {
            let at = error.valid_up_to();
            let hint = if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
                "the file looks like UTF-16: save it as UTF-8"
            } else {
                "save the file as UTF-8"
            };
            findings.push(
                rules::INVALID_UTF8
                    .at(
                        Span::new(at, at + '\u{fffd}'.len_utf8()),
                        format!("byte {at} is not UTF-8"),
                    )
                    .help(hint),
            );
            String::from_utf8_lossy(bytes)
        }
    }
}

impl<'a> Document<'a> {
    /// Reads a SKILL.md.
    pub fn markdown(text: &'a str, findings: &mut Findings) -> Self {
        let mut document = Self::empty(text, Form::Markdown);
        if document.too_large(findings) {
            return document;
        }
        match fence::divide(text) {
            Division::NoFrontMatter => findings.extend(misplaced::find(text)),
            Division::OtherLanguage { opening } => {
                document.front_matter = FrontMatter::Broken;
                document.opening = opening;
                let language = opening.slice(text).trim_start_matches('-');
                let fix = Edit::replace(opening, "---");
                let mut diagnostic = rules::FRONT_MATTER_LANGUAGE
                    .at(opening, format!("front matter in `{language}` is neither read nor run"))
                    .help("write the front matter in YAML between two lines `---`");
                if matches!(language, "yaml" | "yml") {
                    diagnostic = diagnostic.fix(Fix::safe("remove the language", vec![fix]));
                }
                findings.push(diagnostic);
            }
            Division::Unterminated { opening, yaml_start } => {
                document.read_unterminated(opening, yaml_start, findings);
            }
            Division::Fenced { opening, yaml, closing, body, blanks_first } => {
                let mut found = Findings::default();
                document.body = Span::new(body, text.len());
                document.opening = opening;
                document.read_yaml(yaml, &mut found);
                // A thematic break in the body can be mistaken for a missing closing fence.
                if found.has(&rules::INVALID_YAML) {
                    let mut shorter = Self::empty(text, Form::Markdown);
                    let mut problems = Findings::default();
                    shorter.read_unterminated(opening, yaml.start as usize, &mut problems);
                    if shorter.yaml.end < yaml.end
                        && !shorter.root.entries.is_empty()
                        && !problems.has(&rules::INVALID_YAML)
                    {
                        findings.extend(problems.into_sorted());
                        return shorter;
                    }
                }
                // R6: after blank lines a fence is only recognised if a mapping follows; otherwise
                // it is a thematic break.
                if blanks_first && document.root.entries.is_empty() {
                    findings.extend(misplaced::find(text));
                    return Self::empty(text, Form::Markdown);
                }
                if document.front_matter == FrontMatter::Read && document.root.entries.is_empty() {
                    found.push(
                        rules::FRONT_MATTER_NOT_A_MAP
                            .at(opening.join(closing), "the front matter is empty")
                            .help("write at least `name: …` and `description: …`"),
                    );
                }
                for fence in [opening, closing] {
                    let trailing = Span::new(fence.start as usize + 3, fence.end as usize);
                    if !trailing.is_empty() {
                        let fix = Fix::safe(
                            "remove the trailing spaces",
                            vec![Edit::replace(trailing, "")],
                        );
                        found.push(
                            rules::FENCE_TRAILING_BLANKS
                                .at(trailing, "trailing spaces after the fence `---`")
                                .help(
                                    "some readers don't recognise such a fence: remove the spaces",
                                )
                                .fix(fix),
                        );
                    }
                }
                if blanks_first {
                    let start = fence::text_start(text);
                    let blanks = Span::new(start, opening.start as usize);
                    let fix = Fix::safe("remove the blank lines", vec![Edit::replace(blanks, "")]);
                    found.push(
                        rules::BLANK_LINES_BEFORE_FENCE
                            .at(
                                blanks,
                                format!(
                                    "blank lines before the front matter: {} drop this file",
                                    client::that_drop(|opening| !opening.blank_lines)
                                ),
                            )
                            .help("begin the file with `---`")
                            .fix(fix),
                    );
                }
                findings.extend(found.into_sorted());
            }
        }
        document
    }

    /// Reads a text that is one YAML mapping, such as AGENT.yaml.
    pub fn yaml(text: &'a str, findings: &mut Findings) -> Self {
        let mut document = Self::empty(text, Form::Yaml);
        if !document.too_large(findings) {
            let start = fence::text_start(text);
            document.body = Span::at(text.len());
            document.read_yaml(Span::new(start, text.len()), findings);
        }
        document
    }

    /// Reads a text that is one JSON object, such as a tool pack.
    pub fn json(text: &'a str, findings: &mut Findings) -> Self {
        let mut document = Self::empty(text, Form::Json);
        if document.too_large(findings) {
            return document;
        }
        let start = fence::text_start(text);
        document.body = Span::at(text.len());
        document.yaml = Span::new(start, text.len());
        let mut values = 0;
        let node = json::parse(text).and_then(|json| json_node(json, &mut values, findings));
        let node = match node {
            Ok(node) => node,
            Err(JsonError { message, span, is_limit }) => {
                document.front_matter = FrontMatter::Broken;
                findings.push(if is_limit {
                    let offset = span.range().start;
                    repair::invalid(&YamlError { message, offset, limit: true })
                } else {
                    rules::INVALID_JSON.at(span, message).help("fix the JSON at this position")
                });
                return document;
            }
        };
        document.take_root(node, findings);
        document
    }

    fn empty(text: &'a str, form: Form) -> Self {
        let start = fence::text_start(text);
        Self {
            text,
            form,
            front_matter: FrontMatter::Absent,
            yaml: Span::at(start),
            opening: Span::at(start),
            root: Mapping::default(),
            body: Span::new(start, text.len()),
            blocks: OnceCell::new(),
        }
    }

    fn too_large(&mut self, findings: &mut Findings) -> bool {
        if self.text.len() <= MAX_FILE_BYTES {
            return false;
        }
        let message = format!("larger than the limit of {MAX_FILE_BYTES} bytes");
        findings.push(
            rules::FILE_TOO_LARGE
                .at(Span::at(0), message)
                .severity(Severity::Error, Severity::Error)
                .help("move long material into other files of the skill"),
        );
        self.front_matter = FrontMatter::Broken;
        self.body = Span::at(0);
        true
    }

    fn read_unterminated(&mut self, opening: Span, yaml_start: usize, findings: &mut Findings) {
        self.opening = opening;
        let end = fence::probable_end(self.text, yaml_start);
        let mut found = Findings::default();
        self.read_yaml(Span::new(yaml_start, end), &mut found);
        let mut diagnostic = rules::UNTERMINATED_FRONT_MATTER
            .at(opening, "the front matter is never closed")
            .help("end it with a line `---`");
        if self.root.entries.is_empty() {
            self.front_matter = FrontMatter::Broken;
        } else {
            findings.extend(found.into_sorted());
            self.body = Span::new(end, self.text.len());
            self.front_matter = FrontMatter::Repaired;
            diagnostic = diagnostic.fix(Fix::suggested(
                "close the front matter",
                vec![Edit::replace(Span::at(end), "---\n")],
            ));
        }
        findings.push(diagnostic);
    }

    fn read_yaml(&mut self, yaml: Span, findings: &mut Findings) {
        self.yaml = yaml;
        let source = yaml.slice(self.text);
        match yaml::parse(source, yaml.start as usize, findings) {
            Ok(Some(node)) => {
                self.take_root(node, findings);
                let base = yaml.start as usize;
                if let Some(root) =
                    repair::without_slash_comments(&self.root, source, base, findings)
                {
                    self.root = root;
                    self.front_matter = FrontMatter::Repaired;
                }
                self.unwrap_metadata(findings);
            }
            Ok(None) => self.front_matter = FrontMatter::Read,
            Err(error) if error.limit => {
                self.front_matter = FrontMatter::Broken;
                findings.push(repair::invalid(&error));
            }
            Err(error) => match repair::repair(source, yaml.start as usize, &error, findings) {
                Some(root) => {
                    self.root = root;
                    self.front_matter = FrontMatter::Repaired;
                }
                None => {
                    self.front_matter = FrontMatter::Broken;
                    findings.push(repair::invalid(&error));
                }
            },
        }
    }

    /// Unwraps a quoted `metadata` map. It is text in YAML, but published files write it that way
    /// and their readers accept it as a map (OC-3).
    fn unwrap_metadata(&mut self, findings: &mut Findings) {
        let Some(entry) = self.root.entries.iter_mut().find(|entry| entry.key == "metadata") else {
            return;
        };
        let span = entry.value.span;
        let Some(text) = entry.value.scalar().map(|scalar| scalar.text.trim().to_owned()) else {
            return;
        };
        if !text.starts_with('{') {
            return;
        }
        let mut ignored = Findings::default();
        let Ok(Some(node)) = yaml::parse(&text, 0, &mut ignored) else { return };
        let YamlContent::Mapping(mapping) = node.content else { return };
        let content = YamlContent::Mapping(mapping.into_owned());
        entry.value = Node { span, content };
        entry.value.map_spans(&|_| span);
        self.front_matter = FrontMatter::Repaired;
        findings.push(
            rules::REPAIRED_YAML
                .at(span, "`metadata` is a quoted map, which most readers treat as text")
                .help("remove the quotes around the map")
                .fix(Fix::safe("remove the quotes", vec![Edit::replace(span, text)])),
        );
    }

    fn take_root(&mut self, node: Node<'a>, findings: &mut Findings) {
        match node.content {
            YamlContent::Mapping(root) => {
                self.root = root;
                self.front_matter = FrontMatter::Read;
            }
            YamlContent::Scalar(_) if node.is_null() => self.front_matter = FrontMatter::Read,
            YamlContent::Scalar(_) | YamlContent::Sequence(_) => {
                // NEG-10: a list or a scalar is the author's mistake, not a crash.
                self.front_matter = FrontMatter::Broken;
                let what = if self.form == Form::Markdown { "front matter" } else { "file" };
                let message = format!("the {what} is {}, not a map", node.kind());
                findings.push(
                    rules::FRONT_MATTER_NOT_A_MAP
                        .at(node.span, message)
                        .help("write it as `key: value` lines"),
                );
            }
        }
    }

    /// The text after the front matter.
    pub fn body_text(&self) -> &'a str {
        self.body.slice(self.text)
    }

    /// The body's Markdown blocks, parsed on first use: most rules don't need them.
    pub fn blocks(&self) -> &[Block] {
        self.blocks.get_or_init(|| markdown::blocks(self.body_text(), self.body.start as usize))
    }

    /// Whether the file's own line break is CRLF.
    pub fn line_break(&self) -> &'static str {
        if self.text.contains("\r\n") { "\r\n" } else { "\n" }
    }
}

/// A JSON value as the YAML that it is.
fn json_node(
    json: Json,
    values: &mut usize,
    findings: &mut Findings,
) -> Result<Node<'static>, JsonError> {
    let span = json.span;
    *values += 1;
    if *values > yaml::MAX_NODES {
        let message = format!("more than {} values", yaml::MAX_NODES);
        return Err(JsonError { message, span, is_limit: true });
    }
    let scalar =
        |text: String, style| YamlContent::Scalar(Scalar { text: Cow::Owned(text), style });
    let content = match json.content {
        JsonContent::Null => scalar(String::new(), YamlStyle::Plain),
        JsonContent::Bool(boolean) => scalar(boolean.to_string(), YamlStyle::Plain),
        JsonContent::Number(number) => scalar(number.to_string(), YamlStyle::Plain),
        JsonContent::String(text) => scalar(text, YamlStyle::Quoted),
        JsonContent::Array(items) => {
            let items = items.into_iter().map(|item| json_node(item, values, findings));
            YamlContent::Sequence(items.collect::<Result<_, _>>()?)
        }
        JsonContent::Object(written) => {
            let mut entries: Vec<YamlEntry<'static>> = Vec::with_capacity(written.len());
            let mut seen = HashMap::with_capacity(written.len());
            for JsonEntry { key, key_span, value } in written {
                // A key is a value of its own, as in YAML.
                *values += 1;
                let value = json_node(value, values, findings)?;
                let first = *seen.entry(key.clone()).or_insert(entries.len());
                if let Some(first) = entries.get(first) {
                    findings.push(yaml::duplicate_key(&key, key_span, &first.value));
                }
                entries.push(YamlEntry { key: Cow::Owned(key), key_span, value });
            }
            YamlContent::Mapping(Mapping { entries, flow: true })
        }
    };
    Ok(Node { span, content })
}
