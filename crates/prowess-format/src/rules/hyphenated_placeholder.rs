//! `hyphenated-placeholder`.

use crate::diagnostic::{Findings, rule};
use crate::rules::Subject;
use crate::specification::AGENT_FLOW;
use crate::template;

rule! {
    /// ## What it does
    /// Flags an undeclared placeholder with a hyphen in its name.
    ///
    /// ## Why is this bad?
    /// Agent Flow Lite does not check such names, but replaces them with an empty string at run time.
    ///
    /// ## Example
    /// Add the input, or use underscores.
    HYPHENATED_PLACEHOLDER = "hyphenated-placeholder", Warning / Warning, check;
    AGENT_FLOW.at("5.3")
}

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let mut seen: Vec<&str> = Vec::new();
    for (name, span) in template::undeclared(subject.skill, subject.document) {
        if name.contains('-') && !seen.contains(&name) {
            seen.push(name);
            findings.push(
                HYPHENATED_PLACEHOLDER
                    .at(
                        span,
                        format!("`{{{{{name}}}}}` is not declared and becomes empty at run time"),
                    )
                    .help("declare it under `inputs:`"),
            );
        }
    }
}
