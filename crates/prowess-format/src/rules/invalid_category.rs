//! `invalid-category`.

use crate::diagnostic::rule;
use crate::specification::SKILLLI;

rule! {
    /// ## What it does
    /// Flags an unknown category.
    ///
    /// ## Why is this bad?
    /// The registry has exactly six categories.
    ///
    /// ## Example
    /// `category: development`
    INVALID_CATEGORY = "invalid-category", Error / Error;
    SKILLLI.at("Categories")
}
