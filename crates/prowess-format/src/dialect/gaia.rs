//! GAIA (seed 001): Python tools with permissions, requirements and a security tier.
//!
//! Two shapes carry the same fields: the seed's top level, and `metadata.gaia` of today's implementation (GAIX-1).

use serde_json::{Map, Value};

use super::{DescriptionLimit, Dialect, Limit, NameStyle, common, limit};
use crate::diagnostic::{Findings, Severity};
use crate::document::yaml::{Mapping, Node};
use crate::document::{Document, Form};
use crate::emit::{WrittenSkill, YamlWriter};
use crate::formats;
use crate::rules;
use crate::shape::{ANY_MAP, Field, Shape, TEXT, TEXTS, UnknownFields};
use crate::skill::{Parameter, Skill, SkillDependency, SkillKind, Tool, ToolKind};
use crate::span::Spanned;
use crate::specification::{GAIA, GAIA_IMPLEMENTATION};

pub(super) static DIALECT: Dialect = Dialect {
    id: "gaia",
    title: "GAIA",
    about: "Python tools with permissions, requirements and security tiers.",
    specification: GAIA.whole(),
    bases: &[],
    fields: FIELDS,
    unknown: UnknownFields::Kept,
    name: NameStyle::LetterFirst,
    directory: Some((Severity::Warning, Severity::Error)),
    description: DescriptionLimit {
        most: 200,
        severity: (Severity::Warning, Severity::Error),
        section: GAIA.at("2.2"),
        is_cut: false,
    },
    limits: LIMITS,
    affinity,
    read,
    check,
    refine,
    write,
};

/// Security tiers (§4).
pub(crate) const TIERS: &[&str] = &["verified", "community", "experimental"];
/// Parameter types that map to Python and JSON.
pub(crate) const TYPES: &[&str] = &["string", "integer", "number", "boolean", "array", "object"];

const PERMISSION: Shape = Shape::Format(&formats::PERMISSION);

const PARAMETER: &[Field] = &[
    Field::new("type", Shape::Choice(TYPES), GAIA.at("2.1"), "JSON type.")
        .required()
        .rule(&rules::INVALID_PARAMETER_TYPE),
    Field::new("required", Shape::Boolean, GAIA.at("2.1"), "Must be given.").default("false"),
    Field::new("default", Shape::Any, GAIA.at("2.1"), "Default value."),
    Field::new("description", TEXT, GAIA.at("2.1"), "What it is for."),
];

pub(crate) const TOOL: &[Field] = &[
    Field::new("name", TEXT, GAIA.at("2.1"), "The function's name in `tools.py`.").required(),
    Field::new("description", TEXT, GAIA.at("2.1"), "What it does.").expected(),
    Field::new(
        "parameters",
        Shape::MapOf(&Shape::Map(PARAMETER)),
        GAIA.at("2.1"),
        "Parameters by name.",
    ),
    Field::new("returns", Shape::Any, GAIA.at("2.1"), "What it returns."),
    Field::new("atomic", Shape::Boolean, GAIA.at("2.1"), "Passed on to the decorator."),
];

const HARDWARE: &[Field] = &[
    Field::new(
        "npu",
        Shape::Choice(&["required", "optional", "none"]),
        GAIA.at("2.1"),
        "Neural processor.",
    ),
    Field::new("gpu_vram", TEXT, GAIA.at("2.1"), "Minimum GPU memory."),
];

const SKILL_DEPENDENCY: &[Field] = &[
    Field::new("name", TEXT, GAIA.at("10.3"), "Name of the other skill.").required(),
    Field::new("version", Shape::Format(&formats::RANGE), GAIA.at("10.2"), "Version range.")
        .rule(&rules::INVALID_RANGE),
    Field::new("required", Shape::Boolean, GAIA.at("9.1"), "Whether the skill fails without it."),
];

