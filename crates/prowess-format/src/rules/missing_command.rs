//! `missing-command`.

use crate::diagnostic::{Findings, rule};
use crate::rules::Subject;
use crate::specification::GIBBERISH;

rule! {
    /// ## What it does
    /// Flags a tool section without a command.
    ///
    /// ## Why is this bad?
    /// There is nothing to run.
    ///
    /// ## Example
    /// Add a fenced `bash` block below `#### Command`.
    MISSING_COMMAND = "missing-command", Error / Error, check;
    GIBBERISH.at("3.1")
}

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    for tool in subject
        .skill
        .tools
        .iter()
        .filter(|tool| tool.command.is_none() && subject.in_body(tool.name.span))
    {
        findings.push(
            MISSING_COMMAND
                .at(tool.name.span, format!("`{}` has no command", tool.name.value))
                .help("add a fenced `bash` block below `#### Command`"),
        );
    }
}
