//! Quiz gates (SKL layer 4): questions, answers, tries, and whether the rest of a skill is open.
//!
//! [`Quizzes`] is the only place that decides whether a gate is open. A run asks it before anything is decided, and so does
//! every interface before it shows a body, a file or a prompt. A pass is bound to the digest of all files of the skill: with
//! any change the quiz has to be taken again.
//!
//! ```
//! use std::sync::Arc;
//!
//! use prowess_engine::quiz::{FileQuizzes, QuizAnswer, Quizzes};
//! use prowess_engine::{Engine, SkillFolders, SkillResolver, World};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let home = tempfile::tempdir()?;
//! # std::fs::create_dir_all(home.path().join("skills/tides"))?;
//! # std::fs::write(home.path().join("skills/tides/SKILL.md"), "---\nname: tides\ndescription: Reads tide tables\nquiz:\n  gate: true\n  questions:\n    - question: Which unit?\n      options: [{label: Feet}, {label: Metres, correct: true}]\n---\n\nUse the table.\n")?;
//! # let world = World::at(home.path(), home.path(), "/usr/bin".as_ref(), Vec::new())?;
//! let engine = Engine::new(Arc::new(world));
//! let skills = SkillFolders { folders: vec![home.path().join("skills")] };
//! let skill = skills.resolve("tides")?;
//! assert!(engine.quizzes.require_passed(&skill).is_err());
//!
//! let next = engine.quizzes.next(&skill)?.question.expect("there is a question");
//! assert_eq!(next.options, ["Feet", "Metres"]);
//! let answer = QuizAnswer::label("metres");
//! let feedback = engine.quizzes.answer(&skill, next.quiz, next.question, &answer)?;
//! assert!(feedback.correct && feedback.passed);
//! engine.quizzes.require_passed(&skill)?;
//! # Ok(())
//! # }
//! ```

mod branch;
mod json;
mod progress;
mod question;
mod scoring;
mod store;
mod withheld;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use prowess_core::{Problem, ProblemKind, Remedy};
use prowess_format::diagnostic::Findings;
use prowess_format::document::{Document, Form, decode};
use prowess_format::skill::{Quiz, QuizQuestion};
use prowess_format::{declared_quizzes, form_of};
use prowess_policy::Digest;

use crate::clock::{Clock, SystemClock};
use crate::digest;
use crate::loaded::LoadedSkill;
use crate::skill_files::{main_file, read_bounded};
use crate::world::World;
use branch::ReplyRoom;
use progress::TryRefusal;

pub use branch::{QuizActions, QuizText};
pub use progress::{COOL_DOWN, MAX_TRIES, QuizProgress, QuizRecord};
pub use question::{NextQuestion, QuizStatus, ServedQuestion, ServedQuiz};
pub use scoring::{AnswerError, QuizAnswer, quiz_score};
pub use store::{FileQuizzes, QuizStore, QuizStoreError};

/// The code of the problem of a closed gate.
pub const NOT_PASSED: &str = "quiz-not-passed";

/// The quizzes of a user: the store of passes and the clock. Clones share both.
#[derive(Clone)]
pub struct Quizzes {
    store: Arc<dyn QuizStore>,
    clock: Arc<dyn Clock>,
}

impl fmt::Debug for Quizzes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Quizzes").finish_non_exhaustive()
    }
}

/// What somebody learns from an answer.
#[derive(Clone, Debug, PartialEq)]
pub struct AnswerFeedback {
    /// The number of the quiz, from 0.
    pub quiz: usize,
    /// The number of the question, from 0.
    pub question: usize,
    /// Whether the answer is right.
    pub correct: bool,
    /// The author's explanation.
    pub explanation: Option<String>,
    /// What the answer leads to.
    pub actions: QuizActions,
    /// Whether this quiz is passed now.
    pub quiz_passed: bool,
    /// The score of the last try of this quiz that came to its end.
    pub score: Option<f64>,
    /// Whether the skill is open now.
    pub passed: bool,
    /// How many tries of this quiz are left.
    pub tries_left: u32,
    /// How long this quiz is closed.
    pub retry_after: Option<Duration>,
}

