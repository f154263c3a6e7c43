//! `skill-version-mismatch`.

use crate::diagnostic::rule;

rule! {
    /// ## What it does
    /// Flags a skill whose installed version, or lack of one, is not what the agent manifest asks for.
    /// A skill with `required: false` gives a warning.
    ///
    /// ## Why is this bad?
    /// The agent was written for other versions (GAIA §9.1, §10.2). A skill without a version may be any.
    ///
    /// ## Example
    /// `version: ">=2.0.0"` and an installed 1.4.0: update the skill, or widen the range.
    SKILL_VERSION_MISMATCH = "skill-version-mismatch", Error / Error
}
