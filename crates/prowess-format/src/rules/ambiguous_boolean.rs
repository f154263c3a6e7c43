//! `ambiguous-boolean`.

use crate::diagnostic::rule;

rule! {
    /// ## What it does
    /// Flags `yes`, `no`, `on` and `off` in a boolean field.
    ///
    /// ## Why is this bad?
    /// They are booleans in YAML 1.1 and plain words in YAML 1.2, so readers disagree.
    ///
    /// ## Example
    /// Write `true` or `false`; `prowess check --fix` does it.
    AMBIGUOUS_BOOLEAN = "ambiguous-boolean", Warning / Warning
}
