//! `misplaced-front-matter`.

use crate::diagnostic::rule;

rule! {
    /// ## What it does
    /// Flags front matter that clients don't recognise: the fences are missing, are not exactly `---`, are inside a code block or belong to TOML (`+++`), or other text comes first.
    ///
    /// ## Why is this bad?
    /// The file looks right to a person. A client sees a file without front matter, and most clients drop it without a word.
    ///
    /// ## Example
    /// `----` becomes `---`. `prowess check --fix` corrects the fences if both are there; `--unsafe-fixes` also moves front matter to the top.
    MISPLACED_FRONT_MATTER = "misplaced-front-matter", Warning / Error
}
