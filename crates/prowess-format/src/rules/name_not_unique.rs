//! `name-not-unique`.

use crate::diagnostic::rule;

rule! {
    /// ## What it does
    /// Flags a skill whose name, ignoring case, another skill of the same folder has too.
    ///
    /// ## Why is this bad?
    /// An agent loads one of the two, and which one differs between agents (AFL §4, rule 6).
    /// One file can't show it, so the rule looks at all the skills that one `prowess check` visits.
    ///
    /// ## Example
    /// Of `skills/review` and `skills/code-review`, which both say `name: review`, rename one.
    NAME_NOT_UNIQUE = "name-not-unique", Error / Error
}
