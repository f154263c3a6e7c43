//! gibb.eri.sh (seed 000): tools as H3 sections, each with a parameter table and a command.

use serde_json::{Map, Value};

use super::{DescriptionLimit, Dialect, Limit, NameStyle, common, limit};
use crate::command;
use crate::diagnostic::Severity;
use crate::document::markdown::Block;
use crate::document::{Document, Form, FrontMatter};
use crate::emit::{WrittenSkill, YamlWriter};
use crate::formats;
use crate::rules;
use crate::shape::{Field, Shape, TEXT, UnknownFields};
use crate::skill::{Parameter, Skill, SkillKind, Tool, ToolKind};
use crate::span::{Span, Spanned};
use crate::specification::{GIBBERISH, PROWESS};

pub(super) static DIALECT: Dialect = Dialect {
    id: "gibberish",
    title: "gibb.eri.sh",
    about: "Command-line tools with typed parameters, as sections of the body.",
    specification: GIBBERISH.whole(),
    bases: &[],
    fields: FIELDS,
    unknown: UnknownFields::Warned,
    name: NameStyle::Kebab,
    directory: Some((Severity::Error, Severity::Error)),
    description: DescriptionLimit {
        most: 256,
        severity: (Severity::Warning, Severity::Error),
        section: GIBBERISH.at("2.2 and 9.2"),
        is_cut: true,
    },
    limits: LIMITS,
    affinity,
    read,
    check: super::no_check,
    refine: super::no_refinement,
    write,
};

/// Context modes (§2.2); `Writer` is an accepted extension (R26).
pub(crate) const MODES: &[&str] = &["Global", "Dev", "Meeting", "Writer"];
/// Mode names in older files (R26).
pub(crate) const MODE_ALIASES: &[(&str, &str)] = &[("Coding", "Dev"), ("Dictation", "Writer")];
/// Parameter types (§3.3).
pub(crate) const TYPES: &[&str] = &["string", "integer", "number", "boolean", "array"];

const FIELDS: &[Field] = &[
    Field::new(
        "name",
        Shape::Format(&formats::NAME),
        GIBBERISH.at("2.2"),
        "Identifier; must equal the directory name.",
    )
    .required()
    .rule(&rules::INVALID_NAME),
    Field::new("version", Shape::Format(&formats::VERSION), GIBBERISH.at("2.2"), "SemVer version.")
        .required()
        .rule(&rules::INVALID_VERSION),
    Field::new(
        "description",
        Shape::Text { most: 1024 },
        GIBBERISH.at("2.2"),
        "Purpose and trigger phrases, at most 256 characters.",
    )
    .required()
    .rule(&rules::DESCRIPTION_TOO_LONG),
    Field::new("author", TEXT, GIBBERISH.at("2.2"), "Author's name or handle."),
    Field::new(
        "modes",
        Shape::List {
            item: &Shape::ChoiceOrAlias { words: MODES, aliases: MODE_ALIASES },
            least: 1,
            most: 4,
        },
        GIBBERISH.at("2.2"),
        "Modes in which the tools are offered.",
    )
    .default("[\"Global\"]")
    .rule(&rules::INVALID_MODE),
    Field::new("read_only", Shape::Boolean, GIBBERISH.at("2.2"), "May run without approval.")
        .default("false"),
    Field::new("always_ask", Shape::Boolean, GIBBERISH.at("2.2"), "Asks even when read-only.")
        .default("false"),
    Field::new(
        "timeout",
        Shape::Integer { from: 1, to: 300 },
        GIBBERISH.at("2.2"),
        "Timeout in seconds.",
    )
    .default("30")
    .rule(&rules::INVALID_TIMEOUT),
    Field::new(
        "network",
        Shape::Boolean,
        GIBBERISH.at("2.2"),
        "Needs the network; grants nothing.",
    )
    .default("false"),
    Field::new(
        "x-tool-pack",
        Shape::Any,
        PROWESS.whole(),
        "Fields of tool packs that this dialect lacks, by tool.",
    ),
];

