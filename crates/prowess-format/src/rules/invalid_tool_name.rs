//! `invalid-tool-name`.

use crate::diagnostic::{Findings, rule};
use crate::formats;
use crate::rules::Subject;
use crate::specification::{GIBBERISH, TOOL_PACKS};

rule! {
    /// ## What it does
    /// Flags a tool name that its dialect does not allow.
    ///
    /// ## Why is this bad?
    /// Models call tools by name; gibb.eri.sh allows 1 to 32 characters of `[a-z0-9_]`.
    ///
    /// ## Example
    /// `git-status` becomes `git_status`.
    INVALID_TOOL_NAME = "invalid-tool-name", Error / Error, check_tool_names;
    GIBBERISH.at("3.2"), TOOL_PACKS.at("Fields")
}

fn check_tool_names(subject: &Subject<'_>, findings: &mut Findings) {
    for tool in subject.skill.tools.iter().filter(|tool| subject.in_body(tool.name.span)) {
        if let Err(problem) = formats::check_tool_name(&tool.name) {
            let name: String = tool.name.to_lowercase().replace(['-', ' '], "_");
            let help = if formats::check_tool_name(&name).is_ok() {
                format!("write `{name}`")
            } else {
                "use 1 to 32 characters of `a-z`, `0-9` and `_`".to_owned()
            };
            findings.push(
                INVALID_TOOL_NAME
                    .at(
                        tool.name.span,
                        format!("`{}` is not a tool name: {problem}", tool.name.value),
                    )
                    .help(help),
            );
        }
    }
}
