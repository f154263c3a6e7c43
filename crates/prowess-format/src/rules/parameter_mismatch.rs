//! `parameter-mismatch`.

use crate::diagnostic::{Findings, rule};
use crate::python::PythonType;
use crate::rules::Subject;
use crate::skill::ToolKind;
use crate::specification::GAIA;
use crate::text::closest;

rule! {
    /// ## What it does
    /// Flags a declared parameter whose name, type or default differs from the function.
    ///
    /// ## Why is this bad?
    /// A call that matches the declaration fails in the function.
    ///
    /// ## Example
    /// Make the two the same.
    PARAMETER_MISMATCH = "parameter-mismatch", Error / Error, check;
    GAIA.at("5.4")
}

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(Ok(module)) = subject.python() else { return };
    for tool in subject.skill.tools.iter().filter(|tool| tool.kind == ToolKind::Python) {
        let Some(function) =
            module.functions.iter().rev().find(|function| function.name == *tool.name)
        else {
            continue;
        };
        for parameter in &tool.parameters {
            let Some(taken) =
                function.parameters.iter().find(|taken| taken.name == *parameter.name)
            else {
                if !function.takes_any_keyword {
                    let help = closest(
                        &parameter.name,
                        function.parameters.iter().map(|taken| taken.name.as_str()),
                    )
                    .map_or_else(
                        || {
                            format!(
                                "add it to `def {}(…)`, or remove it from `tools:`",
                                tool.name.value
                            )
                        },
                        |similar| format!("did you mean `{similar}`?"),
                    );
                    findings.push(
                        PARAMETER_MISMATCH
                            .at(
                                parameter.name.span,
                                format!(
                                    "`{}` takes no parameter `{}`",
                                    tool.name.value, parameter.name.value
                                ),
                            )
                            .help(help),
                    );
                }
                continue;
            };
            if let Some(given) = differs(&taken.kind, &parameter.kind) {
                let message = format!(
                    "`{}` is {given} in `tools.py` and {} in the front matter",
                    parameter.name.value, parameter.kind.value
                );
                findings.push(
                    PARAMETER_MISMATCH
                        .at(parameter.kind.span, message)
                        .help("make the two types the same"),
                );
            }
            // Even if the front matter has a default: not every runtime passes it on.
            if !parameter.required && !taken.has_default {
                findings.push(
                    PARAMETER_MISMATCH
                        .at(
                            parameter.name.span,
                            format!(
                                "`{}` is optional, but the function has no default for it",
                                parameter.name.value
                            ),
                        )
                        .help(format!(
                            "write `{}=None` in the function, or `required: true`",
                            parameter.name.value
                        )),
                );
            }
        }
        for taken in function.parameters.iter().filter(|taken| {
            !taken.has_default
                && !tool.parameters.iter().any(|parameter| *parameter.name == taken.name)
        }) {
            findings.push(
                PARAMETER_MISMATCH
                    .at(
                        taken.span,
                        format!(
                            "`{}` needs `{}`, which the front matter does not declare",
                            tool.name.value, taken.name
                        ),
                    )
                    .in_file("tools.py")
                    .help("declare it under `parameters:`"),
            );
        }
    }
}

/// The type of the annotation, if it contradicts the declaration. An integer may be declared for a
/// number.
fn differs(taken: &PythonType, declared: &str) -> Option<String> {
    match taken {
        PythonType::Unannotated | PythonType::Unknown => None,
        PythonType::Json(word)
            if *word == declared || (*word == "number" && declared == "integer") =>
        {
            None
        }
        PythonType::Json(word) => Some((*word).to_owned()),
        PythonType::NotJson(annotation) => Some(format!("`{annotation}`")),
    }
}
