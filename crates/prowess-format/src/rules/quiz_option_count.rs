//! `quiz-option-count`.

use crate::diagnostic::rule;
use crate::specification::SKILLLI;

rule! {
    /// ## What it does
    /// Flags a quiz question with fewer than two or more than six options.
    ///
    /// ## Why is this bad?
    /// The specification allows two to six.
    ///
    /// ## Example
    /// Add or remove options.
    QUIZ_OPTION_COUNT = "quiz-option-count", Error / Error;
    SKILLLI.at("Question Fields")
}
