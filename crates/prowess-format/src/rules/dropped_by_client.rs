//! `dropped-by-client`.

use crate::diagnostic::rule;

rule! {
    /// ## What it does
    /// Says that a client which was named with `--for` does not load the skill, and why.
    ///
    /// ## Why is this bad?
    /// Most clients skip a file without a word, and its author wonders why the agent never uses it.
    /// The rule appears where a report has nothing but findings: `--format sarif` and `--format github`.
    ///
    /// ## Example
    /// `description: Tidy: a desk` becomes `description: "Tidy: a desk"`, which Codex can read.
    DROPPED_BY_CLIENT = "dropped-by-client", Error / Error
}
