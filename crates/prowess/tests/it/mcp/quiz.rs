//! Skills behind a quiz, as an agent sees them.

use serde_json::{Value, json};

use super::client::Session;
use crate::quiz::{RIGHT, SECRETS, tides};

fn assert_no_secret(what: &str, shown: &Value) {
    let shown = shown.to_string();
    for secret in SECRETS.iter().chain(&["correct: ", "on-correct", "explanation: "]) {
        assert!(!shown.contains(secret), "{what} shows {secret}: {shown}");
    }
}

fn result(session: &mut Session, tool: &str, arguments: &Value) -> Value {
    let answer = session.request("tools/call", &json!({ "name": tool, "arguments": arguments }));
    assert_ne!(answer["result"]["isError"], true, "{answer}");
    let value = answer["result"]["structuredContent"].clone();
    let text = answer["result"]["content"][0]["text"].as_str().expect("a text");
    assert_eq!(serde_json::from_str::<Value>(text).expect("JSON"), value);
    value
}

/// SKL-L4-5 SKL-L4-8
#[test]
fn a_closed_skill_is_served_without_what_is_withheld_and_whole_after_the_quiz() {
    let scene = tides();
    let mut session = Session::greeted(&scene, &["skills"], &json!({}));
    assert_eq!(session.tools(), ["quiz_answer", "quiz_next", "tides__table"]);
    let main = "skill://tides/SKILL.md";
    let read = |session: &mut Session, uri: &str| {
        session.request("resources/read", &json!({ "uri": uri }))
    };

    // Every way to a text of the skill.
    let doors = [
        ("tools/list", json!({})),
        ("prompts/list", json!({})),
        ("resources/list", json!({})),
        ("resources/read", json!({ "uri": main })),
        ("resources/read", json!({ "uri": "skill://tides/references/units.md" })),
        ("resources/read", json!({ "uri": "skill://tides/scripts/table.sh" })),
        ("resources/read", json!({ "uri": "skill://tides/references/../SKILL.md" })),
        ("skills/list", json!({})),
        ("skills/get", json!({ "uri": main })),
        ("resources/directory/read", json!({ "uri": "skill://tides" })),
        ("resources/directory/read", json!({ "uri": "skill://tides/references" })),
        ("prompts/get", json!({ "name": "tides", "arguments": { "arguments": "Brest" } })),
        ("tools/call", json!({ "name": "tides__table", "arguments": {} })),
        ("tools/call", json!({ "name": "quiz_next", "arguments": { "skill": "tides" } })),
        (
            "tools/call",
            json!({ "name": "quiz_answer", "arguments": { "skill": "tides", "quiz": 0, "question": 0, "answer": "none" } }),
        ),
    ];
    for (method, params) in &doors {
        let answer = session.request(method, params);
        assert_no_secret(&format!("{method} {params}"), &answer);
    }

    // What is served is what its size and digest are of.
    let text = read(&mut session, main)["result"]["contents"][0]["text"].clone();
    let text = text.as_str().expect("a text").to_owned();
    assert!(text.contains("label: Metres") && text.ends_with("\n---\n"), "{text}");
    let got = session.request("skills/get", &json!({ "uri": main }))["result"]["skill"].clone();
    let files = got["resources"].as_array().expect("a list");
    assert_eq!(files.len(), 1, "{got}");
    assert_eq!(files[0]["size"], text.len());
    let digest = prowess_testkit::sha256(text.as_bytes());
    assert_eq!(files[0]["digest"], format!("sha256:{digest}"));
    assert_eq!(got["frontmatter"]["quiz"][0]["gate"], true);
    let folder = session.request("resources/directory/read", &json!({ "uri": "skill://tides" }));
    assert_eq!(folder["result"]["resources"].as_array().expect("a list").len(), 1, "{folder}");
    assert_eq!(folder["result"]["resources"][0]["size"], text.len());

    let (refusal, is_error) = session.call("tides__table", &json!({}));
    let place = scene.path().join("repo/skills/tides");
    assert!(
        is_error && refusal.contains(&format!("`prowess quiz {}`", place.display())),
        "{refusal}"
    );
    assert!(refusal.contains("`quiz_next`"), "{refusal}");

    // The quiz, with a wrong answer first.
    let next = result(&mut session, "quiz_next", &json!({ "skill": "tides" }));
    assert_eq!(
        next,
        json!({
            "passed": false, "quiz": 0, "question": 0, "text": "Which unit do the tables use?",
            "multiple": false, "options": ["Feet", "Metres", "Fathoms"],
        })
    );
    let give = |session: &mut Session, question: u32, answer: Value| {
        let arguments =
            json!({ "skill": "tides", "quiz": 0, "question": question, "answer": answer });
        result(session, "quiz_answer", &arguments)
    };
    let wrong = give(&mut session, 0, json!(0));
    assert_eq!((&wrong["correct"], &wrong["load_skill"]), (&json!(false), &json!("basics")));
    let right = give(&mut session, 0, json!("metres"));
    assert_eq!((&right["correct"], &right["tries_left"]), (&json!(true), &json!(2)));
    session.others.clear();
    let last = give(&mut session, 1, json!(["Oban", "Brest"]));
    assert_eq!((&last["passed"], &last["score"]), (&json!(true), &json!(100)));

    // Clients are told, and everything is there.
    let is_told = |others: &[Value], method: &str| others.iter().any(|it| it["method"] == method);
    for method in ["notifications/resources/list_changed", "notifications/tools/list_changed"] {
        if !is_told(&session.others, method) {
            session.wait(|message| message["method"] == method);
        }
    }
    let whole = read(&mut session, main)["result"]["contents"][0]["text"].clone();
    assert_eq!(whole, scene.text("repo/skills/tides/SKILL.md"));
    let file = read(&mut session, "skill://tides/references/units.md");
    assert_eq!(file["result"]["contents"][0]["text"], "A SECRET-FILE about metres.\n");
    let prompt = session
        .request("prompts/get", &json!({ "name": "tides", "arguments": { "arguments": "Brest" } }));
    assert!(prompt.to_string().contains("SECRET-BODY for Brest"), "{prompt}");
    let (asked, _) = session.call("tides__table", &json!({}));
    assert!(asked.contains("a person has to approve it"), "{asked}");
    let next = result(&mut session, "quiz_next", &json!({ "skill": "tides" }));
    assert_eq!(
        (&next["passed"], &next["question"], &next["options"]),
        (&json!(true), &Value::Null, &json!([]))
    );
}

