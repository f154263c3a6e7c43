//! `invalid-range`.

use crate::diagnostic::rule;
use crate::specification::GAIA;

rule! {
    /// ## What it does
    /// Flags an invalid version range.
    ///
    /// ## Why is this bad?
    /// An invalid range must never mean "any version".
    ///
    /// ## Example
    /// `>=1.0.0, <2.0.0`
    INVALID_RANGE = "invalid-range", Error / Error;
    GAIA.at("10.2")
}