const REQUIREMENTS: &[Field] = &[
    Field::new(
        "model",
        Shape::Format(&formats::SIZE),
        GAIA.at("2.1"),
        "Minimum model size, such as `>=7B`.",
    ),
    Field::new(
        "context",
        Shape::Format(&formats::SIZE),
        GAIA.at("2.1"),
        "Minimum context window, such as `>=8K`.",
    ),
    Field::new("python", TEXT, GAIA.at("2.1"), "Python version range."),
    Field::new("dependencies", TEXTS, GAIA.at("2.1"), "Python packages."),
    Field::new("node_dependencies", TEXTS, GAIA.at("2.1"), "Node packages."),
    Field::new("env_vars", TEXTS, GAIA.at("2.1"), "Environment variables."),
    Field::new("hardware", Shape::Map(HARDWARE), GAIA.at("2.1"), "Hardware hints."),
    Field::new(
        "skills",
        Shape::List {
            item: &Shape::Either(&[TEXT, Shape::Map(SKILL_DEPENDENCY)]),
            least: 0,
            most: 1000,
        },
        GAIA.at("10.3"),
        "Other skills.",
    ),
];

const FIELDS: &[Field] = &[
    Field::new(
        "name",
        Shape::Format(&formats::GAIA_NAME),
        GAIA.at("2.2 and 2.3"),
        "Identifier; defaults to the directory name.",
    )
    .rule(&rules::INVALID_NAME),
    Field::new("version", Shape::Format(&formats::VERSION), GAIA.at("2.2"), "SemVer version.")
        .expected()
        .rule(&rules::INVALID_VERSION),
    Field::new(
        "description",
        Shape::Text { most: 1024 },
        GAIA.at("2.2"),
        "One line, at most 200 characters.",
    )
    .required()
    .rule(&rules::DESCRIPTION_TOO_LONG),
    Field::new("author", TEXT, GAIA.at("2.2"), "Publisher."),
    Field::new("license", TEXT, GAIA.at("2.2"), "SPDX identifier."),
    Field::new(
        "permissions",
        Shape::List { item: &PERMISSION, least: 0, most: 1000 },
        GAIA.at("3"),
        "Permission grants.",
    )
    .rule(&rules::INVALID_PERMISSION),
    Field::new("requirements", Shape::Map(REQUIREMENTS), GAIA.at("2.1"), "Runtime requirements.")
        .mistakes(&["requires"]),
    Field::new(
        "tools",
        Shape::List { item: &Shape::Map(TOOL), least: 0, most: 1000 },
        GAIA.at("2.1"),
        "Tool declarations.",
    ),
    Field::new(
        "security_tier",
        Shape::Choice(TIERS),
        GAIA.at("4"),
        "The tier the author claims; a claim grants nothing.",
    )
    .rule(&rules::INVALID_SECURITY_TIER),
    Field::new("registry", Shape::Format(&formats::URL), GAIA.at("2.2"), "Registry."),
    Field::new("tags", TEXTS, GAIA.at("2.2"), "Searchable tags."),
    Field::new("homepage", Shape::Format(&formats::URL), GAIA.at("2.2"), "Documentation.")
        .rule(&rules::INVALID_URL),
    Field::new("repository", Shape::Format(&formats::URL), GAIA.at("2.2"), "Source repository.")
        .rule(&rules::INVALID_URL),
    Field::new(
        "metadata",
        ANY_MAP,
        GAIA_IMPLEMENTATION.whole(),
        "`metadata.gaia` may hold the same fields.",
    ),
];

const LIMITS: &[Limit] = &[
    limit("name", "1 to 64 characters, a letter first", GAIA.at("2.3")),
    limit("description", "200 characters", GAIA.at("2.2")),
    limit("tools", "at least one", GAIA.at("2.2")),
];

/// The fields of `metadata.gaia` (GAIX-1).
const NESTED: &[&str] =
    &["security_tier", "permissions", "requirements", "tools", "tools_required"];

fn affinity(document: &Document<'_>) -> u32 {
    if document.form != Form::Markdown {
        return 0;
    }
    let root = &document.root;
    let mut score = 0;
    if root
        .get("metadata")
        .and_then(Node::mapping)
        .and_then(|metadata| metadata.get("gaia"))
        .is_some_and(|node| node.mapping().is_some())
    {
        score += 80;
    }
    if root.has("security_tier") {
        score += 60;
    }
    if root.get("permissions").and_then(Node::sequence).is_some_and(|items| {
        items.iter().any(|item| item.text().is_some_and(|text| text.contains(':')))
    }) {
        score += 40;
    }
    // Published OpenClaw skills list tools in a shape of their own.
    let names_tools = root.get("tools").and_then(Node::sequence).is_some_and(|items| {
        items.iter().any(|item| item.mapping().is_some_and(|tool| tool.has("name")))
    });
    if names_tools && !super::openclaw::is_evident(document) {
        score += 40;
    }
    if root
        .get("requirements")
        .and_then(Node::mapping)
        .is_some_and(|map| REQUIREMENTS.iter().any(|field| map.has(field.name)))
    {
        score += 20;
    }
    score
}

