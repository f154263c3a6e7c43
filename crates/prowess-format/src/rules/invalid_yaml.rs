//! `invalid-yaml`.

use crate::diagnostic::rule;

rule! {
    /// ## What it does
    /// Flags front matter that is not YAML and that no repair makes readable.
    ///
    /// ## Why is this bad?
    /// A skill with unreadable front matter silently disappears from most agents.
    ///
    /// ## Example
    /// Put the value in double quotes.
    INVALID_YAML = "invalid-yaml", Error / Error
}
