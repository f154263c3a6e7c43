//! `invalid-dependency`.

use crate::diagnostic::rule;
use crate::specification::SKILLRT;

rule! {
    /// ## What it does
    /// Flags a dependency that is not `name@range`.
    ///
    /// ## Why is this bad?
    /// It can't be resolved before the skill runs.
    ///
    /// ## Example
    /// `auth-helpers@>=1.0.0`
    INVALID_DEPENDENCY = "invalid-dependency", Error / Error;
    SKILLRT.at("4.6")
}
