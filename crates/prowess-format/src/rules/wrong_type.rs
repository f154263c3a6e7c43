//! `wrong-type`.

use crate::diagnostic::rule;

rule! {
    /// ## What it does
    /// Flags a value of another type than the field has.
    ///
    /// ## Why is this bad?
    /// A list where text is expected is refused or printed as garbage.
    ///
    /// ## Example
    /// `name: [a]` becomes `name: a`.
    WRONG_TYPE = "wrong-type", Error / Error
}
