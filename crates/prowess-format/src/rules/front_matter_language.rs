//! `front-matter-language`.

use crate::diagnostic::rule;

rule! {
    /// ## What it does
    /// Flags front matter that announces a language, such as `---js`.
    ///
    /// ## Why is this bad?
    /// Some libraries run such a block as code. Prowess only reads YAML and never runs front matter.
    ///
    /// ## Example
    /// Write `---` and YAML.
    FRONT_MATTER_LANGUAGE = "front-matter-language", Error / Error
}
