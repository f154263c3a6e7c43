//! `description-too-long`.

use crate::diagnostic::rule;

rule! {
    /// ## What it does
    /// Flags a description of more than 1,024 characters.
    ///
    /// ## Why is this bad?
    /// The description stands in every prompt; all dialects together allow at most 1,024 characters (R1).
    ///
    /// ## Example
    /// Move details into the body.
    DESCRIPTION_TOO_LONG = "description-too-long", Error / Error
}
