//! `undeclared-parameter`.

use std::collections::HashSet;

use crate::command;
use crate::diagnostic::{Findings, rule};
use crate::rules::Subject;
use crate::specification::GIBBERISH;
use crate::text::closest;

rule! {
    /// ## What it does
    /// Flags a placeholder in a command that is not a parameter of the tool.
    ///
    /// ## Why is this bad?
    /// It never has a value, so its argument is always dropped.
    ///
    /// ## Example
    /// Add a row to the table.
    UNDECLARED_PARAMETER = "undeclared-parameter", Error / Error, check;
    GIBBERISH.at("3.4")
}

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    for tool in &subject.skill.tools {
        let Some(template) = tool
            .command
            .as_ref()
            .and_then(|command| Some((command.span, command::parse(command).ok()?)))
        else {
            continue;
        };
        let (span, template) = template;
        let declared: HashSet<&str> =
            tool.parameters.iter().map(|parameter| parameter.name.as_str()).collect();
        let mut seen: HashSet<&str> = HashSet::new();
        for name in template.variables() {
            // Tool packs refer to the context by dotted names.
            if name.contains('.') || declared.contains(name) || !seen.insert(name) {
                continue;
            }
            let known = tool.parameters.iter().map(|parameter| parameter.name.as_str());
            let help = match closest(name, known) {
                Some(similar) => format!("did you mean `{{{{{similar}}}}}`?"),
                None => format!("add a row for `{name}` to the parameter table"),
            };
            findings.push(
                UNDECLARED_PARAMETER
                    .at(
                        span,
                        format!("`{{{{{name}}}}}` is not a parameter of `{}`", tool.name.value),
                    )
                    .help(help),
            );
        }
    }
}
