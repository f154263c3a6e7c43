//! `opaque-code`.

use crate::rule::scan_rule;

scan_rule! {
    /// ## What it does
    /// Flags what can run and can't be read: programs, compiled code, archives with a password or a program in them, documents with macros, pictures that are archives as well.
    ///
    /// ## Why is this bad?
    /// A review of the skill sees nothing of it.
    ///
    /// ## Example
    /// `scripts/helper.exe`: put the source into the skill.
    OPAQUE_CODE = "opaque-code", High, Completeness;
    matching: &[
        ("bin/a", "\u{7f}ELF\u{0002}\u{0001}\u{0001}"),
    ],
    clean: &[
        ("SKILL.md", "Text.\n"),
    ],
}
