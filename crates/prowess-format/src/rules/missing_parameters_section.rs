//! `missing-parameters-section`.

use crate::diagnostic::{Findings, rule};
use crate::rules::Subject;
use crate::specification::GIBBERISH;

rule! {
    /// ## What it does
    /// Flags a command tool without a `#### Parameters` section.
    ///
    /// ## Why is this bad?
    /// It is allowed, but "no parameters" looks the same as "forgotten".
    ///
    /// ## Example
    /// Write `None.` below `#### Parameters`.
    MISSING_PARAMETERS_SECTION = "missing-parameters-section", Warning / Warning, check;
    GIBBERISH.at("9.2")
}

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    for tool in subject
        .skill
        .tools
        .iter()
        .filter(|tool| !tool.parameters_declared && subject.in_body(tool.name.span))
    {
        findings.push(
            MISSING_PARAMETERS_SECTION
                .at(tool.name.span, format!("`{}` has no parameters section", tool.name.value))
                .help("add `#### Parameters` with a table, or the word `None.` below it"),
        );
    }
}
