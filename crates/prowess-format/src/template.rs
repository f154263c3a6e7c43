//! Prompt templates: `{{name}}` in a body, substituted once (AFL §5, SRT §5).

use std::collections::HashSet;

use crate::document::Document;
use crate::skill::{Skill, SkillKind};
use crate::span::Span;

/// One placeholder of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placeholder<'t> {
    /// The name between the braces.
    pub name: &'t str,
    /// The whole placeholder.
    pub span: Span,
}

/// How placeholders are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlaceholderSpelling {
    /// `{{name}}` only; `{{ name }}` is text (AFL §5.1).
    Tight,
    /// `{{ name }}` as well (SRT §5).
    Spaced,
}

/// The placeholders of a text, in order.
pub fn placeholders(text: &str, spelling: PlaceholderSpelling) -> Vec<Placeholder<'_>> {
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(at) = memchr::memmem::find(&text.as_bytes()[from..], b"{{").map(|at| from + at) {
        match placeholder_at(text, at, spelling) {
            Some(placeholder) => {
                from = placeholder.span.end as usize;
                found.push(placeholder);
            }
            // Not two: `{{{x}}}` contains a placeholder one byte further on.
            None => from = at + 1,
        }
    }
    found
}

/// The placeholder that begins at byte `at`, if one does.
pub(crate) fn placeholder_at(
    text: &str,
    at: usize,
    spelling: PlaceholderSpelling,
) -> Option<Placeholder<'_>> {
    let inner = text.get(at..)?.strip_prefix("{{")?;
    let skip_blanks = |from: usize| match spelling {
        PlaceholderSpelling::Tight => from,
        PlaceholderSpelling::Spaced => {
            let blanks = inner[from..].bytes().take_while(|byte| matches!(byte, b' ' | b'\t'));
            from + blanks.count()
        }
    };
    // Reading forwards, and never searching for the end, keeps a file full of braces linear.
    let start = skip_blanks(0);
    let name_byte = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    let end = start + inner[start..].bytes().take_while(name_byte).count();
    let close = skip_blanks(end);
    (end > start && inner[close..].starts_with("}}"))
        .then(|| Placeholder { name: &inner[start..end], span: Span::new(at, at + 2 + close + 2) })
}

/// The spelling that a skill's main dialect uses.
pub fn spelling_of(skill: &Skill) -> PlaceholderSpelling {
    if skill.dialect.id == "skillrt" {
        PlaceholderSpelling::Spaced
    } else {
        PlaceholderSpelling::Tight
    }
}

/// The substitutions in a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Substitutions {
    /// `{{name}}` is replaced with an input, in this spelling.
    pub inputs: Option<PlaceholderSpelling>,
    /// `$ARGUMENTS`, `$0`, `${CLAUDE_SKILL_DIR}`, `{baseDir}` and `` !`command` `` are substituted.
    pub arguments: bool,
}

/// Dialects whose bodies are passed to a host agent with the text that the user typed after the
/// skill's name.
const HOSTED: &[&str] = &["agent-skills", "claude-code", "skillli", "openclaw"];

/// Which substitutions apply to the body of a skill.
///
/// None apply to a tool skill: `$1` in its examples belongs to the shell.
pub fn syntax_of(skill: &Skill) -> Substitutions {
    Substitutions {
        inputs: (skill.kind == SkillKind::Prompt).then(|| spelling_of(skill)),
        arguments: HOSTED.contains(&skill.dialect.id) || skill.has_layer("claude-code"),
    }
}

/// Placeholders of a prompt that no input declares.
pub(crate) fn undeclared<'d>(skill: &Skill, document: &'d Document<'_>) -> Vec<(&'d str, Span)> {
    if skill.kind != SkillKind::Prompt {
        return Vec::new();
    }
    let base = document.body.start as usize;
    let declared: HashSet<&str> = skill.inputs.iter().map(|input| input.name.as_str()).collect();
    placeholders(document.body_text(), spelling_of(skill))
        .into_iter()
        .filter(|placeholder| !declared.contains(placeholder.name))
        .map(|placeholder| (placeholder.name, placeholder.span.shift(base)))
        .collect()
}

/// Rewrites `{{ x }}` as `{{x}}`, for dialects that only have the tight spelling.
pub fn tighten(text: &str) -> String {
    let edits: Vec<_> = placeholders(text, PlaceholderSpelling::Spaced)
        .into_iter()
        .map(|placeholder| {
            crate::diagnostic::Edit::replace(
                placeholder.span,
                format!("{{{{{}}}}}", placeholder.name),
            )
        })
        .collect();
    crate::diagnostic::apply_edits(text, &edits)
}
