//! `invalid-utf8`.

use crate::diagnostic::rule;

rule! {
    /// ## What it does
    /// Flags a file that is not UTF-8 text.
    ///
    /// ## Why is this bad?
    /// A SKILL.md is UTF-8 by every specification; other bytes reach agents as garbage or make a reader crash.
    ///
    /// ## Example
    /// Save the file as UTF-8; editors call it an encoding.
    INVALID_UTF8 = "invalid-utf8", Error / Error
}
