//! `invalid-command`.

use crate::command;
use crate::diagnostic::{Findings, rule};
use crate::rules::Subject;
use crate::specification::GIBBERISH;

rule! {
    /// ## What it does
    /// Flags a command that can't be split into words.
    ///
    /// ## Why is this bad?
    /// A quote that is never closed swallows the rest of the line.
    ///
    /// ## Example
    /// Close the quote.
    INVALID_COMMAND = "invalid-command", Error / Error, check;
    GIBBERISH.at("3.5")
}

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    for command in subject.skill.tools.iter().filter_map(|tool| tool.command.as_ref()) {
        if let Err(error) = command::parse(command) {
            findings.push(
                INVALID_COMMAND
                    .at(command.span, error.to_string())
                    .help("write a program and its arguments on one line"),
            );
        }
    }
}
