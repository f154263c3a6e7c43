//! `required-with-default`.

use crate::diagnostic::{Findings, rule};
use crate::rules::Subject;

rule! {
    /// ## What it does
    /// Flags an input that is required and has a default.
    ///
    /// ## Why is this bad?
    /// The default is never used: a required input must be given.
    ///
    /// ## Example
    /// Remove one of the two.
    REQUIRED_WITH_DEFAULT = "required-with-default", Warning / Warning, check
}

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let parameters = subject
        .skill
        .inputs
        .iter()
        .chain(subject.skill.tools.iter().flat_map(|tool| &tool.parameters));
    for parameter in parameters.filter(|parameter| {
        parameter.required && parameter.default.as_ref().is_some_and(|default| !default.is_null())
    }) {
        findings.push(
            REQUIRED_WITH_DEFAULT
                .at(
                    parameter.name.span,
                    format!("`{}` is required, so its default is never used", parameter.name.value),
                )
                .help("remove `required` or `default`"),
        );
    }
}
