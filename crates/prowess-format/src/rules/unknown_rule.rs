//! `unknown-rule`.

use crate::diagnostic::rule;

rule! {
    /// ## What it does
    /// Flags a comment `prowess: allow …` that names no rule.
    ///
    /// ## Why is this bad?
    /// The comment has no effect, and the finding that it was meant for is still reported.
    ///
    /// ## Example
    /// `<!-- prowess: allow long-skil -->` becomes `<!-- prowess: allow long-skill -->`.
    UNKNOWN_RULE = "unknown-rule", Warning / Warning
}
