//! `name-not-unique`.

use crate::diagnostic::rule;

rule! {
    /// ## What it does
    /// Flags two skills in the same folder whose names are equal, ignoring case.
    ///
    /// ## Why is this bad?
    /// An agent loads one of the two, and agents differ in which one (AFL §4, rule 6). The rule compares all the skills of one `prowess check`.
    ///
    /// ## Example
    /// If `skills/review` and `skills/code-review` both have `name: review`, rename one of them.
    NAME_NOT_UNIQUE = "name-not-unique", Error / Error
}
