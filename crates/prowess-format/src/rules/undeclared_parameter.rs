//! `undeclared-parameter`.

use crate::command;
use crate::diagnostic::{Findings, rule};
use crate::rules::Subject;
use crate::text::closest;

rule! {
    /// ## What it does
    /// Flags a placeholder in a command that is no parameter of the tool.
    ///
    /// ## Why is this bad?
    /// It never has a value, so its argument is always dropped (R12).
    ///
    /// ## Example
    /// Add a row to the table.
    UNDECLARED_PARAMETER = "undeclared-parameter", Error / Error, check
}

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    for tool in &subject.skill.tools {
        let Some(template) = tool.command.as_ref().and_then(|command| Some((command.span, command::parse(command).ok()?))) else { continue };
        let (span, template) = template;
        let mut seen: Vec<&str> = Vec::new();
        for name in template.variables() {
            // Tool packs refer to the context by dotted names.
            if name.contains('.') || seen.contains(&name) || tool.parameters.iter().any(|parameter| *parameter.name == name) {
                continue;
            }
            seen.push(name);
            let known = tool.parameters.iter().map(|parameter| parameter.name.as_str());
            let help = match closest(name, known) {
                Some(similar) => format!("did you mean `{{{{{similar}}}}}`?"),
                None => format!("add a row for `{name}` to the parameter table"),
            };
            findings.push(UNDECLARED_PARAMETER.at(span, format!("`{{{{{name}}}}}` is not a parameter of `{}`", tool.name.value)).help(help));
        }
    }
}
