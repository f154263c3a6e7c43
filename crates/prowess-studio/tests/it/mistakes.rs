//! What the reference implementation gets wrong, and where the specification is silent on purpose: each as a test. The
//! others of the list are beside their subject: settings that reach the model in `runs`, literals of mappings in
//! `workflows`, owners in `owners`.

use prowess_testkit::{Answer, Reply, Script, ScriptedProvider};
use serde_json::{Value, json};

use crate::support::{TestStudio, parse_events, text_of};

fn prompt(provider: &ScriptedProvider, number: usize) -> String {
    let messages = provider.request(number).json()["messages"].clone();
    let last = messages.as_array().and_then(|all| all.last().cloned()).expect("a message");
    last["content"].as_str().expect("text").to_owned()
}

fn execute(studio: &TestStudio, graph: &Value, input: &str) -> Vec<(String, Value)> {
    let ada = studio.user("ada");
    ada.create_skill(
        "write",
        "---\ndescription: x\ninputs:\n  - name: topic\n    required: true\nmodel:\n  temperature: 0.1\n---\nAbout {{topic}}.\n",
    );
    let created = ada.post("/workflows", &json!({ "name": "W", "graph_data": graph })).json();
    let path = format!("/workflows/{}/execute", created["id"].as_str().expect("an id"));
    parse_events(&ada.events(&path, &json!({ "input": input })).read().text())
}

#[test]
fn an_llm_node_renders_its_skill() {
    // Mistake 3, AFL-7.3-3
    let provider = ScriptedProvider::start(Answer::text(["ok"]));
    let studio = TestStudio::with_model(&provider);
    let graph = json!({
        "nodes": [
            { "id": "start", "type": "start", "data": { "inputVariable": "x" } },
            { "id": "ask", "type": "llm", "data": { "skillName": "write", "systemPrompt": "Ignored" } },
            { "id": "end", "type": "end", "data": {} },
        ],
        "edges": [{ "source": "start", "target": "ask" }, { "source": "ask", "target": "end" }],
    });
    execute(&studio, &graph, "bees");
    let request = provider.request(0).json();
    assert_eq!(request["temperature"], 0.1);
    let system = request["messages"][0]["content"].as_str().expect("text");
    assert!(system.contains("About bees."), "{system}");
    assert!(!request.to_string().contains("{{"), "{request}");
}

#[test]
fn a_hyphenated_placeholder_is_told() {
    // Mistake 4, AFL-5.3-2
    let studio = TestStudio::start();
    let ada = studio.user("ada");
    let created = ada.create_skill("odd", "---\ndescription: x\n---\nHello {{my-var}}\n");
    let rules: Vec<&Value> =
        created["diagnostics"].as_array().expect("a list").iter().map(|it| &it["rule"]).collect();
    assert!(rules.contains(&&json!("hyphenated-placeholder")), "{rules:?}");
}

#[test]
fn words_of_a_long_question_are_found_and_ranked() {
    // Mistakes 5 and 6: any word counts, the best passage is first, and it is cited whole.
    let studio = TestStudio::start();
    let ada = studio.user("ada");
    let base = ada.post("/knowledge", &json!({ "name": "kb" })).json();
    let base = base["id"].as_str().expect("an id").to_owned();
    let long =
        format!("The lighthouse of Lindau has a clock. {}", "It is white and tall. ".repeat(20));
    for (name, text) in [("a.txt", "Boats leave at nine."), ("b.txt", long.as_str())] {
        let body = format!(
            "--l\r\ncontent-disposition: form-data; name=\"file\"; filename=\"{name}\"\r\n\r\n{text}\r\n--l--\r\n"
        );
        let kind = "multipart/form-data; boundary=l";
        let path = format!("/knowledge/{base}/upload");
        let added = ada.stream("POST", &path, &[], Some((kind, body.as_bytes()))).read();
        assert_eq!(added.status, 201, "{added:?}");
    }
    let question = "please tell me in detail whatever you happen to know about that famous old lighthouse with clock";
    let query = question.replace(' ', "%20");
    let found = ada.get(&format!("/knowledge/{base}/search?query={query}")).json();
    let first = &found["results"][0];
    assert_eq!(first["doc_id"], "b.txt");
    assert!(first["text"].as_str().expect("text").len() > 200, "{first}");
}

