//! `invalid-permission`.

use crate::diagnostic::rule;

rule! {
    /// ## What it does
    /// Flags a text that is not a permission `domain:level[:scope]`.
    ///
    /// ## Why is this bad?
    /// An invalid permission can't be granted, so the skill fails when it runs (GAIA §3).
    ///
    /// ## Example
    /// `network:wirte` becomes `network:write`.
    INVALID_PERMISSION = "invalid-permission", Error / Error
}
