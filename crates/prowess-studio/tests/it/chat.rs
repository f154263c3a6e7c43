//! Chats: history, skills in messages, branches, stop and export.

use prowess_testkit::{Answer, Reply, Script, ScriptedProvider};
use serde_json::{Value, json};

use crate::support::{ARTICLE_SUMMARY, Client, TestStudio, parse_events, text_of, wait_for};

/// A provider that answers with a number.
fn counting() -> ScriptedProvider {
    let mut count = 0;
    ScriptedProvider::start(Script::by(move |_| {
        count += 1;
        Reply::answer(Answer::text([format!("answer {count}").as_str()]))
    }))
}

fn say(client: &Client, body: &Value) -> (String, String) {
    let response = client.events("/chat/completions", body).read();
    assert_eq!(response.status, 200, "{response:?}");
    let id = response.header("x-message-id").to_owned();
    (id, text_of(&parse_events(&response.text())))
}

#[test]
fn a_conversation_has_a_history() {
    let provider = counting();
    let studio = TestStudio::with_model(&provider);
    let ada = studio.user("ada");
    let say = |text: &str| say(&ada, &json!({ "session_id": "s-1", "message": text }));
    assert_eq!(say("Hello {{there}}").1, "answer 1");
    assert_eq!(say("And again").1, "answer 2");
    let messages = provider.request(1).json()["messages"].clone();
    let said: Vec<(&str, &str)> = messages
        .as_array()
        .expect("messages")
        .iter()
        .map(|it| (it["role"].as_str().expect("a role"), it["content"].as_str().expect("text")))
        .collect();
    assert_eq!(
        said,
        [
            ("system", "You are a helpful AI assistant."),
            ("user", "Hello {{there}}"),
            ("assistant", "answer 1"),
            ("user", "And again"),
        ]
    );
    let session = ada.get("/chat/sessions/s-1").json();
    assert_eq!(session["title"], "Hello {{there}}");
    assert_eq!(session["messages"].as_array().map(Vec::len), Some(4));
    assert_eq!(session["messages"][3]["status"], "success");
    assert_eq!(session["head"], session["messages"][3]["id"]);
}

#[test]
fn a_message_runs_skills() {
    // AFL-7.2-1, AFL-7.2-2
    let provider = counting();
    let studio = TestStudio::with_model(&provider);
    let ada = studio.user("ada");
    ada.create_skill("article-summary", ARTICLE_SUMMARY);
    ada.create_skill("greet", "---\ndescription: x\ninputs:\n  - name: who\n---\nGreet {{who}}\n");
    let prompt = |number: usize| {
        let messages = provider.request(number).json()["messages"].clone();
        let last = messages.as_array().and_then(|all| all.last().cloned()).expect("a message");
        last["content"].as_str().expect("text").trim().to_owned()
    };
    let events = ada.events(
        "/chat/completions",
        &json!({ "session_id": "s", "message": "@article-summary style=short A long\ntext" }),
    );
    let events = parse_events(&events.read().text());
    let kinds: Vec<String> = events
        .iter()
        .map(|(name, data)| format!("{name} {}", data["type"].as_str().unwrap_or_default()))
        .collect();
    assert_eq!(kinds[0], "thought skill");
    assert_eq!(events[0].1["skill"], "article-summary");
    assert_eq!(kinds[kinds.len() - 1], "done ");
    assert_eq!(
        prompt(0),
        "Please summarize the following article in a short tone:\n\nA long\ntext"
    );
    let (_, text) =
        say(&ada, &json!({ "session_id": "s", "message": "@greet @article-summary Ada" }));
    assert_eq!(text, "answer 2\n\nanswer 3");
    assert_eq!(prompt(1), "Greet Ada");
    let session = ada.get("/chat/sessions/s").json();
    assert_eq!(session["messages"][3]["skills"], json!(["greet", "article-summary"]));
    assert_eq!(session["messages"][3]["content"], "answer 2\n\nanswer 3");
    // Somebody else's skill is as unknown as one that does not exist.
    studio.user("eve").create_skill("hers", "---\ndescription: x\n---\nSecret\n");
    for name in ["hers", "nobody"] {
        let message = json!({ "session_id": "s", "message": format!("@{name} x") });
        let events = parse_events(&ada.events("/chat/completions", &message).read().text());
        let error = events.iter().find(|(name, _)| name == "error").expect("an error");
        assert_eq!(error.1["message"], format!("Skill '{name}' not found"));
        assert_eq!(events[events.len() - 1].1["status"], "error");
    }
}

