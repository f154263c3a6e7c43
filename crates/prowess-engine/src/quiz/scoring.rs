//! Answers against questions, and the score of a quiz (R38). Pure.

use std::collections::BTreeSet;

use prowess_format::skill::{Quiz, QuizQuestion};
use prowess_format::text::visible_line;
use serde_json::Value;

use super::question::is_multiple;

/// The most characters of an answer that an error message repeats.
const MAX_SHOWN: usize = 60;

/// An answer to a question: the options that were chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuizAnswer(Vec<Choice>);

/// One chosen option, as it was named.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Choice {
    Index(usize),
    Label(String),
}

/// Why an answer can't be scored. It costs no try.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AnswerError {
    /// The value is not an answer.
    #[error("an answer is the number of an option (from 0), its label, or a list of these")]
    NotAnAnswer,
    /// There is no such option.
    #[error("there is no option `{answer}`; the options are {}", listed(.options))]
    NoSuchOption {
        /// What was given.
        answer: String,
        /// The labels.
        options: Vec<String>,
    },
    /// Several options have this label.
    #[error("several options are called `{0}`: give the number of one")]
    Ambiguous(String),
    /// The question takes one answer.
    #[error("this question takes one option, and {0} were given")]
    OneOption(usize),
    /// Nothing was chosen.
    #[error("an answer names at least one option")]
    Empty,
}

fn listed(options: &[String]) -> String {
    let numbered = options.iter().enumerate();
    let options: Vec<String> =
        numbered.map(|(number, label)| format!("{number} (`{}`)", visible_line(label))).collect();
    options.join(", ")
}

impl QuizAnswer {
    /// The answer with one option, by its number from 0.
    pub fn index(index: usize) -> Self {
        Self(vec![Choice::Index(index)])
    }

    /// The answer with one option, by its label. Case and repeated spaces don't matter.
    pub fn label(label: impl Into<String>) -> Self {
        Self(vec![Choice::Label(label.into())])
    }

    /// The answer with several options, by their numbers from 0.
    pub fn indexes(indexes: impl IntoIterator<Item = usize>) -> Self {
        Self(indexes.into_iter().map(Choice::Index).collect())
    }

    /// An answer in JSON: a number from 0, a label, or a list of these.
    pub fn from_json(value: &Value) -> Result<Self, AnswerError> {
        let choices = match value {
            Value::Array(items) => items.iter().map(choice).collect::<Option<Vec<Choice>>>(),
            one => choice(one).map(|choice| vec![choice]),
        };
        choices.map(Self).ok_or(AnswerError::NotAnAnswer)
    }

    /// The numbers of the chosen options.
    fn chosen(&self, question: &QuizQuestion) -> Result<BTreeSet<usize>, AnswerError> {
        if self.0.is_empty() {
            return Err(AnswerError::Empty);
        }
        let chosen: BTreeSet<usize> =
            self.0.iter().map(|choice| choice.find(question)).collect::<Result<_, _>>()?;
        if chosen.len() > 1 && !is_multiple(question) {
            return Err(AnswerError::OneOption(chosen.len()));
        }
        Ok(chosen)
    }

    /// Whether the answer is right: exactly the correct options are chosen.
    pub(super) fn is_right(&self, question: &QuizQuestion) -> Result<bool, AnswerError> {
        let chosen = self.chosen(question)?;
        let options = question.options.iter().enumerate();
        let correct = options.filter(|(_, option)| option.correct).map(|(number, _)| number);
        Ok(chosen == correct.collect())
    }
}

fn choice(value: &Value) -> Option<Choice> {
    match value {
        Value::String(label) => Some(Choice::Label(label.clone())),
        Value::Number(number) => {
            let index = number.as_u64().or_else(|| {
                // Some clients write every number with a fraction.
                let number = number.as_f64().filter(|it| it.fract() == 0.0 && *it >= 0.0)?;
                format!("{number:.0}").parse().ok()
            });
            // A number that is too large is no option of any question.
            Some(match index.and_then(|index| usize::try_from(index).ok()) {
                Some(index) => Choice::Index(index),
                None => Choice::Label(number.to_string()),
            })
        }
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

impl Choice {
    fn find(&self, question: &QuizQuestion) -> Result<usize, AnswerError> {
        let unknown = |answer: String| AnswerError::NoSuchOption {
            answer: visible_line(&answer.chars().take(MAX_SHOWN).collect::<String>()).into_owned(),
            options: question.options.iter().map(|option| option.label.clone()).collect(),
        };
        let by_index = |index: usize| question.options.get(index).map(|_| index);
        match self {
            Choice::Index(index) => by_index(*index).ok_or_else(|| unknown(index.to_string())),
            Choice::Label(label) => {
                let matches = |same: &dyn Fn(&str) -> bool| -> Vec<usize> {
                    let options = question.options.iter().enumerate();
                    options
                        .filter(|(_, option)| same(&option.label))
                        .map(|(number, _)| number)
                        .collect()
                };
                let wanted = plain(label);
                let exact = matches(&|known: &str| known == label);
                let similar = matches(&|known: &str| plain(known) == wanted);
                match (exact.as_slice(), similar.as_slice()) {
                    ([only], _) | (_, [only]) => Ok(*only),
                    ([], []) => {
                        // A number in quotes, where no option has it as its label.
                        let index = label.trim().parse().ok().and_then(by_index);
                        index.ok_or_else(|| unknown(label.clone()))
                    }
                    _ => Err(AnswerError::Ambiguous(visible_line(label).into_owned())),
                }
            }
        }
    }
}

/// A label without the differences that don't matter: case, and how many spaces are where.
fn plain(label: &str) -> String {
    label.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase()
}

/// The score in per cent: right answers of all (R38). Of no questions it is 0.
#[expect(clippy::cast_precision_loss, reason = "the counts are small")]
pub fn quiz_score(right: usize, questions: usize) -> f64 {
    if questions == 0 { 0.0 } else { right as f64 * 100.0 / questions as f64 }
}

/// Whether a number of right answers passes a quiz (R38). A quiz without questions can't be passed.
pub(super) fn passes(quiz: &Quiz, right: usize) -> bool {
    !quiz.questions.is_empty() && quiz_score(right, quiz.questions.len()) >= quiz.passing_score
}
