//! `hidden-description`.

use crate::diagnostic::rule;

rule! {
    /// ## What it does
    /// Reports that a client named with `--for` loads the skill but never shows its description to the model.
    ///
    /// ## Why is this bad?
    /// The description is how a model decides when to use a skill.
    /// The rule only appears in `--format sarif` and `--format github`, which consist of findings.
    ///
    /// ## Example
    /// Remove `disable-model-invocation: true`, unless only the user should invoke the skill.
    HIDDEN_DESCRIPTION = "hidden-description", Warning / Warning
}
