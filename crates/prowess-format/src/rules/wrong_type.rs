//! `wrong-type`.

use crate::diagnostic::rule;

rule! {
    /// ## What it does
    /// Flags a value of the wrong type.
    ///
    /// ## Why is this bad?
    /// A list where text is expected is rejected or printed as garbage.
    ///
    /// ## Example
    /// `name: [a]` becomes `name: a`.
    WRONG_TYPE = "wrong-type", Error / Error
}
