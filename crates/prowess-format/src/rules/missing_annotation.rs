//! `missing-annotation`.

use crate::diagnostic::{Findings, rule};
use crate::python::PythonType;
use crate::rules::Subject;
use crate::specification::GAIA;

rule! {
    /// ## What it does
    /// Flags a tool function whose parameter or return value has no annotation.
    ///
    /// ## Why is this bad?
    /// It can't be compared with the front matter, and the result may not be JSON.
    ///
    /// ## Example
    /// `def count_words(text)` becomes `def count_words(text: str) -> dict`
    MISSING_ANNOTATION = "missing-annotation", Warning / Warning, check;
    GAIA.at("5.4")
}

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    for function in subject.declared_functions().filter(|function| function.is_tool) {
        let unannotated =
            |parameter: &&crate::python::PythonParameter| parameter.kind == PythonType::Unannotated;
        for parameter in function.parameters.iter().filter(unannotated) {
            let (name, example) = (&parameter.name, format!("write `{}: str`", parameter.name));
            findings.push(
                MISSING_ANNOTATION
                    .at(parameter.span, format!("`{name}` has no annotation"))
                    .in_file("tools.py")
                    .help(format!("{example}, or another type")),
            );
        }
        if function.returns == PythonType::Unannotated {
            let message = format!("`{}` has no return annotation", function.name);
            findings.push(
                MISSING_ANNOTATION
                    .at(function.span, message)
                    .in_file("tools.py")
                    .help("write `-> dict`, or another type"),
            );
        }
    }
}
