//! `not-a-skill`.

use crate::diagnostic::rule;

rule! {
    /// ## What it does
    /// Flags a file that was named to be checked and is not a skill: it is not called SKILL.md, is not Markdown, and has no front matter.
    ///
    /// ## Why is this bad?
    /// Nothing about it can be checked, and to call it fine would be wrong.
    ///
    /// ## Example
    /// `prowess check scripts/run.sh` becomes `prowess check SKILL.md`.
    NOT_A_SKILL = "not-a-skill", Error / Error
}
