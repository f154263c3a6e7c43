//! How far the quizzes of a skill are: answers, tries, cool-downs and passes. Pure; the time is passed in.
//!
//! A try of a quiz is one answer to each of its questions. It ends when all are answered: with a pass, or as failed. Right
//! answers are kept for the next try, and answering a wrong question again starts the next try at once. After
//! [`MAX_TRIES`] failed tries the quiz is closed for [`COOL_DOWN`].

use std::time::Duration;

use prowess_format::skill::Quiz;
use prowess_policy::Digest;

use super::scoring::{passes, quiz_score};

/// How many tries a quiz has before it is closed for a while.
pub const MAX_TRIES: u32 = 3;
/// How long a quiz is closed after the last try. It then starts again with all its tries.
pub const COOL_DOWN: Duration = Duration::from_mins(15);

/// What is known about the quizzes of a skill with one content.
#[derive(Clone, Debug, PartialEq)]
pub struct QuizRecord {
    /// The name of the skill, for people who look at the file.
    pub skill: String,
    /// The digest of all its files. Other content has another record.
    pub digest: Digest,
    /// Each quiz, in the author's order.
    pub quizzes: Vec<QuizProgress>,
}

/// How far one quiz is.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct QuizProgress {
    /// Whether it was passed.
    pub passed: bool,
    /// The answers of the present try: right, wrong, or not given yet.
    pub answers: Vec<Option<bool>>,
    /// How many tries have failed since the last cool-down.
    pub failed_tries: u32,
    /// Until when it is closed, in seconds since 1970.
    pub closed_until: Option<u64>,
    /// The score of the last try that came to its end.
    pub score: Option<f64>,
}

/// Why an answer does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TryRefusal {
    /// The quiz is passed.
    Passed,
    /// The question is answered right.
    AnsweredRight,
    /// The quiz is closed for a while.
    Closed(Duration),
}

impl QuizRecord {
    /// A record without any answer.
    pub(super) fn new(skill: &str, digest: Digest) -> Self {
        Self { skill: skill.to_owned(), digest, quizzes: Vec::new() }
    }

    /// The progress of a quiz, for a skill with as many quizzes as there are.
    pub(super) fn quiz(&mut self, quizzes: &[Quiz], number: usize) -> &mut QuizProgress {
        self.quizzes.resize_with(quizzes.len(), QuizProgress::default);
        let progress = &mut self.quizzes[number];
        progress.answers.resize(quizzes[number].questions.len(), None);
        progress
    }

    /// Whether the skill is open: every gate is passed, or every quiz where none is a gate.
    pub(super) fn is_passed(&self, quizzes: &[Quiz]) -> bool {
        let has_gate = quizzes.iter().any(|quiz| quiz.gate);
        let counts = |quiz: &Quiz| quiz.gate || !has_gate;
        let passed = |number: usize| self.quizzes.get(number).is_some_and(|quiz| quiz.passed);
        quizzes.iter().enumerate().all(|(number, quiz)| !counts(quiz) || passed(number))
    }
}

impl QuizProgress {
    /// How long the quiz is still closed.
    pub(super) fn closed_for(&self, now: u64) -> Option<Duration> {
        let until = self.closed_until?;
        // A clock that was put back does not make the wait longer.
        let left = Duration::from_secs(until.saturating_sub(now)).min(COOL_DOWN);
        (!left.is_zero() && !self.passed).then_some(left)
    }

    /// How many tries are left, with the present one.
    pub(super) fn tries_left(&self, now: u64) -> u32 {
        match self.closed_until {
            Some(_) if self.closed_for(now).is_some() => 0,
            Some(_) => MAX_TRIES,
            None => MAX_TRIES.saturating_sub(self.failed_tries),
        }
    }

    /// The first question that has no answer in the present try.
    pub(super) fn next(&self, questions: usize) -> Option<usize> {
        (0..questions).find(|number| self.answers.get(*number).copied().flatten().is_none())
    }

    /// Counts an answer to a question. The progress has an entry for each question of the quiz.
    pub(super) fn answer(
        &mut self,
        quiz: &Quiz,
        question: usize,
        is_right: bool,
        now: u64,
    ) -> Result<(), TryRefusal> {
        self.begin(now)?;
        match self.answers[question] {
            Some(true) => return Err(TryRefusal::AnsweredRight),
            Some(false) => self.next_try(now)?,
            None => {}
        }
        self.answers[question] = Some(is_right);
        self.finish(quiz, now);
        Ok(())
    }

    /// Counts the answers to all questions at once: one try. Answers of an unfinished try are forgotten; where one of them
    /// was wrong, that try has failed.
    pub(super) fn answer_all(
        &mut self,
        quiz: &Quiz,
        are_right: &[bool],
        now: u64,
    ) -> Result<(), TryRefusal> {
        self.begin(now)?;
        if self.answers.contains(&Some(false)) {
            self.next_try(now)?;
        }
        self.answers = are_right.iter().copied().map(Some).collect();
        self.finish(quiz, now);
        Ok(())
    }

    /// Refuses answers to a quiz that is passed or closed, and ends a cool-down.
    fn begin(&mut self, now: u64) -> Result<(), TryRefusal> {
        if self.passed {
            return Err(TryRefusal::Passed);
        }
        if let Some(left) = self.closed_for(now) {
            return Err(TryRefusal::Closed(left));
        }
        if self.closed_until.take().is_some() {
            self.failed_tries = 0;
        }
        Ok(())
    }

    /// Ends a try that has failed.
    fn next_try(&mut self, now: u64) -> Result<(), TryRefusal> {
        self.failed_tries += 1;
        if self.failed_tries >= MAX_TRIES {
            self.closed_until = Some(now.saturating_add(COOL_DOWN.as_secs()));
            self.answers.fill(None);
            return Err(TryRefusal::Closed(COOL_DOWN));
        }
        for answer in &mut self.answers {
            *answer = answer.filter(|is_right| *is_right);
        }
        Ok(())
    }

    /// Ends the try when every question is answered.
    fn finish(&mut self, quiz: &Quiz, now: u64) {
        if self.answers.iter().any(Option::is_none) {
            return;
        }
        let right = self.answers.iter().filter(|answer| **answer == Some(true)).count();
        self.score = Some(quiz_score(right, quiz.questions.len()));
        if passes(quiz, right) {
            self.passed = true;
            self.closed_until = None;
        } else {
            // The refusal is for the next answer, not for this one.
            let _ = self.next_try(now);
        }
    }
}