#[test]
fn editing_and_retrying_make_branches() {
    let provider = counting();
    let studio = TestStudio::with_model(&provider);
    let ada = studio.user("ada");
    let body = |more: Value| {
        let mut body = json!({ "session_id": "s" });
        for (key, value) in more.as_object().expect("an object") {
            body[key] = value.clone();
        }
        body
    };
    let (first, _) = say(&ada, &body(json!({ "message": "One" })));
    let (retried, text) = say(&ada, &body(json!({ "retry_of": first })));
    assert_eq!(text, "answer 2");
    let (_, _) = say(&ada, &body(json!({ "message": "Other", "parent_id": null })));
    let session = ada.get("/chat/sessions/s").json();
    let parent = |id: &str| {
        let messages = session["messages"].as_array().expect("messages");
        messages.iter().find(|it| it["id"] == id).expect("a message")["parent_id"].clone()
    };
    assert_eq!(parent(&first), parent(&retried));
    assert_eq!(session["messages"].as_array().map(Vec::len), Some(5));
    // The retried answer was asked for without the first one.
    assert_eq!(provider.request(1).json()["messages"].as_array().map(Vec::len), Some(2));
    let selected = ada.patch("/chat/sessions/s", &json!({ "head": first, "title": "Mine" })).json();
    assert_eq!((&selected["head"], &selected["title"]), (&json!(first), &json!("Mine")));
    let exported = ada.get("/chat/sessions/s/export");
    assert_eq!(exported.header("content-disposition"), "attachment; filename=\"chat-s.md\"");
    let exported = exported.text();
    assert!(exported.starts_with("# Mine\n") && exported.contains("answer 1"), "{exported}");
    assert!(!exported.contains("answer 2") && !exported.contains("Other"), "{exported}");
    assert_eq!(ada.get("/chat/sessions/s/export?format=json").json()["title"], "Mine");
    assert_eq!(ada.patch("/chat/sessions/s", &json!({ "head": "m0" })).problem().0, 404);
    assert_eq!(ada.delete("/chat/sessions/s").status, 204);
    assert_eq!(ada.get("/chat/sessions/s").status, 404);
}

#[test]
fn a_stopped_answer_keeps_its_text() {
    let provider = ScriptedProvider::start(Answer::text(["half "]).gate("never").then("whole"));
    let studio = TestStudio::with_model(&provider);
    let ada = studio.user("ada");
    let body = json!({ "session_id": "s", "message": "Hello", "on_disconnect": "continue" });
    let mut answer = ada.events("/chat/completions", &body);
    answer.until("half ");
    assert_eq!(ada.post("/chat/sessions/s/stop", &json!({})).status, 202);
    let events = parse_events(&answer.read().text());
    assert_eq!(events[events.len() - 1].1["status"], "error");
    let session = wait_for("the message", || {
        let session = ada.get("/chat/sessions/s").json();
        (session["messages"][1]["status"] == "stopped").then_some(session)
    });
    assert_eq!(session["messages"][1]["content"], "half ");
}

#[test]
fn invalid_messages_are_refused() {
    let studio = TestStudio::start();
    let ada = studio.user("ada");
    for (body, field) in [
        (json!({ "session_id": "s" }), "message"),
        (json!({ "session_id": "../s", "message": "x" }), "session_id"),
        (json!({ "session_id": "s", "message": " \n" }), "message"),
        (json!({ "session_id": "s", "message": "x", "parent_id": "m1" }), "parent_id"),
        (json!({ "session_id": "s", "retry_of": "m1" }), "retry_of"),
    ] {
        let (status, at, _) = ada.post("/chat/completions", &body).problem();
        assert!(status == 400 || status == 404, "{status} {body}");
        assert_eq!(at, field, "{body}");
    }
    assert_eq!(ada.get("/chat/sessions/%2e%2e").status, 404);
}
