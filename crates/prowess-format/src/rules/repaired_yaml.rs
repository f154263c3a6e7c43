//! `repaired-yaml`.

use crate::diagnostic::rule;

rule! {
    /// ## What it does
    /// Flags front matter that is not valid YAML but could be read after a small repair.
    ///
    /// ## Why is this bad?
    /// Prowess reads it, but most agents silently drop the skill.
    ///
    /// ## Example
    /// `description: Use when: always` becomes `description: "Use when: always"`; `prowess check --fix` does it.
    REPAIRED_YAML = "repaired-yaml", Warning / Error
}
