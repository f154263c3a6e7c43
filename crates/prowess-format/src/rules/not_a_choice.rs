//! `not-a-choice`.

use crate::diagnostic::rule;

rule! {
    /// ## What it does
    /// Flags a word that is not among the ones its field allows.
    ///
    /// ## Why is this bad?
    /// Readers know only the listed words.
    ///
    /// ## Example
    /// The message lists them.
    NOT_A_CHOICE = "not-a-choice", Error / Error
}
