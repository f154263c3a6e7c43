//! `invalid-url`.

use crate::diagnostic::rule;

rule! {
    /// ## What it does
    /// Flags an address that is not a URL.
    ///
    /// ## Why is this bad?
    /// Pages link to it (SKL layer 3).
    ///
    /// ## Example
    /// `github.com/x` becomes `https://github.com/x`.
    INVALID_URL = "invalid-url", Error / Error
}
