//! The open standard (agentskills.io): six fields, everything else forbidden.

use super::{DescriptionLimit, Dialect, Limit, NameStyle, common, limit, skillli};
use crate::diagnostic::Severity;
use crate::document::{Document, FrontMatter};
use crate::emit::{Written, Yaml};
use crate::formats;
use crate::rules;
use crate::shape::{ANY_MAP, Field, Shape, TEXT_OR_TEXTS, Unknown};
use crate::skill::Skill;

pub(super) static DIALECT: Dialect = Dialect {
    id: "agent-skills",
    title: "Agent Skills open standard",
    about: "Instructions for any agent: a name, a description and Markdown.",
    specification: "agentskills.io specification (2026-08-09) and seed 004, layer 1",
    bases: &[],
    fields: FIELDS,
    unknown: Unknown::Forbidden,
    name: NameStyle::UnicodeKebab,
    directory: Some((Severity::Error, Severity::Error)),
    description: DescriptionLimit {
        most: 1024,
        severity: (Severity::Error, Severity::Error),
        section: "standard",
        is_cut: false,
    },
    limits: LIMITS,
    affinity,
    read,
    check: super::no_check,
    refine: super::no_refinement,
    write,
};

const FIELDS: &[Field] = &[
    Field::new(
        "name",
        Shape::Format(&formats::UNICODE_NAME),
        "standard",
        "Identifier; must equal the directory name, which is the default.",
    )
    .rule(&rules::INVALID_NAME),
    Field::new(
        "description",
        Shape::Text { most: 1024 },
        "standard",
        "What the skill does and when to use it.",
    )
    .required()
    .rule(&rules::DESCRIPTION_TOO_LONG),
    Field::new(
        "license",
        Shape::Text { most: usize::MAX },
        "standard",
        "Licence name or a reference to a bundled licence file.",
    ),
    Field::new(
        "compatibility",
        TEXT_OR_TEXTS,
        "standard",
        "Environment requirements; at most 500 characters.",
    ),
    Field::new("metadata", ANY_MAP, "standard", "Any further keys and values."),
    Field::new(
        "allowed-tools",
        TEXT_OR_TEXTS,
        "standard",
        "Pre-approved tools of the host, separated by spaces.",
    ),
];

const LIMITS: &[Limit] = &[
    limit("name", "1 to 64 characters", "standard"),
    limit("description", "1 to 1,024 characters", "standard"),
    limit("compatibility", "1 to 500 characters", "standard"),
    limit(
        "SKILL.md",
        "500 lines or 5,000 tokens recommended",
        "standard; SKL, Progressive Disclosure",
    ),
];

fn affinity(document: &Document<'_>) -> u32 {
    if document.front_matter == FrontMatter::Absent
        || document.form != crate::document::Form::Markdown
    {
        return 0;
    }
    if document.root.has("description") { 15 } else { 1 }
}

fn read(document: &Document<'_>, skill: &mut Skill) {
    let root = &document.root;
    common::fill(&mut skill.name, common::text(root, "name"));
    common::fill(&mut skill.description, common::text(root, "description"));
    common::fill(&mut skill.license, common::text(root, "license"));
    common::fill_list(&mut skill.compatibility, common::texts(root, "compatibility"));
    common::fill_list(&mut skill.allowed_tools, common::tool_patterns(root, "allowed-tools"));
}

fn write(skill: &Skill) -> Written {
    let mut yaml = Yaml::new();
    write_layer(skill, &mut yaml);
    skillli::write_metadata(skill, &mut yaml);
    common::finish(skill, yaml)
}

/// Writes the six fields except `metadata`, which other layers fill differently.
pub(super) fn write_layer(skill: &Skill, yaml: &mut Yaml) {
    yaml.text("name", skill.name_text());
    yaml.text("description", skill.description.as_ref().map(|description| description.as_str()));
    yaml.text("license", skill.license.as_ref().map(|license| license.as_str()));
    yaml.text("compatibility", common::joined(&skill.compatibility).as_deref());
    let tools: Vec<&str> = skill.allowed_tools.iter().map(|tool| tool.as_str()).collect();
    yaml.text("allowed-tools", (!tools.is_empty()).then(|| tools.join(" ")).as_deref());
}
