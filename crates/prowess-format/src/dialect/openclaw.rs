//! OpenClaw: instructions with a vendor block in `metadata`, as published files write it, and the shape of seed 001 §8.

use serde_json::{Map, Value};

use super::{
    DescriptionLimit, Dialect, Limit, NameStyle, agent_skills, claude_code, common, gaia, limit,
};
use crate::diagnostic::Severity;
use crate::document::yaml::{Mapping, Node};
use crate::document::{Document, Form};
use crate::emit::{WrittenSkill, YamlWriter};
use crate::permission::{Domain, Level, Permission};
use crate::rules;
use crate::shape::{ANY_MAP, Field, Shape, TEXT, TEXT_OR_TEXTS, TEXTS, UnknownFields};
use crate::skill::{InstallStep, OpenClaw, Skill, SkillKind, ToolKind};
use crate::span::Spanned;
use crate::specification::{GAIA, OPENCLAW, PUBLISHED_OPENCLAW, Section};

pub(super) static DIALECT: Dialect = Dialect {
    id: "openclaw",
    title: "OpenClaw",
    about: "Instructions with gates on programs, variables and settings.",
    specification: DOCUMENTED,
    bases: &[],
    fields: FIELDS,
    unknown: UnknownFields::Kept,
    name: NameStyle::Free,
    directory: Some((Severity::Warning, Severity::Warning)),
    description: DescriptionLimit {
        most: 1024,
        severity: (Severity::Error, Severity::Error),
        section: agent_skills::FRONT_MATTER,
        is_cut: false,
    },
    limits: LIMITS,
    affinity,
    read,
    check: check_block,
    refine: super::no_refinement,
    write,
};

const DOCUMENTED: Section = OPENCLAW.at("Skills");
const PUBLISHED: Section = PUBLISHED_OPENCLAW.whole();
const OLDER_SHAPE: Section = GAIA.at("8.1");

/// The vendor's namespaces; the first that is present wins, without merging (OC-1).
pub(crate) const NAMESPACES: &[&str] = &["openclaw", "clawdbot", "clawdis", "moltbot"];
/// The install kinds that the vendor documents (OC-5).
pub(crate) const INSTALL_KINDS: &[&str] = &["brew", "node", "go", "uv", "download"];

const REQUIRES: &[Field] = &[
    Field::new("bins", TEXT_OR_TEXTS, PUBLISHED, "Programs that must be on PATH."),
    Field::new("anyBins", TEXT_OR_TEXTS, PUBLISHED, "Programs of which one must be on PATH."),
    Field::new("env", TEXT_OR_TEXTS, PUBLISHED, "Environment variables that must be set."),
    Field::new("config", TEXT_OR_TEXTS, PUBLISHED, "Settings that must be set."),
];

/// The vendor's reader silently drops invalid values, so they are warnings.
const VENDOR: &[Field] = &[
    Field::new("emoji", TEXT, PUBLISHED, "Shown beside the name.").lenient(),
    Field::new("homepage", TEXT, PUBLISHED, "Home page.").lenient(),
    Field::new("os", TEXT_OR_TEXTS, PUBLISHED, "Operating systems.").lenient(),
    Field::new("always", Shape::Boolean, PUBLISHED, "Skips every gate but the operating system.")
        .lenient(),
    Field::new("skillKey", TEXT, PUBLISHED, "Key of the skill's settings.").lenient(),
    Field::new("primaryEnv", TEXT, PUBLISHED, "The main secret.").lenient(),
    Field::new("requires", Shape::Map(REQUIRES), PUBLISHED, "Gates.").lenient(),
    Field::new(
        "envVars",
        Shape::List { item: &Shape::Any, least: 0, most: 1000 },
        PUBLISHED,
        "Variables with descriptions.",
    )
    .lenient(),
    Field::new(
        "install",
        Shape::List { item: &ANY_MAP, least: 0, most: 1000 },
        PUBLISHED,
        "Install steps for what it needs; never run automatically.",
    )
    .lenient(),
];

const ACTION: &[Field] = &[
    Field::new("name", TEXT, OLDER_SHAPE, "Name of the action.").required(),
    Field::new("description", TEXT, OLDER_SHAPE, "What it does."),
    Field::new(
        "handler",
        TEXT,
        OLDER_SHAPE,
        "Path of the handler, `file.py` or `file.py:function`.",
    )
    .expected(),
    Field::new("parameters", ANY_MAP, OLDER_SHAPE, "Parameters by name."),
];

