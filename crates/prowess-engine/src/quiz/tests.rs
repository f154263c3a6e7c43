//! The state machine of quizzes and the records on disk.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use proptest::prelude::*;
use prowess_format::skill::{QuizOption, QuizQuestion};
use prowess_format::span::{Span, Spanned};

use super::progress::TryRefusal;
use super::*;
use crate::loaded::SkillResolver as _;
use crate::skill_folders::SkillFolders;

/// A question whose correct options are given by number.
fn question(options: usize, correct: &[usize]) -> QuizQuestion {
    let option = |number: usize| QuizOption {
        label: format!("Option {number}"),
        correct: correct.contains(&number),
    };
    QuizQuestion {
        question: Spanned::new("Why?".to_owned(), Span::default()),
        options: (0..options).map(option).collect(),
        ..QuizQuestion::default()
    }
}

fn quiz(passing_score: f64, questions: usize) -> Quiz {
    let questions = (0..questions).map(|_| question(3, &[0])).collect();
    Quiz { gate: true, passing_score, questions, ..Quiz::default() }
}

fn progress(quiz: &Quiz) -> QuizProgress {
    QuizProgress { answers: vec![None; quiz.questions.len()], ..QuizProgress::default() }
}

#[test]
fn answers_are_numbers_labels_or_lists() {
    let one = question(3, &[1]);
    let judge = |json: &str, question: &QuizQuestion| {
        let value = serde_json::from_str(json).expect("it is JSON");
        match QuizAnswer::from_json(&value).and_then(|answer| answer.is_right(question)) {
            Ok(is_right) => is_right.to_string(),
            Err(error) => error.to_string(),
        }
    };
    for right in
        ["1", "1.0", "[1]", r#""Option 1""#, r#""  option   1 ""#, r#"["OPTION 1"]"#, r#""1""#]
    {
        assert_eq!(judge(right, &one), "true", "{right}");
    }
    for wrong in ["0", "2", r#""Option 0""#, "[2, 2]"] {
        assert_eq!(judge(wrong, &one), "false", "{wrong}");
    }
    assert_eq!(judge("[0, 1]", &one), "this question takes one option, and 2 were given");
    assert_eq!(judge("[]", &one), "an answer names at least one option");
    let unknown =
        "there is no option `3`; the options are 0 (`Option 0`), 1 (`Option 1`), 2 (`Option 2`)";
    assert_eq!(judge("3", &one), unknown);
    assert_eq!(judge("-1", &one), unknown.replace('3', "-1"));
    for no_answer in ["null", "true", "{}", "[[0]]", "[null]"] {
        assert!(judge(no_answer, &one).starts_with("an answer is the number"), "{no_answer}");
    }
    let several = question(4, &[0, 2]);
    for (answer, expected) in
        [("[0, 2]", "true"), (r#"["option 2", 0]"#, "true"), ("0", "false"), ("[0, 1, 2]", "false")]
    {
        assert_eq!(judge(answer, &several), expected, "{answer}");
    }
    let mut twins = question(2, &[0]);
    twins.options[1].label = "option 0".to_owned();
    assert_eq!(judge(r#""option 0""#, &twins), "false", "the exact one");
    assert_eq!(
        judge(r#""OPTION 0""#, &twins),
        "several options are called `OPTION 0`: give the number of one"
    );
}

/// R38
#[test]
fn the_score_is_right_answers_of_all_and_passes_from_the_passing_score_on() {
    for (questions, right, passing, expected) in [
        (3, 3, 100.0, true),
        (3, 2, 100.0, false),
        (3, 2, 66.67, false),
        (3, 2, 66.6, true),
        (4, 2, 50.0, true),
        (1, 0, 0.0, true),
        (0, 0, 0.0, false),
        (1, 1, f64::NAN, false),
    ] {
        let passed = scoring::passes(&quiz(passing, questions), right);
        assert_eq!(passed, expected, "{right} of {questions}, {passing}");
    }
}

#[test]
fn wrong_answers_may_be_given_again_and_end_a_try() {
    let quiz = quiz(100.0, 2);
    let mut at = progress(&quiz);
    assert_eq!(at.answer(&quiz, 0, false, 10), Ok(()));
    assert_eq!((at.next(2), at.tries_left(10)), (Some(1), MAX_TRIES));
    // Again at once: that is the second try.
    assert_eq!(at.answer(&quiz, 0, true, 10), Ok(()));
    assert_eq!(at.tries_left(10), MAX_TRIES - 1);
    assert_eq!(at.answer(&quiz, 0, false, 10), Err(TryRefusal::AnsweredRight));
    assert_eq!(at.answer(&quiz, 1, false, 10), Ok(()));
    assert_eq!((at.score, at.passed, at.next(2)), (Some(50.0), false, Some(1)));
    assert_eq!(at.tries_left(10), 1, "right answers are kept, and a try is gone");
    assert_eq!(at.answer(&quiz, 1, true, 10), Ok(()));
    assert!(at.passed);
    assert_eq!(at.answer(&quiz, 1, true, 10), Err(TryRefusal::Passed));
}

#[test]
fn after_the_last_try_a_quiz_is_closed_for_a_while() {
    let quiz = quiz(100.0, 2);
    let mut at = progress(&quiz);
    for _ in 0..MAX_TRIES {
        assert_eq!(at.answer_all(&quiz, &[true, false], 100), Ok(()));
    }
    assert_eq!(at.answer_all(&quiz, &[true, true], 100), Err(TryRefusal::Closed(COOL_DOWN)));
    let end = 100 + COOL_DOWN.as_secs();
    assert_eq!(at.answer(&quiz, 0, true, end - 1), Err(TryRefusal::Closed(Duration::from_secs(1))));
    // A clock that was put back makes nobody wait longer than a cool-down.
    assert_eq!(at.closed_for(0), Some(COOL_DOWN));
    assert_eq!((at.tries_left(end - 1), at.tries_left(end)), (0, MAX_TRIES));
    assert_eq!(at.answer_all(&quiz, &[true, true], end), Ok(()));
    assert!(at.passed);
}

#[test]
fn answering_one_question_again_and_again_uses_up_the_tries() {
    let quiz = quiz(100.0, 2);
    let mut at = progress(&quiz);
    for _ in 0..MAX_TRIES {
        assert_eq!(at.answer(&quiz, 0, false, 5), Ok(()));
    }
    assert_eq!(at.answer(&quiz, 0, true, 5), Err(TryRefusal::Closed(COOL_DOWN)));
    assert!(!at.passed);
}

#[test]
fn a_wrong_answer_and_then_all_of_them_is_two_tries() {
    let quiz = quiz(100.0, 2);
    let mut at = progress(&quiz);
    assert_eq!(at.answer(&quiz, 0, false, 5), Ok(()));
    assert_eq!(at.answer_all(&quiz, &[true, false], 5), Ok(()));
    assert_eq!(at.tries_left(5), 1);
}

proptest! {
    /// One more right answer never lowers the score, and never turns a pass into a failure.
    #[test]
    fn the_score_is_monotone_in_right_answers(
        answers in prop::collection::vec(any::<bool>(), 1..40),
        passing in 0.0..=100.0_f64,
        which in any::<prop::sample::Index>(),
    ) {
        let quiz = quiz(passing, answers.len());
        let come_to = |answers: &[bool]| {
            let mut at = progress(&quiz);
            at.answer_all(&quiz, answers, 0).expect("it is the first try");
            (at.score.expect("all are answered"), at.passed)
        };
        let (score, passed) = come_to(&answers);
        let mut better = answers.clone();
        better[which.index(answers.len())] = true;
        let (better_score, better_passed) = come_to(&better);
        prop_assert!(better_score >= score && better_passed >= passed);
        prop_assert_eq!(passed, score >= passing);
    }

    /// Whatever is answered in whatever order, there are never more answers between two cool-downs than tries allow.
    #[test]
    fn the_number_of_tries_is_bounded(
        answers in prop::collection::vec((0..4_usize, any::<bool>()), 0..200),
    ) {
        let quiz = quiz(100.0, 4);
        let mut at = progress(&quiz);
        let counted = answers
            .iter()
            .filter(|(question, right)| at.answer(&quiz, *question, *right, 1).is_ok())
            .count();
        prop_assert!(counted <= 4 * MAX_TRIES as usize);
    }

    /// What is served is the same whichever options are correct, as long as their number is.
    #[test]
    fn a_served_question_does_not_depend_on_which_option_is_correct(
        options in 2..=6_usize,
        one in any::<prop::sample::Index>(),
        other in any::<prop::sample::Index>(),
    ) {
        let served = |correct: usize| {
            let quiz = Quiz { questions: vec![question(options, &[correct])], ..Quiz::default() };
            let served = question::served(&[quiz], 0, 0);
            NextQuestion { passed: false, question: served }.json().to_string()
        };
        let text = served(one.index(options));
        prop_assert_eq!(&text, &served(other.index(options)));
        prop_assert!(!text.contains("correct") && !text.contains("true"));
    }
}

/// A clock that stands where it is put.
#[derive(Debug, Default)]
struct HandClock(AtomicU64);

impl Clock for HandClock {
    fn now(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

const SKILL: &str = "---
name: tides
description: Reads tide tables
# The unit is metres.
note: kept
quiz:
  - title: Units
    gate: true
    hint: It is metres
    questions:
      - question: Which unit?
        options: [{label: Feet}, {label: Metres, correct: true, why: SECRET}]
        explanation: Tables of this port are in metres.
        on-correct: {goto: '## Read', message: Go on}
        on-incorrect: {load-reference: references/units.md, load-skill: basics}
  - title: Ports
    gate: true
    questions:
      - question: Which ports?
        options: [{label: Brest, correct: true}, {label: Bern}, {label: Ulm}, {label: Oban, correct: true}]
        on-incorrect: {load-reference: SKILL.md}
---

# Tides

## Read

Read the SECRET table.

## Write

Write it down.
";

struct Scene {
    folder: tempfile::TempDir,
    clock: Arc<HandClock>,
    quizzes: Quizzes,
}

impl Scene {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let clock = Arc::new(HandClock::default());
        let data = folder.path().join("state");
        let state =
            crate::world::StateFolders { data: data.clone(), config: data.clone(), cache: data };
        let quizzes = Quizzes::new(Arc::new(FileQuizzes::of(&state)), Arc::clone(&clock) as _);
        let scene = Self { folder, clock, quizzes };
        scene.put("SKILL.md", SKILL);
        scene.put("references/units.md", "Metres are SECRET units.\n");
        scene
    }

    fn put(&self, path: &str, text: &str) {
        let path = self.folder.path().join("skills/tides").join(path);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("it can be made");
        std::fs::write(path, text).expect("it can be written");
    }

    fn skill(&self) -> Arc<LoadedSkill> {
        let skills = SkillFolders { folders: vec![self.folder.path().join("skills")] };
        skills.resolve("tides").expect("it is there")
    }

    fn main_file(&self) -> Vec<u8> {
        std::fs::read(self.folder.path().join("skills/tides/SKILL.md")).expect("it is there")
    }

    fn pass(&self, skill: &LoadedSkill) {
        let answers = [QuizAnswer::index(1), QuizAnswer::indexes([0, 3])];
        assert!(self.quizzes.answer_all(skill, &answers).expect("they count").passed);
    }
}

#[test]
fn every_gate_has_to_be_passed_and_a_change_asks_again() {
    let scene = Scene::new();
    let (skill, quizzes) = (scene.skill(), &scene.quizzes);
    let problem = quizzes.require_passed(&skill).expect_err("it is closed");
    assert_eq!((problem.code, problem.kind), (NOT_PASSED, ProblemKind::Refused));
    assert!(matches!(&problem.remedies[..], [Remedy::TakeQuiz(path)] if path.ends_with("tides")));
    let feedback = quizzes.answer(&skill, 0, 0, &QuizAnswer::index(1)).expect("it counts");
    assert!(feedback.correct && feedback.quiz_passed && !feedback.passed);
    let next = quizzes.next(&skill).expect("it is there").question.expect("another gate");
    assert_eq!((next.quiz, next.question, next.multiple), (1, 0, true));
    assert!(quizzes.require_passed(&skill).is_err());
    let answer = QuizAnswer::from_json(&serde_json::json!(["oban", "BREST"])).expect("labels");
    assert!(quizzes.answer(&skill, 1, 0, &answer).expect("it counts").passed);
    assert!(quizzes.require_passed(&skill).is_ok());
    assert_eq!(quizzes.disclosure(&skill, &scene.main_file()), Disclosure::Everything);
    // Another file of the skill changes, and it is closed again.
    scene.put("references/units.md", "Changed.\n");
    assert!(quizzes.require_passed(&skill).is_err());
    assert_ne!(quizzes.disclosure(&skill, &scene.main_file()), Disclosure::Everything);
    scene.put("references/units.md", "Metres are SECRET units.\n");
    assert!(quizzes.require_passed(&skill).is_ok(), "the same content as before");
    assert!(quizzes.reset(&skill).expect("it can be reset"));
    assert!(quizzes.require_passed(&skill).is_err());
}

#[test]
fn feedback_has_the_section_the_file_the_skill_and_the_message() {
    let scene = Scene::new();
    let skill = scene.skill();
    let wrong = scene.quizzes.answer(&skill, 0, 0, &QuizAnswer::label("feet")).expect("it counts");
    insta::assert_json_snapshot!(wrong.json(), @r#"
    {
      "quiz": 0,
      "question": 0,
      "correct": false,
      "explanation": "Tables of this port are in metres.",
      "load_reference": {
        "path": "references/units.md",
        "text": "Metres are SECRET units.\n"
      },
      "load_skill": "basics",
      "passed": false,
      "quiz_passed": false,
      "score": 0,
      "tries_left": 2,
      "retry_after_secs": null
    }
    "#);
    let right = scene.quizzes.answer(&skill, 0, 0, &QuizAnswer::label("metres")).expect("again");
    insta::assert_json_snapshot!(right.json(), @r###"
    {
      "quiz": 0,
      "question": 0,
      "correct": true,
      "explanation": "Tables of this port are in metres.",
      "message": "Go on",
      "goto": {
        "section": "## Read",
        "text": "## Read\n\nRead the SECRET table."
      },
      "passed": false,
      "quiz_passed": true,
      "score": 100,
      "tries_left": 2,
      "retry_after_secs": null
    }
    "###);
    // The main file has the answers.
    let wrong = scene.quizzes.answer(&skill, 1, 0, &QuizAnswer::index(1)).expect("it counts");
    let file = wrong.actions.load_reference.expect("it is named");
    assert_eq!(file.text, Err("it can't be read".to_owned()));
}

#[test]
fn references_are_files_of_the_skill_without_links() {
    let scene = Scene::new();
    let skill = scene.skill();
    scene.put("../outside.md", "SECRET");
    scene.put(".hidden", "SECRET");
    scene.put("large.md", &"x".repeat((256 << 10) + 1));
    let folder = scene.folder.path().join("skills/tides");
    std::os::unix::fs::symlink("../outside.md", folder.join("link.md")).expect("a link");
    std::os::unix::fs::symlink("..", folder.join("up")).expect("a link");
    std::fs::hard_link(folder.join("SKILL.md"), folder.join("copy.md")).expect("a hard link");
    let text = std::fs::read_to_string(folder.join("SKILL.md")).expect("it is there");
    let document = Document::markdown(&text, &mut Findings::default());
    for path in [
        "../outside.md",
        "link.md",
        "up/outside.md",
        "/etc/passwd",
        ".hidden",
        "references",
        "none.md",
        "large.md",
        "SKILL.md",
        "copy.md",
        "references/../SKILL.md",
        "",
        ".",
    ] {
        let name = Some(Spanned::new(path.to_owned(), Span::default()));
        let branch =
            prowess_format::skill::QuizBranch { load_reference: name, ..Default::default() };
        let actions = branch::actions(&branch, &skill, &document, &mut ReplyRoom::new());
        let text = actions.load_reference.map(|file| file.text);
        assert!(text.as_ref().is_none_or(Result::is_err), "{path}: {text:?}");
    }
}

#[test]
fn a_closed_skill_has_front_matter_without_answers_and_no_body() {
    let scene = Scene::new();
    let skill = scene.skill();
    let Disclosure::MainFile(text) = scene.quizzes.disclosure(&skill, &scene.main_file()) else {
        panic!("it is closed");
    };
    insta::assert_snapshot!(text, @r"
    ---
    # The instructions and files of this skill are withheld until its quiz is passed.
    name: tides
    description: Reads tide tables
    note: kept
    quiz:
      - title: Units
        gate: true
        passing-score: 100
        questions:
          - question: Which unit?
            options:
              - label: Feet
              - label: Metres
      - title: Ports
        gate: true
        passing-score: 100
        questions:
          - question: Which ports?
            options:
              - label: Brest
              - label: Bern
              - label: Ulm
              - label: Oban
    ---
    ");
    for secret in ["SECRET", "correct", "explanation", "on-", "metres.", "hint"] {
        assert!(!text.contains(secret), "{secret}: {text}");
    }
    // A file that is broken now could have the answers anywhere.
    let broken = SKILL.replace("note: kept", "note: [kept\nunit: metres");
    let Disclosure::MainFile(text) = scene.quizzes.disclosure(&skill, broken.as_bytes()) else {
        panic!("it is closed");
    };
    assert!(!text.contains("unit: metres") && !text.contains("SECRET"), "{text}");
}

#[test]
fn an_answer_to_a_skill_that_has_changed_counts_nothing() {
    let scene = Scene::new();
    let skill = scene.skill();
    scene.put("SKILL.md", &SKILL.replace("{label: Feet}", "{label: Fathoms}"));
    let problem =
        scene.quizzes.answer(&skill, 0, 0, &QuizAnswer::index(1)).expect_err("it changed");
    assert_eq!(problem.code, "changed-since-loaded");
}

#[test]
fn a_pass_needs_a_file_that_others_cannot_write() {
    use std::os::unix::fs::PermissionsExt;
    let scene = Scene::new();
    let skill = scene.skill();
    scene.pass(&skill);
    let records: Vec<_> = std::fs::read_dir(scene.folder.path().join("state/quizzes"))
        .expect("it is there")
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|it| it == "json"))
        .collect();
    let [record] = &records[..] else { panic!("one record: {records:?}") };
    let mode = |mode| std::fs::set_permissions(record, PermissionsExt::from_mode(mode));
    assert_eq!(std::fs::metadata(record).expect("it is there").permissions().mode() & 0o777, 0o600);
    mode(0o666).expect("it is ours");
    let problem = scene.quizzes.require_passed(&skill).expect_err("anybody could have passed");
    assert_eq!(problem.code, "quiz-results-unusable");
    assert_ne!(scene.quizzes.disclosure(&skill, &scene.main_file()), Disclosure::Everything);
    mode(0o600).expect("it is ours");
    assert!(scene.quizzes.is_open(&skill));
    std::fs::write(record, "{}").expect("it is ours");
    assert!(!scene.quizzes.is_open(&skill));
}

#[test]
fn answers_at_the_same_time_all_count() {
    let scene = Scene::new();
    let skill = scene.skill();
    // A wrong answer of each thread: no more are accepted than there are tries.
    let accepted: usize = std::thread::scope(|threads| {
        let threads: Vec<_> = (0..8)
            .map(|_| {
                let (quizzes, skill) = (scene.quizzes.clone(), Arc::clone(&skill));
                threads.spawn(move || quizzes.answer(&skill, 0, 0, &QuizAnswer::index(0)).is_ok())
            })
            .collect();
        threads.into_iter().map(|it| usize::from(it.join().expect("it ends"))).sum()
    });
    assert_eq!(accepted, MAX_TRIES as usize);
    let problem = scene.quizzes.answer(&skill, 0, 0, &QuizAnswer::index(1)).expect_err("closed");
    assert_eq!(problem.code, "quiz-closed");
    // The other gate can be taken meanwhile, by several at once: one passes it.
    let passes: Vec<bool> = std::thread::scope(|threads| {
        let threads: Vec<_> = (0..4)
            .map(|_| {
                let (quizzes, skill) = (scene.quizzes.clone(), Arc::clone(&skill));
                let answer = QuizAnswer::indexes([0, 3]);
                threads.spawn(move || quizzes.answer(&skill, 1, 0, &answer).is_ok())
            })
            .collect();
        threads.into_iter().map(|it| it.join().expect("it ends")).collect()
    });
    assert_eq!(passes.iter().filter(|passed| **passed).count(), 1);
    scene.clock.0.store(COOL_DOWN.as_secs() + 1, Ordering::Relaxed);
    assert!(scene.quizzes.answer(&skill, 0, 0, &QuizAnswer::index(1)).expect("again").passed);
}

#[test]
fn a_wrong_number_of_answers_costs_nothing() {
    let scene = Scene::new();
    let skill = scene.skill();
    let all = |answers: &[QuizAnswer]| scene.quizzes.answer_all(&skill, answers);
    let few = all(&[QuizAnswer::index(1)]).expect_err("there are two");
    assert_eq!(few.message, "`tides` has 2 questions, and 1 answers were given");
    let unknown = all(&[QuizAnswer::index(1), QuizAnswer::index(9)]).expect_err("no option");
    assert!(unknown.message.starts_with("answer 1: there is no option `9`"), "{unknown}");
    let status = scene.quizzes.status(&skill).expect("it is there");
    let left: BTreeSet<u32> = status.quizzes.iter().map(|quiz| quiz.tries_left).collect();
    assert_eq!(left, BTreeSet::from([MAX_TRIES]));
}
