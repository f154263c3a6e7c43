//! The model made fit for another dialect, before that dialect writes it: what has a sensible counterpart is carried
//! over, what has none is put where it survives, and what the dialect can't do without is filled in and noted.
//!
//! Where things go that a dialect has no field for:
//!
//! - GAIA's permissions, requirements, tier and tool declarations go to `metadata.gaia` in the open standard's family
//!   and in OpenClaw, which is where today's GAIA reads them (GAIX-1). Nobody else does, so each is still a loss.
//! - OpenClaw's block stays under its namespace in the open standard's family and in GAIA.
//! - Registry fields of skillli go to `metadata`, where skillli reads them too.
//! - Unknown fields stay at the top level, or go to `metadata` in the open standard, which forbids them.
//! - Grants are never widened: one that the target can't say exactly is left out.

use std::fmt::Write as _;

use serde_json::{Map, Value};

use crate::diagnostic::{Findings, Severity};
use crate::dialect::{self, Dialect, NameStyle};
use crate::document::markdown::Block;
use crate::document::{Document, Form};
use crate::emit::Yaml;
use crate::formats;
use crate::read::Checked;
use crate::shape::{self, Need, Shape};
use crate::skill::{Kind, Skill, Text, ToolKind};
use crate::span::{Span, Spanned};
use crate::template::{self, Spelling};
use crate::text::{shorten, slug};

/// A facet that the target does not read, and the words for where it went.
pub(crate) struct Kept {
    /// The facet.
    pub(crate) facet: &'static str,
    /// Such as "under `metadata.gaia`, which only GAIA reads".
    pub(crate) place: String,
}

