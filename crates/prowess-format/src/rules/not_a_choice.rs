//! `not-a-choice`.

use crate::diagnostic::rule;

rule! {
    /// ## What it does
    /// Flags a value that is not in the list of allowed values.
    ///
    /// ## Why is this bad?
    /// Readers only know the listed values.
    ///
    /// ## Example
    /// The message lists them.
    NOT_A_CHOICE = "not-a-choice", Error / Error
}
