//! What is known of a `tools.py` without running it. Another crate reads the Python; the rules here only compare.

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
    /// Where the name stands.
    pub span: Span,
    /// Whether a decorator called `tool` is above it.
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
    /// Where it stands.
    pub span: Span,
    /// The JSON type of its annotation.
    pub kind: PythonType,
    /// Whether it has a default.
    pub has_default: bool,
}

/// What an annotation means in JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PythonType {
    /// No annotation.
    Unannotated,
    /// An annotation such as `Any` that says nothing, or one that nobody can look into.
    Unknown,
    /// One of JSON Schema's type words.
    Json(&'static str),
    /// Something that JSON can't hold; the text of the annotation.
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
