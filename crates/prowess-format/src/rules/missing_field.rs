//! `missing-field`.

use crate::diagnostic::rule;

rule! {
    /// ## What it does
    /// Flags a field that the dialect requires and that is absent or empty.
    ///
    /// ## Why is this bad?
    /// The specification calls the field required; a reader that follows it refuses the skill.
    ///
    /// ## Example
    /// Add the field.
    MISSING_FIELD = "missing-field", Error / Error
}