#[test]
fn the_skill_around_a_closed_one_does_not_serve_its_files() {
    let scene = tides()
        .file(
            "repo/skills/SKILL.md",
            "---\nname: skills\ndescription: Holds others\n---\n\nText.\n",
        )
        .file("repo/skills/notes/a.md", "A note.\n");
    let mut session = Session::greeted(&scene, &["skills"], &json!({}));
    let doors = [
        ("skills/list", json!({})),
        ("skills/get", json!({ "uri": "skill://skills/SKILL.md" })),
        ("resources/directory/read", json!({ "uri": "skill://skills" })),
        ("resources/directory/read", json!({ "uri": "skill://skills/tides" })),
        ("resources/directory/read", json!({ "uri": "skill://skills/tides/references" })),
        ("resources/read", json!({ "uri": "skill://skills/tides/SKILL.md" })),
        ("resources/read", json!({ "uri": "skill://skills/tides/references/units.md" })),
    ];
    for (method, params) in &doors {
        let answer = session.request(method, params);
        assert_no_secret(&format!("{method} {params}"), &answer);
        let shown = answer["result"].to_string();
        assert!(!shown.contains("skills/tides"), "{method} {params}: {shown}");
    }
    let note = session.request("resources/read", &json!({ "uri": "skill://skills/notes/a.md" }));
    assert_eq!(note["result"]["contents"][0]["text"], "A note.\n", "{note}");
    let file = scene.run("prompt skills --file tides/references/units.md");
    assert!(file.contains("`tides` is closed until its quiz is passed"), "{file}");

    let passed = scene.run_with(&["quiz", "skills/tides", "--answers", RIGHT], "");
    assert!(passed.starts_with("exit 0"), "{passed}");
    for (method, params) in &doors {
        let answer = session.request(method, params);
        assert_eq!(answer["error"], Value::Null, "{method} {params}");
    }
    assert!(scene.run("prompt skills --file tides/references/units.md").contains("SECRET-FILE"));
}

#[test]
fn a_pass_on_a_terminal_opens_the_skill_of_a_running_server_and_a_change_closes_it() {
    let scene = tides();
    let mut session = Session::greeted(&scene, &["skills"], &json!({}));
    session.tools();
    let answers = ["quiz", "skills/tides", "--answers", "[1, [0, 2]]"];
    assert!(scene.output(&answers, "").status.success());
    let changed = "notifications/resources/list_changed";
    session.wait(|message| message["method"] == changed);
    let read = |session: &mut Session| {
        session.request("resources/read", &json!({ "uri": "skill://tides/SKILL.md" })).to_string()
    };
    assert!(read(&mut session).contains("SECRET-BODY"));
    std::fs::write(scene.path().join("repo/skills/tides/references/units.md"), "Other\n")
        .expect("written");
    assert!(!read(&mut session).contains("SECRET-BODY"), "also before the change is noticed");
}

#[test]
fn mistakes_in_calls_are_said_and_cost_nothing() {
    let scene = tides();
    let mut session = Session::greeted(&scene, &["skills"], &json!({}));
    for (tool, arguments, expected) in [
        ("quiz_next", json!({}), "`skill` is missing"),
        ("quiz_next", json!({ "skill": "waves" }), "these have a quiz: `tides`"),
        ("quiz_answer", json!({ "skill": "tides" }), "`quiz` must be a number from 0"),
        (
            "quiz_answer",
            json!({ "skill": "tides", "quiz": 0, "question": 0 }),
            "`answer` is missing",
        ),
        (
            "quiz_answer",
            json!({ "skill": "tides", "quiz": 7, "question": 0, "answer": 0 }),
            "no question 0 in quiz 7",
        ),
        (
            "quiz_answer",
            json!({ "skill": "tides", "quiz": 0, "question": 0, "answer": {} }),
            "an answer is the number",
        ),
        (
            "quiz_answer",
            json!({ "skill": "tides", "quiz": -1, "question": 0, "answer": 0 }),
            "`quiz` must be a number from 0",
        ),
    ] {
        let (text, is_error) = session.call(tool, &arguments);
        assert!(is_error && text.contains(expected), "{arguments}: {text}");
    }
    let status: Value =
        serde_json::from_str(&scene.stdout("quiz skills/tides --format json")).expect("JSON");
    assert_eq!(status["quizzes"][0]["tries_left"], 3);
}
