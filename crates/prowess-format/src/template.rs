//! Prompt templates: `{{name}}` in a body, substituted once (AFL §5, SRT §5).

use crate::document::Document;
use crate::skill::{Kind, Skill};
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
pub enum Spelling {
    /// `{{name}}` only; `{{ name }}` is text (AFL §5.1).
    Tight,
    /// `{{ name }}` as well (SRT §5).
    Spaced,
}

/// The placeholders of a text, in order.
pub fn placeholders(text: &str, spelling: Spelling) -> Vec<Placeholder<'_>> {
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(at) = memchr::memmem::find(&text.as_bytes()[from..], b"{{").map(|at| from + at) {
        match placeholder_at(text, at, spelling) {
            Some(placeholder) => {
                from = placeholder.span.end as usize;
                found.push(placeholder);
            }
            // Not two: `{{{x}}}` holds a placeholder one byte further on.
            None => from = at + 1,
        }
    }
    found
}

fn placeholder_at(text: &str, at: usize, spelling: Spelling) -> Option<Placeholder<'_>> {
    let inner = &text[at + 2..];
    let end = inner.find("}}")?;
    let written = &inner[..end];
    let name = match spelling {
        Spelling::Tight => written,
        Spelling::Spaced => written.trim_matches([' ', '\t']),
    };
    let valid = !name.is_empty()
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'));
    valid.then(|| Placeholder { name, span: Span::new(at, at + 2 + end + 2) })
}

/// The spelling that a skill's main dialect uses.
pub fn spelling_of(skill: &Skill) -> Spelling {
    if skill.dialect.id == "skillrt" { Spelling::Spaced } else { Spelling::Tight }
}

/// Placeholders of a prompt that no input declares.
pub(crate) fn undeclared<'d>(skill: &Skill, document: &'d Document<'_>) -> Vec<(&'d str, Span)> {
    if skill.kind != Kind::Prompt {
        return Vec::new();
    }
    let base = document.body.start as usize;
    placeholders(document.body_text(), spelling_of(skill))
        .into_iter()
        .filter(|placeholder| !skill.inputs.iter().any(|input| *input.name == placeholder.name))
        .map(|placeholder| (placeholder.name, placeholder.span.shift(base)))
        .collect()
}

/// `{{ x }}` as `{{x}}`, for dialects that know only the tight spelling.
pub fn tighten(text: &str) -> String {
    let edits: Vec<_> = placeholders(text, Spelling::Spaced)
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
