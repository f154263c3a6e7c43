//! `prowess quiz`: takes the quizzes of a skill, on a terminal or with answers in JSON.

use std::io::{self, BufRead as _};
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use prowess_core::Problem;
use prowess_engine::LoadedSkill;
use prowess_engine::quiz::{
    AnswerFeedback, NextQuestion, QuizAnswer, QuizStatus, QuizText, Quizzes, ServedQuestion,
    ServedQuiz,
};
use serde_json::Value;

use super::Outcome;
use crate::cli::DialectOption;
use crate::error::Error;
use crate::render::problem_text::quoted;
use crate::run::tool_run;
use crate::session;
use crate::skill::skill_ref;
use crate::terminal::approval_prompt::forget_typed_ahead;
use crate::terminal::confirm::can_ask;
use crate::terminal::printer::{Channel, Printer, inline, visible_lines};
use crate::terminal::wrap::wrap;

/// How often a line that is no answer is asked for again.
const MOST_LINES: usize = 5;
/// The most characters of the list of answers.
const MAX_ANSWERS: usize = 1 << 20;

/// Take the quiz of a skill
///
/// A skill can be behind a quiz: its instructions, files and tools are withheld
/// until every gate is passed. On a terminal the questions are asked one by one.
/// A wrong answer shows what its author says about it, and the question comes
/// again. The score of a quiz is its right answers of all, in percent.
///
/// A pass counts for the present content of the skill: when any of its files
/// changes, the quiz has to be taken again. A quiz has three tries, each with an
/// answer to every question; answering a wrong question again starts the next try,
/// and right answers are kept. After the third one the quiz is closed for 15
/// minutes, unless you start again with `--reset`.
///
/// Programs read the questions with `--format json` and give all answers at once
/// with `--answers`: one for each question, in their order. An answer is the
/// number of an option, starting at 0, or its label, or a list of these where
/// several options have to be chosen. Case and repeated spaces don't matter.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  prowess quiz examples/api-onboarding --format json
  prowess quiz examples/api-onboarding --answers '[0, \"Grams, as an integer\", 2]'

Exit codes:
    0  the quiz is passed, or was printed
    1  it is not passed
    2  the answers can't be read, or nobody can be asked
    3  the skill does not exist
    4  only a person may reset a quiz")]
pub(crate) struct Arguments {
    /// A skill's folder or file, or the name of an installed skill
    #[arg(value_name = "SKILL")]
    path: PathBuf,
    #[command(flatten)]
    dialect: DialectOption,
    /// Answers to all questions, as a JSON list
    #[arg(long, value_name = "JSON")]
    answers: Option<String>,
    /// Forget the answers, tries and passes for this skill; on a terminal only
    #[arg(long, conflicts_with = "answers")]
    reset: bool,
    /// The output format; JSON with `--answers`
    #[arg(long, value_enum)]
    format: Option<Format>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people
    Text,
    /// For programs
    Json,
}

pub(crate) fn run(arguments: &Arguments, printer: &mut Printer) -> Result<Outcome, Error> {
    let loaded = skill_ref::load_skill(&arguments.path, printer)?;
    let dialect = arguments.dialect.dialect;
    let skill = tool_run::load_without_errors(&loaded, dialect, "asked about", printer)?;
    let quizzes = Quizzes::of_user(&*session::world()?);
    if arguments.reset {
        return reset(&skill, &quizzes, printer);
    }
    if let Some(answers) = &arguments.answers {
        return answer_all(&skill, &quizzes, answers, arguments.format, printer);
    }
    let status = quizzes.status(&skill)?;
    if arguments.format == Some(Format::Json) {
        printer.json(&status.json());
        return Ok(Outcome::Fine);
    }
    if status.quizzes.is_empty() {
        printer.note(&format!("`{}` has no quiz", inline(&skill.name)));
        return Ok(Outcome::Fine);
    }
    if !can_ask(printer) {
        let path = quoted(&skill_ref::shown(&arguments.path));
        return Err(Error::usage("can't ask questions: this is not a terminal")
            .hint("give all answers at once with `--answers '[…]'`")
            .hint(format!("`prowess quiz {path} --format json` prints the questions")));
    }
    Interview { skill: &skill, quizzes: &quizzes, printer }.run(&status)
}

/// Starts again. It also ends a cool-down, so a program may not do it.
fn reset(skill: &LoadedSkill, quizzes: &Quizzes, printer: &mut Printer) -> Result<Outcome, Error> {
    if !can_ask(printer) {
        return Err(Error::refused("only a person may reset a quiz, and this is not a terminal")
            .hint("run it on a terminal, or wait until the quiz can be taken again"));
    }
    let name = inline(&skill.name).into_owned();
    if quizzes.reset(skill)? {
        printer.say(&format!("the quiz of `{name}` starts again"));
    } else {
        printer.note(&format!("no question of `{name}` has been answered yet"));
    }
    Ok(Outcome::Fine)
}

