//! Questions as they are served. The types have no place for what is correct.

use std::time::Duration;

use prowess_format::skill::{Quiz, QuizQuestion};

/// A question without its answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServedQuestion {
    /// The number of its quiz in the skill, from 0.
    pub quiz: usize,
    /// Its number in the quiz, from 0.
    pub question: usize,
    /// Its text.
    pub text: String,
    /// Whether several options have to be chosen.
    pub multiple: bool,
    /// The labels of the options, in the author's order.
    pub options: Vec<String>,
}

/// A quiz without its answers, and how far it is passed.
#[derive(Clone, Debug, PartialEq)]
pub struct ServedQuiz {
    /// Its number in the skill, from 0.
    pub quiz: usize,
    /// Its heading.
    pub title: Option<String>,
    /// Its purpose.
    pub description: Option<String>,
    /// Whether it withholds the skill.
    pub gate: bool,
    /// The percentage that passes.
    pub passing_score: f64,
    /// Whether it is passed for the present content of the skill.
    pub passed: bool,
    /// The score of the last try that came to its end.
    pub score: Option<f64>,
    /// How many tries are left before it is closed for a while.
    pub tries_left: u32,
    /// How long it is closed.
    pub retry_after: Option<Duration>,
    /// Its questions.
    pub questions: Vec<ServedQuestion>,
}

/// What the next question is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NextQuestion {
    /// Whether the skill is open: every gate is passed, or every quiz where none is a gate.
    pub passed: bool,
    /// The question; `None` when every quiz is passed.
    pub question: Option<ServedQuestion>,
}

/// All quizzes of a skill, and whether they are passed.
#[derive(Clone, Debug, PartialEq)]
pub struct QuizStatus {
    /// Whether the skill is open: every gate is passed, or every quiz where none is a gate.
    pub passed: bool,
    /// The quizzes, in the author's order.
    pub quizzes: Vec<ServedQuiz>,
}

/// Whether a question has several correct options, all of which have to be chosen.
pub(super) fn is_multiple(question: &QuizQuestion) -> bool {
    question.options.iter().filter(|option| option.correct).count() > 1
}

/// A question by its numbers; `None` if there is none.
pub(super) fn served(quizzes: &[Quiz], quiz: usize, number: usize) -> Option<ServedQuestion> {
    let question = quizzes.get(quiz)?.questions.get(number)?;
    Some(ServedQuestion {
        quiz,
        question: number,
        text: question.question.value.clone(),
        multiple: is_multiple(question),
        options: question.options.iter().map(|option| option.label.clone()).collect(),
    })
}
