//! Adapts the body: placeholders and headings have a meaning in some dialects only.

use super::Carried;
use crate::dialect::{self, Dialect};
use crate::skill::{Skill, SkillKind};
use crate::span::Span;
use crate::template::{self, PlaceholderSpelling};

/// Rewrites placeholders, which only prompts have and which each prompt dialect spells differently.
pub(super) fn prompt(carried: &mut Carried, source: &Skill, to: &'static Dialect) {
    let Carried { skill, notes, .. } = carried;
    let declared = |name: &str| source.inputs.iter().any(|input| *input.name == name);
    match to.id {
        "agent-flow" => {
            let literal = template::placeholders(&skill.body, PlaceholderSpelling::Tight)
                .iter()
                .any(|placeholder| !declared(placeholder.name));
            if literal {
                let note = "`{{x}}` without an input is written as `{{ x }}`, which stays text";
                notes.push(("body", note.to_owned()));
            }
            skill.body = respell(&skill.body, |name| {
                let blank = if declared(name) { "" } else { " " };
                Some(format!("{{{{{blank}{name}{blank}}}}}"))
            });
        }
        // With at least one input, everything in double braces is a placeholder.
        "skillrt" if !source.inputs.is_empty() => {
            let body = respell(&skill.body, |name| {
                (!declared(name)).then(|| format!("{{ {{ {name} }} }}"))
            });
            if body != skill.body {
                notes.push((
                    "body",
                    "`{{ x }}` without an input is written as `{ { x } }`, which stays text"
                        .to_owned(),
                ));
            }
            skill.body = body;
        }
        "gibberish" if source.dialect.id != "gibberish" => lower_headings(skill, notes),
        _ => {}
    }
    if source.kind == SkillKind::Prompt
        && !matches!(to.id, "agent-flow" | "skillrt")
        && template::placeholders(&skill.body, PlaceholderSpelling::Spaced)
            .iter()
            .any(|placeholder| declared(placeholder.name))
    {
        notes.push((
            "body",
            format!(
                "the body still contains `{{{{…}}}}` for its inputs, which {} does not substitute",
                to.id
            ),
        ));
    }
    if source.has_layer("openclaw") && to.id != "openclaw" && skill.body.contains("{baseDir}") {
        notes.push(("body", format!("`{{baseDir}}` in the body is not substituted by {}: write paths relative to the skill", to.id)));
    }
}

/// Replaces each placeholder with the result of `spell`; `None` leaves it unchanged.
fn respell(text: &str, spell: impl Fn(&str) -> Option<String>) -> String {
    let edits: Vec<_> = template::placeholders(text, PlaceholderSpelling::Spaced)
        .into_iter()
        .filter_map(|placeholder| {
            Some(crate::diagnostic::Edit::replace(placeholder.span, spell(placeholder.name)?))
        })
        .collect();
    crate::diagnostic::apply_edits(text, &edits)
}

/// Demotes third-level headings that gibb.eri.sh would take for tools (GIB-3.1-1), unless a command
/// follows them.
fn lower_headings(skill: &mut Skill, notes: &mut Vec<(&'static str, String)>) {
    skill.body = template::tighten(&skill.body);
    let edits: Vec<_> = dialect::misread_headings(&skill.body)
        .into_iter()
        .filter(|span| span.slice(&skill.body).starts_with("###"))
        .map(|span| crate::diagnostic::Edit::replace(Span::at(span.start as usize), "#"))
        .collect();
    if !edits.is_empty() {
        let note = "headings that gibberish would take for tools are one level lower";
        notes.push(("body", note.to_owned()));
        skill.body = crate::diagnostic::apply_edits(&skill.body, &edits);
    }
}