const FIELDS: &[Field] = &[
    Field::new("name", TEXT, PUBLISHED, "Name; defaults to the directory name."),
    Field::new(
        "description",
        Shape::Text { most: 1024 },
        PUBLISHED,
        "What the skill does and when to use it.",
    )
    .expected()
    .rule(&rules::DESCRIPTION_TOO_LONG),
    Field::new("version", TEXT, PUBLISHED, "Version."),
    Field::new("homepage", TEXT, PUBLISHED, "Home page."),
    Field::new("license", TEXT, PUBLISHED, "Licence."),
    Field::new("author", TEXT_OR_TEXTS, PUBLISHED, "Author."),
    Field::new("tags", TEXT_OR_TEXTS, PUBLISHED, "Tags."),
    Field::new("user-invocable", Shape::Boolean, DOCUMENTED, "Listed in the `/` menu.")
        .default("true"),
    Field::new(
        "disable-model-invocation",
        Shape::Boolean,
        DOCUMENTED,
        "Only the user may invoke it.",
    )
    .default("false"),
    Field::new(
        "command-dispatch",
        Shape::Choice(&["tool"]),
        DOCUMENTED,
        "`tool` sends `/name` straight to a tool.",
    ),
    Field::new("command-tool", TEXT, DOCUMENTED, "The tool that `/name` is sent to."),
    Field::new(
        "command-arg-mode",
        Shape::Choice(&["raw"]),
        DOCUMENTED,
        "How arguments are passed.",
    )
    .default("raw")
    .lenient(),
    Field::new(
        "metadata",
        Shape::Either(&[ANY_MAP, TEXT]),
        PUBLISHED,
        "`metadata.openclaw` holds the vendor block.",
    ),
    Field::new("claw_version", Shape::Any, OLDER_SHAPE, "Version in the older shape."),
    Field::new(
        "actions",
        Shape::List { item: &Shape::Map(ACTION), least: 0, most: 1000 },
        OLDER_SHAPE,
        "Tools in the older shape.",
    ),
    Field::new("pip_requires", TEXTS, OLDER_SHAPE, "Python packages in the older shape."),
    Field::new("network", Shape::Boolean, OLDER_SHAPE, "Needs the network, in the older shape."),
];

const LIMITS: &[Limit] = &[
    limit("package", "50 MB", DOCUMENTED),
    limit("description", "1,024 characters", agent_skills::FRONT_MATTER),
];

/// The location of the vendor's fields.
pub(crate) struct Home<'d, 'a> {
    namespace: &'static str,
    mapping: &'d Mapping<'a>,
}

pub(crate) fn home<'d, 'a>(document: &'d Document<'a>) -> Option<Home<'d, 'a>> {
    let root = &document.root;
    let metadata = root.get("metadata").and_then(Node::mapping);
    for namespace in NAMESPACES {
        if let Some(mapping) =
            metadata.and_then(|metadata| metadata.get(namespace)).and_then(Node::mapping)
        {
            return Some(Home { namespace, mapping });
        }
    }
    // OC-2: hoisted to the top level, or the fields themselves under `metadata` or at the top level.
    for namespace in NAMESPACES {
        if let Some(mapping) = root.get(namespace).and_then(Node::mapping) {
            return Some(Home { namespace, mapping });
        }
    }
    [metadata, Some(root)]
        .into_iter()
        .flatten()
        .find(|mapping| is_vendor_block(mapping))
        .map(|mapping| Home { namespace: "", mapping })
}

/// Whether the document has a vendor block, or the version field of the older shape.
pub(super) fn is_evident(document: &Document<'_>) -> bool {
    home(document).is_some()
        || unreadable_blocks(document).next().is_some()
        || document.root.has("claw_version")
}

/// Vendor blocks that are not maps.
fn unreadable_blocks<'d, 'a>(
    document: &'d Document<'a>,
) -> impl Iterator<Item = (&'static str, &'d Node<'a>)> {
    let metadata = document.root.get("metadata").and_then(Node::mapping);
    NAMESPACES
        .iter()
        .filter_map(move |namespace| Some((*namespace, metadata?.get(namespace)?)))
        .filter(|(_, node)| node.mapping().is_none())
}

