//! `second-opinion`.

use crate::rule::scan_rule;

scan_rule! {
    /// ## What it does
    /// Says that a language model of the user's choice (`prowess scan --model`) called a skill malicious that the rules send to review. It was asked twice, and both answers were the same.
    ///
    /// ## Why is this bad?
    /// A model understands descriptions of harm for which there is no rule. Because a skill can talk to the model that judges it, its answer can raise a verdict and never lower one.
    ///
    /// ## Example
    /// `prowess scan --model ollama/qwen3 skills/pdf`
    SECOND_OPINION = "second-opinion", Critical, Harm;
    matching: &[], clean: &[("SKILL.md", "Text.\n")],
}