const LIMITS: &[Limit] = &[
    limit("name", "1 to 64 characters", GIBBERISH.at("1.2")),
    limit(
        "description",
        "1 to 256 characters; longer ones are cut in the manifest",
        GIBBERISH.at("2.2 and 9.2"),
    ),
    limit("timeout", "1 to 300 seconds, default 30", GIBBERISH.at("2.2")),
    limit("tool name", "1 to 32 characters of [a-z0-9_]", GIBBERISH.at("3.2")),
    limit("output", "first 2,048 and last 2,048 bytes", GIBBERISH.at("4.2")),
];

fn affinity(document: &Document<'_>) -> u32 {
    if document.form != Form::Markdown || document.front_matter == FrontMatter::Absent {
        return 0;
    }
    let root = &document.root;
    let mut score = 0;
    for (key, points) in
        [("modes", 30), ("read_only", 30), ("always_ask", 30), ("timeout", 10), ("network", 5)]
    {
        score += if root.has(key) { points } else { 0 };
    }
    if root.has("claw_version") || root.has("actions") {
        return 0;
    }
    // A skill with the open standard's `metadata` describes the commands in its sections and does
    // not run them.
    if score == 0 && root.has("metadata") {
        return 0;
    }
    let body = document.body_text().as_bytes();
    if memchr::memmem::find(body, b"#### Command").is_some()
        && document.blocks().iter().any(
            |block| matches!(block, Block::Heading { level: 4, text, .. } if text == "Command"),
        )
    {
        score += 60;
    }
    score
}

fn read(document: &Document<'_>, skill: &mut Skill) {
    let root = &document.root;
    common::read_identity(root, skill);
    let modes = common::texts(root, "modes").into_iter().map(|mode| {
        let word = MODE_ALIASES
            .iter()
            .find(|(alias, _)| *alias == *mode)
            .map_or(mode.as_str(), |(_, word)| word);
        Spanned::new(word.to_owned(), mode.span)
    });
    common::fill_list(&mut skill.modes, modes.collect());
    common::fill(&mut skill.read_only, common::boolean(root, "read_only"));
    common::fill(&mut skill.always_ask, common::boolean(root, "always_ask"));
    common::fill(&mut skill.timeout_secs, common::integer(root, "timeout"));
    common::fill(&mut skill.network, common::boolean(root, "network"));
    let mut tools = tools(document);
    if let Some(Value::Object(extension)) = common::json(root, "x-tool-pack") {
        for tool in &mut tools {
            let more = extension.get(tool.name.as_str());
            extend(tool, more);
        }
    }
    if !tools.is_empty() {
        skill.kind = SkillKind::Tools;
    }
    common::fill_list(&mut skill.tools, tools);
    skill.kind = SkillKind::Tools;
}

/// One H3 section.
struct Section<'d> {
    name: &'d str,
    span: Span,
    blocks: &'d [Block],
}

/// The H3 sections of a body; a section ends at the next heading of the same or a higher level (§3).
fn sections(blocks: &[Block]) -> Vec<Section<'_>> {
    let mut sections = Vec::new();
    for (at, block) in blocks.iter().enumerate() {
        let Block::Heading { level: 3, text, span } = block else { continue };
        let rest = &blocks[at + 1..];
        let end = rest
            .iter()
            .position(|block| matches!(block, Block::Heading { level, .. } if *level <= 3))
            .unwrap_or(rest.len());
        sections.push(Section { name: text, span: *span, blocks: &rest[..end] });
    }
    sections
}

/// An H3 defines a tool when it holds a command or parameters, or its heading alone has the form of a tool name (GIB-3.1-1).
fn is_tool(section: &Section<'_>) -> bool {
    let has_part = section.blocks.iter().any(|block| matches!(block, Block::Heading { level: 4, text, .. } if is_heading(text, "Command") || is_heading(text, "Parameters")));
    has_part || formats::check_tool_name(section.name).is_ok()
}

