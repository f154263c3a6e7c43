//! `empty-body`.

use crate::diagnostic::{Findings, rule};
use crate::document::Form;
use crate::rules::Subject;
use crate::skill::SkillKind;
use crate::span::Span;

rule! {
    /// ## What it does
    /// Flags an instruction skill or a prompt whose body is empty.
    ///
    /// ## Why is this bad?
    /// An agent that loads it learns nothing.
    ///
    /// ## Example
    /// Write what the agent should do.
    EMPTY_BODY = "empty-body", Warning / Warning, check
}

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let speaks = matches!(subject.skill.kind, SkillKind::Instructions | SkillKind::Prompt)
        && subject.document.form == Form::Markdown
        && subject.has_front_matter();
    if speaks && subject.document.body_text().trim().is_empty() {
        findings.push(
            EMPTY_BODY
                .at(Span::at(subject.document.text.len()), "the body is empty")
                .help("write below the front matter what the agent should do"),
        );
    }
}