#[test]
fn a_join_waits_for_all_its_parents() {
    // Mistake 8
    let provider = ScriptedProvider::start(Script::by(|request| {
        let system =
            request.json()["messages"][0]["content"].as_str().unwrap_or_default().to_owned();
        Reply::answer(Answer::text([format!("<{system}>").as_str()]))
    }));
    let studio = TestStudio::with_model(&provider);
    let llm = |id: &str| json!({ "id": id, "type": "llm", "data": { "systemPrompt": id } });
    let edge = |source: &str, target: &str| json!({ "source": source, "target": target });
    let graph = json!({
        "nodes": [
            { "id": "start", "type": "start", "data": { "inputVariable": "x" } },
            llm("short"), llm("long-1"), llm("long-2"), llm("join"),
            { "id": "end", "type": "end", "data": {} },
        ],
        "edges": [
            edge("start", "short"), edge("start", "long-1"), edge("long-1", "long-2"),
            edge("short", "join"), edge("long-2", "join"), edge("join", "end"),
        ],
    });
    let events = execute(&studio, &graph, "bees");
    assert_eq!(events[events.len() - 1].1["status"], "success");
    let joined = prompt(&provider, 3);
    assert!(joined.contains("<short>") && joined.contains("<long-2>"), "{joined}");
}

#[test]
fn a_condition_never_runs_its_values() {
    // Mistake 9
    let provider = ScriptedProvider::start(Answer::text(["ok"]));
    let studio = TestStudio::with_model(&provider);
    let graph = json!({
        "nodes": [
            { "id": "start", "type": "start", "data": { "inputVariable": "x" } },
            { "id": "if", "type": "condition", "data": { "expression": "{{start.output}} == 'yes'" } },
            { "id": "end", "type": "end", "data": {} },
            { "id": "other", "type": "end", "data": { "outputVariable": "other" } },
        ],
        "edges": [
            { "source": "start", "target": "if" },
            { "source": "if", "target": "end", "sourceHandle": "true" },
            { "source": "if", "target": "other", "sourceHandle": "false" },
        ],
    });
    let events = execute(&studio, &graph, "' or True or '");
    let skipped = events.iter().find(|(name, _)| name == "node_skipped").expect("a branch");
    assert_eq!(skipped.1["node_id"], "end");
}

#[test]
fn markup_stays_text_everywhere() {
    const PAYLOADS: &[&str] = &[
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "\"><svg onload=alert(1)>",
        "javascript:alert(1)",
        "</script><script>alert(1)</script>",
        "<iframe srcdoc='<script>alert(1)</script>'>",
        "\u{2028}alert(1)\u{2029}",
        "\r\n\r\nevent: token\r\ndata: {}",
        "\n\nevent: done\ndata: {\"status\":\"success\"}\n\n",
        "]]>",
    ];
    let mut at = 0;
    let provider = ScriptedProvider::start(Script::by(move |_| {
        at += 1;
        Reply::answer(Answer::text([PAYLOADS[at - 1]]))
    }));
    let studio = TestStudio::with_model(&provider);
    let ada = studio.user("ada");
    for payload in PAYLOADS {
        studio.clock.advance(std::time::Duration::from_mins(1));
        let events =
            ada.events("/chat/completions", &json!({ "session_id": "s", "message": payload }));
        let response = events.read();
        assert_eq!(response.header("content-type"), "text/event-stream; charset=utf-8");
        let events = parse_events(&response.text());
        // What the model says never becomes an event of its own.
        assert_eq!(text_of(&events), *payload);
        assert_eq!(events.iter().filter(|(name, _)| name == "done").count(), 1, "{events:?}");
    }
    let session = ada.get("/chat/sessions/s");
    assert_eq!(session.header("content-type"), "application/json");
    let session = session.json();
    for (message, payload) in
        session["messages"].as_array().expect("messages").chunks(2).zip(PAYLOADS)
    {
        assert_eq!(message[0]["content"], *payload);
        assert_eq!(message[1]["content"], *payload);
    }
}
