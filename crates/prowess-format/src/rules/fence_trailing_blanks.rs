//! `fence-trailing-blanks`.

use crate::diagnostic::rule;
use crate::specification::SKILLRT;

rule! {
    /// ## What it does
    /// Flags trailing spaces after a fence `---`.
    ///
    /// ## Why is this bad?
    /// The parsing algorithm of skillrt requires a line of three hyphens and nothing else; a reader that follows it does not recognise this fence.
    ///
    /// ## Example
    /// Remove the spaces; `prowess check --fix` does it.
    FENCE_TRAILING_BLANKS = "fence-trailing-blanks", Warning / Warning;
    SKILLRT.at("6")
}
