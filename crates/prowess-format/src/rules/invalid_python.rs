//! `invalid-python`.

use crate::diagnostic::{Findings, rule};
use crate::rules::Subject;

rule! {
    /// ## What it does
    /// Flags a `tools.py` that is not Python.
    ///
    /// ## Why is this bad?
    /// It can not be imported, so no tool loads (GAIA §5.1).
    ///
    /// ## Example
    /// Correct the syntax error.
    INVALID_PYTHON = "invalid-python", Error / Error, check
}

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    if let Some(Err(error)) = subject.python() {
        findings.push(
            INVALID_PYTHON
                .at(error.span, error.message.clone())
                .in_file("tools.py")
                .help("correct the syntax at this place"),
        );
    }
}
