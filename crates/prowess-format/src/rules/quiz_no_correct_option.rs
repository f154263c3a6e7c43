//! `quiz-no-correct-option`.

use crate::diagnostic::{Findings, rule};
use crate::rules::Subject;
use crate::specification::SKILLLI;

rule! {
    /// ## What it does
    /// Flags a question without a correct option.
    ///
    /// ## Why is this bad?
    /// The question can't be answered correctly.
    ///
    /// ## Example
    /// Add `correct: true` to one option.
    QUIZ_NO_CORRECT_OPTION = "quiz-no-correct-option", Error / Error, check;
    SKILLLI.at("Question Fields")
}

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    for question in subject.skill.quiz.iter().flat_map(|quiz| &quiz.questions) {
        if !question.options.is_empty() && !question.options.iter().any(|option| option.correct) {
            findings.push(
                QUIZ_NO_CORRECT_OPTION
                    .at(question.question.span, "no option of this question is correct")
                    .help("add `correct: true` to one option"),
            );
        }
    }
}
