//! `prowess quiz`, and what every other verb shows of a skill whose quiz is not passed.

use insta::assert_snapshot;
use prowess_testkit::{Answer, Scene, ScriptedProvider};
use serde_json::{Value, json};

use crate::scene;

/// What nobody may read before the quiz is passed.
pub(crate) const SECRETS: [&str; 6] =
    ["SECRET-WHY", "SECRET-NEXT", "SECRET-HINT", "SECRET-BODY", "SECRET-FILE", "SECRET-SCRIPT"];

const SKILL: &str = "---
name: tides
description: Reads tide tables. Use for tides.
argument-hint: '[port]'
quiz:
  - title: Units and ports
    description: Two things to know before reading a table
    gate: true
    questions:
      - question: Which unit do the tables use?
        options:
          - label: Feet
          - label: Metres
            correct: true
          - label: Fathoms
        explanation: SECRET-WHY the tables are metric.
        on-correct:
          goto: '## Read'
          message: SECRET-NEXT is reading.
        on-incorrect:
          load-reference: references/units.md
          load-skill: basics
          message: SECRET-HINT read about units.
      - question: Which ports have tables?
        options:
          - label: Brest
            correct: true
          - label: Bern
          - label: Oban
            correct: true
---

# Tides

## Read

Read SECRET-BODY for $ARGUMENTS.

## Write

Write it down.
";

/// The beginning of its quiz, after a tool in Python.
const WITH_TOOLS: &str = "version: 1.0.0
author: kim
license: MIT
security_tier: experimental
permissions: [network:none]
tools:
  - name: table
    description: Reads one
quiz:
";

/// A skill behind a quiz, with a script and a file.
pub(crate) fn tides() -> Scene {
    let project = scene()
        .home("home")
        .variable("PATH", "/usr/local/bin:/usr/bin:/bin")
        .file("repo/.git/HEAD", "ref: refs/heads/main\n");
    with_tides(project).inside("repo")
}

/// Adds that skill to the `skills` of a project.
pub(crate) fn with_tides(scene: Scene) -> Scene {
    scene
        .file("repo/skills/tides/SKILL.md", SKILL)
        .file("repo/skills/tides/references/units.md", "A SECRET-FILE about metres.\n")
        .file(
            "repo/skills/tides/scripts/table.sh",
            "#!/bin/sh\n# SECRET-SCRIPT\necho high at noon\n",
        )
}

pub(crate) const RIGHT: &str = "[\"  metres \", [\"OBAN\", 0]]";

fn taken(scene: &Scene, answers: &str) -> (Option<i32>, Value) {
    let output = scene.output(&["quiz", "skills/tides", "--answers", answers], "");
    (output.status.code(), serde_json::from_slice(&output.stdout).unwrap_or_default())
}

fn json_of(scene: &Scene, arguments: &str) -> Value {
    serde_json::from_str(&scene.stdout(arguments)).expect("JSON")
}