/// Gives all answers at once.
fn answer_all(
    skill: &LoadedSkill,
    quizzes: &Quizzes,
    answers: &str,
    format: Option<Format>,
    printer: &mut Printer,
) -> Result<Outcome, Error> {
    let answers = parse(answers)?;
    let result = quizzes.answer_all(skill, &answers)?;
    if format == Some(Format::Text) {
        for feedback in &result.answers {
            let verdict = if feedback.correct { "right" } else { "wrong" };
            let (quiz, question) = (feedback.quiz, feedback.question);
            printer.say(&format!("quiz {quiz}, question {question}: {verdict}"));
            show_feedback(feedback, printer);
        }
        let verdict = if result.passed { "passed" } else { "not passed" };
        printer.data(&format!("{verdict}, {} %\n", percent(result.score)));
    } else {
        printer.json(&result.json());
    }
    Ok(if result.passed { Outcome::Fine } else { Outcome::Findings })
}

fn parse(text: &str) -> Result<Vec<QuizAnswer>, Error> {
    let shape =
        "write a list with one answer per question, such as `--answers '[0, \"a label\", [1, 2]]'`";
    let wrong = |message: String| Error::usage(message).hint(shape);
    if text.len() > MAX_ANSWERS {
        return Err(wrong("`--answers` is too long".to_owned()));
    }
    let value: Value = serde_json::from_str(text)
        .map_err(|error| wrong(format!("`--answers` is not valid JSON: {error}")))?;
    let Value::Array(items) = value else {
        return Err(wrong("`--answers` is not a list".to_owned()));
    };
    let answer = |(number, item): (usize, &Value)| {
        QuizAnswer::from_json(item).map_err(|error| wrong(format!("answer {number}: {error}")))
    };
    items.iter().enumerate().map(answer).collect()
}

/// The questions on a terminal, one at a time.
struct Interview<'i> {
    skill: &'i LoadedSkill,
    quizzes: &'i Quizzes,
    printer: &'i mut Printer,
}

impl Interview<'_> {
    fn run(mut self, status: &QuizStatus) -> Result<Outcome, Error> {
        let mut shown = None;
        let mut tries_left = 0;
        loop {
            let NextQuestion { passed, question } = self.quizzes.next(self.skill)?;
            let Some(question) = question else { return Ok(self.end(passed)) };
            let Some(quiz) = status.quizzes.get(question.quiz) else { return Ok(self.end(passed)) };
            if shown != Some(question.quiz) {
                self.heading(quiz);
                shown = Some(question.quiz);
                tries_left = quiz.tries_left;
            }
            let Some(feedback) = self.ask(quiz, &question)? else {
                self.printer.note("the answers so far are kept");
                return Ok(if passed { Outcome::Fine } else { Outcome::Findings });
            };
            let verdict = if feedback.correct { "right" } else { "wrong" };
            self.printer.say(verdict);
            show_feedback(&feedback, self.printer);
            if feedback.quiz_passed || feedback.tries_left < tries_left {
                self.after_try(&feedback);
            }
            tries_left = feedback.tries_left;
        }
    }

    fn line(&mut self, text: &str, indent: usize) {
        let width = self.printer.width(Channel::Err);
        let text = format!("{}\n", wrap(text, indent, width));
        self.printer.piece(Channel::Err, text.as_bytes());
    }

    fn heading(&mut self, quiz: &ServedQuiz) {
        let title = quiz.title.as_deref().unwrap_or("quiz");
        let name = format!("{}: {}", inline(&self.skill.name), inline(title));
        self.line(&name, 2);
        if let Some(description) = &quiz.description {
            let description = inline(description).into_owned();
            self.line(&description, 0);
        }
        let count = quiz.questions.len();
        let noun = if count == 1 { "question" } else { "questions" };
        let gate = if quiz.gate { "" } else { "; the skill is open without it" };
        let score = percent(quiz.passing_score);
        self.line(&format!("{count} {noun}, passes at {score} %{gate}"), 0);
    }

    /// Asks until there is an answer; `None` at the end of the input.
    fn ask(
        &mut self,
        quiz: &ServedQuiz,
        question: &ServedQuestion,
    ) -> Result<Option<AnswerFeedback>, Error> {
        let (number, count) = (question.question + 1, quiz.questions.len());
        self.line("", 0);
        self.line(&format!("{number} of {count}. {}", inline(&question.text)), 4);
        for (number, option) in question.options.iter().enumerate() {
            self.line(&format!("  {}  {}", number + 1, inline(option)), 5);
        }
        if question.multiple {
            self.line("Choose all that are right, such as `1 3`.", 0);
        }
        let prompt = if question.multiple { "Numbers: " } else { "Number: " };
        let most = question.options.len();
        let mistyped = format!("type a number from 1 to {most}, or a label");
        forget_typed_ahead();
        for _ in 0..MOST_LINES {
            self.printer.piece(Channel::Err, prompt.as_bytes());
            let mut line = String::new();
            if !matches!(io::stdin().lock().read_line(&mut line), Ok(length) if length > 0) {
                self.line("", 0);
                return Ok(None);
            }
            let Some(answer) = typed(line.trim(), question) else {
                self.printer.warning(&mistyped);
                continue;
            };
            let (quiz, number) = (question.quiz, question.question);
            match self.quizzes.answer(self.skill, quiz, number, &answer) {
                Ok(feedback) => return Ok(Some(feedback)),
                // Programs count options from 0, and people see them from 1.
                Err(Problem { code: "not-an-answer", message, .. }) => {
                    let is_number =
                        line.trim().chars().all(|it| it.is_ascii_digit() || " ,".contains(it));
                    self.printer.warning(if is_number { &message } else { &mistyped });
                }
                Err(problem) => return Err(problem.into()),
            }
        }
        Ok(None)
    }

    /// What a try has come to.
    fn after_try(&mut self, feedback: &AnswerFeedback) {
        let score =
            feedback.score.map_or_else(String::new, |score| format!("{} %: ", percent(score)));
        let left = feedback.tries_left;
        let noun = if left == 1 { "try is" } else { "tries are" };
        let verdict = match feedback.retry_after {
            _ if feedback.quiz_passed => "passed".to_owned(),
            Some(wait) => format!("not passed, and closed for {}", minutes(wait)),
            None => format!("not passed; {left} {noun} left, and right answers are kept"),
        };
        self.printer.say(&format!("{score}{verdict}"));
    }

    fn end(self, passed: bool) -> Outcome {
        let name = inline(&self.skill.name).into_owned();
        if passed {
            self.printer.say(&format!("`{name}` is open until one of its files changes"));
            return Outcome::Fine;
        }
        self.printer.say(&format!("`{name}` stays closed"));
        Outcome::Findings
    }
}

