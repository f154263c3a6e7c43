//! `multiple-commands`.

use crate::diagnostic::{Findings, rule};
use crate::rules::Subject;
use crate::specification::GIBBERISH;

rule! {
    /// ## What it does
    /// Flags a command block with more than one command.
    ///
    /// ## Why is this bad?
    /// Only the first one runs.
    ///
    /// ## Example
    /// Put the steps into a script.
    MULTIPLE_COMMANDS = "multiple-commands", Warning / Warning, check;
    GIBBERISH.at("3.1")
}

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    for tool in &subject.skill.tools {
        let Some(command) = tool.command.as_ref().filter(|command| subject.in_body(command.span))
        else {
            continue;
        };
        let block = command.span.slice(subject.document.text);
        let joined = block.replace("\\\r\n", " ").replace("\\\n", " ");
        let lines = joined
            .lines()
            .map(str::trim)
            .filter(|line| !line.is_empty() && !line.starts_with('#'))
            .count();
        if lines > 1 {
            findings.push(
                MULTIPLE_COMMANDS
                    .at(command.span, format!("{lines} commands, of which only the first runs"))
                    .help("put the steps into `./scripts/name.sh` and call that"),
            );
        }
    }
}
