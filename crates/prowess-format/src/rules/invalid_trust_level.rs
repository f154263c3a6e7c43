//! `invalid-trust-level`.

use crate::diagnostic::rule;

rule! {
    /// ## What it does
    /// Flags a trust level that does not exist.
    ///
    /// ## Why is this bad?
    /// SKL layer 3 knows community, verified and official. A claim raises nothing in any case (R19).
    ///
    /// ## Example
    /// `trust-level: community`
    INVALID_TRUST_LEVEL = "invalid-trust-level", Error / Error
}
