//! `invalid-trust-level`.

use crate::diagnostic::rule;
use crate::specification::SKILLLI;

rule! {
    /// ## What it does
    /// Flags an unknown trust level.
    ///
    /// ## Why is this bad?
    /// The registry has the levels community, verified and official. A claim in the file grants nothing in any case.
    ///
    /// ## Example
    /// `trust-level: community`
    INVALID_TRUST_LEVEL = "invalid-trust-level", Error / Error;
    SKILLLI.at("Trust Levels")
}
