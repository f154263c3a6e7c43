//! `front-matter-not-a-map`.

use crate::diagnostic::rule;

rule! {
    /// ## What it does
    /// Flags front matter that is empty, a list or a single value.
    ///
    /// ## Why is this bad?
    /// Every dialect reads fields by name.
    ///
    /// ## Example
    /// `- name: a` becomes `name: a`.
    FRONT_MATTER_NOT_A_MAP = "front-matter-not-a-map", Error / Error
}
