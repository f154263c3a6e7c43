//! `invalid-url`.

use crate::diagnostic::rule;
use crate::specification::SKILLLI;

rule! {
    /// ## What it does
    /// Flags an invalid URL.
    ///
    /// ## Why is this bad?
    /// Registry pages link to it.
    ///
    /// ## Example
    /// `github.com/x` becomes `https://github.com/x`.
    INVALID_URL = "invalid-url", Error / Error;
    SKILLLI.at("Skillli Registry Extensions")
}