/// The mapping that holds the fields of this dialect: the top level, or `metadata.gaia`.
pub(crate) fn home<'d, 'a>(document: &'d Document<'a>) -> &'d Mapping<'a> {
    let nested = document
        .root
        .get("metadata")
        .and_then(Node::mapping)
        .and_then(|metadata| metadata.get("gaia"))
        .and_then(Node::mapping);
    match nested {
        Some(nested) if !NESTED.iter().any(|key| document.root.has(key)) => nested,
        _ => &document.root,
    }
}

fn read(document: &Document<'_>, skill: &mut Skill) {
    let root = &document.root;
    common::read_identity(root, skill);
    common::fill(&mut skill.registry, common::text(root, "registry"));
    // The top level wins over `metadata.gaia`.
    for home in [
        Some(root),
        root.get("metadata")
            .and_then(Node::mapping)
            .and_then(|metadata| metadata.get("gaia"))
            .and_then(Node::mapping),
    ]
    .into_iter()
    .flatten()
    {
        read_fields(home, skill);
    }
    skill.metadata.retain(|(key, value)| key != "gaia" || !value.is_object());
    if !skill.tools.is_empty() {
        skill.kind = SkillKind::Tools;
    }
}

fn read_fields(home: &Mapping<'_>, skill: &mut Skill) {
    common::fill(&mut skill.security_tier, common::text(home, "security_tier"));
    let permissions = common::texts(home, "permissions")
        .into_iter()
        .filter_map(|text| Some(Spanned::new(text.value.parse().ok()?, text.span)));
    common::fill_list(&mut skill.permissions, permissions.collect());
    common::fill_list(&mut skill.tools, tools(home));
    if let Some(requirements) = home.get("requirements").and_then(Node::mapping) {
        let wanted = &mut skill.requirements;
        common::fill(&mut wanted.model, common::text(requirements, "model"));
        common::fill(&mut wanted.context, common::text(requirements, "context"));
        common::fill(&mut wanted.python, common::text(requirements, "python"));
        common::fill_list(&mut wanted.python_packages, common::texts(requirements, "dependencies"));
        common::fill_list(
            &mut wanted.node_packages,
            common::texts(requirements, "node_dependencies"),
        );
        common::fill_list(&mut wanted.env_vars, common::texts(requirements, "env_vars"));
        common::fill(&mut wanted.hardware, common::json(requirements, "hardware"));
        common::fill_list(&mut wanted.skills, skill_dependencies(requirements.get("skills")));
    }
}

/// `[{name, version}]` or `["name@range"]` (R17).
pub(crate) fn skill_dependencies(node: Option<&Node<'_>>) -> Vec<SkillDependency> {
    let items = node.and_then(Node::sequence).unwrap_or_default();
    items
        .iter()
        .filter_map(|item| match item.mapping() {
            Some(mapping) => Some(SkillDependency {
                name: common::text(mapping, "name")?,
                range: common::text(mapping, "version").map(|text| text.value).unwrap_or_default(),
                required: common::boolean(mapping, "required")
                    .is_none_or(|required| required.value),
            }),
            None => {
                let text = common::spanned(item)?;
                // A scope begins with `@`, so the range follows the last one.
                let (name, range) = match text.value.rsplit_once('@') {
                    Some((name, range)) if !name.is_empty() => (name.to_owned(), range.to_owned()),
                    _ => (text.value.clone(), String::new()),
                };
                Some(SkillDependency { name: Spanned::new(name, text.span), range, required: true })
            }
        })
        .collect()
}

fn tools(home: &Mapping<'_>) -> Vec<Tool> {
    let items = home.get("tools").and_then(Node::sequence).unwrap_or_default();
    items
        .iter()
        .filter_map(Node::mapping)
        .filter_map(|mapping| tool(mapping, ToolKind::Python))
        .collect()
}

