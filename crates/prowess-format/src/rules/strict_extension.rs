//! `strict-extension`.

use crate::diagnostic::{Findings, rule};
use crate::rules::Subject;
use crate::specification::SKILLRT;

rule! {
    /// ## What it does
    /// Flags a field that begins with `x-runtime-strict:`.
    ///
    /// ## Why is this bad?
    /// The prefix means that a runtime that does not know the field must reject the skill.
    ///
    /// ## Example
    /// Remove the field, or run the skill with a runtime that supports it.
    STRICT_EXTENSION = "strict-extension", Error / Error, check;
    SKILLRT.at("4.2")
}

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    for entry in subject.document.root.entries.iter().filter(|entry| {
        entry.key == "x-runtime-strict" || entry.key.starts_with("x-runtime-strict:")
    }) {
        findings.push(
            STRICT_EXTENSION
                .at(entry.key_span, format!("`{}` is required but not supported", entry.key))
                .help("remove the field, or run the skill with a runtime that supports it"),
        );
    }
}
