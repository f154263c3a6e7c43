//! `duplicate-input`.

use std::collections::HashSet;

use crate::diagnostic::{Findings, rule};
use crate::rules::Subject;

rule! {
    /// ## What it does
    /// Flags two inputs with the same name.
    ///
    /// ## Why is this bad?
    /// A value could belong to either.
    ///
    /// ## Example
    /// Rename one of them.
    DUPLICATE_INPUT = "duplicate-input", Error / Error, check
}

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let lists = std::iter::once(&subject.skill.inputs)
        .chain(subject.skill.tools.iter().map(|tool| &tool.parameters));
    for list in lists {
        let mut seen = HashSet::new();
        for input in list {
            if !seen.insert(input.name.as_str()) {
                findings.push(
                    DUPLICATE_INPUT
                        .at(input.name.span, format!("`{}` is declared twice", input.name.value))
                        .help("rename one of the two"),
                );
            }
        }
    }
}
