//! `invalid-version`.

use crate::diagnostic::rule;
use crate::specification::{GAIA, GIBBERISH, SKILLRT};

rule! {
    /// ## What it does
    /// Flags a version that is not SemVer 2.0.0.
    ///
    /// ## Why is this bad?
    /// Version ranges can only be resolved over SemVer.
    ///
    /// ## Example
    /// `1.0` becomes `1.0.0`.
    INVALID_VERSION = "invalid-version", Error / Error;
    GIBBERISH.at("2.2"), GAIA.at("10.2"), SKILLRT.at("4.1")
}
