//! `ignored-model`.

use crate::diagnostic::{Findings, rule};
use crate::rules::Subject;
use crate::specification::AGENT_FLOW;

rule! {
    /// ## What it does
    /// Notes a `model` that is text in a prompt skill.
    ///
    /// ## Why is this bad?
    /// Agent Flow Lite only accepts sampling settings as a map and ignores text.
    ///
    /// ## Example
    /// `model: {temperature: 0.7}`
    IGNORED_MODEL = "ignored-model", Info / Info, check;
    AGENT_FLOW.at("12")
}

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(model) = subject
        .document
        .root
        .get("model")
        .filter(|model| model.scalar().is_some() && subject.skill.dialect.id == "agent-flow")
    else {
        return;
    };
    findings.push(
        IGNORED_MODEL
            .at(model.span, "`model` as text is ignored by Agent Flow Lite")
            .help("write `model: {temperature: 0.7}`"),
    );
}
