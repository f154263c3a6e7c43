//! `invalid-utf8`.

use crate::diagnostic::rule;

rule! {
    /// ## What it does
    /// Flags a file that is not UTF-8 text.
    ///
    /// ## Why is this bad?
    /// A SKILL.md is UTF-8 by every specification; other bytes show up as garbage or crash a reader.
    ///
    /// ## Example
    /// Save the file with the encoding UTF-8.
    INVALID_UTF8 = "invalid-utf8", Error / Error
}
