//! `too-long`.

use crate::diagnostic::rule;

rule! {
    /// ## What it does
    /// Flags a text longer than its field allows.
    ///
    /// ## Why is this bad?
    /// The specification defines the limit; servers reject longer values.
    ///
    /// ## Example
    /// Shorten the text.
    TOO_LONG = "too-long", Error / Error
}
