//! `quiz-without-questions`.

use crate::diagnostic::rule;
use crate::specification::SKILLLI;

rule! {
    /// ## What it does
    /// Flags a quiz without questions.
    ///
    /// ## Why is this bad?
    /// A gate without questions can't be passed, or does not block anything.
    ///
    /// ## Example
    /// Add a question.
    QUIZ_WITHOUT_QUESTIONS = "quiz-without-questions", Error / Error;
    SKILLLI.at("Quiz Fields")
}