/// What answers to all questions of a skill have come to.
#[derive(Clone, Debug, PartialEq)]
pub struct QuizResult {
    /// Whether the skill is open now: every gate is passed, or every quiz where none is a gate.
    pub passed: bool,
    /// Right answers of all, in per cent.
    pub score: f64,
    /// The feedback to each answer, in the order of the questions.
    pub answers: Vec<AnswerFeedback>,
}

/// What may be shown of a skill's files at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Disclosure {
    /// Everything.
    Everything,
    /// Only the main file, with this text: its front matter without answers.
    MainFile(String),
}

/// A skill as it is on disk.
struct SkillOnDisk {
    digest: Digest,
    /// The text of its main file.
    text: String,
}

impl Quizzes {
    /// Quizzes with a store and a clock.
    pub fn new(store: Arc<dyn QuizStore>, clock: Arc<dyn Clock>) -> Self {
        Self { store, clock }
    }

    /// The quizzes of the user whose machine this is.
    pub fn of_user(world: &World) -> Self {
        Self::new(Arc::new(FileQuizzes::of(&world.state)), Arc::new(SystemClock))
    }

    /// The folder in which something changes with every pass, if there is one.
    pub fn folder(&self) -> Option<&Path> {
        self.store.folder()
    }

    /// Fails unless every gate of a skill is passed for its present content. A skill without a gate is open, and nothing is
    /// read for it.
    pub fn require_passed(&self, skill: &LoadedSkill) -> Result<(), Problem> {
        if !skill.skill.is_gated() {
            return Ok(());
        }
        self.require_passed_for(skill, &digest_of(skill)?)
    }

    /// Whether a skill is open. Where that can't be found out, it is not.
    pub fn is_open(&self, skill: &LoadedSkill) -> bool {
        self.require_passed(skill).is_ok()
    }

    /// Whether gates are passed for what is at a place: for interfaces that show a skill without loading it, such as one with
    /// errors. Where that can't be found out, they are not.
    pub fn is_open_at(&self, place: &Path, quizzes: &[Quiz]) -> bool {
        if !quizzes.iter().any(|quiz| quiz.gate) {
            return true;
        }
        let Ok(digest) = digest::of_skill(place) else { return false };
        let record = self.store.load(&digest).ok().flatten();
        record.is_some_and(|record| record.is_passed(quizzes))
    }

    /// The folder on the way to a file, below the folder of a skill, that is another skill behind a quiz which is not passed.
    /// What is in it is withheld there as well.
    pub fn closed_below(&self, directory: &Path, path: &[impl AsRef<str>]) -> Option<PathBuf> {
        let mut folder = directory.to_owned();
        path.iter().find_map(|part| {
            folder.push(part.as_ref());
            self.is_closed_folder(&folder).then(|| folder.clone())
        })
    }

    /// Whether a folder is a skill behind a quiz that is not passed. Where that can't be found out, it is.
    pub fn is_closed_folder(&self, folder: &Path) -> bool {
        let Some(file) = main_file(folder) else { return false };
        let Ok(bytes) = read_bounded(&file) else { return true };
        let text = decode(&bytes, &mut Findings::default());
        if !text.contains("quiz") {
            return false;
        }
        let document = Document::markdown(&text, &mut Findings::default());
        !self.is_open_at(folder, &declared_quizzes(&document))
    }

    /// The problem of a closed skill, by its name and its place.
    pub fn not_passed(name: &str, place: &Path) -> Problem {
        let message = format!("`{name}` is closed until its quiz is passed");
        let remedy = Remedy::TakeQuiz(place.to_string_lossy().into_owned());
        Problem::new(NOT_PASSED, ProblemKind::Refused, message).remedy(remedy)
    }

