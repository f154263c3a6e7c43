//! `invalid-parameter-type`.

use crate::diagnostic::{Findings, rule};
use crate::dialect;
use crate::rules::Subject;
use crate::specification::GIBBERISH;
use crate::text::{alternatives, closest};

rule! {
    /// ## What it does
    /// Flags an unknown parameter type.
    ///
    /// ## Why is this bad?
    /// Arguments are checked against the type before anything runs.
    ///
    /// ## Example
    /// `int` becomes `integer`.
    INVALID_PARAMETER_TYPE = "invalid-parameter-type", Error / Error, check_parameter_types;
    GIBBERISH.at("3.3")
}

fn check_parameter_types(subject: &Subject<'_>, findings: &mut Findings) {
    // Declarations in front matter are checked by their shape; tables of the body are checked here.
    let commands = subject
        .skill
        .tools
        .iter()
        .filter(|tool| tool.command.is_some() && subject.in_body(tool.name.span));
    for parameter in commands.flat_map(|tool| &tool.parameters) {
        if dialect::PARAMETER_TYPES.contains(&parameter.kind.as_str()) {
            continue;
        }
        if parameter.kind.is_empty() {
            let message = format!("`{}` has no type", parameter.name.value);
            let help =
                format!("write {} in a column `Type`", alternatives(dialect::PARAMETER_TYPES));
            findings.push(INVALID_PARAMETER_TYPE.at(parameter.kind.span, message).help(help));
            continue;
        }
        let message = format!(
            "`{}` is not a parameter type, expected {}",
            parameter.kind.value,
            alternatives(dialect::PARAMETER_TYPES)
        );
        let other_word = OTHER_WORDS
            .iter()
            .find(|(word, _)| word.eq_ignore_ascii_case(&parameter.kind))
            .map(|(_, meant)| *meant);
        let help = match other_word
            .or_else(|| closest(&parameter.kind, dialect::PARAMETER_TYPES.iter().copied()))
        {
            Some(word) => format!("did you mean `{word}`?"),
            None => "write `string` for anything else".to_owned(),
        };
        findings.push(INVALID_PARAMETER_TYPE.at(parameter.kind.span, message).help(help));
    }
}

/// Names of these types in other languages.
const OTHER_WORDS: &[(&str, &str)] = &[
    ("int", "integer"),
    ("float", "number"),
    ("double", "number"),
    ("bool", "boolean"),
    ("str", "string"),
    ("text", "string"),
    ("list", "array"),
];
