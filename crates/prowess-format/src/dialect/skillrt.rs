//! skillrt (seed 003): typed procedures with dependencies and permissions; prose with an identity.

use serde_json::{Map, Value};

use super::{DescriptionLimit, Dialect, Limit, NameStyle, common, gaia, limit};
use crate::diagnostic::{Findings, Severity};
use crate::document::yaml::Node;
use crate::document::{Document, Form, FrontMatter};
use crate::emit::{WrittenSkill, YamlWriter};
use crate::formats;
use crate::permission::{Domain, Level, Permission};
use crate::rules;
use crate::shape::{Field, Shape, TEXT, TEXTS, UnknownFields};
use crate::skill::{MCP_SERVER, MCP_TOOL, Outputs, Runtime, Skill, SkillKind, Tool, ToolKind};
use crate::span::Spanned;
use crate::specification::SKILLRT;

pub(super) static DIALECT: Dialect = Dialect {
    id: "skillrt",
    title: "skillrt",
    about: "Typed procedures with dependencies and permissions, or named prose.",
    specification: SKILLRT.whole(),
    bases: &[],
    fields: FIELDS,
    unknown: UnknownFields::Kept,
    name: NameStyle::Dotted,
    directory: None,
    description: DescriptionLimit {
        most: 120,
        severity: (Severity::Warning, Severity::Warning),
        section: SKILLRT.at("4.1"),
        is_cut: false,
    },
    limits: LIMITS,
    affinity,
    read,
    check,
    refine,
    write,
};

/// Input types (§4.4).
pub(crate) const TYPES: &[&str] = &["string", "number", "boolean", "file", "url", "json"];
/// Runtime families (§4.3).
pub(crate) const RUNTIMES: &[&str] = &["markdown-skill", "anthropic-skill", MCP_TOOL_RUNTIME];
/// The runtime of skills that are a wrapper around one tool of an MCP server (§4.3).
const MCP_TOOL_RUNTIME: &str = "mcp-tool";

const DEPENDENCY: Shape = Shape::Format(&formats::DEPENDENCY);
const VARIABLE: Shape = Shape::Format(&formats::VARIABLE);

const INPUT: &[Field] = &[
    Field::new("name", TEXT, SKILLRT.at("4.4"), "The input's name.").required(),
    Field::new("type", Shape::Choice(TYPES), SKILLRT.at("4.4"), "Its type.")
        .required()
        .rule(&rules::UNKNOWN_INPUT_TYPE),
    Field::new("required", Shape::Boolean, SKILLRT.at("4.4"), "Must be given.").default("false"),
    Field::new("description", TEXT, SKILLRT.at("4.4"), "What it is for."),
    Field::new("default", Shape::Any, SKILLRT.at("4.4"), "Default value."),
];

const RUNTIME: &[Field] = &[
    Field::new("type", TEXT, SKILLRT.at("4.3"), "Runtime family; others may be registered.")
        .default("markdown-skill"),
    Field::new(
        "min-version",
        Shape::Format(&formats::VERSION),
        SKILLRT.at("4.3"),
        "Minimum runtime version.",
    )
    .rule(&rules::INVALID_VERSION),
    Field::new("server", TEXT, SKILLRT.at("4.3"), "The MCP server of an `mcp-tool` (D10)."),
    Field::new("tool", TEXT, SKILLRT.at("4.3"), "The tool of that server (D10)."),
];

const OUTPUTS: &[Field] = &[
    Field::new(
        "type",
        Shape::Choice(&["text", "json", "file"]),
        SKILLRT.at("4.5"),
        "Type of the output.",
    ),
    Field::new("schema", Shape::Any, SKILLRT.at("4.5"), "JSON Schema of the output."),
];