    /// Like [`Quizzes::require_passed`], for content whose digest is known.
    pub(crate) fn require_passed_for(
        &self,
        skill: &LoadedSkill,
        digest: &Digest,
    ) -> Result<(), Problem> {
        let quizzes = &skill.skill.quiz;
        if !skill.skill.is_gated() || self.record(skill, digest)?.is_passed(quizzes) {
            return Ok(());
        }
        Err(Self::not_passed(&skill.name, skill.place()))
    }

    /// What may be shown of a skill's files, whose main file was just read. It is decided by the files as they are, also
    /// where the skill in memory is older. What is shown must be read before.
    pub fn disclosure(&self, skill: &LoadedSkill, main_file: &[u8]) -> Disclosure {
        let text = decode(main_file, &mut Findings::default());
        // Nearly all skills have no quiz, and parsing costs more than looking.
        let has_quiz = skill.skill.is_gated() || text.contains("quiz");
        let mut quizzes =
            if has_quiz { declared_quizzes(&parse(skill, &text)) } else { Vec::new() };
        if !quizzes.iter().any(|quiz| quiz.gate) {
            if !skill.skill.is_gated() {
                return Disclosure::Everything;
            }
            // The gate is gone, or the file can't be read: the skill in memory holds until it is loaded again.
            quizzes.clone_from(&skill.skill.quiz);
        }
        let record = digest_of(skill).and_then(|digest| self.record(skill, &digest));
        match record {
            Ok(record) if record.is_passed(&quizzes) => Disclosure::Everything,
            _ => Disclosure::MainFile(withheld::main_file(&text, &skill.skill, &quizzes)),
        }
    }

    /// The quizzes of a skill, without their answers.
    pub fn status(&self, skill: &LoadedSkill) -> Result<QuizStatus, Problem> {
        let on_disk = read(skill)?;
        let quizzes = &skill.skill.quiz;
        let mut record = self.record(skill, &on_disk.digest)?;
        let now = self.clock.now();
        let served = |(number, quiz): (usize, &Quiz)| {
            let progress = record.quiz(quizzes, number);
            let questions = 0..quiz.questions.len();
            ServedQuiz {
                quiz: number,
                title: quiz.title.clone(),
                description: quiz.description.clone(),
                gate: quiz.gate,
                passing_score: quiz.passing_score,
                passed: progress.passed,
                score: progress.score,
                tries_left: progress.tries_left(now),
                retry_after: progress.closed_for(now),
                questions: questions
                    .filter_map(|it| question::served(quizzes, number, it))
                    .collect(),
            }
        };
        let quizzes_served = quizzes.iter().enumerate().map(served).collect();
        Ok(QuizStatus { passed: record.is_passed(quizzes), quizzes: quizzes_served })
    }

    /// The next question: of the first quiz that is not passed, gates first, the first one that has no answer in the present
    /// try. A quiz that is closed for a while is a problem, unless another one can be taken meanwhile.
    pub fn next(&self, skill: &LoadedSkill) -> Result<NextQuestion, Problem> {
        let on_disk = read(skill)?;
        let quizzes = &skill.skill.quiz;
        let mut record = self.record(skill, &on_disk.digest)?;
        let passed = record.is_passed(quizzes);
        let now = self.clock.now();
        let gates = quizzes.iter().enumerate().filter(|(_, quiz)| quiz.gate);
        let others = quizzes.iter().enumerate().filter(|(_, quiz)| !quiz.gate);
        let mut wait = None;
        for (number, quiz) in gates.chain(others) {
            let progress = record.quiz(quizzes, number);
            if progress.passed {
                continue;
            }
            if let Some(left) = progress.closed_for(now) {
                wait.get_or_insert((number, left));
                continue;
            }
            let next = progress.next(quiz.questions.len());
            if let Some(question) = next.and_then(|next| question::served(quizzes, number, next)) {
                return Ok(NextQuestion { passed, question: Some(question) });
            }
        }
        match wait {
            Some((number, left)) if !passed => Err(closed(skill, number, left)),
            _ => Ok(NextQuestion { passed, question: None }),
        }
    }

