//! `invalid-permission`.

use crate::diagnostic::rule;
use crate::specification::GAIA;

rule! {
    /// ## What it does
    /// Flags a text that is not a permission `domain:level[:scope]`.
    ///
    /// ## Why is this bad?
    /// An invalid permission can't be granted, so the skill fails when it runs.
    ///
    /// ## Example
    /// `network:wirte` becomes `network:write`.
    INVALID_PERMISSION = "invalid-permission", Error / Error;
    GAIA.at("3")
}
