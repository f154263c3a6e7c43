//! `unknown-input-type`.

use crate::diagnostic::rule;

rule! {
    /// ## What it does
    /// Flags an input type that the dialect does not have.
    ///
    /// ## Why is this bad?
    /// SRT §4.4 rejects it; AFL §3.3 falls back to `text`, which loses the author's intent.
    ///
    /// ## Example
    /// `integer` becomes `number` in skillrt.
    UNKNOWN_INPUT_TYPE = "unknown-input-type", Error / Error
}
