//! `dropped-by-client`.

use crate::diagnostic::rule;

rule! {
    /// ## What it does
    /// Reports that a client does not load the skill, and why: a client that was named with `--for`, or any client if nothing else warns of it.
    ///
    /// ## Why is this bad?
    /// Most clients skip a file silently, and its author wonders why the agent never uses it. Verdicts of `--for` appear as this rule only in `--format sarif` and `--format github`, which consist of findings.
    ///
    /// ## Example
    /// `description: Tidy: a desk` becomes `description: "Tidy: a desk"`, which Codex can read.
    DROPPED_BY_CLIENT = "dropped-by-client", Error / Error
}
