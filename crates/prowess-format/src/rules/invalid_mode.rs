//! `invalid-mode`.

use crate::diagnostic::rule;

rule! {
    /// ## What it does
    /// Flags a context mode that does not exist.
    ///
    /// ## Why is this bad?
    /// A tool with an unknown mode is never offered (GIB §2.2, R26).
    ///
    /// ## Example
    /// `dev` becomes `Dev`.
    INVALID_MODE = "invalid-mode", Error / Error
}