const DEPENDENCIES: &[Field] = &[
    Field::new("mcp-servers", TEXTS, SKILLRT.at("4.6"), "MCP servers."),
    Field::new(
        "skills",
        Shape::List { item: &DEPENDENCY, least: 0, most: 1000 },
        SKILLRT.at("4.6"),
        "Other skills as `name@range`.",
    )
    .rule(&rules::INVALID_DEPENDENCY),
    Field::new("tools", TEXTS, SKILLRT.at("4.6"), "Programs that must be on PATH."),
];

const PERMISSIONS: &[Field] = &[
    Field::new("network", TEXTS, SKILLRT.at("4.7"), "Host names, or `*`."),
    Field::new("filesystem", TEXTS, SKILLRT.at("4.7"), "Globs that may be read and written."),
    Field::new(
        "env",
        Shape::List { item: &VARIABLE, least: 0, most: 1000 },
        SKILLRT.at("4.7"),
        "Environment variables that may be read.",
    ),
];

const FIELDS: &[Field] = &[
    Field::new(
        "name",
        Shape::Format(&formats::DOTTED_NAME),
        SKILLRT.at("4.1"),
        "Identifier within a namespace; defaults to the directory name.",
    )
    .rule(&rules::INVALID_NAME),
    Field::new("version", Shape::Format(&formats::VERSION), SKILLRT.at("4.1"), "SemVer 2.0.0.")
        .expected()
        .rule(&rules::INVALID_VERSION),
    Field::new(
        "description",
        Shape::Text { most: 1024 },
        SKILLRT.at("4.1"),
        "One line, at most 120 characters recommended.",
    )
    .rule(&rules::DESCRIPTION_TOO_LONG),
    Field::new("authors", TEXTS, SKILLRT.at("4.2"), "Author identifiers.").default("[]"),
    Field::new("author", TEXT, SKILLRT.at("4.2"), "Read as a list of one author."),
    Field::new("license", TEXT, SKILLRT.at("4.2"), "SPDX identifier.").default("UNLICENSED"),
    Field::new("runtime", Shape::Map(RUNTIME), SKILLRT.at("4.3"), "The runtime it is written for."),
    Field::new(
        "inputs",
        Shape::List { item: &Shape::Map(INPUT), least: 0, most: 1000 },
        SKILLRT.at("4.4"),
        "Typed inputs.",
    )
    .default("[]"),
    Field::new("outputs", Shape::Map(OUTPUTS), SKILLRT.at("4.5"), "The output."),
    Field::new(
        "dependencies",
        Shape::Map(DEPENDENCIES),
        SKILLRT.at("4.6"),
        "MCP servers, skills and programs.",
    ),
    Field::new(
        "permissions",
        Shape::Map(PERMISSIONS),
        SKILLRT.at("4.7"),
        "Network, files and environment.",
    ),
    Field::new("tags", TEXTS, SKILLRT.at("4.2"), "For discovery.").default("[]"),
    Field::new(
        "allowed-tools",
        Shape::Either(&[TEXT, TEXTS]),
        SKILLRT.at("7.2"),
        "Read as `dependencies.tools`.",
    ),
];

const LIMITS: &[Limit] = &[
    limit("description", "120 characters recommended", SKILLRT.at("4.1")),
    limit("name", "128 characters of [a-z0-9._-]", SKILLRT.at("4.8")),
];

