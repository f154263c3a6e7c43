//! `invalid-range`.

use crate::diagnostic::rule;

rule! {
    /// ## What it does
    /// Flags a version range that can not be read.
    ///
    /// ## Why is this bad?
    /// An unreadable range must never mean "any version" (GAIA §10.2).
    ///
    /// ## Example
    /// `>=1.0.0, <2.0.0`
    INVALID_RANGE = "invalid-range", Error / Error
}