/// One tool declared as a map; OpenClaw's older shape shares it.
pub(crate) fn tool(mapping: &Mapping<'_>, kind: ToolKind) -> Option<Tool> {
    let parameters = mapping.get("parameters").and_then(Node::mapping);
    Some(Tool {
        name: common::text(mapping, "name")?,
        description: common::text(mapping, "description")
            .map(|text| text.value)
            .unwrap_or_default(),
        kind,
        parameters: parameters.map(parameters_of).unwrap_or_default(),
        parameters_declared: mapping.has("parameters"),
        command: None,
        handler: common::text(mapping, "handler"),
        returns: common::json(mapping, "returns"),
        atomic: common::boolean(mapping, "atomic").map(|atomic| atomic.value),
        output_shape: None,
        extra: common::rest(
            mapping,
            &["name", "description", "parameters", "returns", "atomic", "handler"],
        ),
    })
}

fn parameters_of(mapping: &Mapping<'_>) -> Vec<Parameter> {
    mapping
        .entries
        .iter()
        .map(|entry| {
            let name = Spanned::new(entry.key.to_string(), entry.key_span);
            match entry.value.mapping() {
                Some(declaration) => common::parameter(declaration, name, "string"),
                // `query: string` is a short form that real files use.
                None => Parameter {
                    kind: common::spanned(&entry.value)
                        .unwrap_or_else(|| Spanned::new("string".to_owned(), entry.value.span)),
                    name,
                    ..Parameter::default()
                },
            }
        })
        .collect()
}

/// Checks the fields that §2.2 requires at the top level. `metadata.gaia` has no required fields,
/// so only its values are checked (GAIX-1, GAIX-2).
fn check(document: &Document<'_>, findings: &mut Findings) {
    let home = home(document);
    if !std::ptr::eq(home, &raw const document.root) {
        let nested: Vec<Field> =
            FIELDS.iter().filter(|field| NESTED.contains(&field.name)).copied().collect();
        crate::shape::check(&nested, home, document.opening, "metadata.gaia", findings);
        return;
    }
    let fields: Vec<Field> = FIELDS
        .iter()
        .filter(|field| {
            ["author", "license", "permissions", "tools", "security_tier"].contains(&field.name)
        })
        .map(|field| field.expected())
        .collect();
    for field in fields.iter().filter(|field| !home.has(field.name)) {
        crate::shape::check(std::slice::from_ref(field), home, document.opening, "", findings);
    }
}

/// Refines the schema: `metadata.gaia` is used if the top level has none of its fields.
fn refine(schema: &mut Value) {
    let properties: Map<String, Value> = NESTED
        .iter()
        .filter(|field| schema["properties"].get(**field).is_some())
        .map(|field| ((*field).to_owned(), schema["properties"][*field].clone()))
        .collect();
    let at_top = NESTED.iter().map(|field| serde_json::json!({ "required": [field], "properties": { (*field): { "not": { "type": "null" } } } }));
    let nested = serde_json::json!({ "properties": { "metadata": { "properties": { "gaia": { "properties": properties } } } } });
    schema["allOf"] =
        serde_json::json!([{ "if": { "anyOf": at_top.collect::<Vec<_>>() }, "else": nested }]);
}

fn write(skill: &Skill) -> WrittenSkill {
    let mut yaml = YamlWriter::new();
    common::write_identity(skill, &mut yaml, "author");
    let permissions: Vec<Value> =
        skill.permissions.iter().map(|permission| Value::String(permission.to_string())).collect();
    yaml.value("permissions", &Value::Array(permissions));
    write_requirements(skill, &mut yaml);
    yaml.value("tools", &Value::Array(skill.tools.iter().map(write_tool).collect()));
    // §2.2 requires a tier, so a converted skill gets the lowest one (R20).
    let given = (*skill.dialect != DIALECT).then_some("experimental");
    yaml.text("security_tier", skill.security_tier.as_ref().map(|tier| tier.as_str()).or(given));
    yaml.text("registry", skill.registry.as_ref().map(|text| text.as_str()));
    yaml.texts("tags", &skill.tags);
    yaml.text("homepage", skill.homepage.as_ref().map(|text| text.as_str()));
    yaml.text("repository", skill.repository.as_ref().map(|text| text.as_str()));
    let mut metadata: Map<String, Value> = skill.metadata.iter().cloned().collect();
    if let Some((namespace, block)) = super::openclaw::foreign_block(skill) {
        metadata.entry(namespace).or_insert(block);
    }
    if !metadata.is_empty() {
        yaml.value("metadata", &Value::Object(metadata));
    }
    common::finish(skill, yaml)
}

