//! `invalid-timeout`.

use crate::diagnostic::rule;
use crate::specification::GIBBERISH;

rule! {
    /// ## What it does
    /// Flags a timeout outside 1 to 300 seconds.
    ///
    /// ## Why is this bad?
    /// gibb.eri.sh defines the range.
    ///
    /// ## Example
    /// `timeout: 30`
    INVALID_TIMEOUT = "invalid-timeout", Error / Error;
    GIBBERISH.at("2.2")
}
