//! `missing-docstring`.

use crate::diagnostic::{Findings, rule};
use crate::rules::Subject;

rule! {
    /// ## What it does
    /// Flags a tool function without a docstring.
    ///
    /// ## Why is this bad?
    /// The docstring is the fallback for the description (GAIA §5.4).
    ///
    /// ## Example
    /// Add one line in triple quotes.
    MISSING_DOCSTRING = "missing-docstring", Error / Error, check
}

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    for function in subject.declared_functions() {
        if !function.has_docstring {
            findings.push(
                MISSING_DOCSTRING
                    .at(function.span, format!("`{}` has no docstring", function.name))
                    .in_file("tools.py")
                    .help("describe in one line what it does, in triple quotes below `def`"),
            );
        }
    }
}
