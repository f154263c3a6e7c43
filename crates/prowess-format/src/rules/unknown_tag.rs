//! `unknown-tag`.

use crate::diagnostic::rule;

rule! {
    /// ## What it does
    /// Flags a YAML tag other than `!!str`, `!!int`, `!!float`, `!!bool`, `!!null`, `!!map` and `!!seq`.
    ///
    /// ## Why is this bad?
    /// Some libraries build objects or run code for tags such as `!!js/function`. Prowess ignores them, so a word that begins with `!` disappears from the text.
    ///
    /// ## Example
    /// `description: !important Read this` becomes `description: "!important Read this"`.
    UNKNOWN_TAG = "unknown-tag", Warning / Warning
}