/// SKL-L4-5
#[test]
fn a_closed_gate_withholds_everything_until_the_score_is_reached() {
    let scene = tides();
    let run = "run skills/tides/scripts/table.sh --yes";
    assert_snapshot!(scene.run(run), @r"
    exit 125
    --- stderr
    error: `tides` is closed until its quiz is passed
    hint: take it with `prowess quiz skills/tides`
    ");
    let envelope = json_of(&scene, &format!("{run} --format json"));
    assert_eq!((&envelope["outcome"], &envelope["exit_code"]), (&json!("refused"), &json!(125)));
    for closed in ["run skills/tides", "exec skills/tides --yes -- cat skills/tides/SKILL.md"] {
        assert!(scene.run(closed).starts_with("exit 125"), "{closed}");
    }
    // Another dialect has no quizzes, and a gate all the same.
    let renamed = format!("{run} --dialect agent-skills");
    assert!(scene.run(&renamed).contains("closed until its quiz is passed"));
    for render in ["render skills/tides", "render skills/tides --dialect agent-skills"] {
        let refused = scene.run(render);
        assert!(refused.starts_with("exit 4"), "{render}: {refused}");
    }
    let (code, half) = taken(&scene, "[1, 0]");
    assert_eq!((code, &half["passed"], &half["score"]), (Some(1), &json!(false), &json!(50)));
    assert!(scene.run(run).starts_with("exit 125"));
    let (code, all) = taken(&scene, RIGHT);
    assert_eq!((code, &all["passed"], &all["score"]), (Some(0), &json!(true), &json!(100)));
    assert_snapshot!(scene.stdout(run), @"high at noon");
    assert!(
        scene.stdout("render skills/tides --arguments Brest").contains("SECRET-BODY for Brest")
    );
    assert!(scene.stdout("prompt skills/tides --level 3").contains("SECRET-BODY"));
    let file = scene.stdout("prompt skills/tides --file references/units.md");
    assert_eq!(file, "A SECRET-FILE about metres.\n");
    assert_eq!(json_of(&scene, "quiz skills/tides --format json")["passed"], true);
    // The pass is for this content.
    let units = scene.path().join("repo/skills/tides/references/units.md");
    std::fs::write(&units, "Other units.\n").expect("it can be changed");
    assert!(scene.run(run).starts_with("exit 125"));
    assert!(!scene.stdout("prompt skills/tides --level 3").contains("SECRET-BODY"));
}

/// SKL-L4-6
#[test]
fn a_wrong_answer_gives_its_actions_and_may_be_given_again() {
    let scene = tides();
    let (code, wrong) = taken(&scene, "[0, [0, 2]]");
    assert_eq!(code, Some(1));
    assert_eq!(
        wrong,
        json!({
            "passed": false,
            "score": 50,
            "answers": [
                {
                    "quiz": 0,
                    "question": 0,
                    "correct": false,
                    "explanation": "SECRET-WHY the tables are metric.",
                    "message": "SECRET-HINT read about units.",
                    "load_reference": { "path": "references/units.md", "text": "A SECRET-FILE about metres.\n" },
                    "load_skill": "basics",
                },
                { "quiz": 0, "question": 1, "correct": true },
            ],
        })
    );
    assert_eq!(taken(&scene, RIGHT).0, Some(0));
}

/// SKL-L4-7
#[test]
fn a_right_answer_gives_its_explanation_and_actions() {
    let scene = tides();
    let (_, right) = taken(&scene, RIGHT);
    assert_eq!(
        right["answers"][0],
        json!({
            "quiz": 0,
            "question": 0,
            "correct": true,
            "explanation": "SECRET-WHY the tables are metric.",
            "message": "SECRET-NEXT is reading.",
            "goto": { "section": "## Read", "text": "## Read\n\nRead SECRET-BODY for $ARGUMENTS." },
        })
    );
}

/// SKL-L4-8
#[test]
fn questions_are_served_without_answers() {
    let scene = tides();
    let text = scene.stdout("quiz skills/tides --format json");
    assert!(!text.contains("correct"), "{text}");
    assert_eq!(
        serde_json::from_str::<Value>(&text).expect("JSON"),
        json!({
            "passed": false,
            "quizzes": [{
                "quiz": 0,
                "title": "Units and ports",
                "description": "Two things to know before reading a table",
                "gate": true,
                "passing_score": 100,
                "passed": false,
                "score": null,
                "tries_left": 3,
                "retry_after_secs": null,
                "questions": [
                    {
                        "question": 0,
                        "text": "Which unit do the tables use?",
                        "multiple": false,
                        "options": ["Feet", "Metres", "Fathoms"],
                    },
                    {
                        "question": 1,
                        "text": "Which ports have tables?",
                        "multiple": true,
                        "options": ["Brest", "Bern", "Oban"],
                    },
                ],
            }],
        })
    );
}

/// SKL-L4-8
#[test]
fn no_verb_shows_the_answers_or_what_is_withheld() {
    let scene = tides();
    let mut doors: Vec<String> = [
        "show skills/tides",
        "show skills/tides --verbose",
        "show skills/tides --format json",
        "show skills/tides/SKILL.md --format json",
        "show skills/tides --dialect agent-skills",
        "show skills/tides --dialect agent-skills --format json --verbose",
        "show skills/tides --quiz-answers",
        "render skills/tides",
        "render skills/tides --format json",
        "policy skills/tides",
        "list",
        "list --format json",
        "which tides",
        "info skills/tides",
        "run skills/tides",
        "run skills/tides/scripts/none.sh --yes",
        "run skills/tides/scripts/table.sh --yes --format json",
        "run skills/tides/scripts/table.sh --yes --format events",
        "exec skills/tides --yes --format json -- scripts/table.sh",
        "quiz skills/tides",
        "quiz skills/tides --format json --log trace",
        "run skills/tides --log trace",
        "quiz skills/tides --answers [9,9]",
        "quiz skills/tides --answers [0]",
        "prompt skills/tides --menu",
        "prompt skills/tides --file SKILL.md",
        "prompt skills/tides --file references/units.md",
        "prompt skills/tides --file ../tides/SKILL.md",
        "search tides",
        "scan skills/tides --format json",
        "agent check skills/tides",
    ]
    .map(str::to_owned)
    .into();
    for format in
        ["xml", "functiongemma", "functiongemma-full", "openai", "anthropic", "gaia", "json"]
    {
        doors.push(format!("prompt skills --format {format}"));
    }
    for (format, level) in
        [("xml", 1), ("xml", 2), ("xml", 3), ("json", 1), ("json", 2), ("json", 3)]
    {
        doors.push(format!("prompt skills --format {format} --level {level}"));
    }
    for door in doors {
        let shown = scene.run(&door);
        for secret in
            SECRETS.iter().chain(&["correct: ", "\"correct\"", "on-correct", "on_correct"])
        {
            assert!(!shown.contains(secret), "`{door}` shows {secret}: {shown}");
        }
    }
    let shown = json_of(&scene, "show skills/tides --format json");
    assert_eq!(
        shown["quiz"][0]["questions"][0],
        json!({
            "question": "Which unit do the tables use?",
            "options": [{ "label": "Feet" }, { "label": "Metres" }, { "label": "Fathoms" }],
        })
    );
    assert_eq!(
        (&shown["body"], &shown["resources"], &shown["scripts"]),
        (&Value::Null, &json!([]), &json!([]))
    );
    // After the quiz the body is shown, and the answers still are not.
    taken(&scene, RIGHT);
    let shown = scene.stdout("show skills/tides --format json");
    assert!(shown.contains("SECRET-BODY") && !shown.contains("SECRET-WHY"), "{shown}");
}

#[test]
fn findings_do_not_quote_the_lines_of_a_skill_behind_a_quiz() {
    let doors = |scene: &Scene| {
        for verb in [
            "check",
            "check --format json",
            "check --format sarif",
            "check --format github",
            "check --format concise",
            "policy",
            "show",
            "prompt",
            "prompt --level 3",
            "quiz",
            "run",
            "render",
            "quiz --format json",
            "info",
            "list",
            "list --format json",
        ] {
            let (verb, options) = verb.split_once(' ').unwrap_or((verb, ""));
            let place = if verb == "list" { "" } else { "skills/tides" };
            let shown = scene.run(format!("{verb} {place} {options}").trim());
            for secret in SECRETS.iter().chain(&["correct: true"]) {
                assert!(!shown.contains(secret), "`{verb} {options}` shows {secret}: {shown}");
            }
        }
    };
    // Warnings and errors on the lines of the answers, in the body, and in front matter that can't be read.
    for (from, to) in [
        ("explanation: SECRET-WHY", "explanaton: SECRET-WHY"),
        ("goto: '## Read'", "{goto: '## None', message: SECRET-NEXT}"),
        ("gate: true", "gate: true\n    passing-score: {a: SECRET-WHY, correct: true}"),
        (
            "correct: true\n          - label: Fathoms",
            "correct: [true: SECRET-WHY\n          - label: Fathoms",
        ),
        ("Read SECRET-BODY", "[SECRET-BODY](references/none.md) SECRET-BODY"),
    ] {
        let scene = tides();
        assert!(SKILL.contains(from), "{from}");
        let scene = scene.file("repo/skills/tides/SKILL.md", SKILL.replacen(from, to, 1));
        doors(&scene);
    }
    // Findings in other files are counted in those files.
    let scene = tides()
        .file("repo/skills/tides/SKILL.md", SKILL.replacen("quiz:\n", WITH_TOOLS, 1))
        .file("repo/skills/tides/tools.py", "import os\n\n\ndef f(: SECRET-FILE\n");
    let shown = scene.run("check skills/tides --format concise");
    assert!(shown.contains("tools.py:4:"), "{shown}");
    let shown = scene.run("check skills/tides");
    assert!(shown.contains("invalid-python") && !shown.contains("SECRET-FILE"), "{shown}");
    // On a terminal the author sees the line.
    let scene = tides().file(
        "repo/skills/tides/SKILL.md",
        SKILL.replacen("Read SECRET-BODY", "[x](references/none.md) SECRET-BODY", 1),
    );
    #[cfg(target_os = "linux")]
    {
        let shown = scene.run_on_terminal(&["check", "skills/tides"], "");
        assert!(shown.contains("SECRET-BODY"), "{shown}");
    }
}

#[test]
fn a_workflow_gets_nothing_of_a_closed_skill() {
    let provider = ScriptedProvider::start(Answer::text(["Nothing."]));
    let flow = |kind: &str, skill: &str| {
        json!({
            "nodes": [
                { "id": "start", "type": "start" },
                { "id": "node", "type": kind, "data": { "skillName": skill } },
                { "id": "end", "type": "end" },
            ],
            "edges": [{ "source": "start", "target": "node" }, { "source": "node", "target": "end" }],
        })
        .to_string()
    };
    let scene = tides()
        .file("repo/body.json", flow("llm", "tides"))
        .file("repo/prompt.json", flow("skill", "tides"))
        .file("repo/script.json", flow("skill", "tides/scripts/table.sh"))
        .variable("OPENAI_BASE_URL", &format!("{}/v1", provider.url()))
        .variable("OPENAI_API_KEY", "sk-secret-of-the-test")
        .variable("PROWESS_MODEL", "openai/test-model");
    for flow in ["body.json", "prompt.json", "script.json"] {
        for format in ["text", "json", "events"] {
            let shown =
                scene.run(&format!("workflow run {flow} --input input=x --yes --format {format}"));
            assert!(!shown.starts_with("exit 0"), "{flow}: {shown}");
            for secret in SECRETS.iter().chain(&["high at noon"]) {
                assert!(!shown.contains(secret), "{flow} shows {secret}: {shown}");
            }
        }
    }
    assert!(provider.requests().is_empty());
}

#[test]
fn tries_are_bounded_and_only_a_person_starts_again() {
    let scene = tides();
    for _ in 0..3 {
        assert_eq!(taken(&scene, "[0, 0]").0, Some(1));
    }
    assert_snapshot!(scene.run_with(&["quiz", "skills/tides", "--answers", RIGHT], ""), @r"
    exit 1
    --- stderr
    error: the quiz `Units and ports` of `tides` is closed for 15 minutes, after 3 tries
    hint: wait, or start again on a terminal with `prowess quiz skills/tides --reset`
    ");
    let status = json_of(&scene, "quiz skills/tides --format json");
    let quiz = &status["quizzes"][0];
    assert_eq!((&quiz["tries_left"], &quiz["score"]), (&json!(0), &json!(0)));
    assert!(quiz["retry_after_secs"].as_u64().is_some_and(|left| left > 600), "{quiz}");
    assert_snapshot!(scene.run("quiz skills/tides --reset"), @r"
    exit 4
    --- stderr
    error: only a person may reset a quiz, and this is not a terminal
    hint: run it on a terminal, or wait until the quiz can be taken again
    ");
}

#[test]
fn answers_that_make_no_sense_cost_no_try() {
    let scene = tides();
    assert_snapshot!(scene.run("quiz skills/tides"), @r"
    exit 2
    --- stderr
    error: can't ask questions: this is not a terminal
    hint: give all answers at once with `--answers '[…]'`
    hint: `prowess quiz skills/tides --format json` prints the questions
    ");
    for (answers, expected) in [
        ("metres", "`--answers` is not valid JSON"),
        ("1", "`--answers` is not a list"),
        ("[1]", "`tides` has 2 questions, and 1 answers were given"),
        ("[1, true]", "answer 1: an answer is the number of an option"),
        ("[1, 7]", "answer 1: there is no option `7`; the options are 0 (`Brest`)"),
        ("[[0, 1], 0]", "answer 0: this question takes one option, and 2 were given"),
        ("[1, []]", "answer 1: an answer names at least one option"),
    ] {
        let refused = scene.run_with(&["quiz", "skills/tides", "--answers", answers], "");
        assert!(
            refused.starts_with("exit 2") && refused.contains(expected),
            "{answers}: {refused}"
        );
    }
    assert_eq!(json_of(&scene, "quiz skills/tides --format json")["quizzes"][0]["tries_left"], 3);
    assert!(scene.run("quiz skills/none --format json").starts_with("exit 3"));
}

#[test]
fn a_skill_without_a_quiz_is_open() {
    let scene = tides().file(
        "repo/skills/plain/SKILL.md",
        "---\nname: plain\ndescription: Is plain\n---\n\nText\n",
    );
    assert_eq!(
        json_of(&scene, "quiz skills/plain --format json"),
        json!({ "passed": true, "quizzes": [] })
    );
    assert_snapshot!(scene.run("quiz skills/plain"), @r"
    exit 0
    --- stderr
    note: `plain` has no quiz
    ");
}

#[cfg(target_os = "linux")]
#[test]
fn on_a_terminal_questions_come_one_by_one() {
    let scene = tides();
    let quiz = ["quiz", "skills/tides"];
    // A word that is no option is asked for again; then a wrong and a right answer, and the wrong one again.
    assert_snapshot!(scene.run_on_terminal(&quiz, "9\nmiles\n1\n1 3\nmetres\n"));
    let again = scene.run_on_terminal(&quiz, "");
    assert!(again.contains("`tides` is open until one of its files changes"), "{again}");
    let reset = scene.run_on_terminal(&["quiz", "skills/tides", "--reset"], "");
    assert!(reset.contains("the quiz of `tides` starts again"), "{reset}");
    assert!(scene.run("run skills/tides").starts_with("exit 125"));
}

#[cfg(target_os = "linux")]
#[test]
fn an_author_sees_the_answers_on_a_terminal() {
    let scene = tides();
    let shown = scene.run_on_terminal(&["show", "skills/tides", "--quiz-answers", "--verbose"], "");
    for part in ["+ Metres", "- Feet", "SECRET-WHY", "SECRET-BODY"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let refused = scene.run("show skills/tides --quiz-answers");
    assert!(refused.starts_with("exit 4"), "{refused}");
}