fn is_vendor_block(mapping: &Mapping<'_>) -> bool {
    let requires = mapping
        .get("requires")
        .and_then(Node::mapping)
        .is_some_and(|requires| REQUIRES.iter().any(|field| requires.has(field.name)));
    let install = mapping.get("install").and_then(Node::sequence).is_some_and(|items| {
        items.iter().any(|item| item.mapping().is_some_and(|item| item.has("kind")))
    });
    // `emoji` is no sign: skills of every kind have one.
    requires || install || ["skillKey", "primaryEnv"].iter().any(|key| mapping.has(key))
}

fn affinity(document: &Document<'_>) -> u32 {
    if document.form != Form::Markdown {
        return 0;
    }
    let root = &document.root;
    let mut score = match home(document) {
        Some(home) if !home.namespace.is_empty() => 60,
        Some(_) => 30,
        None if unreadable_blocks(document).next().is_some() => 40,
        None => 0,
    };
    for (key, points) in [
        ("claw_version", 80),
        ("actions", 30),
        ("pip_requires", 40),
        ("command-dispatch", 40),
        ("command-tool", 20),
    ] {
        score += if root.has(key) { points } else { 0 };
    }
    score
}

fn read(document: &Document<'_>, skill: &mut Skill) {
    let root = &document.root;
    common::read_identity(root, skill);
    // GAIA-8.2-7: the older shape's version is used if there is no other.
    common::fill(&mut skill.version, common::text(root, "claw_version"));
    common::fill_list(&mut skill.requirements.python_packages, common::texts(root, "pip_requires"));
    if root.has("claw_version") || root.has("actions") {
        common::fill(&mut skill.network, common::boolean(root, "network"));
    }
    let invocation = &mut skill.invocation;
    common::fill(&mut invocation.user_invocable, common::boolean(root, "user-invocable"));
    common::fill(
        &mut invocation.disable_model_invocation,
        common::boolean(root, "disable-model-invocation"),
    );
    common::fill(&mut invocation.command_dispatch, common::text(root, "command-dispatch"));
    common::fill(&mut invocation.command_tool, common::text(root, "command-tool"));
    common::fill(&mut invocation.command_arg_mode, common::text(root, "command-arg-mode"));
    let actions = root.get("actions").and_then(Node::sequence).unwrap_or_default();
    common::fill_list(
        &mut skill.tools,
        actions
            .iter()
            .filter_map(Node::mapping)
            .filter_map(|action| gaia::tool(action, ToolKind::Handler))
            .collect(),
    );
    if !skill.tools.is_empty() {
        skill.kind = SkillKind::Tools;
    }
    if let Some(home) = home(document) {
        read_block(&home, skill);
    }
}