    /// Answers a question. An answer that names no option costs nothing.
    pub fn answer(
        &self,
        skill: &LoadedSkill,
        quiz: usize,
        question: usize,
        answer: &QuizAnswer,
    ) -> Result<AnswerFeedback, Problem> {
        let on_disk = read(skill)?;
        let asked = asked(skill, quiz, question)?;
        let is_right = answer.is_right(asked).map_err(|error| not_an_answer(&error))?;
        let quizzes = &skill.skill.quiz;
        let now = self.clock.now();
        let mut came_to = Ok(());
        let record = self.change(skill, &on_disk.digest, &mut |record| {
            let progress = record.quiz(quizzes, quiz);
            came_to = progress.answer(&quizzes[quiz], question, is_right, now);
        })?;
        came_to.map_err(|refusal| refused(skill, quiz, Some(question), refusal))?;
        let document = parse(skill, &on_disk.text);
        let mut room = ReplyRoom::new();
        let parts = FeedbackParts { skill, document: &document, record: &record, now };
        Ok(parts.feedback(quiz, question, is_right, &mut room))
    }

    /// Answers all questions of all quizzes, in their order: one try of each quiz that is not passed. An answer that names no
    /// option refuses all of them and costs nothing.
    pub fn answer_all(
        &self,
        skill: &LoadedSkill,
        answers: &[QuizAnswer],
    ) -> Result<QuizResult, Problem> {
        let on_disk = read(skill)?;
        let quizzes = &skill.skill.quiz;
        let questions: Vec<(usize, usize)> = quizzes
            .iter()
            .enumerate()
            .flat_map(|(quiz, it)| (0..it.questions.len()).map(move |question| (quiz, question)))
            .collect();
        if answers.len() != questions.len() {
            let (given, wanted) = (answers.len(), questions.len());
            let name = &skill.name;
            let message =
                format!("`{name}` has {wanted} questions, and {given} answers were given");
            return Err(Problem::new(
                "wrong-number-of-answers",
                ProblemKind::InvalidInput,
                message,
            )
            .advice("give one answer for each question, in their order"));
        }
        let mut are_right = Vec::with_capacity(answers.len());
        for (number, (answer, (quiz, question))) in answers.iter().zip(&questions).enumerate() {
            let asked = asked(skill, *quiz, *question)?;
            let is_right = answer.is_right(asked).map_err(|error| {
                let problem = not_an_answer(&error);
                Problem { message: format!("answer {number}: {}", problem.message), ..problem }
            })?;
            are_right.push(is_right);
        }
        let now = self.clock.now();
        let mut came_to = Ok(());
        let record = self.change(skill, &on_disk.digest, &mut |record| {
            came_to = answer_quizzes(record, quizzes, &are_right, now);
        })?;
        came_to.map_err(|(quiz, refusal)| refused(skill, quiz, None, refusal))?;
        let document = parse(skill, &on_disk.text);
        let mut room = ReplyRoom::new();
        let parts = FeedbackParts { skill, document: &document, record: &record, now };
        let feedback = questions
            .iter()
            .zip(&are_right)
            .map(|((quiz, question), right)| parts.feedback(*quiz, *question, *right, &mut room));
        Ok(QuizResult {
            answers: feedback.collect(),
            passed: record.is_passed(quizzes),
            score: quiz_score(are_right.iter().filter(|right| **right).count(), questions.len()),
        })
    }

