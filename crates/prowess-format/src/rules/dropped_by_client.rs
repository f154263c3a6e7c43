//! `dropped-by-client`.

use crate::diagnostic::rule;

rule! {
    /// ## What it does
    /// Reports that a client named with `--for` does not load the skill, and why.
    ///
    /// ## Why is this bad?
    /// Most clients skip a file silently, and its author wonders why the agent never uses it. The rule only appears in `--format sarif` and `--format github`, which consist of findings.
    ///
    /// ## Example
    /// `description: Tidy: a desk` becomes `description: "Tidy: a desk"`, which Codex can read.
    DROPPED_BY_CLIENT = "dropped-by-client", Error / Error
}
