//! `external-tool`.

use crate::rule::scan_rule;

scan_rule! {
    /// ## What it does
    /// Carries the findings of other scanners that run beside the rules if they are installed: Bandit and detect-secrets. Each message begins with the name of the tool.
    ///
    /// ## Why is this bad?
    /// Bandit finds code that can be attacked, and detect-secrets finds texts that look like secrets. Both find more than what harms, so a finding of theirs alone sends no skill to review below the verified tier.
    ///
    /// ## Example
    /// `bandit: B602 subprocess call with shell=True identified, security issue.`
    EXTERNAL_TOOL = "external-tool", Medium, Harm;
    matching: &[], clean: &[("SKILL.md", "Text.\n")],
}
