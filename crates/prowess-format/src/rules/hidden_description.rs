//! `hidden-description`.

use crate::diagnostic::rule;

rule! {
    /// ## What it does
    /// Says that a client which was named with `--for` loads the skill, but never shows its description to the model.
    ///
    /// ## Why is this bad?
    /// The description is how a model decides when to use a skill.
    /// The rule appears where a report has nothing but findings: `--format sarif` and `--format github`.
    ///
    /// ## Example
    /// `disable-model-invocation: true` goes, unless only the user should start the skill.
    HIDDEN_DESCRIPTION = "hidden-description", Warning / Warning
}
