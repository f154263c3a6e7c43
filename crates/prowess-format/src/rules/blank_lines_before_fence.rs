//! `blank-lines-before-fence`.

use crate::diagnostic::rule;
use crate::specification::SKILLRT;

rule! {
    /// ## What it does
    /// Flags blank lines before the opening fence.
    ///
    /// ## Why is this bad?
    /// Most readers expect `---` at the very start and otherwise treat the file as prose.
    ///
    /// ## Example
    /// Remove the blank lines; `prowess check --fix` does it.
    BLANK_LINES_BEFORE_FENCE = "blank-lines-before-fence", Warning / Error;
    SKILLRT.at("6")
}
