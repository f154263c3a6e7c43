//! `invalid-security-tier`.

use crate::diagnostic::rule;
use crate::specification::GAIA;

rule! {
    /// ## What it does
    /// Flags a security tier other than verified, community and experimental.
    ///
    /// ## Why is this bad?
    /// GAIA defines three tiers.
    ///
    /// ## Example
    /// `security_tier: experimental`
    INVALID_SECURITY_TIER = "invalid-security-tier", Error / Error;
    GAIA.at("4")
}