fn affinity(document: &Document<'_>) -> u32 {
    if document.form != Form::Markdown || document.front_matter == FrontMatter::Absent {
        return 0;
    }
    let root = &document.root;
    if is_prose_with_identity(document) {
        return 50;
    }
    let mut score = 0_u32;
    let map = |key: &str| root.get(key).and_then(Node::mapping);
    score += if map("runtime")
        .is_some_and(|runtime| runtime.has("type") || runtime.has("min-version"))
    {
        50
    } else {
        0
    };
    score += if map("dependencies")
        .is_some_and(|map| DEPENDENCIES.iter().any(|field| map.has(field.name)))
    {
        40
    } else {
        0
    };
    score +=
        if map("outputs").is_some_and(|map| map.has("type") || map.has("schema")) { 30 } else { 0 };
    score += if root.entries.iter().any(|entry| entry.key.starts_with("x-runtime-strict")) {
        40
    } else {
        0
    };
    if let Some(inputs) = root.get("inputs").and_then(Node::sequence) {
        let typed = |input: &Node<'_>| {
            input.mapping().and_then(|input| input.get("type")).and_then(Node::text).is_some_and(
                |kind| TYPES.contains(&kind) || super::gibberish::TYPES.contains(&kind),
            )
        };
        score += if inputs.iter().any(typed) { 40 } else { 0 };
    }
    // Typed inputs beside a list of outputs belong to other runtimes; here `outputs` is a map (§4.5).
    if root.get("outputs").is_some_and(|outputs| outputs.sequence().is_some()) {
        score = score.saturating_sub(40);
    }
    score += if root.get("authors").is_some_and(|authors| authors.sequence().is_some())
        && root.has("version")
    {
        16
    } else {
        0
    };
    // A map of permissions is a sign only beside another one: hosts of all kinds have such a map. A skill with tools of any
    // kind needs it read, so that it is enforced.
    let permissions = map("permissions").is_some_and(|map| {
        PERMISSIONS
            .iter()
            .any(|field| map.get(field.name).is_some_and(|node| node.sequence().is_some()))
    });
    let runs = || {
        ["actions", "inputs", "tools"].iter().any(|key| root.has(key))
            || (super::gibberish::DIALECT.affinity)(document) > 0
    };
    score + if permissions && (score > 0 || runs()) { 40 } else { 0 }
}

/// Exactly `name` and `version` (SRT-B1-1).
pub(crate) fn is_prose_with_identity(document: &Document<'_>) -> bool {
    let root = &document.root;
    root.entries.len() == 2 && root.has("name") && root.has("version")
}

fn read(document: &Document<'_>, skill: &mut Skill) {
    let root = &document.root;
    common::read_identity(root, skill);
    common::fill_list(&mut skill.inputs, common::inputs(root, "string"));
    common::fill(
        &mut skill.runtime,
        root.get("runtime").and_then(Node::mapping).map(|runtime| Runtime {
            kind: common::text(runtime, "type"),
            min_version: common::text(runtime, "min-version")
                .or_else(|| common::text(runtime, "min_version")),
            server: common::text(runtime, "server"),
            tool: common::text(runtime, "tool"),
        }),
    );
    common::fill(
        &mut skill.outputs,
        root.get("outputs").and_then(Node::mapping).map(|outputs| Outputs {
            kind: common::text(outputs, "type"),
            schema: common::json(outputs, "schema"),
        }),
    );
    if let Some(dependencies) = root.get("dependencies").and_then(Node::mapping) {
        common::fill_list(
            &mut skill.requirements.mcp_servers,
            common::texts(dependencies, "mcp-servers"),
        );
        common::fill_list(&mut skill.requirements.programs, common::texts(dependencies, "tools"));
        common::fill_list(
            &mut skill.requirements.skills,
            gaia::skill_dependencies(dependencies.get("skills")),
        );
    }
    if skill.dialect.id == "skillrt" {
        // §7.2: Claude Code's pre-approved tools become required programs.
        common::fill_list(
            &mut skill.requirements.programs,
            common::tool_patterns(root, "allowed-tools"),
        );
    }
    if let Some(permissions) = root.get("permissions").and_then(Node::mapping) {
        let mut grants = Vec::new();
        let mut grant = |key: &str, domain: Domain, levels: &[Level]| {
            for scope in common::texts(permissions, key) {
                for level in levels {
                    let whole = domain == Domain::Network && *scope == "*";
                    let permission =
                        Permission::new(domain, *level, (!whole).then_some(scope.as_str()));
                    grants.push(Spanned::new(permission, scope.span));
                }
            }
        };
        // R15: hosts without a method restriction; globs that mean read and write.
        grant("network", Domain::Network, &[Level::Write]);
        grant("filesystem", Domain::Filesystem, &[Level::Read, Level::Write]);
        grant("env", Domain::Env, &[Level::Read]);
        common::fill_list(&mut skill.permissions, grants);
    }
    if skill.tools.is_empty()
        && let Some(tool) = mcp_tool(skill)
    {
        skill.tools.push(tool);
    }
    skill.kind = if is_prose_with_identity(document) {
        SkillKind::Prose
    } else if skill.tools.iter().any(|tool| tool.kind == ToolKind::McpTool) {
        SkillKind::Tools
    } else if skill.inputs.is_empty() {
        SkillKind::Instructions
    } else {
        SkillKind::Prompt
    };
}