fn read_block(home: &Home<'_, '_>, skill: &mut Skill) {
    let block = home.mapping;
    let wanted = &mut skill.requirements;
    if let Some(requires) = block.get("requires").and_then(Node::mapping) {
        common::fill_list(&mut wanted.programs, common::texts(requires, "bins"));
        common::fill_list(&mut wanted.any_programs, common::texts(requires, "anyBins"));
        common::fill_list(&mut wanted.env_vars, common::texts(requires, "env"));
        common::fill_list(&mut wanted.config, common::texts(requires, "config"));
    }
    common::fill_list(&mut wanted.os, common::texts(block, "os"));
    common::fill(&mut skill.homepage, common::text(block, "homepage"));
    let install = block.get("install").and_then(Node::sequence).unwrap_or_default();
    let install = install.iter().filter_map(|item| {
        let kind = item
            .mapping()
            .and_then(|map| common::text(map, "kind"))
            .unwrap_or_else(|| Spanned::new(String::new(), item.span));
        item.mapping().map(|_| InstallStep { kind, entry: item.to_json() })
    });
    let known = [
        "emoji",
        "homepage",
        "os",
        "always",
        "skillKey",
        "primaryEnv",
        "requires",
        "envVars",
        "install",
    ];
    // Fields without a namespace share their map with everything else, which is kept elsewhere.
    let extra = if home.namespace.is_empty() { Vec::new() } else { common::rest(block, &known) };
    let requires_rest = block
        .get("requires")
        .and_then(Node::mapping)
        .map(|requires| common::rest(requires, &["bins", "anyBins", "env", "config"]))
        .unwrap_or_default();
    let mut extra = extra;
    // Values of the wrong type are kept unchanged.
    let odd = |key: &str, fits: bool| {
        block.get(key).filter(|_| !fits).map(|node| (key.to_owned(), node.to_json()))
    };
    extra.extend(odd(
        "requires",
        block.get("requires").is_some_and(|node| node.mapping().is_some()),
    ));
    extra
        .extend(odd("install", block.get("install").is_some_and(|node| node.sequence().is_some())));
    if !requires_rest.is_empty() {
        extra.push(("requires".to_owned(), Value::Object(requires_rest.into_iter().collect())));
    }
    skill.openclaw = Some(OpenClaw {
        namespace: home.namespace.to_owned(),
        emoji: common::text(block, "emoji").map(|text| text.value),
        always: common::boolean(block, "always").map(|always| always.value),
        skill_key: common::text(block, "skillKey").map(|text| text.value),
        primary_env: common::text(block, "primaryEnv").map(|text| text.value),
        env_vars: block
            .get("envVars")
            .and_then(Node::sequence)
            .unwrap_or_default()
            .iter()
            .map(Node::to_json)
            .collect(),
        install: install.collect(),
        extra,
    });
    if home.namespace.is_empty() {
        skill.metadata.retain(|(key, _)| !known.contains(&key.as_str()));
    } else {
        skill.metadata.retain(|(key, _)| key != home.namespace);
    }
}

/// Whether this layer reads a top-level key because the file has the vendor's fields without a
/// namespace.
pub(crate) fn claims(document: &Document<'_>, key: &str) -> bool {
    let hoisted = NAMESPACES.contains(&key);
    let vendor = VENDOR.iter().any(|field| field.name == key);
    (hoisted || vendor)
        && home(document).is_some_and(|home| {
            hoisted
                || (home.namespace.is_empty()
                    && std::ptr::eq(home.mapping, &raw const document.root))
        })
}

/// Checks the vendor block, wherever it is.
pub(crate) fn check_block(document: &Document<'_>, findings: &mut crate::diagnostic::Findings) {
    let root = &document.root;
    if root.has("command-dispatch") && !root.has("command-tool") {
        let span = root.entry("command-dispatch").map_or(document.opening, |entry| entry.key_span);
        findings.push(
            rules::MISSING_FIELD
                .at(span, "`command-dispatch` is given without `command-tool`")
                .severity(Severity::Warning, Severity::Error)
                .help("add `command-tool: …`, the tool that gets the arguments"),
        );
    }
    for (namespace, node) in unreadable_blocks(document) {
        let message = format!("`metadata.{namespace}` is {}, expected a map", node.kind());
        findings.push(
            rules::WRONG_TYPE
                .at(node.span, message)
                .severity(Severity::Warning, Severity::Error)
                .help("write a map such as `{emoji: …, requires: {bins: […]}}`"),
        );
    }
    if let Some(home) = home(document) {
        crate::shape::check(VENDOR, home.mapping, document.yaml, home.namespace, findings);
    }
}

fn write(skill: &Skill) -> WrittenSkill {
    let mut yaml = YamlWriter::new();
    common::write_identity(skill, &mut yaml, "author");
    yaml.text("homepage", skill.homepage.as_ref().map(|text| text.as_str()));
    yaml.text("repository", skill.repository.as_ref().map(|text| text.as_str()));
    yaml.texts("tags", &skill.tags);
    claude_code::write_layer(skill, &mut yaml);
    let invocation = &skill.invocation;
    for (key, text) in [
        ("command-dispatch", &invocation.command_dispatch),
        ("command-tool", &invocation.command_tool),
        ("command-arg-mode", &invocation.command_arg_mode),
    ] {
        yaml.text(key, text.as_ref().map(|text| text.as_str()));
    }
    write_older_shape(skill, &mut yaml);
    let mut metadata: Map<String, Value> = Map::new();
    let block = write_block(skill);
    if !block.is_empty() {
        let namespace = skill
            .openclaw
            .as_ref()
            .map(|block| block.namespace.as_str())
            .filter(|namespace| !namespace.is_empty())
            .unwrap_or("openclaw");
        metadata.insert(namespace.to_owned(), Value::Object(block));
    }
    metadata.extend(skill.metadata.iter().cloned());
    if !metadata.is_empty() {
        yaml.value("metadata", &Value::Object(metadata));
    }
    common::finish(skill, yaml)
}

