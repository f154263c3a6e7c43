//! `unquoted-text`.

use crate::diagnostic::rule;

rule! {
    /// ## What it does
    /// Flags a text field whose value YAML reads as a number or a boolean.
    ///
    /// ## Why is this bad?
    /// Typed readers see `1.0` as the number 1 and reject it, or print `1`.
    ///
    /// ## Example
    /// `version: 1.0` becomes `version: "1.0"`; `prowess check --fix` does it.
    UNQUOTED_TEXT = "unquoted-text", Warning / Warning
}
