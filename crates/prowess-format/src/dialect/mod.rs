//! Dialects: one file each, and their detection.
//!
//! To add a dialect, add a file and its name to the list below.

pub(crate) mod common;
mod detect;

use crate::diagnostic::{Findings, Severity};
use crate::document::Document;
use crate::emit::WrittenSkill;
use crate::shape::{Field, UnknownFields};
use crate::skill::Skill;
use crate::specification::Section;

pub use common::tool_patterns;
pub use detect::{FAMILY, OWN_FIELD, SECOND_LAYER, detect, layers_of};

macro_rules! dialects {
    ($($module:ident)+) => {
        $(mod $module;)+
        /// Every dialect; of two that fit a file equally well, the earlier one wins.
        pub static ALL: &[&Dialect] = &[$(&$module::DIALECT),+];
    };
}

dialects! { agent_skills claude_code skillli gibberish gaia agent_flow skillrt openclaw tool_pack prose }

/// A way to write SKILL.md files.
#[derive(Debug)]
pub struct Dialect {
    /// The value of `--dialect`.
    pub id: &'static str,
    /// Full name.
    pub title: &'static str,
    /// One sentence about its purpose.
    pub about: &'static str,
    /// The document that defines it.
    pub specification: Section,
    /// Dialects that this one extends; their fields are valid too.
    pub bases: &'static [&'static str],
    /// The fields of its front matter.
    pub fields: &'static [Field],
    /// How it treats unknown fields.
    pub unknown: UnknownFields,
    /// Format of names.
    pub name: NameStyle,
    /// Severity of a name that differs from the directory: usually, and under `--strict` (R4).
    pub directory: Option<(Severity, Severity)>,
    /// Descriptions longer than this get a warning (R1).
    pub description: DescriptionLimit,
    /// Every limit of its specification, for the reference.
    pub limits: &'static [Limit],
    /// Scores how much of a document only this dialect explains; 0 means nothing.
    pub affinity: fn(&Document<'_>) -> u32,
    /// Reads the fields of this dialect into the model.
    pub read: fn(&Document<'_>, &mut Skill),
    /// Checks what the table of fields can't express.
    pub check: fn(&Document<'_>, &mut Findings),
    /// Adds to the JSON Schema what the table of fields can't express.
    pub refine: fn(&mut serde_json::Value),
    /// Writes the model in this dialect.
    pub write: fn(&Skill) -> WrittenSkill,
}

impl PartialEq for Dialect {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

/// The format of names in a dialect (R2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameStyle {
    /// `[a-z0-9]+(-[a-z0-9]+)*`, at most 64.
    Kebab,
    /// Like `Kebab`, with lower-case letters of every script (the open standard).
    UnicodeKebab,
    /// `^[a-z][a-z0-9-]{0,63}$` (GAIA §2.3).
    LetterFirst,
    /// `^[a-z0-9][a-z0-9._-]*$`, at most 128 (SRT's schema).
    Dotted,
    /// Anything; a slug is computed (OpenClaw).
    Free,
}

/// A dialect's own limit for descriptions.
#[derive(Clone, Copy, Debug)]
pub struct DescriptionLimit {
    /// Maximum length in characters.
    pub most: usize,
    /// Severity of a longer one, usually and under `--strict`.
    pub severity: (Severity, Severity),
    /// Where the specification says so.
    pub section: Section,
    /// Whether a model gets to see no more than `most` characters of a longer one.
    pub is_cut: bool,
}

/// One number of a specification.
#[derive(Clone, Copy, Debug)]
pub struct Limit {
    /// What is limited.
    pub what: &'static str,
    /// The number with its unit.
    pub value: &'static str,
    /// Where the specification says so.
    pub section: Section,
}

/// A row of a limits table.
pub(crate) const fn limit(what: &'static str, value: &'static str, section: Section) -> Limit {
    Limit { what, value, section }
}

pub(crate) fn no_check(_: &Document<'_>, _: &mut Findings) {}

pub(crate) fn no_refinement(_: &mut serde_json::Value) {}

impl Dialect {
    /// The fields of a layer below this dialect. Its own definition of a field overrides those of
    /// the dialects that it extends.
    pub fn fields_of_layer(&self, layer: &'static Dialect) -> impl Iterator<Item = &'static Field> {
        let extended = self.bases.contains(&layer.id);
        let own: &'static [Field] = if extended { self.fields } else { &[] };
        layer.fields.iter().filter(move |field| !own.iter().any(|known| known.name == field.name))
    }

    /// The JSON Schema (2020-12) of this dialect's front matter, its bases' fields included.
    pub fn schema(&self) -> serde_json::Value {
        let bases = self.bases.iter().filter_map(|id| by_id(id));
        let mut fields: Vec<Field> = self.fields.to_vec();
        for field in bases.flat_map(|base| base.fields) {
            if !fields.iter().any(|known| known.name == field.name) {
                fields.push(*field);
            }
        }
        let mut schema = crate::shape::schema(&fields, self.unknown);
        schema["$schema"] = serde_json::json!("https://json-schema.org/draft/2020-12/schema");
        schema["title"] = serde_json::json!(format!("{} front matter", self.title));
        (self.refine)(&mut schema);
        schema
    }
}

/// Looks up a dialect by its id.
pub fn by_id(id: &str) -> Option<&'static Dialect> {
    ALL.iter().copied().find(|dialect| dialect.id == id)
}

/// The ids of all dialects.
pub fn ids() -> Vec<&'static str> {
    ALL.iter().map(|dialect| dialect.id).collect()
}

pub(crate) use agent_flow::MAX_BYTES as AGENT_FLOW_MAX_BYTES;
pub(crate) use gaia::{
    TOOL as GAIA_TOOL, TYPES as GAIA_TYPES, nested_block as gaia_block, skill_dependencies,
    tool as gaia_tool,
};
pub(crate) use gibberish::{MODES, TYPES as PARAMETER_TYPES, body_tools, misread_headings};
pub(crate) use openclaw::{
    INSTALL_KINDS, NAMESPACES, claims as openclaw_claims, expanded_permissions,
    write_block as openclaw_block,
};
pub(crate) use skillli::{CATEGORIES, TRUST_LEVELS, quizzes};
pub(crate) use skillrt::RUNTIMES;
