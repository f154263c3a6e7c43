//! `out-of-range`.

use crate::diagnostic::rule;

rule! {
    /// ## What it does
    /// Flags a number, or a number of entries, outside the range of its field.
    ///
    /// ## Why is this bad?
    /// The specification defines the range.
    ///
    /// ## Example
    /// Choose a value within the range.
    OUT_OF_RANGE = "out-of-range", Error / Error
}
