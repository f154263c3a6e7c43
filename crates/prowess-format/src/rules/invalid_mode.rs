//! `invalid-mode`.

use crate::diagnostic::{Findings, Severity, rule};
use crate::dialect;
use crate::rules::Subject;
use crate::specification::GIBBERISH;
use crate::text::alternatives;

rule! {
    /// ## What it does
    /// Flags a context mode that does not exist.
    ///
    /// ## Why is this bad?
    /// A tool with an unknown mode is never offered.
    ///
    /// ## Example
    /// `dev` becomes `Dev`.
    INVALID_MODE = "invalid-mode", Error / Error, check;
    GIBBERISH.at("2.2")
}

/// Checks the modes of a tool pack, which drops unknown ones; those of a SKILL.md are checked by
/// its table of fields.
fn check(subject: &Subject<'_>, findings: &mut Findings) {
    if subject.skill.dialect.id != "tool-pack" {
        return;
    }
    for mode in subject.skill.modes.iter().filter(|mode| !dialect::MODES.contains(&mode.as_str())) {
        let message =
            format!("`{}` is not a mode, expected {}", mode.value, alternatives(dialect::MODES));
        findings.push(
            INVALID_MODE
                .at(mode.span, message)
                .severity(Severity::Warning, Severity::Warning)
                .help("the mode is dropped: use one of these"),
        );
    }
}
