//! `missing-field`.

use crate::diagnostic::rule;

rule! {
    /// ## What it does
    /// Flags a required field that is missing or empty.
    ///
    /// ## Why is this bad?
    /// A reader that follows the specification rejects the skill.
    ///
    /// ## Example
    /// Add the field.
    MISSING_FIELD = "missing-field", Error / Error
}
