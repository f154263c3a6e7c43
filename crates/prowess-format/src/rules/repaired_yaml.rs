//! `repaired-yaml`.

use crate::diagnostic::rule;

rule! {
    /// ## What it does
    /// Flags front matter that is not YAML but could be read after a small repair.
    ///
    /// ## Why is this bad?
    /// Prowess reads it; most agents do not, and drop the skill without a word (OC-6).
    ///
    /// ## Example
    /// `description: Use when: always` becomes `description: "Use when: always"`; `prowess check --fix` does it.
    REPAIRED_YAML = "repaired-yaml", Warning / Error
}
