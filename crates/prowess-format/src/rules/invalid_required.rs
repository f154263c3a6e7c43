//! `invalid-required`.

use crate::diagnostic::{Findings, rule};
use crate::rules::Subject;
use crate::specification::GIBBERISH;

rule! {
    /// ## What it does
    /// Flags a Required cell that is neither yes nor no.
    ///
    /// ## Why is this bad?
    /// Whether the parameter must be given is unclear.
    ///
    /// ## Example
    /// Write `yes` or `no`.
    INVALID_REQUIRED = "invalid-required", Error / Error, check;
    GIBBERISH.at("3.1")
}

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    for tool in subject.skill.tools.iter().filter(|tool| subject.in_body(tool.name.span)) {
        for parameter in &tool.parameters {
            if let Some((_, word)) = parameter.extra.iter().find(|(key, _)| key == "required") {
                let message = format!(
                    "`{}` has `{word}` in the Required column, expected yes or no",
                    parameter.name.value
                );
                findings.push(
                    INVALID_REQUIRED.at(parameter.name.span, message).help("write `yes` or `no`"),
                );
            }
        }
    }
}
