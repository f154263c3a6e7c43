//! `yaml-limit`.

use crate::diagnostic::rule;

rule! {
    /// ## What it does
    /// Flags front matter that is too large, nested too deeply, or whose aliases expand too far.
    ///
    /// ## Why is this bad?
    /// Such YAML is an attack on whoever reads it (NEG-13).
    ///
    /// ## Example
    /// Move long text into the body or a file beside it.
    YAML_LIMIT = "yaml-limit", Error / Error
}
