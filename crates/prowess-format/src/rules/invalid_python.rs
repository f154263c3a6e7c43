//! `invalid-python`.

use crate::diagnostic::{Findings, rule};
use crate::rules::Subject;

rule! {
    /// ## What it does
    /// Flags a `tools.py` that is not valid Python.
    ///
    /// ## Why is this bad?
    /// It can't be imported, so no tool loads (GAIA §5.1).
    ///
    /// ## Example
    /// Fix the syntax error.
    INVALID_PYTHON = "invalid-python", Error / Error, check
}

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    if let Some(Err(error)) = subject.python() {
        findings.push(
            INVALID_PYTHON
                .at(error.span, error.message.clone())
                .in_file("tools.py")
                .help("fix the syntax at this position"),
        );
    }
}
