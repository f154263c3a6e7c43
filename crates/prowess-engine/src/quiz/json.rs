//! Quizzes in JSON, as every interface gives them.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::branch::{QuizActions, QuizText};
use super::question::{NextQuestion, QuizStatus, ServedQuestion, ServedQuiz};
use super::{AnswerFeedback, QuizResult};

/// A number without a fraction where it has none, and with two places otherwise.
pub(super) fn number(value: f64) -> Value {
    let rounded = (value * 100.0).round() / 100.0;
    #[expect(clippy::cast_possible_truncation, reason = "whole, and checked to be small")]
    if rounded.fract() == 0.0 && rounded.abs() < 1e9 {
        Value::from(rounded as i64)
    } else {
        Value::from(rounded)
    }
}

fn seconds(left: Option<Duration>) -> Option<u64> {
    left.map(|left| left.as_secs())
}

impl NextQuestion {
    /// `{passed, quiz, question, text, multiple, options}`; `null` and no options where no question is left.
    pub fn json(&self) -> Value {
        let question = self.question.as_ref();
        json!({
            "passed": self.passed,
            "quiz": question.map(|question| question.quiz),
            "question": question.map(|question| question.question),
            "text": question.map(|question| question.text.as_str()),
            "multiple": question.map(|question| question.multiple),
            "options": question.map_or(&[][..], |question| &question.options),
        })
    }
}

impl ServedQuestion {
    fn json(&self) -> Value {
        json!({
            "question": self.question,
            "text": self.text,
            "multiple": self.multiple,
            "options": self.options,
        })
    }
}

impl ServedQuiz {
    fn json(&self) -> Value {
        json!({
            "quiz": self.quiz,
            "title": self.title,
            "description": self.description,
            "gate": self.gate,
            "passing_score": number(self.passing_score),
            "passed": self.passed,
            "score": self.score.map(number),
            "tries_left": self.tries_left,
            "retry_after_secs": seconds(self.retry_after),
            "questions": self.questions.iter().map(ServedQuestion::json).collect::<Value>(),
        })
    }
}

impl QuizStatus {
    /// `{passed, quizzes: […]}`.
    pub fn json(&self) -> Value {
        let quizzes: Value = self.quizzes.iter().map(ServedQuiz::json).collect();
        json!({ "passed": self.passed, "quizzes": quizzes })
    }
}

impl AnswerFeedback {
    /// The feedback to one answer. What the author did not write is absent.
    pub fn json(&self) -> Value {
        let mut feedback = self.answer_json();
        feedback["passed"] = self.passed.into();
        feedback["quiz_passed"] = self.quiz_passed.into();
        feedback["score"] = self.score.map_or(Value::Null, number);
        feedback["tries_left"] = self.tries_left.into();
        feedback["retry_after_secs"] = seconds(self.retry_after).into();
        feedback
    }

    fn answer_json(&self) -> Value {
        let mut map = Map::from_iter([
            ("quiz".to_owned(), self.quiz.into()),
            ("question".to_owned(), self.question.into()),
            ("correct".to_owned(), self.correct.into()),
        ]);
        let explanation = self.explanation.clone().map(Value::from);
        map.extend(explanation.map(|text| ("explanation".to_owned(), text)));
        self.actions.add_to(&mut map);
        Value::Object(map)
    }
}

impl QuizActions {
    fn add_to(&self, map: &mut Map<String, Value>) {
        let text = |name: &str, text: &QuizText| {
            let (key, found) = match &text.text {
                Ok(text) => ("text", text),
                Err(reason) => ("error", reason),
            };
            json!({ name: text.name, key: found })
        };
        let parts = [
            ("message", self.message.clone().map(Value::from)),
            ("goto", self.goto.as_ref().map(|section| text("section", section))),
            ("load_reference", self.load_reference.as_ref().map(|file| text("path", file))),
            ("load_skill", self.load_skill.clone().map(Value::from)),
        ];
        map.extend(parts.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))));
    }
}

impl QuizResult {
    /// `{passed, score, answers: […]}`.
    pub fn json(&self) -> Value {
        let answers: Value = self.answers.iter().map(AnswerFeedback::answer_json).collect();
        json!({ "passed": self.passed, "score": number(self.score), "answers": answers })
    }
}
