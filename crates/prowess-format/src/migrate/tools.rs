//! Converts actions of the older shape to tools (GAIA §8.2, steps 2 and 5).

use super::wrapper::{Call, Wrapped, identifier};
use super::{ReviewItem, item};
use crate::convert::{json_type, known_type};
use crate::rules::is_inside;
use crate::skill::{Skill, Tool, ToolKind};
use crate::span::Spanned;
use crate::specification::GAIA;
use crate::text::shorten;

/// Converts actions to tools, each with its own function.
pub(super) fn tools(
    source: &Skill,
    listing: &[String],
    renamed: &[(String, String)],
    review: &mut Vec<ReviewItem>,
) -> Vec<Wrapped> {
    let mut wrapped: Vec<Wrapped> = Vec::new();
    for action in source.tools.iter().filter(|tool| tool.kind == ToolKind::Handler) {
        let what = format!("tool `{}`", shorten(&action.name, 60));
        let mut tool = Tool { kind: ToolKind::Python, handler: None, ..action.clone() };
        tool.parameters_declared = true;
        let mut name = identifier(&action.name, "run");
        while wrapped.iter().any(|earlier| *earlier.tool.name == name) {
            name.push('_');
        }
        if name != action.name.value {
            item(
                review,
                &what,
                format!("this is not a valid Python function name: it is renamed to `{name}`"),
            );
        }
        tool.name = Spanned::new(name, action.name.span);
        let arguments: Vec<String> =
            action.parameters.iter().map(|parameter| parameter.name.value.clone()).collect();
        for at in 0..tool.parameters.len() {
            let (before, rest) = tool.parameters.split_at_mut(at);
            let Some(parameter) = rest.first_mut() else { continue };
            if known_type(&parameter.kind).is_none() {
                let why = format!(
                    "the type `{}` of `{}` is unknown: it is declared as text",
                    shorten(&parameter.kind, 40),
                    shorten(&parameter.name, 60)
                );
                item(review, &what, why);
            }
            parameter.kind.value = json_type(&parameter.kind).to_owned();
            let mut name = identifier(&parameter.name, "value");
            while before.iter().any(|earlier| *earlier.name == name) {
                name.push('_');
            }
            if name != parameter.name.value {
                item(
                    review,
                    &what,
                    format!(
                        "the parameter `{}` is renamed to `{name}`, and passed on under its old name",
                        shorten(&parameter.name, 60)
                    ),
                );
                parameter.name.value = name;
            }
            parameter.extra.retain(|(key, _)| key != "required");
        }
        let call = call(action, listing, renamed, &what, review);
        wrapped.push(Wrapped { tool, arguments, call });
    }
    wrapped
}

/// The function that a tool calls: `file.py:function`, or the one named after the action.
fn call(
    action: &Tool,
    listing: &[String],
    renamed: &[(String, String)],
    what: &str,
    review: &mut Vec<ReviewItem>,
) -> Call {
    let missing = |why: &str| Call::Missing(format!("{}: {why}", action.name.value));
    let Some(handler) = &action.handler else {
        item(review, what, "the action has no handler: write the function in `tools.py`");
        return missing("the action had no handler");
    };
    let (path, function) = match handler.rsplit_once(':') {
        Some((path, function)) => {
            (path.trim(), Some(function.trim()).filter(|function| !function.is_empty()))
        }
        None => (handler.as_str(), None),
    };
    let path = path.strip_prefix("./").unwrap_or(path);
    if !is_inside(path) {
        item(
            review,
            what,
            format!(
                "the handler `{}` is outside the skill: copy it into the skill and fix the path",
                shorten(handler, 80)
            ),
        );
        return missing("the handler was outside the skill");
    }
    if !path.to_lowercase().ends_with(".py") {
        item(
            review,
            what,
            format!(
                "the handler `{}` is not Python: write the function in `tools.py`, or run the skill through the OpenClaw adapter ({})",
                shorten(handler, 80),
                GAIA.at("8.3")
            ),
        );
        return missing("the handler was not written in Python");
    }
    if !listing.iter().any(|file| file == path) {
        item(
            review,
            what,
            format!("the handler file `{}` does not exist: add it", shorten(path, 80)),
        );
    }
    let function = match function {
        Some(function) if function.split('.').all(is_identifier) && !function.contains('.') => {
            function.to_owned()
        }
        Some(function) => {
            item(
                review,
                what,
                format!("`{}` is not a function name: fix the handler", shorten(function, 60)),
            );
            return missing("the handler named no function");
        }
        None => {
            let function = identifier(&action.name, "run");
            item(review, what, format!("the handler names no function: `{function}` is assumed"));
            function
        }
    };
    let path = renamed.iter().find(|(from, _)| from == path).map_or(path, |(_, to)| to);
    Call::Python { path: path.to_owned(), function }
}

fn is_identifier(word: &str) -> bool {
    !word.is_empty()
        && !word.starts_with(|first: char| first.is_ascii_digit())
        && word.chars().all(|character| character.is_alphanumeric() || character == '_')
}