fn write_requirements(skill: &Skill, yaml: &mut YamlWriter) {
    let map = requirements(skill);
    if !map.is_empty() {
        yaml.value("requirements", &Value::Object(map));
    }
}

/// Writes the `metadata.gaia` block of a file in the open standard (GAIX-1).
pub(crate) fn nested_block(skill: &Skill) -> Map<String, Value> {
    let mut block = Map::new();
    let mut put = |key: &str, value: Value| {
        block.insert(key.to_owned(), value);
    };
    // Skills are experimental by default (R20).
    if let Some(tier) = skill.security_tier.as_ref().filter(|tier| tier.as_str() != "experimental")
    {
        put("security_tier", Value::String(tier.value.clone()));
    }
    if !skill.permissions.is_empty() {
        put(
            "permissions",
            Value::Array(
                skill
                    .permissions
                    .iter()
                    .map(|permission| Value::String(permission.to_string()))
                    .collect(),
            ),
        );
    }
    let requirements = requirements(skill);
    if !requirements.is_empty() {
        put("requirements", Value::Object(requirements));
    }
    let tools: Vec<Value> =
        skill.tools.iter().filter(|tool| tool.kind == ToolKind::Python).map(write_tool).collect();
    if !tools.is_empty() {
        put("tools", Value::Array(tools));
    }
    block
}

fn requirements(skill: &Skill) -> Map<String, Value> {
    let wanted = &skill.requirements;
    let mut map = Map::new();
    let mut put = |key: &str, value: Option<Value>| {
        if let Some(value) = value {
            map.insert(key.to_owned(), value);
        }
    };
    let text = |text: &Option<Spanned<String>>| {
        text.as_ref().map(|text| Value::String(text.value.clone()))
    };
    let list = |texts: &[Spanned<String>]| {
        (!texts.is_empty()).then(|| {
            Value::Array(texts.iter().map(|text| Value::String(text.value.clone())).collect())
        })
    };
    put("model", text(&wanted.model));
    put("context", text(&wanted.context));
    put("python", text(&wanted.python));
    put("dependencies", list(&wanted.python_packages));
    put("node_dependencies", list(&wanted.node_packages));
    put("env_vars", list(&wanted.env_vars));
    put("hardware", wanted.hardware.clone());
    let skills: Vec<Value> = wanted.skills.iter().map(write_dependency).collect();
    put("skills", (!skills.is_empty()).then_some(Value::Array(skills)));
    map
}

/// Writes a dependency as `{name, version}`.
pub(crate) fn write_dependency(dependency: &SkillDependency) -> Value {
    let mut map = Map::new();
    map.insert("name".to_owned(), Value::String(dependency.name.value.clone()));
    if !dependency.range.is_empty() {
        map.insert("version".to_owned(), Value::String(dependency.range.clone()));
    }
    if !dependency.required {
        map.insert("required".to_owned(), Value::Bool(false));
    }
    Value::Object(map)
}

fn write_tool(tool: &Tool) -> Value {
    let mut map = Map::new();
    map.insert("name".to_owned(), Value::String(tool.name.value.clone()));
    map.insert("description".to_owned(), Value::String(tool.description.clone()));
    if tool.parameters_declared || !tool.parameters.is_empty() {
        let parameters = common::write_parameters(&tool.parameters, common::Required::Always);
        map.insert("parameters".to_owned(), Value::Object(parameters));
    }
    if let Some(returns) = &tool.returns {
        map.insert("returns".to_owned(), returns.clone());
    }
    if let Some(atomic) = tool.atomic {
        map.insert("atomic".to_owned(), Value::Bool(atomic));
    }
    map.extend(tool.extra.iter().cloned());
    Value::Object(map)
}
