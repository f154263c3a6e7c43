//! `wrong-format`.

use crate::diagnostic::rule;

rule! {
    /// ## What it does
    /// Flags a text that does not have the form of its field.
    ///
    /// ## Why is this bad?
    /// The form is part of the specification; programs rely on it.
    ///
    /// ## Example
    /// The message says which form is expected.
    WRONG_FORMAT = "wrong-format", Error / Error
}
