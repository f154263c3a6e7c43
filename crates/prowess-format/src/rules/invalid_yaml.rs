//! `invalid-yaml`.

use crate::diagnostic::rule;

rule! {
    /// ## What it does
    /// Flags front matter that is not valid YAML and can't be repaired.
    ///
    /// ## Why is this bad?
    /// A skill with unreadable front matter silently disappears from most agents.
    ///
    /// ## Example
    /// Quote the value.
    INVALID_YAML = "invalid-yaml", Error / Error
}