/// The tool that a skill of the runtime `mcp-tool` is a wrapper around (§4.3). The specification has no keys for it, see D10:
/// the server is `runtime.server`, or the only one of `dependencies.mcp-servers`, and the tool is `runtime.tool`, or it has
/// the skill's name. `None` where that names no server.
fn mcp_tool(skill: &mut Skill) -> Option<Tool> {
    let runtime = skill.runtime.as_ref()?;
    if runtime.kind.as_ref().is_none_or(|kind| kind.value != MCP_TOOL_RUNTIME) {
        return None;
    }
    let servers = &skill.requirements.mcp_servers;
    let server = match (&runtime.server, servers.as_slice()) {
        (Some(server), _) | (None, [server]) => server.clone(),
        (None, _) => return None,
    };
    let name = runtime.tool.clone().or_else(|| skill.name.clone())?;
    if !servers.iter().any(|known| known.value == server.value) {
        skill.requirements.mcp_servers.push(server.clone());
    }
    Some(Tool {
        // Names of tools are parts of references and of approvals; a server may use dots and slashes.
        name: Spanned::new(slug(&name), name.span),
        description: skill.description.as_ref().map_or_else(String::new, |it| it.value.clone()),
        kind: ToolKind::McpTool,
        parameters: skill.inputs.clone(),
        parameters_declared: true,
        command: None,
        handler: None,
        returns: None,
        atomic: None,
        output_shape: None,
        extra: vec![
            (MCP_SERVER.to_owned(), Value::String(server.value)),
            (MCP_TOOL.to_owned(), Value::String(name.value)),
        ],
    })
}

/// A name with letters, digits, `_` and `-` only.
fn slug(name: &str) -> String {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    name.chars().map(|c| if fits(c) { c } else { '_' }).collect()
}

/// Checks the description, which only a file with nothing but a name and a version may omit
/// (SRT-B1-1).
fn check(document: &Document<'_>, findings: &mut Findings) {
    let described = document
        .root
        .get("description")
        .is_some_and(|node| node.text().is_none_or(|text| !text.trim().is_empty()));
    if !described && !is_prose_with_identity(document) {
        findings.push(
            rules::MISSING_FIELD.at(document.opening, "`description` is missing").help(
                "add `description: …` (one line; skillrt SKILL.md Specification, section 4.1)",
            ),
        );
    }
}

fn refine(schema: &mut Value) {
    schema["anyOf"] = serde_json::json!([{ "required": ["description"], "properties": { "description": { "not": { "anyOf": [{ "type": "null" }, { "type": "string", "pattern": "^\\s*$" }] } } } }, { "required": ["name", "version"], "maxProperties": 2 }]);
}

