//! `missing-command`.

use crate::diagnostic::{Findings, rule};
use crate::rules::Subject;

rule! {
    /// ## What it does
    /// Flags a tool section without a command.
    ///
    /// ## Why is this bad?
    /// There is nothing to run (GIB §3.1).
    ///
    /// ## Example
    /// Add a fenced `bash` block below `#### Command`.
    MISSING_COMMAND = "missing-command", Error / Error, check
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
