//! `quiz-without-questions`.

use crate::diagnostic::rule;

rule! {
    /// ## What it does
    /// Flags a quiz without questions.
    ///
    /// ## Why is this bad?
    /// A gate without questions can not be passed, or is no gate (SKL layer 4).
    ///
    /// ## Example
    /// Add a question.
    QUIZ_WITHOUT_QUESTIONS = "quiz-without-questions", Error / Error
}