fn is_heading(text: &str, wanted: &str) -> bool {
    text.trim_end_matches(':').eq_ignore_ascii_case(wanted)
}

fn tools(document: &Document<'_>) -> Vec<Tool> {
    sections(document.blocks()).iter().filter(|section| is_tool(section)).map(tool).collect()
}

fn tool(section: &Section<'_>) -> Tool {
    let mut description: Vec<&str> = Vec::new();
    let mut parameters = Vec::new();
    let mut parameters_declared = false;
    let mut command = None;
    let mut part = "";
    for block in section.blocks {
        match block {
            Block::Heading { level: 4, text, .. } => part = text.trim_end_matches(':'),
            Block::Heading { .. } => {}
            Block::Text { text, .. } if part.is_empty() => description.push(text),
            // GIB-3.1-7: only a paragraph that consists of "None" means no parameters.
            Block::Text { text, .. } if part.eq_ignore_ascii_case("Parameters") => {
                parameters_declared |=
                    text.trim_end_matches('.').trim().eq_ignore_ascii_case("none");
            }
            Block::Table { header, rows, .. } if part.eq_ignore_ascii_case("Parameters") => {
                parameters_declared = true;
                parameters.extend(rows.iter().filter_map(|row| parameter(header, row)));
            }
            Block::Code { info, text, content, .. }
                if part.eq_ignore_ascii_case("Command") && command.is_none() && is_shell(info) =>
            {
                command = Some(Spanned::new(command::first_command(text), *content));
            }
            _ => {}
        }
    }
    Tool {
        name: Spanned::new(section.name.to_owned(), section.span),
        description: description.join(" ").split_whitespace().collect::<Vec<_>>().join(" "),
        kind: ToolKind::Command,
        parameters,
        parameters_declared,
        command,
        handler: None,
        returns: None,
        atomic: None,
        output_shape: None,
        extra: Vec::new(),
    }
}

fn is_shell(info: &str) -> bool {
    let word = info.split([' ', ',', '{']).next().unwrap_or_default();
    ["bash", "sh", "shell", "console", ""].iter().any(|known| word.eq_ignore_ascii_case(known))
}

fn parameter(
    header: &[crate::document::markdown::TableCell],
    row: &[crate::document::markdown::TableCell],
) -> Option<Parameter> {
    let cell = |title: &str| {
        header
            .iter()
            .position(|cell| cell.text.eq_ignore_ascii_case(title))
            .and_then(|at| row.get(at))
    };
    let name = cell("Name")?;
    if name.text.is_empty() {
        return None;
    }
    let kind = cell("Type");
    let text = cell("Description").map(|cell| cell.text.clone()).unwrap_or_default();
    let (description, default) = split_default(&text);
    // Without a Type column the type is empty, which a rule reports.
    let kind = kind.map_or_else(
        || Spanned::new(String::new(), name.span),
        |cell| Spanned::new(cell.text.clone(), cell.span),
    );
    let default = default.map(|text| default_value(&text, &kind));
    let required = cell("Required");
    let mut extra = Vec::new();
    if let Some(cell) = required.filter(|cell| formats::check_yes_no(&cell.text).is_err()) {
        extra.push(("required".to_owned(), Value::String(cell.text.clone())));
    }
    Some(Parameter {
        name: Spanned::new(name.text.clone(), name.span),
        required: required.is_some_and(|cell| {
            ["yes", "true", "y"].iter().any(|word| cell.text.eq_ignore_ascii_case(word))
        }),
        kind,
        description: (!description.is_empty()).then_some(description),
        default,
        label: None,
        source: None,
        extra,
    })
}

