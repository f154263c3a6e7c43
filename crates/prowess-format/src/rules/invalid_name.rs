//! `invalid-name`.

use crate::diagnostic::rule;

rule! {
    /// ## What it does
    /// Flags a name outside the form its dialect allows.
    ///
    /// ## Why is this bad?
    /// The name becomes a directory, a command and a part of URLs (GIB §1.2, AFL §4, GAIA §2.3, SKL layer 1).
    ///
    /// ## Example
    /// `My_Skill` becomes `my-skill`.
    INVALID_NAME = "invalid-name", Error / Error
}
