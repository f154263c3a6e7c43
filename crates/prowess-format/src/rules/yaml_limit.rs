//! `yaml-limit`.

use crate::diagnostic::rule;

rule! {
    /// ## What it does
    /// Flags front matter that is too large, nested too deeply, or whose aliases expand too far.
    ///
    /// ## Why is this bad?
    /// Such YAML is a denial-of-service attack on its reader.
    ///
    /// ## Example
    /// Move long text into the body or another file.
    YAML_LIMIT = "yaml-limit", Error / Error
}
