//! `invalid-tags`.

use crate::diagnostic::rule;
use crate::specification::SKILLLI;

rule! {
    /// ## What it does
    /// Flags more than 20 tags, an empty list, or a tag of more than 50 characters.
    ///
    /// ## Why is this bad?
    /// The registry allows 1 to 20 tags of 1 to 50 characters.
    ///
    /// ## Example
    /// Keep the tags that people search for.
    INVALID_TAGS = "invalid-tags", Error / Error;
    SKILLLI.at("Skillli Registry Extensions")
}
