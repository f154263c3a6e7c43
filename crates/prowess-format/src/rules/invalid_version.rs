//! `invalid-version`.

use crate::diagnostic::rule;

rule! {
    /// ## What it does
    /// Flags a version that is not SemVer 2.0.0.
    ///
    /// ## Why is this bad?
    /// Version ranges can only be resolved over SemVer (GIB §2.2, GAIA §10.2, SRT §4.1).
    ///
    /// ## Example
    /// `1.0` becomes `1.0.0`.
    INVALID_VERSION = "invalid-version", Error / Error
}
