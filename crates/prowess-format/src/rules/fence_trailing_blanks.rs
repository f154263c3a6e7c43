//! `fence-trailing-blanks`.

use crate::diagnostic::rule;

rule! {
    /// ## What it does
    /// Flags blanks behind a fence `---`.
    ///
    /// ## Why is this bad?
    /// The normative algorithm of SRT §6 wants a line of three hyphens and nothing else; a reader that follows it misses this fence (R6).
    ///
    /// ## Example
    /// Remove the blanks; `prowess check --fix` does it.
    FENCE_TRAILING_BLANKS = "fence-trailing-blanks", Warning / Warning
}
