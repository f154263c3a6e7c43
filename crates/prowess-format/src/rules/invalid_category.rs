//! `invalid-category`.

use crate::diagnostic::rule;

rule! {
    /// ## What it does
    /// Flags a category that the registry does not know.
    ///
    /// ## Why is this bad?
    /// The registry groups by these six words only (SKL, Categories).
    ///
    /// ## Example
    /// `category: development`
    INVALID_CATEGORY = "invalid-category", Error / Error
}
