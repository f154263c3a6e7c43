//! `missing-docstring`.

use crate::diagnostic::{Findings, rule};
use crate::rules::Subject;
use crate::specification::GAIA;

rule! {
    /// ## What it does
    /// Flags a tool function without a docstring.
    ///
    /// ## Why is this bad?
    /// The docstring is the fallback for the description.
    ///
    /// ## Example
    /// Add one line in triple quotes.
    MISSING_DOCSTRING = "missing-docstring", Error / Error, check;
    GAIA.at("5.4")
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
