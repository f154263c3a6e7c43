//! `unparseable-code`.

use crate::rule::scan_rule;

scan_rule! {
    /// ## What it does
    /// Flags files of code that can't be parsed or decoded, and a `SKILL.md` that is not valid UTF-8.
    ///
    /// ## Why is this bad?
    /// Nothing is known about what they do, and code can be made so that a parser fails and an interpreter does not.
    ///
    /// ## Example
    /// A `tools.py` with a syntax error. Fix it, or remove the file.
    UNPARSEABLE_CODE = "unparseable-code", High, Completeness;
    matching: &[
        ("scripts/a.py", "def f(:\n    pass\n"),
    ],
    clean: &[
        ("scripts/a.py", "def f():\n    pass\n"),
    ],
}
