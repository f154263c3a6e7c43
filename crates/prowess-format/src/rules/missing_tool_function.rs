//! `missing-tool-function`.

use crate::diagnostic::{Findings, rule};
use crate::rules::Subject;
use crate::skill::ToolKind;
use crate::specification::GAIA;
use crate::text::closest;

rule! {
    /// ## What it does
    /// Flags a declared tool without a function of that name decorated with `@tool`.
    ///
    /// ## Why is this bad?
    /// Loading the skill fails.
    ///
    /// ## Example
    /// Add the function, and `@tool` above it.
    MISSING_TOOL_FUNCTION = "missing-tool-function", Error / Error, check;
    GAIA.at("5.1 and 5.4")
}

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(Ok(module)) = subject.python() else { return };
    for tool in subject.skill.tools.iter().filter(|tool| tool.kind == ToolKind::Python) {
        let function = module.functions.iter().rev().find(|function| function.name == *tool.name);
        let names = module
            .functions
            .iter()
            .filter(|function| function.is_tool)
            .map(|function| function.name.as_str());
        match function {
            Some(function) if function.is_tool => {}
            Some(function) => findings.push(
                MISSING_TOOL_FUNCTION
                    .at(
                        function.span,
                        format!(
                            "`{}` is declared as a tool but not decorated with `@tool`",
                            tool.name.value
                        ),
                    )
                    .in_file("tools.py")
                    .help("write `@tool` on the line above `def`"),
            ),
            None => {
                let help = closest(&tool.name, names).map_or_else(
                    || format!("add `@tool` and `def {}(…)` to `tools.py`", tool.name.value),
                    |similar| format!("did you mean `{similar}`?"),
                );
                findings.push(
                    MISSING_TOOL_FUNCTION
                        .at(
                            tool.name.span,
                            format!("`tools.py` has no function `{}`", tool.name.value),
                        )
                        .help(help),
                );
            }
        }
    }
}
