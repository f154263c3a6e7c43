//! The functions of a `tools.py`, known without running it. Another crate parses the Python; the
//! rules here only compare.

use crate::span::Span;

/// The functions of a module.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PythonModule {
    /// Top-level functions in order.
    pub functions: Vec<PythonFunction>,
}

/// One top-level function.
#[derive(Clone, Debug, PartialEq)]
pub struct PythonFunction {
    /// Its name.
    pub name: String,
    /// Span of the name.
    pub span: Span,
    /// Whether it is decorated with `@tool`.
    pub is_tool: bool,
    /// Whether it has a docstring.
    pub has_docstring: bool,
    /// Its parameters, without `self`, `*args` and `**kwargs`.
    pub parameters: Vec<PythonParameter>,
    /// Whether it takes `**kwargs`, so that any name is accepted.
    pub takes_any_keyword: bool,
    /// The JSON type of its return annotation.
    pub returns: PythonType,
}

/// One parameter.
#[derive(Clone, Debug, PartialEq)]
pub struct PythonParameter {
    /// Its name.
    pub name: String,
    /// Its span.
    pub span: Span,
    /// The JSON type of its annotation.
    pub kind: PythonType,
    /// Whether it has a default.
    pub has_default: bool,
}

/// The JSON type of an annotation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PythonType {
    /// No annotation.
    Unannotated,
    /// An annotation without a known JSON type, such as `Any`.
    Unknown,
    /// A type name of JSON Schema.
    Json(&'static str),
    /// A type that JSON can't represent; the text of the annotation.
    NotJson(String),
}

/// Why a module could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PythonError {
    /// What is wrong.
    pub message: String,
    /// Where.
    pub span: Span,
}
