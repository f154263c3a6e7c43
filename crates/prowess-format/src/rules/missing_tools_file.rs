//! `missing-tools-file`.

use crate::diagnostic::{Findings, rule};
use crate::rules::Subject;
use crate::skill::ToolKind;
use crate::specification::GAIA;

rule! {
    /// ## What it does
    /// Flags a skill that declares Python tools but has no `tools.py`.
    ///
    /// ## Why is this bad?
    /// There is nothing to load.
    ///
    /// ## Example
    /// Add `tools.py` next to SKILL.md.
    MISSING_TOOLS_FILE = "missing-tools-file", Error / Error, check;
    GAIA.at("5.1")
}

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let python = subject.skill.tools.iter().find(|tool| tool.kind == ToolKind::Python);
    if let Some(tool) =
        python.filter(|_| subject.place.files.is_some_and(|files| !files.exists("tools.py")))
    {
        findings.push(
            MISSING_TOOLS_FILE
                .at(tool.name.span, "tools are declared, but there is no `tools.py`")
                .help("add `tools.py` with a function for each tool, decorated with `@tool`"),
        );
    }
}