fn write(skill: &Skill) -> WrittenSkill {
    let mut yaml = YamlWriter::new();
    common::write_identity(skill, &mut yaml, "authors");
    if let Some(runtime) = &skill.runtime {
        let pairs = [
            ("type", &runtime.kind),
            ("min-version", &runtime.min_version),
            ("server", &runtime.server),
            ("tool", &runtime.tool),
        ];
        let map: Map<String, Value> = pairs
            .into_iter()
            .filter_map(|(key, text)| {
                Some((key.to_owned(), Value::String(text.as_ref()?.value.clone())))
            })
            .collect();
        yaml.value("runtime", &Value::Object(map));
    }
    let kind = |kind: &str| match kind {
        known if TYPES.contains(&known) => known.to_owned(),
        "integer" => "number".to_owned(),
        "array" | "object" => "json".to_owned(),
        _ => "string".to_owned(),
    };
    common::write_inputs(&skill.inputs, &mut yaml, kind, Value::clone);
    if let Some(outputs) = &skill.outputs {
        let mut map = Map::new();
        if let Some(kind) = &outputs.kind {
            map.insert("type".to_owned(), Value::String(kind.value.clone()));
        }
        if let Some(schema) = &outputs.schema {
            map.insert("schema".to_owned(), schema.clone());
        }
        yaml.value("outputs", &Value::Object(map));
    }
    write_dependencies(skill, &mut yaml);
    write_permissions(skill, &mut yaml);
    yaml.texts("tags", &skill.tags);
    for (key, text) in [("homepage", &skill.homepage), ("repository", &skill.repository)] {
        yaml.text(key, text.as_ref().map(|text| text.as_str()));
    }
    if !skill.metadata.is_empty() {
        yaml.value("metadata", &Value::Object(skill.metadata.iter().cloned().collect()));
    }
    common::finish(skill, yaml)
}

fn list(texts: impl IntoIterator<Item = String>) -> Value {
    Value::Array(texts.into_iter().map(Value::String).collect())
}

fn write_dependencies(skill: &Skill, yaml: &mut YamlWriter) {
    let wanted = &skill.requirements;
    let mut map = Map::new();
    if !wanted.mcp_servers.is_empty() {
        map.insert(
            "mcp-servers".to_owned(),
            list(wanted.mcp_servers.iter().map(|text| text.value.clone())),
        );
    }
    if !wanted.skills.is_empty() {
        map.insert(
            "skills".to_owned(),
            list(wanted.skills.iter().map(|skill| {
                if skill.range.is_empty() {
                    skill.name.value.clone()
                } else {
                    format!("{}@{}", skill.name.value, skill.range)
                }
            })),
        );
    }
    if !wanted.programs.is_empty() {
        map.insert("tools".to_owned(), list(wanted.programs.iter().map(|text| text.value.clone())));
    }
    if !map.is_empty() {
        yaml.value("dependencies", &Value::Object(map));
    }
}

fn write_permissions(skill: &Skill, yaml: &mut YamlWriter) {
    let scopes = |domain: Domain, level: Level| -> Vec<String> {
        skill
            .permissions
            .iter()
            .filter(|permission| permission.domain == domain && permission.level == level)
            .map(|permission| {
                permission.scope.clone().unwrap_or_else(|| {
                    if domain == Domain::Network { "*".to_owned() } else { "**".to_owned() }
                })
            })
            .collect()
    };
    let mut map = Map::new();
    // Only grants that this dialect can express: hosts without a method, globs for reading and
    // writing.
    let network = scopes(Domain::Network, Level::Write);
    let read = scopes(Domain::Filesystem, Level::Read);
    let files: Vec<String> = scopes(Domain::Filesystem, Level::Write)
        .into_iter()
        .filter(|glob| read.contains(glob))
        .collect();
    let env: Vec<String> = skill
        .permissions
        .iter()
        .filter(|permission| permission.domain == Domain::Env && permission.level == Level::Read)
        .filter_map(|permission| permission.scope.clone())
        .collect();
    for (key, values) in [("network", network), ("filesystem", files), ("env", env)] {
        if !values.is_empty() {
            map.insert(key.to_owned(), list(values));
        }
    }
    if !map.is_empty() {
        yaml.value("permissions", &Value::Object(map));
    }
}
