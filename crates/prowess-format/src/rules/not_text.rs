//! `not-text`.

use crate::diagnostic::rule;

rule! {
    /// ## What it does
    /// Flags a file that is not text, such as an image or an archive.
    ///
    /// ## Why is this bad?
    /// A skill is a text file. No other rule is applied to such a file.
    ///
    /// ## Example
    /// `prowess check logo.png` becomes `prowess check SKILL.md`.
    NOT_TEXT = "not-text", Error / Error
}
