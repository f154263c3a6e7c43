//! `unserializable-return`.

use crate::diagnostic::{Findings, rule};
use crate::python::PythonType;
use crate::rules::Subject;
use crate::specification::GAIA;

rule! {
    /// ## What it does
    /// Flags a tool function whose return type is not JSON.
    ///
    /// ## Why is this bad?
    /// The result crosses a process boundary as JSON.
    ///
    /// ## Example
    /// Return a `dict`, a `list`, `str`, `int`, `float`, `bool` or `None`.
    UNSERIALIZABLE_RETURN = "unserializable-return", Error / Error, check;
    GAIA.at("5.4")
}

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    for function in subject.declared_functions() {
        if let PythonType::NotJson(annotation) = &function.returns {
            let message = format!("`{}` returns `{annotation}`, which is not JSON", function.name);
            findings.push(
                UNSERIALIZABLE_RETURN
                    .at(function.span, message)
                    .in_file("tools.py")
                    .help("return a `dict`, a `list`, `str`, `int`, `float`, `bool` or `None`"),
            );
        }
    }
}
