//! `wrong-default`.

use serde_json::Value;

use crate::command::{has_type, kind_of};
use crate::diagnostic::{Findings, Severity, rule};
use crate::rules::Subject;
use crate::specification::SKILLRT;

rule! {
    /// ## What it does
    /// Flags a default that its own input or parameter does not accept: a value of the wrong type, or not one of the allowed values.
    ///
    /// ## Why is this bad?
    /// A call without the value fails, or runs with an invalid value.
    ///
    /// ## Example
    /// `type: number` with `default: ten` becomes `default: 10`.
    WRONG_DEFAULT = "wrong-default", Error / Error, check;
    SKILLRT.at("4.4")
}

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    // Agent Flow Lite only has text and converts every default to text.
    if subject.skill.dialect.id == "agent-flow" {
        return;
    }
    let parameters = subject
        .skill
        .inputs
        .iter()
        .chain(subject.skill.tools.iter().flat_map(|tool| &tool.parameters));
    for parameter in parameters {
        let Some(default) = parameter.default.as_ref().filter(|default| !default.is_null()) else {
            continue;
        };
        let choices = parameter
            .extra
            .iter()
            .find(|(key, _)| key == "enum")
            .and_then(|(_, choices)| choices.as_array());
        // An unquoted number is a valid default for text.
        let text = matches!(parameter.kind.as_str(), "string" | "url" | "file")
            && matches!(default, Value::Number(_) | Value::Bool(_));
        let problem = if !has_type(default, &parameter.kind) && !text {
            format!(
                "the default of `{}` is {}, expected {}",
                parameter.name.value,
                kind_of(default),
                parameter.kind.value
            )
        } else if choices.is_some_and(|choices| !choices.contains(default)) {
            format!("the default of `{}` is not among the values of `enum`", parameter.name.value)
        } else {
            continue;
        };
        let severity =
            if subject.skill.dialect.id == "skillrt" { Severity::Error } else { Severity::Warning };
        findings.push(
            WRONG_DEFAULT
                .at(parameter.name.span, problem)
                .severity(severity, Severity::Error)
                .help("give a default that the parameter accepts"),
        );
    }
}
