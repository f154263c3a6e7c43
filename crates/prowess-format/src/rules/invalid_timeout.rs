//! `invalid-timeout`.

use crate::diagnostic::rule;

rule! {
    /// ## What it does
    /// Flags a timeout outside 1 to 300 seconds.
    ///
    /// ## Why is this bad?
    /// GIB §2.2 defines the range.
    ///
    /// ## Example
    /// `timeout: 30`
    INVALID_TIMEOUT = "invalid-timeout", Error / Error
}