fn write_older_shape(skill: &Skill, yaml: &mut YamlWriter) {
    let handlers: Vec<Value> = skill
        .tools
        .iter()
        .filter(|tool| tool.kind == ToolKind::Handler)
        .map(|tool| {
            let mut map = Map::new();
            map.insert("name".to_owned(), Value::String(tool.name.value.clone()));
            map.insert("description".to_owned(), Value::String(tool.description.clone()));
            if let Some(handler) = &tool.handler {
                map.insert("handler".to_owned(), Value::String(handler.value.clone()));
            }
            let parameters = common::write_parameters(&tool.parameters, common::Required::WhenTrue);
            if tool.parameters_declared {
                map.insert("parameters".to_owned(), Value::Object(parameters));
            }
            map.extend(tool.extra.iter().cloned());
            Value::Object(map)
        })
        .collect();
    // The flag only has a meaning next to `actions`, even if that list is empty.
    if !handlers.is_empty() || (skill.network.is_some() && skill.dialect.id == "openclaw") {
        yaml.value("actions", &Value::Array(handlers));
        yaml.boolean("network", skill.network.as_ref().map(|value| value.value));
    }
    yaml.texts("pip_requires", &skill.requirements.python_packages);
}

/// Writes the vendor block of a skill in another dialect, which keeps its namespace (GAIX-3).
pub(super) fn foreign_block(skill: &Skill) -> Option<(String, Value)> {
    let namespace = skill
        .openclaw
        .as_ref()
        .map(|block| block.namespace.as_str())
        .filter(|namespace| !namespace.is_empty() && skill.dialect.id != "openclaw")?;
    let block = write_block(skill);
    (!block.is_empty()).then(|| (namespace.to_owned(), Value::Object(block)))
}

pub(crate) fn write_block(skill: &Skill) -> Map<String, Value> {
    let mut block = Map::new();
    let list = |texts: &[Spanned<String>]| {
        Value::Array(texts.iter().map(|text| Value::String(text.value.clone())).collect())
    };
    let wanted = &skill.requirements;
    let vendor = skill.openclaw.clone().unwrap_or_default();
    let text = |value: &Option<String>| value.clone().map(Value::String);
    let mut put = |key: &str, value: Option<Value>| {
        if let Some(value) = value {
            block.insert(key.to_owned(), value);
        }
    };
    put("emoji", text(&vendor.emoji));
    put("always", vendor.always.map(Value::Bool));
    put("skillKey", text(&vendor.skill_key));
    put("primaryEnv", text(&vendor.primary_env));
    put("os", (!wanted.os.is_empty()).then(|| list(&wanted.os)));
    let mut requires = Map::new();
    for (key, values) in [
        ("bins", &wanted.programs),
        ("anyBins", &wanted.any_programs),
        ("env", &wanted.env_vars),
        ("config", &wanted.config),
    ] {
        if !values.is_empty() {
            requires.insert(key.to_owned(), list(values));
        }
    }
    for (key, value) in &vendor.extra {
        match (key.as_str(), value) {
            ("requires", Value::Object(more)) => requires.extend(more.clone()),
            _ => put(key, Some(value.clone())),
        }
    }
    put("requires", (!requires.is_empty()).then_some(Value::Object(requires)));
    put("envVars", (!vendor.env_vars.is_empty()).then(|| Value::Array(vendor.env_vars.clone())));
    put(
        "install",
        (!vendor.install.is_empty()).then(|| {
            Value::Array(vendor.install.iter().map(|install| install.entry.clone()).collect())
        }),
    );
    block
}

/// Expands the coarse network flag of the older shape to permissions (GAIA §8.2, step 3).
pub(crate) fn expanded_permissions(skill: &Skill) -> Vec<Permission> {
    match &skill.network {
        Some(network) if network.value => vec![
            Permission::new(Domain::Network, Level::Read, None),
            Permission::new(Domain::Network, Level::Write, None),
        ],
        Some(_) => vec![Permission::new(Domain::Network, Level::None, None)],
        None => Vec::new(),
    }
}
