//! `duplicate-key`.

use crate::diagnostic::rule;

rule! {
    /// ## What it does
    /// Flags a key that is given twice in one map.
    ///
    /// ## Why is this bad?
    /// Readers disagree about which one wins.
    ///
    /// ## Example
    /// Keep one of the two.
    DUPLICATE_KEY = "duplicate-key", Error / Error
}
