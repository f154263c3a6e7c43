//! `model-below-requirement`.

use crate::diagnostic::rule;

rule! {
    /// ## What it does
    /// Flags an agent whose smallest model or context window is less than one of its skills requires.
    /// For a skill with `required: false` it is a warning.
    ///
    /// ## Why is this bad?
    /// The manifest promises that the agent works with that model, and the skill says that it does not (GAIA §9.1).
    ///
    /// ## Example
    /// With a skill that requires `model: ">=13B"`, write `minimum: ">=13B"`.
    MODEL_BELOW_REQUIREMENT = "model-below-requirement", Error / Error
}