/// GIB-3.4-9: `(default: 10)` at the end of a description is the parameter's default.
fn split_default(text: &str) -> (String, Option<String>) {
    let Some(start) = text.rfind("(default:") else { return (text.to_owned(), None) };
    let Some(end) = text[start..].find(')').map(|end| start + end) else {
        return (text.to_owned(), None);
    };
    let value = text[start + "(default:".len()..end].trim().trim_matches(['`', '"']).to_owned();
    let before = text[..start].trim_end();
    let after = text[end + 1..].trim();
    let description = if after.is_empty() || after == "." {
        format!("{before}{after}")
    } else {
        format!("{before} {after}")
    };
    (description, Some(value))
}

fn default_value(text: &str, kind: &str) -> Value {
    let typed = match kind {
        "integer" => text.parse::<i64>().ok().map(Value::from),
        "number" => text.parse::<f64>().ok().map(Value::from),
        "boolean" => text.parse::<bool>().ok().map(Value::from),
        "array" => Some(Value::Array(
            text.trim_matches(['[', ']'])
                .split(',')
                .map(|item| Value::String(item.trim().trim_matches('"').to_owned()))
                .filter(|item| item.as_str() != Some(""))
                .collect(),
        )),
        _ => None,
    };
    typed.unwrap_or_else(|| Value::String(text.to_owned()))
}

/// Restores the fields of a tool pack that this dialect lacks (TP-5).
fn extend(tool: &mut Tool, extension: Option<&Value>) {
    let Some(Value::Object(extension)) = extension else { return };
    for (key, value) in extension {
        match (key.as_str(), value) {
            ("parameters", _) => {}
            ("description", Value::String(text)) => tool.description.clone_from(text),
            _ => tool.extra.push((key.clone(), value.clone())),
        }
    }
    let Some(Value::Object(parameters)) = extension.get("parameters") else { return };
    for parameter in &mut tool.parameters {
        let Some(Value::Object(more)) = parameters.get(parameter.name.as_str()) else { continue };
        for (key, value) in more {
            match (key.as_str(), value) {
                ("source", Value::String(source)) => parameter.source = Some(source.clone()),
                ("label", Value::String(label)) => parameter.label = Some(label.clone()),
                ("description", Value::String(text)) => parameter.description = Some(text.clone()),
                ("description", Value::Null) => parameter.description = None,
                ("default", Value::Null) => parameter.default = None,
                ("default", default) => parameter.default = Some(default.clone()),
                _ => parameter.extra.push((key.clone(), value.clone())),
            }
        }
    }
}

fn write(skill: &Skill) -> WrittenSkill {
    let mut yaml = YamlWriter::new();
    common::write_identity(skill, &mut yaml, "author");
    yaml.texts("modes", &skill.modes);
    yaml.boolean("read_only", skill.read_only.as_ref().map(|value| value.value));
    yaml.boolean("always_ask", skill.always_ask.as_ref().map(|value| value.value));
    if let Some(timeout) = &skill.timeout_secs {
        yaml.value("timeout", &Value::from(timeout.value));
    }
    yaml.boolean("network", skill.network.as_ref().map(|value| value.value));
    // Tools that the body already defines are the author's text and stay.
    let blocks = crate::document::markdown::blocks(&skill.body, 0);
    let defined = sections(&blocks);
    let missing: Vec<&Tool> = skill
        .tools
        .iter()
        .filter(|tool| {
            tool.command.is_some() && !defined.iter().any(|section| defines(section, tool))
        })
        .collect();
    let body =
        if missing.is_empty() { skill.body.clone() } else { write_tools(&skill.body, &missing) };
    let blocks = crate::document::markdown::blocks(&body, 0);
    let said: Vec<Tool> = sections(&blocks).iter().map(tool).collect();
    let extension: Map<String, Value> = skill
        .tools
        .iter()
        .filter_map(|tool| {
            let said = said.iter().find(|said| said.name == tool.name);
            Some((tool.name.value.clone(), extension_of(tool, said)?))
        })
        .collect();
    if !extension.is_empty() {
        yaml.value("x-tool-pack", &Value::Object(extension));
    }
    for (key, value) in &skill.extra {
        yaml.value(key, value);
    }
    WrittenSkill::markdown(&yaml, &body)
}

