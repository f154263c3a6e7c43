//! Reads a text to a skill with its findings: document, layers, shapes, model, rules.

use crate::binary::not_text;
use crate::diagnostic::{Diagnostic, Findings, Severity};
use crate::dialect::{self, Dialect};
use crate::document::yaml::Node;
use crate::document::{Document, Form, FrontMatter};
use crate::rules::{self, SkillLocation, Subject};
use crate::shape;
use crate::skill::{Quiz, Skill, SkillKind};
use crate::span::Span;

/// How to read a text.
#[derive(Clone, Copy)]
pub struct ReadOptions<'o> {
    /// The kind of text.
    pub form: Form,
    /// The dialect to read it as; `None` detects it.
    pub dialect: Option<&'static Dialect>,
    /// Where the skill was found.
    pub place: SkillLocation<'o>,
}

impl ReadOptions<'_> {
    /// A SKILL.md of unknown dialect that is not in a directory.
    pub const DETECT: ReadOptions<'static> = ReadOptions {
        form: Form::Markdown,
        dialect: None,
        place: SkillLocation { directory: None, files: None },
    };
}

/// A skill with its diagnostics.
#[derive(Debug)]
pub struct Checked<'a> {
    /// The parsed text.
    pub document: Document<'a>,
    /// The model.
    pub skill: Skill,
    /// The diagnostics, sorted by position.
    pub diagnostics: Vec<Diagnostic>,
}

impl Checked<'_> {
    /// Whether the file is a skill: readable front matter, or prose.
    pub fn is_skill(&self) -> bool {
        self.document.front_matter != FrontMatter::Broken
    }
}

/// The form of a file, by its name.
pub fn form_of(file_name: &str) -> Form {
    let extension = file_name.rsplit_once('.').map_or("", |(_, extension)| extension);
    match extension.to_lowercase().as_str() {
        "json" => Form::Json,
        "yaml" | "yml" => Form::Yaml,
        _ => Form::Markdown,
    }
}

/// Reads and checks a text.
pub fn check<'a>(text: &'a str, options: ReadOptions<'_>) -> Checked<'a> {
    let mut findings = Findings::default();
    let document = parse(text, options.form, &mut findings);
    finish(document, options, findings)
}

/// Reads and checks bytes, which need not be UTF-8; the decoded text is stored in `text`.
pub fn check_bytes<'a>(
    bytes: &'a [u8],
    text: &'a mut std::borrow::Cow<'a, str>,
    options: ReadOptions<'_>,
) -> Checked<'a> {
    let mut findings = Findings::default();
    let document = parse_text(bytes, text, options.form, &mut findings);
    finish(document, options, findings)
}

/// Reads bytes without checking fields or running rules: the diagnostics are those of the parser alone. For callers that
/// want the model of a skill that was checked before.
pub fn read_bytes<'a>(
    bytes: &'a [u8],
    text: &'a mut std::borrow::Cow<'a, str>,
    form: Form,
) -> Checked<'a> {
    let mut findings = Findings::default();
    let document = parse_text(bytes, text, form, &mut findings);
    let skill = read(&document, None);
    Checked { skill, diagnostics: findings.into_sorted(), document }
}

fn parse_text<'a>(
    bytes: &'a [u8],
    text: &'a mut std::borrow::Cow<'a, str>,
    form: Form,
    findings: &mut Findings,
) -> Document<'a> {
    if let Some(diagnostic) = not_text(bytes) {
        // There is nothing to read, and nothing else to report.
        let mut document = parse("", Form::Markdown, findings);
        document.front_matter = FrontMatter::Broken;
        findings.push(diagnostic);
        return document;
    }
    *text = crate::document::decode(bytes, findings);
    parse(text, form, findings)
}

fn parse<'a>(text: &'a str, form: Form, findings: &mut Findings) -> Document<'a> {
    match form {
        Form::Markdown => Document::markdown(text, findings),
        Form::Json => Document::json(text, findings),
        Form::Yaml => Document::yaml(text, findings),
    }
}

