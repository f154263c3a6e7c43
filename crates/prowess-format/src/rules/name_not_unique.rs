//! `name-not-unique`.

use crate::diagnostic::rule;
use crate::specification::AGENT_FLOW;

rule! {
    /// ## What it does
    /// Flags two skills in the same folder whose names are equal, ignoring case.
    ///
    /// ## Why is this bad?
    /// An agent loads one of the two, and agents differ in which one. The rule compares all the skills of one `prowess check`.
    ///
    /// ## Example
    /// If `skills/review` and `skills/code-review` both have `name: review`, rename one of them.
    NAME_NOT_UNIQUE = "name-not-unique", Error / Error;
    AGENT_FLOW.at("4")
}
