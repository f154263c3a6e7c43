//! The body: placeholders and headings mean something in some dialects only.

use super::Carried;
use crate::dialect::{self, Dialect};
use crate::skill::{Kind, Skill};
use crate::span::Span;
use crate::template::{self, Spelling};

/// Placeholders mean something in prompts only, and each prompt dialect spells them in its own way.
pub(super) fn prompt(carried: &mut Carried, source: &Skill, to: &'static Dialect) {
    let Carried { skill, notes, .. } = carried;
    let declared = |name: &str| source.inputs.iter().any(|input| *input.name == name);
    match to.id {
        "agent-flow" => {
            let literal = template::placeholders(&skill.body, Spelling::Tight)
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
        // Everything in double braces is a placeholder there as soon as there is an input.
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
    if source.kind == Kind::Prompt
        && !matches!(to.id, "agent-flow" | "skillrt")
        && template::placeholders(&skill.body, Spelling::Spaced)
            .iter()
            .any(|placeholder| declared(placeholder.name))
    {
        notes.push((
            "body",
            format!(
                "the body still holds `{{{{…}}}}` for its inputs, which {} does not fill in",
                to.id
            ),
        ));
    }
    if source.has_layer("openclaw") && to.id != "openclaw" && skill.body.contains("{baseDir}") {
        notes.push(("body", format!("`{{baseDir}}` in the body is not filled in by {}: write paths relative to the skill", to.id)));
    }
}

/// The text with each placeholder as `spell` wants it; `None` leaves it alone.
fn respell(text: &str, spell: impl Fn(&str) -> Option<String>) -> String {
    let edits: Vec<_> = template::placeholders(text, Spelling::Spaced)
        .into_iter()
        .filter_map(|placeholder| {
            Some(crate::diagnostic::Edit::replace(placeholder.span, spell(placeholder.name)?))
        })
        .collect();
    crate::diagnostic::apply_edits(text, &edits)
}

/// A heading of the third level that has the form of a tool's name would define a tool (GIB-3.1-1). Where there is a
/// command below it, it does.
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