/// The model for the target, with what is worth telling.
pub(crate) struct Carried {
    /// The model that the target's writer gets.
    pub(crate) skill: Skill,
    /// Facets that went elsewhere.
    pub(crate) kept: Vec<Kept>,
    /// Entries of `metadata` that became fields.
    pub(crate) lifted: Vec<String>,
    /// What was filled in or changed, for a person: the field it is about, and a sentence.
    pub(crate) notes: Vec<(&'static str, String)>,
}

/// Makes a skill fit for a dialect.
pub(crate) fn carry(
    checked: &Checked<'_>,
    to: &'static Dialect,
    directory: Option<&str>,
) -> Carried {
    let mut carried = Carried {
        skill: checked.skill.clone(),
        kept: Vec::new(),
        lifted: Vec::new(),
        notes: Vec::new(),
    };
    if checked.document.form == Form::Json && to.id != "gibberish" {
        carried.skill.body = instructions(&carried.skill);
    }
    if to.id == "prose" {
        return carried;
    }
    lift(&mut carried, to);
    adopt(&mut carried, to);
    identity(&mut carried, checked, to, directory);
    tools(&mut carried, to);
    prompt(&mut carried, &checked.skill, to);
    blocks(&mut carried, &checked.skill, to);
    registry(&mut carried, to);
    limits(&mut carried, to);
    if to.id == "skillrt" {
        // The default, said aloud: otherwise nothing tells a short procedure from other prompts.
        let runtime = carried.skill.runtime.get_or_insert_default();
        if runtime.kind.is_none() {
            runtime.kind = place("markdown-skill");
        }
    }
    if to.id == "openclaw" {
        hosted(&mut carried);
    }
    carried
}

/// The command tools of a tool pack, which has no text of its own, as instructions for whoever can run a command.
fn instructions(skill: &Skill) -> String {
    let mut body = String::new();
    for tool in &skill.tools {
        let _ = write!(body, "\n# {}\n\n{}\n", tool.name.value, tool.description.trim());
        if !tool.parameters.is_empty() {
            body.push('\n');
        }
        for parameter in &tool.parameters {
            let need = if parameter.required { "required" } else { "optional" };
            let _ = write!(body, "- `{}` ({}, {need})", parameter.name.value, parameter.kind.value);
            if let Some(description) = &parameter.description {
                let _ = write!(body, ": {}", description.trim());
            }
            if let Some(default) = &parameter.default {
                let _ = write!(body, " (default: {default})");
            }
            body.push('\n');
        }
        if let Some(command) = &tool.command {
            let _ = write!(body, "\nRun:\n\n```bash\n{}\n```\n", command.value);
        }
    }
    body
}

/// OpenClaw shares its instructions with other hosts, whose fields it ignores: they stay at the top level.
fn hosted(carried: &mut Carried) {
    let tools: Vec<&str> = carried.skill.allowed_tools.iter().map(|tool| tool.as_str()).collect();
    if !tools.is_empty() {
        carried.skill.extra.push(("allowed-tools".to_owned(), Value::String(tools.join(" "))));
    }
    for facet in [
        "allowed_tools",
        "disallowed_tools",
        "model_alias",
        "hooks",
        "invocation.mode",
        "invocation.argument_hint",
        "invocation.context",
        "invocation.agent",
        "invocation.when_to_use",
        "invocation.arguments",
        "invocation.effort",
        "invocation.background",
        "invocation.paths",
        "invocation.shell",
    ] {
        carried
            .kept
            .push(Kept { facet, place: "at the top level, which OpenClaw ignores".to_owned() });
    }
}

/// Entries of `metadata` that another dialect reads as fields, where the source was not read with that dialect: registry
/// fields, and the target's own vendor block. Fields that are declared already win (SKL-L3-1).
fn lift(carried: &mut Carried, to: &'static Dialect) {
    let skill = &mut carried.skill;
    // The first namespace wins, without merging (OC-1).
    let has =
        |key: &str| skill.metadata.iter().any(|(known, value)| known == key && value.is_object());
    let namespace = dialect::NAMESPACES.iter().copied().find(|namespace| has(namespace));
    let free = |skill: &Skill, key: &str| match key {
        "version" => skill.version.is_none(),
        "author" => skill.authors.is_empty(),
        "tags" => skill.tags.is_empty(),
        "category" => skill.category.is_none(),
        "trust-level" => skill.trust_level.is_none(),
        "repository" => skill.repository.is_none(),
        "homepage" => skill.homepage.is_none(),
        "min-skillli-version" => skill.min_client_version.is_none(),
        "gaia" => to.id == "gaia" && !skill.has_layer("gaia"),
        _ => to.id == "openclaw" && !skill.has_layer("openclaw") && Some(key) == namespace,
    };
    let wanted: Map<String, Value> = skill
        .metadata
        .iter()
        .filter(|(key, value)| free(skill, key) && value.is_object() == is_block(key))
        .cloned()
        .collect();
    let mut take = |skill: &mut Skill, key: &str| {
        let at =
            skill.metadata.iter().position(|(known, value)| known == key && value.is_string())?;
        let (key, value) = skill.metadata.remove(at);
        carried.lifted.push(key);
        place(value.as_str().unwrap_or_default())
    };
    if dialect::FAMILY.contains(&to.id) && skill.compatibility.is_empty() {
        let text = take(skill, "compatibility");
        skill.compatibility.extend(text);
    }
    if to.id == "gaia" && skill.registry.is_none() {
        skill.registry = take(skill, "registry");
    }
    if wanted.is_empty() {
        return;
    }
    let keys: Vec<String> = wanted.keys().cloned().collect();
    skill.metadata.retain(|(key, _)| !keys.contains(key));
    let rest = std::mem::take(&mut skill.metadata);
    let mut yaml = Yaml::new();
    yaml.value("metadata", &Value::Object(wanted));
    let text = format!("---\n{}---\n", yaml.as_str());
    read_more(&text, &["skillli", to.id], skill);
    skill.metadata = rest;
    carried.lifted.extend(keys);
}

fn is_block(key: &str) -> bool {
    key == "gaia" || dialect::NAMESPACES.contains(&key)
}

/// Lets dialects read a piece of front matter into a model that is there already.
fn read_more(text: &str, ids: &[&str], skill: &mut Skill) {
    let document = Document::markdown(text, &mut Findings::default());
    let kind = skill.kind;
    for layer in ids.iter().filter_map(|id| dialect::by_id(id)) {
        (layer.read)(&document, skill);
    }
    skill.kind = kind;
}

/// Fields that the source's dialect does not know and the target does: the target's own reader takes them.
fn adopt(carried: &mut Carried, to: &'static Dialect) {
    let known = |key: &str| {
        let layers = dialect::layers_of(to);
        layers.iter().any(|layer| layer.fields.iter().any(|field| field.name == key))
    };
    let (candidates, mut rest): (Vec<_>, Vec<_>) =
        std::mem::take(&mut carried.skill.extra).into_iter().partition(|(key, _)| known(key));
    for (key, value) in candidates {
        let mut yaml = Yaml::new();
        yaml.value(&key, &value);
        let text = format!("---\n{}---\n", yaml.as_str());
        let mut findings = Findings::default();
        let document = Document::markdown(&text, &mut findings);
        for layer in dialect::layers_of(to) {
            let fields: Vec<_> =
                layer.fields.iter().filter(|field| field.name == key).copied().collect();
            shape::check(&fields, &document.root, document.opening, "", &mut findings);
        }
        let fits =
            findings.into_sorted().iter().all(|diagnostic| diagnostic.severity != Severity::Error);
        if fits {
            let ids: Vec<&str> = dialect::layers_of(to).iter().map(|layer| layer.id).collect();
            read_more(&text, &ids, &mut carried.skill);
        } else {
            // The same word for something else: at the top level it would be misread.
            rest.push((key, value));
        }
    }
    let misread: Vec<String> =
        rest.iter().map(|(key, _)| key.clone()).filter(|key| known(key)).collect();
    let homeless = |key: &String| misread.contains(key) || to.id == "agent-skills";
    let (moved, stays): (Vec<_>, Vec<_>) = rest.into_iter().partition(|(key, _)| homeless(key));
    carried.skill.extra = stays;
    for (key, value) in moved {
        if keeps_metadata(to) && !carried.skill.metadata.iter().any(|(known, _)| *known == key) {
            carried.notes.push((
                "unknown fields",
                format!("`{key}` is not a field of {}: it went to `metadata`", to.id),
            ));
            carried.skill.metadata.push((key, value));
        }
    }
}

fn keeps_metadata(to: &Dialect) -> bool {
    !matches!(to.id, "gibberish" | "tool-pack" | "prose")
}

fn place(value: impl Into<String>) -> Text {
    Some(Spanned::new(value.into(), Span::default()))
}

/// A name that the dialect allows: the same where it fits, a slug where it does not (R2).
fn name_for(name: &str, to: &Dialect) -> String {
    let format = match to.name {
        NameStyle::Kebab => &formats::NAME,
        NameStyle::UnicodeKebab => &formats::UNICODE_NAME,
        NameStyle::LetterFirst => &formats::GAIA_NAME,
        NameStyle::Dotted => &formats::DOTTED_NAME,
        NameStyle::Free => return name.to_owned(),
    };
    if (format.check)(name).is_ok() {
        return name.to_owned();
    }
    slug(name)
}

fn identity(
    carried: &mut Carried,
    checked: &Checked<'_>,
    to: &'static Dialect,
    directory: Option<&str>,
) {
    let skill = &mut carried.skill;
    let notes = &mut carried.notes;
    let blocks = checked.document.blocks();
    let heading = blocks.iter().find_map(|block| match block {
        Block::Heading { text, .. } if !text.trim().is_empty() => Some(text.trim()),
        _ => None,
    });
    match &skill.name {
        Some(name) => {
            let fit = name_for(name, to);
            if fit != name.value {
                notes.push((
                    "name",
                    format!("the name `{}` is written as `{fit}`", shorten(name, 80)),
                ));
                skill.name = place(fit);
            }
        }
        None => {
            let (name, source) = match (directory, heading) {
                (Some(directory), _) => (slug(directory), "comes from the directory"),
                (None, Some(heading)) => (slug(heading), "comes from the first heading"),
                (None, None) => {
                    ("unnamed-skill".to_owned(), "stands in, because the source has none")
                }
            };
            let name = name_for(&name, to);
            notes.push(("name", format!("the name `{name}` {source}")));
            skill.name = place(name);
        }
    }
    if skill.description.is_none() {
        let paragraph = blocks.iter().find_map(|block| match block {
            Block::Text { text, .. } if !text.trim().is_empty() => Some(text.trim()),
            _ => None,
        });
        let most = to.description.most.min(1024) - 1;
        let (text, source) = match (paragraph, heading) {
            (Some(paragraph), _) => (shorten(paragraph, most), "the first paragraph"),
            (None, Some(heading)) => (shorten(heading, most), "the first heading"),
            (None, None) => (skill.name_text().unwrap_or("skill").to_owned(), "the name"),
        };
        notes.push(("description", format!("the description comes from {source}")));
        skill.description = place(text);
    }
    version(skill, notes, to);
    if skill.checksum.take().is_some() {
        notes.push(("checksum", "the checksum is left out: it was that of the source".to_owned()));
    }
}

/// Versions that are checked must be SemVer; `0.0.0` says that there is none, and can't be published (R5).
fn version(skill: &mut Skill, notes: &mut Vec<(&'static str, String)>, to: &'static Dialect) {
    let layers = dialect::layers_of(to);
    let field = layers.iter().flat_map(|layer| layer.fields).find(|field| field.name == "version");
    let field = field.filter(|field| matches!(field.shape, Shape::Format(_)));
    let needed = field.is_some_and(|field| matches!(field.need, Need::Required | Need::Expected));
    match &skill.version {
        // Where it is not needed, nothing says "none" better.
        Some(version) if !needed && **version == *"0.0.0" => skill.version = None,
        Some(_) if field.is_none() => {}
        Some(version) if (formats::VERSION.check)(version).is_ok() => {}
        Some(version) => {
            let normal = formats::normal_version(version);
            let note = match &normal {
                Some(normal) => {
                    format!("the version `{}` is written as `{normal}`", shorten(version, 40))
                }
                None => {
                    format!("`{}` is no version: `0.0.0` stands in its place", shorten(version, 40))
                }
            };
            notes.push(("version", note));
            skill.version = place(normal.unwrap_or_else(|| "0.0.0".to_owned()));
        }
        None if needed => {
            notes.push((
                "version",
                "the source has no version: `0.0.0` stands in its place".to_owned(),
            ));
            skill.version = place("0.0.0");
        }
        None => {}
    }
}

/// A tool's name in gibb.eri.sh: `[a-z0-9_]{1,32}` (GIB §3.2).
pub(super) fn command_tool_name(name: &str) -> String {
    let lower = name.to_lowercase().replace(['-', ' ', '.'], "_");
    lower
        .chars()
        .filter(|character| character.is_ascii_alphanumeric() || *character == '_')
        .take(32)
        .collect()
}

fn tools(carried: &mut Carried, to: &'static Dialect) {
    let Carried { skill, notes, .. } = carried;
    match to.id {
        "gibberish" | "tool-pack" => {
            skill.tools.retain(|tool| tool.command.is_some());
            if skill.tools.is_empty() && dialect::body_tools(&skill.body).is_empty() {
                let note =
                    "gibberish needs a tool: add a `### tool_name` section with `#### Command`";
                notes.push(("body", note.to_owned()));
            }
        }
        "gaia" => skill.tools.retain(|tool| tool.kind != ToolKind::Command),
        _ => {}
    }
    if to.id == "gibberish" {
        for tool in &mut skill.tools {
            let name = command_tool_name(&tool.name);
            if name != tool.name.value && !name.is_empty() {
                notes.push((
                    "tools",
                    format!("the tool `{}` is written as `{name}`", shorten(&tool.name, 60)),
                ));
                tool.name.value = name;
            }
        }
        skill.modes.retain(|mode| dialect::MODES.contains(&mode.as_str()));
    }
    if to.id == "gaia" {
        for parameter in skill.tools.iter_mut().flat_map(|tool| &mut tool.parameters) {
            parameter.kind.value = json_type(&parameter.kind).to_owned();
        }
    }
}

/// The JSON type that a word for a type means; `None` where nobody knows.
pub(crate) fn known_type(word: &str) -> Option<&'static str> {
    if let Some(known) = dialect::GAIA_TYPES.iter().find(|known| **known == word) {
        return Some(known);
    }
    Some(match word.to_lowercase().as_str() {
        "str" | "string" | "text" | "textarea" | "url" | "file" | "path" => "string",
        "int" | "integer" | "long" => "integer",
        "float" | "double" | "number" | "decimal" => "number",
        "bool" | "boolean" => "boolean",
        "list" | "array" | "tuple" | "set" => "array",
        "dict" | "map" | "object" | "json" => "object",
        _ => return None,
    })
}

/// The same, with text for whatever nobody knows.
pub(crate) fn json_type(word: &str) -> &'static str {
    known_type(word).unwrap_or("string")
}

