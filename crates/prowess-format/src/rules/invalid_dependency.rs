//! `invalid-dependency`.

use crate::diagnostic::rule;

rule! {
    /// ## What it does
    /// Flags a dependency that is not `name@range`.
    ///
    /// ## Why is this bad?
    /// It can't be resolved before the skill runs (SRT §4.6).
    ///
    /// ## Example
    /// `auth-helpers@>=1.0.0`
    INVALID_DEPENDENCY = "invalid-dependency", Error / Error
}