    /// Forgets answers, tries and passes of a skill's present content, so that its quizzes start again. True if there were
    /// any. Only a person may do that: it also ends a cool-down.
    pub fn reset(&self, skill: &LoadedSkill) -> Result<bool, Problem> {
        let digest = digest_of(skill)?;
        let mut was_there = false;
        let changed = self.store.change(&digest, &mut |record| was_there = record.take().is_some());
        changed.map_err(|error| store_problem(&error))?;
        Ok(was_there)
    }

    fn record(&self, skill: &LoadedSkill, digest: &Digest) -> Result<QuizRecord, Problem> {
        let record = self.store.load(digest).map_err(|error| store_problem(&error))?;
        Ok(record.unwrap_or_else(|| QuizRecord::new(&skill.name, digest.clone())))
    }

    /// Changes the record, and gives it as it is afterwards.
    fn change(
        &self,
        skill: &LoadedSkill,
        digest: &Digest,
        change: &mut dyn FnMut(&mut QuizRecord),
    ) -> Result<QuizRecord, Problem> {
        let mut after = QuizRecord::new(&skill.name, digest.clone());
        let changed = self.store.change(digest, &mut |stored| {
            let record = stored.get_or_insert_with(|| QuizRecord::new(&skill.name, digest.clone()));
            change(record);
            after.clone_from(record);
        });
        changed.map_err(|error| store_problem(&error))?;
        Ok(after)
    }
}

/// The digest of all files of a skill, which has to be that of when it was read, where that is known.
fn digest_of(skill: &LoadedSkill) -> Result<Digest, Problem> {
    let digest = digest::of_skill(skill.place()).map_err(|error| {
        let message = format!("can't compute the skill's digest: {error}");
        Problem::new("digest-failed", ProblemKind::Failed, message)
    })?;
    match &skill.digest {
        Some(known) if *known != digest => Err(changed(skill)),
        _ => Ok(digest),
    }
}

/// Reads a skill's files, and makes sure that its quizzes are still those that were loaded.
///
/// The digest comes first: a file that changes afterwards has other quizzes, or none that were asked about.
fn read(skill: &LoadedSkill) -> Result<SkillOnDisk, Problem> {
    let digest = digest_of(skill)?;
    let bytes = read_bounded(&skill.file).map_err(|error| {
        let reason = prowess_core::system_reason(&error);
        let message = format!("cannot read `{}`: {reason}", skill.file.display());
        Problem::new("file-error", ProblemKind::Failed, message)
    })?;
    let text = decode(&bytes, &mut Findings::default()).into_owned();
    if declared_quizzes(&parse(skill, &text)) != skill.skill.quiz {
        return Err(changed(skill));
    }
    Ok(SkillOnDisk { digest, text })
}

/// A person may end a cool-down.
fn reset_quiz(skill: &LoadedSkill) -> Remedy {
    Remedy::ResetQuiz(skill.place().to_string_lossy().into_owned())
}

/// The main file as a document.
fn parse<'t>(skill: &LoadedSkill, text: &'t str) -> Document<'t> {
    let name = skill.file.file_name().unwrap_or_default().to_string_lossy();
    let mut findings = Findings::default();
    match form_of(&name) {
        Form::Markdown => Document::markdown(text, &mut findings),
        Form::Json => Document::json(text, &mut findings),
        Form::Yaml => Document::yaml(text, &mut findings),
    }
}

fn asked(skill: &LoadedSkill, quiz: usize, question: usize) -> Result<&QuizQuestion, Problem> {
    let quizzes = &skill.skill.quiz;
    quizzes.get(quiz).and_then(|quiz| quiz.questions.get(question)).ok_or_else(|| {
        let message = format!("`{}` has no question {question} in quiz {quiz}", skill.name);
        Problem::new("no-such-question", ProblemKind::NotFound, message)
            .advice("quizzes and questions are numbered from 0, in the order of the skill")
    })
}

