//! `skill-version-mismatch`.

use crate::diagnostic::rule;
use crate::specification::GAIA;

rule! {
    /// ## What it does
    /// Flags a skill whose installed version is missing or outside the range of the agent manifest. It is a warning for a skill with `required: false`.
    ///
    /// ## Why is this bad?
    /// The agent was written for other versions.
    ///
    /// ## Example
    /// `version: ">=2.0.0"` and an installed 1.4.0: update the skill, or widen the range.
    SKILL_VERSION_MISMATCH = "skill-version-mismatch", Error / Error;
    GAIA.at("9.1 and 10.2")
}
