//! `duplicate-tool`.

use std::collections::HashSet;

use crate::diagnostic::{Findings, rule};
use crate::rules::Subject;
use crate::specification::GIBBERISH;

rule! {
    /// ## What it does
    /// Flags two tools with the same name.
    ///
    /// ## Why is this bad?
    /// A call could mean either.
    ///
    /// ## Example
    /// Rename one of them.
    DUPLICATE_TOOL = "duplicate-tool", Error / Error, check;
    GIBBERISH.at("3.2 and 9.1")
}

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let mut seen = HashSet::new();
    for tool in &subject.skill.tools {
        if !seen.insert(tool.name.as_str()) {
            findings.push(
                DUPLICATE_TOOL
                    .at(tool.name.span, format!("the tool `{}` is defined twice", tool.name.value))
                    .help("rename one of the two"),
            );
        }
    }
}