/// Counts the answers to all questions; on a refusal, the quizzes besides the refused one stay as they were.
fn answer_quizzes(
    record: &mut QuizRecord,
    quizzes: &[Quiz],
    are_right: &[bool],
    now: u64,
) -> Result<(), (usize, TryRefusal)> {
    let has_gate = quizzes.iter().any(|quiz| quiz.gate);
    let before = record.clone();
    let mut rest = are_right;
    for (number, quiz) in quizzes.iter().enumerate() {
        let (own, others) = rest.split_at(quiz.questions.len());
        rest = others;
        let progress = record.quiz(quizzes, number);
        match progress.answer_all(quiz, own, now) {
            Err(refusal @ TryRefusal::Closed(_)) if quiz.gate || !has_gate => {
                let closed = progress.clone();
                *record = before;
                *record.quiz(quizzes, number) = closed;
                return Err((number, refusal));
            }
            Ok(()) | Err(_) => {}
        }
    }
    Ok(())
}

/// What feedback is made of.
struct FeedbackParts<'p> {
    skill: &'p LoadedSkill,
    document: &'p Document<'p>,
    record: &'p QuizRecord,
    now: u64,
}

impl FeedbackParts<'_> {
    fn feedback(
        &self,
        quiz: usize,
        question: usize,
        correct: bool,
        room: &mut ReplyRoom,
    ) -> AnswerFeedback {
        let quizzes = &self.skill.skill.quiz;
        let asked = &quizzes[quiz].questions[question];
        let branch = if correct { &asked.on_correct } else { &asked.on_incorrect };
        let progress = &self.record.quizzes[quiz];
        AnswerFeedback {
            quiz,
            question,
            correct,
            explanation: asked.explanation.clone(),
            actions: branch::actions(branch, self.skill, self.document, room),
            quiz_passed: progress.passed,
            score: progress.score,
            passed: self.record.is_passed(quizzes),
            tries_left: progress.tries_left(self.now),
            retry_after: progress.closed_for(self.now),
        }
    }
}

fn not_an_answer(error: &AnswerError) -> Problem {
    Problem::new("not-an-answer", ProblemKind::InvalidInput, error.to_string())
}

fn changed(skill: &LoadedSkill) -> Problem {
    let message = format!("the files of `{}` have changed since it was loaded", skill.name);
    Problem::new("changed-since-loaded", ProblemKind::Conflict, message)
        .advice("try again: the quiz starts anew for the new content")
}

fn store_problem(error: &QuizStoreError) -> Problem {
    Problem::new("quiz-results-unusable", ProblemKind::Failed, error.to_string())
        .advice(error.hint())
}

fn closed(skill: &LoadedSkill, quiz: usize, left: Duration) -> Problem {
    let minutes = left.as_secs().div_ceil(60).max(1);
    let noun = if minutes == 1 { "minute" } else { "minutes" };
    let title = skill.skill.quiz.get(quiz).and_then(|quiz| quiz.title.as_deref());
    let which = title.map(|title| format!(" `{title}`")).unwrap_or_default();
    let message = format!(
        "the quiz{which} of `{}` is closed for {minutes} {noun}, after {MAX_TRIES} tries",
        skill.name
    );
    let kind = ProblemKind::RateLimited { retry_after: Some(left) };
    Problem::new("quiz-closed", kind, message).remedy(reset_quiz(skill))
}

fn refused(
    skill: &LoadedSkill,
    quiz: usize,
    question: Option<usize>,
    refusal: TryRefusal,
) -> Problem {
    let conflict = |code, message: String| Problem::new(code, ProblemKind::Conflict, message);
    match refusal {
        TryRefusal::Passed => {
            conflict("quiz-passed", format!("quiz {quiz} of `{}` is passed already", skill.name))
        }
        TryRefusal::AnsweredRight => {
            let question = question.unwrap_or_default();
            let message = format!("question {question} of quiz {quiz} was answered right already");
            conflict("answered-already", message).advice("answer the next question")
        }
        TryRefusal::Closed(left) => closed(skill, quiz, left),
    }
}

#[cfg(test)]
mod tests;
