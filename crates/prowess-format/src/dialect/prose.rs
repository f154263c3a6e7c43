//! Prose (SRT §3.1): Markdown without front matter.

use super::{DescriptionLimit, Dialect, NameStyle, common};
use crate::diagnostic::Severity;
use crate::document::{Document, Form, FrontMatter};
use crate::emit::WrittenSkill;
use crate::shape::UnknownFields;
use crate::skill::{Skill, SkillKind};
use crate::specification::SKILLRT;

pub(super) static DIALECT: Dialect = Dialect {
    id: "prose",
    title: "prose",
    about: "Free text for an agent; it can be shown but not run.",
    specification: SKILLRT.at("3.1"),
    bases: &[],
    fields: &[],
    unknown: UnknownFields::Kept,
    name: NameStyle::Free,
    directory: None,
    description: DescriptionLimit {
        most: usize::MAX,
        severity: (Severity::Info, Severity::Info),
        section: SKILLRT.at("3.1"),
        is_cut: false,
    },
    limits: &[],
    affinity,
    read,
    check: super::no_check,
    refine: super::no_refinement,
    write,
};

fn affinity(document: &Document<'_>) -> u32 {
    if document.form == Form::Markdown && document.front_matter == FrontMatter::Absent {
        1000
    } else {
        0
    }
}

fn read(document: &Document<'_>, skill: &mut Skill) {
    skill.kind = SkillKind::Prose;
    skill.body = common::body(document);
}

fn write(skill: &Skill) -> WrittenSkill {
    // The reader strips one byte order mark; a second one is part of the text.
    let mark = if skill.body.starts_with('\u{feff}') { "\u{feff}" } else { "" };
    WrittenSkill {
        text: format!("{mark}{}", skill.body),
        file_name: "SKILL.md".to_owned(),
        files: Vec::new(),
    }
}