/// Placeholders mean something in prompts only, and each prompt dialect spells them in its own way.
fn prompt(carried: &mut Carried, source: &Skill, to: &'static Dialect) {
    let Carried { skill, notes, .. } = carried;
    let declared = |name: &str| source.inputs.iter().any(|input| *input.name == name);
    match to.id {
        "agent-flow" => {
            let literal = template::placeholders(&skill.body, Spelling::Tight)
                .iter()
                .any(|placeholder| !declared(placeholder.name));
            if literal {
                let note = "`{{x}}` without an input is written as `{{ x }}`, which stays text";
                notes.push(("body", note.to_owned()));
            }
            skill.body = respell(&skill.body, |name| {
                let blank = if declared(name) { "" } else { " " };
                Some(format!("{{{{{blank}{name}{blank}}}}}"))
            });
        }
        // Everything in double braces is a placeholder there as soon as there is an input.
        "skillrt" if !source.inputs.is_empty() => {
            let body = respell(&skill.body, |name| {
                (!declared(name)).then(|| format!("{{ {{ {name} }} }}"))
            });
            if body != skill.body {
                notes.push((
                    "body",
                    "`{{ x }}` without an input is written as `{ { x } }`, which stays text"
                        .to_owned(),
                ));
            }
            skill.body = body;
        }
        "gibberish" if source.dialect.id != "gibberish" => lower_headings(skill, notes),
        _ => {}
    }
    if source.kind == Kind::Prompt
        && !matches!(to.id, "agent-flow" | "skillrt")
        && template::placeholders(&skill.body, Spelling::Spaced)
            .iter()
            .any(|placeholder| declared(placeholder.name))
    {
        notes.push((
            "body",
            format!(
                "the body still holds `{{{{…}}}}` for its inputs, which {} does not fill in",
                to.id
            ),
        ));
    }
    if source.has_layer("openclaw") && to.id != "openclaw" && skill.body.contains("{baseDir}") {
        notes.push(("body", format!("`{{baseDir}}` in the body is not filled in by {}: write paths relative to the skill", to.id)));
    }
}

