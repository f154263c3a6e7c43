//! `wrong-format`.

use crate::diagnostic::rule;

rule! {
    /// ## What it does
    /// Flags a value that does not have the format of its field.
    ///
    /// ## Why is this bad?
    /// The specification defines the format, and programs rely on it.
    ///
    /// ## Example
    /// The message names the expected format.
    WRONG_FORMAT = "wrong-format", Error / Error
}