fn finish<'a>(
    document: Document<'a>,
    options: ReadOptions<'_>,
    mut findings: Findings,
) -> Checked<'a> {
    let skill = read(&document, options.dialect);
    if document.front_matter != FrontMatter::Broken {
        check_shapes(&document, &skill, &mut findings);
        let named = options.dialect.is_some();
        let subject = Subject::new(&document, &skill, options.place, named, &findings);
        rules::run(&subject, &mut findings);
    }
    Checked { skill, diagnostics: findings.into_sorted(), document }
}

/// Reads the model from a document without checking it.
pub fn read(document: &Document<'_>, dialect: Option<&'static Dialect>) -> Skill {
    let layers = match dialect {
        Some(dialect) => dialect::layers_of(dialect),
        None => dialect::detect(document),
    };
    read_layers(document, &layers)
}

/// The quizzes that a document declares, whatever dialect it is read as: naming another dialect must not open a gate.
pub fn declared_quizzes(document: &Document<'_>) -> Vec<Quiz> {
    dialect::quizzes(&document.root)
}

/// Reads the model from a document with the given layers, of which there is at least one.
pub(crate) fn read_layers(document: &Document<'_>, layers: &[&'static Dialect]) -> Skill {
    let mut skill = Skill::empty(layers[0]);
    layers.clone_into(&mut skill.layers);
    if document.form == Form::Markdown {
        document.body_text().clone_into(&mut skill.body);
    }
    let metadata = document.root.get("metadata").and_then(Node::mapping);
    skill.metadata = metadata
        .map(|metadata| {
            metadata
                .entries
                .iter()
                .map(|entry| (entry.key.to_string(), entry.value.to_json()))
                .collect()
        })
        .unwrap_or_default();
    let mut kind = SkillKind::Instructions;
    for layer in layers {
        skill.kind = SkillKind::Instructions;
        (layer.read)(document, &mut skill);
        // The first layer with a more specific kind than "instructions" decides.
        if kind == SkillKind::Instructions {
            kind = skill.kind;
        }
    }
    skill.kind = if document.front_matter == FrontMatter::Absent && document.form == Form::Markdown
    {
        SkillKind::Prose
    } else {
        kind
    };
    let unknown =
        document.root.entries.iter().filter(|entry| {
            entry.key != "metadata" && !rules::is_known(layers, document, &entry.key)
        });
    skill.extra = unknown.map(|entry| (entry.key.to_string(), entry.value.to_json())).collect();
    skill
}

fn check_shapes(document: &Document<'_>, skill: &Skill, findings: &mut Findings) {
    if document.front_matter == FrontMatter::Absent {
        return;
    }
    for layer in &skill.layers {
        let mut found = Findings::default();
        let fields = skill.dialect.fields_of_layer(layer);
        shape::check_each(fields, &document.root, document.opening, "", &mut found);
        (layer.check)(document, &mut found);
        let found = found.into_sorted();
        if found.is_empty() {
            continue;
        }
        let Some(cap) = severity_cap(document, skill.dialect, layer) else { continue };
        // A value that is not valid YAML has been reported, and its apparent kind is a guess.
        let broken: Vec<Span> = findings.places(&rules::INVALID_YAML).collect();
        let is_guess = |found: &Diagnostic| {
            found.rule == &rules::WRONG_TYPE && broken.iter().any(|span| found.span.covers(*span))
        };
        // A file that uses one field of another dialect does not need that dialect's required
        // fields.
        let is_borrowed = cap != Severity::Error;
        let is_owed = |found: &Diagnostic| is_borrowed && found.rule == &rules::MISSING_FIELD;
        let told = found.into_iter().filter(|found| !is_guess(found) && !is_owed(found));
        for mut diagnostic in told {
            diagnostic.severity = diagnostic.severity.min(cap);
            diagnostic.strict = diagnostic.strict.min(cap);
            findings.push(diagnostic);
        }
    }
}

/// The highest severity for a second layer, which is only a guess from a few fields: a warning, a
/// note if a single field indicates it, and nothing if only common keys such as `version` and
/// `category` do.
fn severity_cap(document: &Document<'_>, main: &Dialect, layer: &Dialect) -> Option<Severity> {
    if layer == main || main.bases.contains(&layer.id) {
        return Some(Severity::Error);
    }
    match (layer.affinity)(document) {
        dialect::SECOND_LAYER.. => Some(Severity::Warning),
        dialect::OWN_FIELD.. => Some(Severity::Info),
        _ => None,
    }
}
