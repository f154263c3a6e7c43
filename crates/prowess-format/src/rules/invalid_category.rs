//! `invalid-category`.

use crate::diagnostic::rule;

rule! {
    /// ## What it does
    /// Flags an unknown category.
    ///
    /// ## Why is this bad?
    /// The registry has exactly six categories.
    ///
    /// ## Example
    /// `category: development`
    INVALID_CATEGORY = "invalid-category", Error / Error
}
