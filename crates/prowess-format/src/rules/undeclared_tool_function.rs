//! `undeclared-tool-function`.

use crate::diagnostic::{Findings, rule};
use crate::rules::Subject;

rule! {
    /// ## What it does
    /// Notes a decorated function that the front matter does not declare.
    ///
    /// ## Why is this bad?
    /// It is never offered to a model.
    ///
    /// ## Example
    /// Declare it under `tools:`.
    UNDECLARED_TOOL_FUNCTION = "undeclared-tool-function", Info / Info, check
}

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(Ok(module)) = subject.python() else { return };
    for function in module
        .functions
        .iter()
        .filter(|function| function.is_tool && subject.skill.tool(&function.name).is_none())
    {
        findings.push(
            UNDECLARED_TOOL_FUNCTION
                .at(
                    function.span,
                    format!("`{}` is decorated with `@tool` but not declared", function.name),
                )
                .in_file("tools.py")
                .help("declare it under `tools:`"),
        );
    }
}
