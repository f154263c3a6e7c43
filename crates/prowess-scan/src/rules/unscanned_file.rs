//! `unscanned-file`.

use crate::rule::scan_rule;

scan_rule! {
    /// ## What it does
    /// Flags files that are too large to be scanned, links that lead out of the skill, and what comes after the largest amount that is scanned.
    ///
    /// ## Why is this bad?
    /// What was not looked at does not count as clean.
    ///
    /// ## Example
    /// A data file of 50 MB: leave it out of the skill, and fetch it by its digest.
    UNSCANNED_FILE = "unscanned-file", High, Completeness;
    matching: &[],
    clean: &[
        ("SKILL.md", "Text.\n"),
    ],
}
