//! `unused-parameter`.

use std::collections::HashSet;

use crate::command;
use crate::diagnostic::{Findings, rule};
use crate::rules::Subject;

rule! {
    /// ## What it does
    /// Notes a parameter that the command does not use.
    ///
    /// ## Why is this bad?
    /// A model provides a value that has no effect.
    ///
    /// ## Example
    /// Use it in the command, or remove the row.
    UNUSED_PARAMETER = "unused-parameter", Info / Warning, check
}

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    for tool in &subject.skill.tools {
        let Some(template) = tool.command.as_ref().and_then(|command| command::parse(command).ok())
        else {
            continue;
        };
        let used: HashSet<&str> = template.variables().collect();
        for parameter in &tool.parameters {
            if !used.contains(parameter.name.as_str()) {
                findings.push(
                    UNUSED_PARAMETER
                        .at(
                            parameter.name.span,
                            format!(
                                "the command of `{}` does not use `{}`",
                                tool.name.value, parameter.name.value
                            ),
                        )
                        .help(format!(
                            "use `{{{{{}}}}}` in the command, or remove the parameter",
                            parameter.name.value
                        )),
                );
            }
        }
    }
}
