//! Reads the functions of a `tools.py` without running it (GAIA §5.3, §5.4).
//!
//! Pure like the format crate: text in, values out. The Python is parsed, never imported or executed, and no
//! input makes it panic.
//!
//! ```
//! let module = prowess_python::read("@tool\ndef greet(name: str) -> dict:\n    \"\"\"Greet.\"\"\"\n").unwrap();
//! assert_eq!(module.functions[0].name, "greet");
//! assert!(module.functions[0].is_tool);
//! ```

mod annotation;
mod names;
mod nesting;
mod outline;
#[cfg(test)]
mod tests;
mod uses;

use std::panic::{AssertUnwindSafe, catch_unwind};

use prowess_format::python::{
    PythonError, PythonFunction, PythonModule, PythonParameter, PythonType,
};
use prowess_format::span::Span;
use prowess_format::text::visible;
use ruff_python_ast::{Expr, ParameterWithDefault, Stmt, StmtFunctionDef};
use ruff_python_parser::{ParseError, parse_module};
use ruff_text_size::{Ranged, TextRange};

pub use outline::{Expression, ExpressionKind, Statement, outline};
pub use uses::{PythonCommand, PythonCommandKind, PythonUses, uses};

use annotation::Use;
use names::Names;

/// Maximum size of a `tools.py`, in bytes; the largest in public skill collections are far smaller.
pub const MAX_BYTES: usize = 2 << 20;

/// Reads the functions that a `tools.py` defines at its top level.
pub fn read(text: &str) -> Result<PythonModule, PythonError> {
    if text.len() > MAX_BYTES {
        let message = format!("{} bytes exceed the limit of {MAX_BYTES}", text.len());
        return Err(PythonError { message, span: Span::at(0) });
    }
    // The parser asserts its own progress. If an assertion fails on a file, that file is
    // unreadable; it must not abort the check of the others.
    catch_unwind(AssertUnwindSafe(|| {
        nesting::check(text)?;
        let module = parse_module(text).map_err(|error| syntax_error(&error))?;
        Ok(functions(text, module.suite()))
    }))
    .unwrap_or_else(|_| {
        let message = "the file could not be parsed".to_owned();
        Err(PythonError { message, span: Span::at(0) })
    })
}

fn syntax_error(error: &ParseError) -> PythonError {
    let message = error.error.to_string();
    let message = visible(&message);
    let mut characters = message.chars();
    let lowercase = characters
        .next()
        .map(|first| first.to_lowercase().collect::<String>() + characters.as_str())
        .unwrap_or_default();
    PythonError {
        message: lowercase.trim_end_matches('.').to_owned(),
        span: span(error.location.range()),
    }
}

fn functions(text: &str, suite: &[Stmt]) -> PythonModule {
    let names = Names::of(suite);
    let mut functions = Vec::new();
    names::each_statement(suite, &mut |statement| {
        if let Stmt::FunctionDef(definition) = statement {
            functions.push(function(text, definition, &names));
        }
    });
    PythonModule { functions }
}

fn function(text: &str, definition: &StmtFunctionDef, names: &Names<'_>) -> PythonFunction {
    let own: Vec<&str> = definition
        .type_params
        .iter()
        .flat_map(|parameters| parameters.iter())
        .map(|parameter| parameter.name().as_str())
        .collect();
    let kind = |annotation: Option<&Expr>, usage| match annotation {
        Some(expression) => annotation::kind(expression, text, names, &own, usage),
        None => PythonType::Unannotated,
    };
    let parameters = &definition.parameters;
    let positional = parameters.posonlyargs.iter().chain(&parameters.args).enumerate();
    let positional = positional.filter(|(at, parameter)| {
        *at > 0 || !matches!(parameter.parameter.name.as_str(), "self" | "cls")
    });
    let taken = positional.map(|(_, parameter)| parameter).chain(&parameters.kwonlyargs);
    PythonFunction {
        name: definition.name.to_string(),
        span: span(definition.name.range),
        is_tool: definition
            .decorator_list
            .iter()
            .any(|decorator| names.is_tool_decorator(&decorator.expression)),
        has_docstring: has_docstring(&definition.body),
        parameters: taken
            .map(|parameter: &ParameterWithDefault| PythonParameter {
                name: parameter.parameter.name.to_string(),
                span: span(parameter.parameter.name.range),
                kind: kind(parameter.parameter.annotation.as_deref(), Use::Parameter),
                has_default: parameter.default.is_some(),
            })
            .collect(),
        takes_any_keyword: parameters.kwarg.is_some(),
        returns: kind(definition.returns.as_deref(), Use::Return),
    }
}

/// Whether a body begins with a docstring that is not blank, the fallback for the description (GAIA
/// §5.4).
fn has_docstring(body: &[Stmt]) -> bool {
    let Some(Stmt::Expr(first)) = body.first() else { return false };
    first.value.as_string_literal_expr().is_some_and(|text| !text.value.to_str().trim().is_empty())
}

fn span(range: TextRange) -> Span {
    Span::new(range.start().to_usize(), range.end().to_usize())
}
