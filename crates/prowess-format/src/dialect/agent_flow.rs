//! Agent Flow Lite (seed 002): prompt templates with inputs, a knowledge base and sampling settings.

use serde_json::{Map, Value};

use super::{DescriptionLimit, Dialect, Limit, NameStyle, common, limit};
use crate::diagnostic::Severity;
use crate::document::yaml::Node;
use crate::document::{Document, Form};
use crate::emit::{WrittenSkill, YamlWriter};
use crate::formats;
use crate::rules;
use crate::shape::{ANY_MAP, Field, Shape, TEXT, UnknownFields};
use crate::skill::{Sampling, Skill, SkillKind};
use crate::specification::AGENT_FLOW;

pub(super) static DIALECT: Dialect = Dialect {
    id: "agent-flow",
    title: "Agent Flow Lite",
    about: "Prompt templates with inputs, retrieval and sampling settings.",
    specification: AGENT_FLOW.whole(),
    bases: &[],
    fields: FIELDS,
    unknown: UnknownFields::Kept,
    name: NameStyle::Kebab,
    directory: Some((Severity::Error, Severity::Error)),
    description: DescriptionLimit {
        most: 1024,
        severity: (Severity::Error, Severity::Error),
        section: AGENT_FLOW.at("3.1"),
        is_cut: false,
    },
    limits: LIMITS,
    affinity,
    read,
    check: super::no_check,
    refine: super::no_refinement,
    write,
};

/// Input types (§3.3).
pub(crate) const TYPES: &[&str] = &["text", "textarea"];

const INPUT: &[Field] = &[
    Field::new(
        "name",
        Shape::Text { most: 64 },
        AGENT_FLOW.at("3.3"),
        "Variable name; entries without one are skipped.",
    )
    .rule(&rules::INVALID_INPUT),
    Field::new(
        "label",
        Shape::Text { most: 128 },
        AGENT_FLOW.at("3.3"),
        "Label in a form; defaults to the name.",
    )
    .rule(&rules::INVALID_INPUT),
    Field::new(
        "type",
        Shape::Choice(TYPES),
        AGENT_FLOW.at("3.3"),
        "Widget; anything else is treated as `text`.",
    )
    .default("text")
    .rule(&rules::UNKNOWN_INPUT_TYPE)
    .lenient(),
    Field::new("required", Shape::Boolean, AGENT_FLOW.at("3.3"), "Must be given.").default("false"),
    Field::new("default", Shape::Text { most: 1024 }, AGENT_FLOW.at("3.3"), "Default value.")
        .rule(&rules::INVALID_INPUT),
    Field::new("description", Shape::Text { most: 512 }, AGENT_FLOW.at("3.3"), "Help text.")
        .rule(&rules::INVALID_INPUT),
];

const MODEL: &[Field] = &[
    Field::new(
        "temperature",
        Shape::Number { from: 0.0, to: 2.0 },
        AGENT_FLOW.at("3.2"),
        "Sampling temperature.",
    )
    .default("0.7")
    .rule(&rules::INVALID_SAMPLING),
    Field::new(
        "max_tokens",
        Shape::Integer { from: 1, to: 8192 },
        AGENT_FLOW.at("3.2"),
        "Maximum number of tokens to generate.",
    )
    .default("2000")
    .rule(&rules::INVALID_SAMPLING),
];

const FIELDS: &[Field] = &[
    Field::new(
        "name",
        Shape::Format(&formats::NAME),
        AGENT_FLOW.at("3.1 and 4"),
        "Identifier; defaults to the directory name.",
    )
    .rule(&rules::INVALID_NAME),
    Field::new(
        "description",
        Shape::Text { most: 1024 },
        AGENT_FLOW.at("3.1"),
        "Purpose; defaults to the name.",
    )
    .rule(&rules::DESCRIPTION_TOO_LONG),
    Field::new("license", Shape::Text { most: 64 }, AGENT_FLOW.at("3.1"), "Licence identifier.")
        .rule(&rules::LICENSE_TOO_LONG),
    Field::new("metadata", ANY_MAP, AGENT_FLOW.at("3.1"), "Any further keys and values."),
    Field::new(
        "inputs",
        Shape::List { item: &Shape::Map(INPUT), least: 0, most: 1000 },
        AGENT_FLOW.at("3.2 and 3.3"),
        "Variables of the template.",
    ),
    Field::new(
        "knowledge_base",
        Shape::Text { most: 256 },
        AGENT_FLOW.at("3.2"),
        "Knowledge base for retrieval.",
    ),
    Field::new(
        "model",
        Shape::Either(&[Shape::Map(MODEL), TEXT]),
        AGENT_FLOW.at("3.2 and 12"),
        "Sampling settings; ignored if it is text.",
    ),
    Field::new(
        "user_id",
        Shape::Text { most: 256 },
        AGENT_FLOW.at("3.2"),
        "Owner; set by the server.",
    ),
];

