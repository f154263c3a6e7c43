//! `dangling-link`.

use crate::diagnostic::rule;

rule! {
    /// ## What it does
    /// Flags a SKILL.md, a tool pack or an agent manifest that is a symbolic link to a file that does not exist.
    ///
    /// ## Why is this bad?
    /// The folder looks like a skill, and no client can read it. Links break when their target moves, or when a checkout or a copy leaves it out.
    ///
    /// ## Example
    /// Replace the link with the file, or point it to where the file is.
    DANGLING_LINK = "dangling-link", Error / Error
}
