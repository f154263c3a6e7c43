//! `input-without-name`.

use crate::diagnostic::{Findings, rule};
use crate::document::yaml::Node;
use crate::rules::Subject;
use crate::specification::AGENT_FLOW;

rule! {
    /// ## What it does
    /// Flags an input without a name.
    ///
    /// ## Why is this bad?
    /// The input is skipped.
    ///
    /// ## Example
    /// Add `name: …`.
    INPUT_WITHOUT_NAME = "input-without-name", Warning / Warning, check;
    AGENT_FLOW.at("3.3")
}

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let prompt = subject.skill.dialect.id == "agent-flow";
    let inputs = subject
        .document
        .root
        .get("inputs")
        .and_then(Node::sequence)
        .filter(|_| prompt)
        .unwrap_or_default();
    for input in
        inputs.iter().filter(|input| input.mapping().is_some_and(|input| !input.has("name")))
    {
        findings.push(
            INPUT_WITHOUT_NAME
                .at(input.span, "an input without a name is skipped")
                .help("add `name: …`"),
        );
    }
}
