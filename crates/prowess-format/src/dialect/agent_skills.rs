//! The open standard (agentskills.io): six fields, everything else forbidden.

use super::{DescriptionLimit, Dialect, Limit, NameStyle, common, limit, skillli};
use crate::diagnostic::Severity;
use crate::document::yaml::Node;
use crate::document::{Document, FrontMatter};
use crate::emit::{WrittenSkill, YamlWriter};
use crate::formats;
use crate::rules;
use crate::shape::{ANY_MAP, Field, Shape, TEXT_OR_TEXTS, UnknownFields};
use crate::skill::Skill;
use crate::specification::{AGENT_SKILLS, Section};

pub(super) static DIALECT: Dialect = Dialect {
    id: "agent-skills",
    title: "Agent Skills open standard",
    about: "Instructions for any agent: a name, a description and Markdown.",
    specification: AGENT_SKILLS.whole(),
    bases: &[],
    fields: FIELDS,
    unknown: UnknownFields::Forbidden,
    name: NameStyle::UnicodeKebab,
    directory: Some((Severity::Error, Severity::Error)),
    description: DescriptionLimit {
        most: 1024,
        severity: (Severity::Error, Severity::Error),
        section: FRONT_MATTER,
        is_cut: false,
    },
    limits: LIMITS,
    affinity,
    read,
    check: super::no_check,
    refine: super::no_refinement,
    write,
};

pub(super) const FRONT_MATTER: Section = AGENT_SKILLS.at("Frontmatter");

const FIELDS: &[Field] = &[
    Field::new(
        "name",
        Shape::Format(&formats::UNICODE_NAME),
        FRONT_MATTER,
        "Identifier; must equal the directory name, which is the default.",
    )
    .rule(&rules::INVALID_NAME),
    Field::new(
        "description",
        Shape::Text { most: 1024 },
        FRONT_MATTER,
        "What the skill does and when to use it.",
    )
    .required()
    .rule(&rules::DESCRIPTION_TOO_LONG),
    Field::new(
        "license",
        Shape::Text { most: usize::MAX },
        FRONT_MATTER,
        "Licence name or a reference to a bundled licence file.",
    ),
    Field::new(
        "compatibility",
        TEXT_OR_TEXTS,
        FRONT_MATTER,
        "Environment requirements; at most 500 characters.",
    ),
    Field::new("metadata", ANY_MAP, FRONT_MATTER, "Any further keys and values."),
    Field::new(
        "allowed-tools",
        TEXT_OR_TEXTS,
        FRONT_MATTER,
        "Pre-approved tools of the host, separated by spaces.",
    ),
];

const LIMITS: &[Limit] = &[
    limit("name", "1 to 64 characters", FRONT_MATTER),
    limit("description", "1 to 1,024 characters", FRONT_MATTER),
    limit("compatibility", "1 to 500 characters", FRONT_MATTER),
    limit(
        "SKILL.md",
        "500 lines or 5,000 tokens recommended",
        AGENT_SKILLS.at("Progressive disclosure"),
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
    // The specification's own example puts these two into `metadata`.
    if let Some(metadata) = root.get("metadata").and_then(Node::mapping) {
        common::fill(&mut skill.version, common::text(metadata, "version"));
        common::fill_list(&mut skill.authors, common::texts(metadata, "author"));
        skillli::forget_metadata(skill, &["version", "author"]);
    }
}

fn write(skill: &Skill) -> WrittenSkill {
    let mut yaml = YamlWriter::new();
    write_layer(skill, &mut yaml);
    skillli::write_metadata(skill, &mut yaml);
    common::finish(skill, yaml)
}

/// Writes the six fields except `metadata`, which other layers fill differently.
pub(super) fn write_layer(skill: &Skill, yaml: &mut YamlWriter) {
    yaml.text("name", skill.name_text());
    yaml.text("description", skill.description.as_ref().map(|description| description.as_str()));
    yaml.text("license", skill.license.as_ref().map(|license| license.as_str()));
    yaml.text("compatibility", common::joined(&skill.compatibility).as_deref());
    let tools: Vec<&str> = skill.allowed_tools.iter().map(|tool| tool.as_str()).collect();
    yaml.text("allowed-tools", (!tools.is_empty()).then(|| tools.join(" ")).as_deref());
}