/// The text with each placeholder as `spell` wants it; `None` leaves it alone.
fn respell(text: &str, spell: impl Fn(&str) -> Option<String>) -> String {
    let edits: Vec<_> = template::placeholders(text, Spelling::Spaced)
        .into_iter()
        .filter_map(|placeholder| {
            Some(crate::diagnostic::Edit::replace(placeholder.span, spell(placeholder.name)?))
        })
        .collect();
    crate::diagnostic::apply_edits(text, &edits)
}

/// A heading of the third level that has the form of a tool's name would define a tool (GIB-3.1-1). Where there is a
/// command below it, it does.
fn lower_headings(skill: &mut Skill, notes: &mut Vec<(&'static str, String)>) {
    skill.body = template::tighten(&skill.body);
    let edits: Vec<_> = dialect::misread_headings(&skill.body)
        .into_iter()
        .filter(|span| span.slice(&skill.body).starts_with("###"))
        .map(|span| crate::diagnostic::Edit::replace(Span::at(span.start as usize), "#"))
        .collect();
    if !edits.is_empty() {
        let note = "headings that gibberish would take for tools are one level lower";
        notes.push(("body", note.to_owned()));
        skill.body = crate::diagnostic::apply_edits(&skill.body, &edits);
    }
}

/// Vendor blocks under `metadata`.
fn blocks(carried: &mut Carried, source: &Skill, to: &'static Dialect) {
    let family = dialect::FAMILY.contains(&to.id);
    if source.has_layer("gaia") && (family || to.id == "openclaw") {
        let block = dialect::gaia_block(&carried.skill);
        if !block.is_empty() {
            for facet in [
                "security_tier",
                "permissions",
                "tools",
                "requirements.model",
                "requirements.context",
                "requirements.python",
                "requirements.python_packages",
                "requirements.node_packages",
                "requirements.env_vars",
                "requirements.hardware",
                "requirements.skills",
            ] {
                carried.kept.push(Kept {
                    facet,
                    place: "under `metadata.gaia`, which only GAIA reads".to_owned(),
                });
            }
            carried.skill.metadata.insert(0, ("gaia".to_owned(), Value::Object(block)));
        }
    }
    if source.has_layer("openclaw") && (family || to.id == "gaia") {
        let block = dialect::openclaw_block(&carried.skill);
        if !block.is_empty() {
            let namespace = source
                .openclaw
                .as_ref()
                .map(|block| block.namespace.as_str())
                .filter(|namespace| !namespace.is_empty())
                .unwrap_or("openclaw");
            for facet in [
                "requirements.programs",
                "requirements.any_programs",
                "requirements.env_vars",
                "requirements.config",
                "requirements.os",
                "openclaw.emoji",
                "openclaw.always",
                "openclaw.skill_key",
                "openclaw.primary_env",
                "openclaw.env_vars",
                "openclaw.install",
                "openclaw.extra",
            ] {
                carried.kept.push(Kept {
                    facet,
                    place: format!("under `metadata.{namespace}`, which only OpenClaw reads"),
                });
            }
            carried.skill.metadata.insert(0, (namespace.to_owned(), Value::Object(block)));
        }
    }
}

/// Registry fields and texts that a dialect with `metadata` has no field for.
fn registry(carried: &mut Carried, to: &'static Dialect) {
    let Carried { skill, kept, .. } = carried;
    if dialect::FAMILY.contains(&to.id)
        && let Some(registry) = skill.registry.take()
    {
        kept.push(Kept { facet: "registry", place: "in `metadata`".to_owned() });
        skill.metadata.push(("registry".to_owned(), Value::String(registry.value)));
    }
    if !matches!(to.id, "gaia" | "skillrt" | "openclaw" | "agent-flow") {
        return;
    }
    let joined = |texts: &[Spanned<String>]| {
        (!texts.is_empty())
            .then(|| texts.iter().map(|text| text.as_str()).collect::<Vec<_>>().join(", "))
    };
    let value = |text: &Text| text.as_ref().map(|text| text.value.clone());
    let mut texts = vec![
        ("compatibility", "compatibility", joined(&skill.compatibility)),
        ("registry", "registry", value(&skill.registry).filter(|_| to.id != "gaia")),
    ];
    // The writer of agent-flow puts the registry fields there by itself.
    if to.id != "agent-flow" {
        texts.extend([
            ("category", "category", value(&skill.category)),
            ("trust_level", "trust-level", value(&skill.trust_level)),
            ("min_client_version", "min-skillli-version", value(&skill.min_client_version)),
        ]);
    } else {
        for (facet, key) in [
            ("version", "version"),
            ("authors", "author"),
            ("tags", "tags"),
            ("category", "category"),
            ("trust_level", "trust-level"),
            ("repository", "repository"),
            ("homepage", "homepage"),
            ("min_client_version", "min-skillli-version"),
        ] {
            kept.push(Kept { facet, place: "in `metadata`".to_owned() });
        }
    }
    for (facet, key, text) in texts {
        if let Some(text) = text.filter(|_| !skill.metadata.iter().any(|(known, _)| known == key)) {
            kept.push(Kept { facet, place: "in `metadata`".to_owned() });
            skill.metadata.push((key.to_owned(), Value::String(text)));
        }
    }
}

/// Values that the target's reader would refuse.
fn limits(carried: &mut Carried, to: &'static Dialect) {
    let Carried { skill, kept, .. } = carried;
    if to.id == "gaia" {
        for (facet, text) in [
            ("homepage", &mut skill.homepage),
            ("repository", &mut skill.repository),
            ("registry", &mut skill.registry),
        ] {
            if text.as_ref().is_some_and(|text| (formats::URL.check)(text).is_err())
                && let Some(text) = text.take()
            {
                kept.push(Kept { facet, place: "in `metadata`".to_owned() });
                skill.metadata.push((facet.to_owned(), Value::String(text.value)));
            }
        }
    }
    if to.id == "skillli" {
        // SKL layer 3 has lists of words for these; another word would be refused.
        for (text, words) in [
            (&mut skill.category, dialect::CATEGORIES),
            (&mut skill.trust_level, dialect::TRUST_LEVELS),
        ] {
            if text.as_ref().is_some_and(|text| !words.contains(&text.as_str())) {
                *text = None;
            }
        }
        for text in [&mut skill.homepage, &mut skill.repository] {
            if text.as_ref().is_some_and(|text| (formats::URL.check)(text).is_err()) {
                *text = None;
            }
        }
    }
    if to.id == "agent-flow" {
        // AFL §3.1 and §3.3.
        if skill.license.as_ref().is_some_and(|license| license.chars().count() > 64)
            && let Some(license) = skill.license.take()
        {
            kept.push(Kept { facet: "license", place: "in `metadata`".to_owned() });
            skill.metadata.push(("license".to_owned(), Value::String(license.value)));
        }
        let cut = |text: &mut Option<String>, most: usize| {
            if let Some(long) = text.as_mut().filter(|text| text.chars().count() > most) {
                *long = shorten(long, most - 1);
            }
        };
        for input in &mut skill.inputs {
            cut(&mut input.description, 512);
            cut(&mut input.label, 128);
            if input.default.as_ref().is_some_and(|default| {
                default
                    .as_str()
                    .map_or_else(|| default.to_string().len(), |text| text.chars().count())
                    > 1024
            }) {
                input.default = None;
            }
        }
    }
}
