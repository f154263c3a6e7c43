//! `model-below-requirement`.

use crate::diagnostic::rule;
use crate::specification::GAIA;

rule! {
    /// ## What it does
    /// Flags an agent whose minimum model or context window is smaller than one of its skills requires. It is a warning for a skill with `required: false`.
    ///
    /// ## Why is this bad?
    /// The manifest promises that the agent works with that model, but the skill does not.
    ///
    /// ## Example
    /// With a skill that requires `model: ">=13B"`, write `minimum: ">=13B"`.
    MODEL_BELOW_REQUIREMENT = "model-below-requirement", Error / Error;
    GAIA.at("9.1")
}
