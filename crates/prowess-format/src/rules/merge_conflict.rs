//! `merge-conflict`.

use crate::diagnostic::rule;

rule! {
    /// ## What it does
    /// Flags the markers of an unresolved merge conflict in the front matter.
    ///
    /// ## Why is this bad?
    /// Both versions of a field are in the file, and no reader can know which one is meant.
    ///
    /// ## Example
    /// Keep one side and remove the lines `<<<<<<<`, `=======` and `>>>>>>>`.
    MERGE_CONFLICT = "merge-conflict", Error / Error
}
