//! Adapts the model to another dialect before that dialect writes it: what has a counterpart is
//! carried over, what has none is put where it survives, and required values are filled in and
//! noted.
//!
//! Where things go that a dialect has no field for:
//!
//! - GAIA's permissions, requirements, tier and tool declarations go to `metadata.gaia` in the open
//!   standard's family and in OpenClaw, which is where today's GAIA reads them (GAIX-1). No other
//!   reader does, so each still counts as a loss.
//! - OpenClaw's block stays under its namespace in the open standard's family and in GAIA.
//! - Registry fields of skillli go to `metadata`, where skillli reads them too.
//! - Unknown fields stay at the top level, or go to `metadata` in the open standard, which forbids them.
//! - Grants are never widened: one that the target can't express exactly is omitted.

mod adopt;
mod identity;
mod keep;
mod prompt;
mod tools;

use crate::dialect::Dialect;
use crate::document::Form;
use crate::read::Checked;
use crate::skill::Skill;
use crate::span::{Span, Spanned};

pub(super) use tools::command_tool_name;
pub(crate) use tools::{json_type, known_type};

/// A facet that the target does not read, and where it went.
pub(crate) struct Kept {
    /// The facet.
    pub(crate) facet: &'static str,
    /// A phrase such as "under `metadata.gaia`, which only GAIA reads".
    pub(crate) place: String,
}

/// The model for the target, with notes.
pub(crate) struct Carried {
    /// The model that the target's writer gets.
    pub(crate) skill: Skill,
    /// Facets that went elsewhere.
    pub(crate) kept: Vec<Kept>,
    /// Entries of `metadata` that became fields.
    pub(crate) lifted: Vec<String>,
    /// What was filled in or changed: the field, and a sentence for the user.
    pub(crate) notes: Vec<(&'static str, String)>,
}

/// Adapts a skill to a dialect.
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
        carried.skill.body = tools::instructions(&carried.skill);
    }
    if to.id == "prose" {
        return carried;
    }
    adopt::lift(&mut carried, to);
    adopt::adopt(&mut carried, to);
    identity::identity(&mut carried, checked, to, directory);
    tools::tools(&mut carried, to);
    prompt::prompt(&mut carried, &checked.skill, to);
    keep::blocks(&mut carried, &checked.skill, to);
    keep::registry(&mut carried, to);
    keep::limits(&mut carried, to);
    if to.id == "skillrt" {
        // The default, made explicit: otherwise nothing distinguishes a short procedure from other
        // prompts.
        let runtime = carried.skill.runtime.get_or_insert_default();
        if runtime.kind.is_none() {
            runtime.kind = Some(computed("markdown-skill"));
        }
    }
    if to.id == "openclaw" {
        keep::hosted(&mut carried);
    }
    carried
}

/// A computed text, which has no position in the source.
pub(super) fn computed(value: impl Into<String>) -> Spanned<String> {
    Spanned::new(value.into(), Span::default())
}