/// The names of the tools that a body defines with a command, whatever dialect it belongs to.
pub(crate) fn body_tools(body: &str) -> Vec<String> {
    let blocks = crate::document::markdown::blocks(body, 0);
    let sections = sections(&blocks);
    let tools = sections
        .iter()
        .map(tool)
        .filter(|tool| tool.command.is_some() && formats::check_tool_name(&tool.name).is_ok());
    tools.map(|tool| tool.name.value).collect()
}

/// Headings that would be read as tools but define none: they have no command, or no valid tool
/// name.
pub(crate) fn misread_headings(body: &str) -> Vec<Span> {
    let blocks = crate::document::markdown::blocks(body, 0);
    let sections = sections(&blocks);
    let misread = sections.iter().filter(|section| {
        is_tool(section)
            && (tool(section).command.is_none() || formats::check_tool_name(section.name).is_err())
    });
    misread.map(|section| section.span).collect()
}

fn defines(section: &Section<'_>, tool: &Tool) -> bool {
    section.name == tool.name.value && section.blocks.iter().any(|block| matches!(block, Block::Heading { level: 4, text, .. } if is_heading(text, "Command")))
}

/// The parts of a tool that sections of the body can't express: keys of a tool pack, and texts that
/// Markdown would change.
fn extension_of(tool: &Tool, said: Option<&Tool>) -> Option<Value> {
    let mut map: Map<String, Value> = tool.extra.iter().cloned().collect();
    if said.is_some_and(|said| said.description != tool.description) {
        map.insert("description".to_owned(), Value::String(tool.description.clone()));
    }
    let mut parameters = Map::new();
    for parameter in &tool.parameters {
        let mut more: Map<String, Value> =
            parameter.extra.iter().filter(|(key, _)| key != "required").cloned().collect();
        if let Some(source) = &parameter.source {
            more.insert("source".to_owned(), Value::String(source.clone()));
        }
        if let Some(label) = &parameter.label {
            more.insert("label".to_owned(), Value::String(label.clone()));
        }
        let said =
            said.and_then(|said| said.parameters.iter().find(|said| said.name == parameter.name));
        if let Some(said) = said {
            if said.default != parameter.default {
                more.insert("default".to_owned(), parameter.default.clone().unwrap_or_default());
            }
            if said.description != parameter.description {
                more.insert("description".to_owned(), Value::from(parameter.description.clone()));
            }
        }
        if !more.is_empty() {
            parameters.insert(parameter.name.value.clone(), Value::Object(more));
        }
    }
    if !parameters.is_empty() {
        map.insert("parameters".to_owned(), Value::Object(parameters));
    }
    (!map.is_empty()).then_some(Value::Object(map))
}

fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(shown).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}

fn write_tools(body: &str, tools: &[&Tool]) -> String {
    use std::fmt::Write as _;
    let mut body = body.trim_end().to_owned();
    let cell = |text: &str| text.replace('|', "\\|").replace('\n', " ");
    for tool in tools {
        let _ = write!(
            body,
            "\n\n### {}\n\n{}\n\n#### Parameters\n\n",
            tool.name.value,
            tool.description.trim()
        );
        if tool.parameters.is_empty() {
            body.push_str("None.\n");
        } else {
            body.push_str("| Name | Type | Required | Description |\n|------|------|----------|-------------|\n");
        }
        for parameter in &tool.parameters {
            let mut description = parameter.description.clone().unwrap_or_default();
            if let Some(default) = &parameter.default {
                let _ = write!(description, " (default: {})", shown(default));
            }
            let required = if parameter.required { "yes" } else { "no" };
            let _ = writeln!(
                body,
                "| {} | {} | {required} | {} |",
                cell(&parameter.name),
                cell(&parameter.kind),
                cell(description.trim())
            );
        }
        if let Some(command) = &tool.command {
            let _ = write!(body, "\n#### Command\n\n```bash\n{}\n```\n", command.value);
        }
    }
    format!("{}\n", body.trim_matches('\n'))
}
