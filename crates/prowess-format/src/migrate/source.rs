//! What a file is to a migration: an OpenClaw skill, something else, or nothing that can be read.

use crate::diagnostic::{Diagnostic, Rule, Severity, apply_edits};
use crate::dialect::{self, Dialect};
use crate::document::{Form, FrontMatter};
use crate::read::Checked;
use crate::rules;
use crate::span::LineIndex;

/// Findings after which nothing certain is known about a skill: what would be written is a guess.
static UNREADABLE: [&Rule; 4] =
    [&rules::INVALID_UTF8, &rules::NOT_TEXT, &rules::FILE_TOO_LARGE, &rules::MERGE_CONFLICT];

/// Why a skill can't be migrated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Obstacle {
    /// The reason: a lowercase phrase without a full stop.
    pub reason: String,
    /// What would help.
    pub help: Option<String>,
}

/// What kind of skill a file holds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SourceKind {
    /// An OpenClaw skill, to be read as this dialect; `None` if it is recognised as one.
    OpenClaw(Option<&'static Dialect>),
    /// A GAIA skill already.
    Gaia,
    /// A skill of another dialect with tools that a migration would lose.
    Other(&'static Dialect),
}

/// The kind of a skill that was read without naming a dialect.
///
/// Many published OpenClaw skills have only a name and a description, which detection does not recognise.
pub fn source_kind(checked: &Checked<'_>) -> SourceKind {
    let skill = &checked.skill;
    if skill.has_layer("openclaw") {
        SourceKind::OpenClaw(None)
    } else if skill.dialect.id == "gaia" {
        SourceKind::Gaia
    } else if !skill.tools.is_empty() {
        SourceKind::Other(skill.dialect)
    } else {
        SourceKind::OpenClaw(dialect::by_id("openclaw"))
    }
}

/// Why a skill can't be migrated; `None` if it can.
///
/// Missing or wrong fields are no obstacle, because they can be reviewed in the result. A text that can't be read is one,
/// and so is one without anything to describe.
pub fn obstacle(checked: &Checked<'_>) -> Option<Obstacle> {
    let text = checked.document.text;
    let lines = LineIndex::new(text);
    let at = |found: &Diagnostic| Obstacle {
        reason: format!(
            "line {}: {}",
            lines.position(text, found.span.start as usize).line,
            found.message
        ),
        help: found.help.clone(),
    };
    let is_unreadable =
        |found: &&Diagnostic| found.severity == Severity::Error && UNREADABLE.contains(&found.rule);
    let mut found = checked.diagnostics.iter().filter(|found| found.file.is_none());
    if let Some(found) = found.find(is_unreadable) {
        return Some(at(found));
    }
    if checked.document.form == Form::Yaml {
        return Some(Obstacle {
            reason: "it is an agent manifest, not a skill".to_owned(),
            help: None,
        });
    }
    if !checked.is_skill() {
        let errors = [&rules::INVALID_YAML, &rules::YAML_LIMIT, &rules::FRONT_MATTER_NOT_A_MAP];
        let mut found = checked.diagnostics.iter();
        let cause = found.find(|found| errors.contains(&found.rule));
        return Some(match cause.or(checked.diagnostics.first()) {
            Some(found) => {
                let Obstacle { reason, help } = at(found);
                Obstacle { reason: format!("the front matter can't be read: {reason}"), help }
            }
            None => Obstacle { reason: "the front matter can't be read".to_owned(), help: None },
        });
    }
    let is_empty = checked.skill.description.is_none()
        && checked.document.body_text().trim().is_empty()
        && checked.skill.tools.is_empty();
    is_empty.then(|| Obstacle {
        reason: "it has neither a description nor instructions".to_owned(),
        help: Some("write what the skill is for".to_owned()),
    })
}

/// The text with its front matter where readers look for it, if it has one that they do not recognise, and what was wrong.
pub fn in_place(checked: &Checked<'_>) -> Option<(String, String)> {
    if checked.document.front_matter != FrontMatter::Absent {
        return None;
    }
    let mut found = checked.diagnostics.iter();
    let found = found.find(|found| *found.rule == rules::MISPLACED_FRONT_MATTER)?;
    let text = apply_edits(checked.document.text, &found.fix.as_ref()?.edits);
    Some((text, found.message.clone()))
}

/// The text as instructions without front matter, if its first fence is a thematic break: prose follows and no field.
/// Formatters of Markdown also turn `name: x` above a closing fence into a heading.
pub fn as_instructions(checked: &Checked<'_>) -> Option<String> {
    let document = &checked.document;
    if document.form != Form::Markdown || document.front_matter != FrontMatter::Broken {
        return None;
    }
    let start = document.opening.end as usize;
    let after = document.text.get(start..)?;
    let first = after.lines().map(str::trim_end).find(|line| !line.is_empty())?;
    let is_prose = first.starts_with('#')
        || (first.chars().next().is_some_and(char::is_alphabetic)
            && !crate::document::begins_with_key(first));
    // After a blank line a fence counts only if fields follow (R6).
    is_prose.then(|| format!("\n{}", document.text.trim_start_matches('\u{feff}')))
}
