//! `unterminated-front-matter`.

use crate::diagnostic::rule;

rule! {
    /// ## What it does
    /// Flags an opening fence `---` without a closing one.
    ///
    /// ## Why is this bad?
    /// Readers either refuse the file or take all of it for the body, so that name and description are lost (SRT §6, R7).
    ///
    /// ## Example
    /// Put a line `---` behind the last field.
    UNTERMINATED_FRONT_MATTER = "unterminated-front-matter", Error / Error
}
