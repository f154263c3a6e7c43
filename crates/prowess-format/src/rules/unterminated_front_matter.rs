//! `unterminated-front-matter`.

use crate::diagnostic::rule;
use crate::specification::SKILLRT;

rule! {
    /// ## What it does
    /// Flags an opening fence `---` without a closing one.
    ///
    /// ## Why is this bad?
    /// Readers either reject the file or treat all of it as the body, so that name and description are lost.
    ///
    /// ## Example
    /// Add a line `---` after the last field.
    UNTERMINATED_FRONT_MATTER = "unterminated-front-matter", Error / Error;
    SKILLRT.at("6")
}