const LIMITS: &[Limit] = &[
    limit("file", "51,200 bytes", AGENT_FLOW.at("2")),
    limit("name", "1 to 64 characters", AGENT_FLOW.at("4")),
    limit("description", "1 to 1,024 characters", AGENT_FLOW.at("3.1")),
    limit("license", "64 characters", AGENT_FLOW.at("3.1")),
    limit("knowledge_base, user_id", "256 characters", AGENT_FLOW.at("3.2")),
    limit("temperature", "0.0 to 2.0, default 0.7", AGENT_FLOW.at("3.2")),
    limit("max_tokens", "1 to 8,192, default 2,000", AGENT_FLOW.at("3.2")),
    limit(
        "input name, label, default, description",
        "64, 128, 1,024, 512 characters",
        AGENT_FLOW.at("3.3"),
    ),
];

/// Maximum size of a file, in bytes (§2).
pub(crate) const MAX_BYTES: usize = 51_200;

fn affinity(document: &Document<'_>) -> u32 {
    if document.form != Form::Markdown {
        return 0;
    }
    let root = &document.root;
    let mut score = 0;
    score += if root.has("knowledge_base") { 40 } else { 0 };
    score += if root.has("user_id") { 20 } else { 0 };
    score += if root.get("model").is_some_and(|model| model.mapping().is_some()) { 40 } else { 0 };
    if let Some(inputs) = root.get("inputs").and_then(Node::sequence) {
        let kinds = || {
            let inputs = inputs.iter().filter_map(Node::mapping);
            inputs.filter_map(|input| input.get("type")).filter_map(Node::text)
        };
        let labelled = inputs.iter().filter_map(Node::mapping).any(|input| input.has("label"));
        score += if labelled || kinds().any(|kind| TYPES.contains(&kind)) {
            50
        } else if kinds().next().is_none() {
            // Only this dialect has inputs without types.
            25
        } else {
            0
        };
    }
    score
}

fn read(document: &Document<'_>, skill: &mut Skill) {
    let root = &document.root;
    common::fill(&mut skill.name, common::text(root, "name"));
    common::fill(&mut skill.description, common::text(root, "description"));
    common::fill(&mut skill.license, common::text(root, "license"));
    let mut inputs = common::inputs(root, "text");
    // AFL-3.3-1: an unknown type is `text`.
    for input in &mut inputs {
        if !TYPES.contains(&input.kind.as_str()) {
            "text".clone_into(&mut input.kind.value);
        }
    }
    common::fill_list(&mut skill.inputs, inputs);
    common::fill(&mut skill.knowledge_base, common::text(root, "knowledge_base"));
    common::fill(&mut skill.owner, common::text(root, "user_id"));
    common::fill(
        &mut skill.sampling,
        root.get("model").and_then(Node::mapping).map(|model| Sampling {
            temperature: model.get("temperature").and_then(Node::number),
            max_tokens: common::integer(model, "max_tokens").map(|tokens| tokens.value),
            extra: common::rest(model, &["temperature", "max_tokens"]),
        }),
    );
    common::fill(&mut skill.model_alias, root.get("model").and_then(common::spanned));
    skill.kind = SkillKind::Prompt;
}

fn write(skill: &Skill) -> WrittenSkill {
    let mut yaml = YamlWriter::new();
    yaml.text("name", skill.name_text());
    yaml.text("description", skill.description.as_ref().map(|description| description.as_str()));
    yaml.text("license", skill.license.as_ref().map(|license| license.as_str()));
    let kind = |kind: &str| if TYPES.contains(&kind) { kind.to_owned() } else { "text".to_owned() };
    let default = |default: &Value| match default {
        Value::String(text) => Value::String(text.clone()),
        other => Value::String(other.to_string()),
    };
    common::write_inputs(&skill.inputs, &mut yaml, kind, default);
    yaml.text("knowledge_base", skill.knowledge_base.as_ref().map(|base| base.as_str()));
    if let Some(sampling) = &skill.sampling {
        let mut map = Map::new();
        if let Some(temperature) = sampling.temperature {
            map.insert("temperature".to_owned(), Value::from(temperature));
        }
        if let Some(max_tokens) = sampling.max_tokens {
            map.insert("max_tokens".to_owned(), Value::from(max_tokens));
        }
        map.extend(sampling.extra.iter().cloned());
        yaml.value("model", &Value::Object(map));
    } else {
        // Ignored by this dialect, but preserved for the author (R14).
        yaml.text("model", skill.model_alias.as_ref().map(|alias| alias.as_str()));
    }
    yaml.text("user_id", skill.owner.as_ref().map(|owner| owner.as_str()));
    super::skillli::write_metadata(skill, &mut yaml);
    common::finish(skill, yaml)
}