/// The answer that a line means: numbers from 1, or a label.
fn typed(line: &str, question: &ServedQuestion) -> Option<QuizAnswer> {
    if line.is_empty() {
        return None;
    }
    let words = line.split([' ', ',']).filter(|word| !word.is_empty());
    let numbers: Option<Vec<usize>> = words
        .map(|word| word.parse::<usize>().ok()?.checked_sub(1))
        .map(|number| number.filter(|number| *number < question.options.len()))
        .collect();
    match numbers {
        Some(numbers) => Some(QuizAnswer::indexes(numbers)),
        None if line.chars().all(|it| it.is_ascii_digit() || " ,".contains(it)) => None,
        None => Some(QuizAnswer::label(line)),
    }
}

/// What the author says about an answer, and what it leads to.
fn show_feedback(feedback: &AnswerFeedback, printer: &mut Printer) {
    let said = [feedback.explanation.as_deref(), feedback.actions.message.as_deref()];
    for text in said.into_iter().flatten() {
        printer.say(text);
    }
    let texts = [feedback.actions.goto.as_ref(), feedback.actions.load_reference.as_ref()];
    for text in texts.into_iter().flatten() {
        show_text(text, printer);
    }
    if let Some(skill) = &feedback.actions.load_skill {
        printer.hint(&format!("read the skill `{skill}`: `prowess show {}`", quoted(skill)));
    }
}

/// A section or a file, with a bar in front that shows where it ends.
fn show_text(text: &QuizText, printer: &mut Printer) {
    if printer.is_quiet() {
        return;
    }
    let body = match &text.text {
        Ok(body) => body,
        Err(reason) => {
            printer.warning(&format!("`{}` can't be shown: {reason}", text.name));
            return;
        }
    };
    let width = printer.width(Channel::Err);
    let mut page = format!("  {}\n", inline(&text.name));
    for line in visible_lines(body.trim()).lines() {
        page.push_str(&wrap(&format!("  | {line}"), 4, width));
        page.push('\n');
    }
    printer.piece(Channel::Err, page.as_bytes());
}

fn percent(score: f64) -> String {
    let rounded = (score * 100.0).round() / 100.0;
    rounded.to_string()
}

fn minutes(left: Duration) -> String {
    match left.as_secs().div_ceil(60).max(1) {
        1 => "1 minute".to_owned(),
        minutes => format!("{minutes} minutes"),
    }
}
