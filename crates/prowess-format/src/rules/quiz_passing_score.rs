//! `quiz-passing-score`.

use crate::diagnostic::rule;
use crate::specification::SKILLLI;

rule! {
    /// ## What it does
    /// Flags a passing score outside 0 to 100.
    ///
    /// ## Why is this bad?
    /// The score is a percentage.
    ///
    /// ## Example
    /// `passing-score: 100`
    QUIZ_PASSING_SCORE = "quiz-passing-score", Error / Error;
    SKILLLI.at("Quiz Fields")
}
