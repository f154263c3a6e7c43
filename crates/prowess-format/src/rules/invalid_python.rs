//! `invalid-python`.

use crate::diagnostic::{Findings, rule};
use crate::rules::Subject;
use crate::specification::GAIA;

rule! {
    /// ## What it does
    /// Flags a `tools.py` that is not valid Python.
    ///
    /// ## Why is this bad?
    /// It can't be imported, so no tool loads.
    ///
    /// ## Example
    /// Fix the syntax error.
    INVALID_PYTHON = "invalid-python", Error / Error, check;
    GAIA.at("5.1")
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
