//! `invalid-range`.

use crate::diagnostic::rule;

rule! {
    /// ## What it does
    /// Flags an invalid version range.
    ///
    /// ## Why is this bad?
    /// An invalid range must never mean "any version" (GAIA §10.2).
    ///
    /// ## Example
    /// `>=1.0.0, <2.0.0`
    INVALID_RANGE = "invalid-range", Error / Error
}
