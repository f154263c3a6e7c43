//! Workflows: revisions, validation, events per node, resume, import.

use prowess_testkit::{Answer, Reply, Script, ScriptedProvider};
use serde_json::{Value, json};

use crate::support::{Client, TestStudio, parse_events};

fn node(id: &str, kind: &str, data: Value) -> Value {
    let mut node = json!({ "id": id, "type": kind, "position": { "x": 1.5, "y": 2 }, "label": id });
    node["data"] = data;
    node
}

fn edge(source: &str, target: &str) -> Value {
    json!({ "id": format!("{source}-{target}"), "source": source, "target": target })
}

/// A start, a skill with a literal value, and an end.
fn graph() -> Value {
    json!({
        "nodes": [
            node("start", "start", json!({ "inputVariable": "topic" })),
            node("draft", "skill", json!({
                "skillName": "write",
                "inputMappings": { "topic": "start", "style": "concise" },
            })),
            node("end", "end", json!({ "outputVariable": "text" })),
        ],
        "edges": [edge("start", "draft"), edge("draft", "end")],
        "viewport": { "zoom": 1 },
    })
}

const WRITE: &str = "---\ndescription: x\ninputs:\n  - name: topic\n    required: true\n  - name: style\n---\nWrite about {{topic}} in a {{style}} tone.\n";

fn create(client: &Client, graph: &Value) -> String {
    let created = client.post("/workflows", &json!({ "name": "Letter", "graph_data": graph }));
    assert_eq!(created.status, 201, "{created:?}");
    created.json()["id"].as_str().expect("an id").to_owned()
}

fn names(events: &[(String, Value)]) -> Vec<String> {
    let named = events.iter().map(|(name, data)| {
        let node = data["node_id"].as_str().unwrap_or_default();
        format!("{name} {node}").trim().to_owned()
    });
    named.filter(|name| !name.starts_with("thought")).collect()
}

#[test]
fn each_node_tells_what_it_does() {
    // AFL-7.3-1
    let provider = ScriptedProvider::start(Answer::text(["Dear ", "Ada"]));
    let studio = TestStudio::with_model(&provider);
    let ada = studio.user("ada");
    ada.create_skill("write", WRITE);
    let id = create(&ada, &graph());
    let run = ada.events(&format!("/workflows/{id}/execute"), &json!({ "input": "bees" }));
    let execution = run.head.header("x-execution-id").to_owned();
    let events = parse_events(&run.read().text());
    assert_eq!(
        names(&events),
        [
            "workflow_start",
            "node_start start",
            "node_complete start",
            "node_start draft",
            "token draft",
            "token draft",
            "node_complete draft",
            "node_start end",
            "node_complete end",
            "workflow_complete",
            "done",
        ]
    );
    assert_eq!(events[0].1["execution_id"], execution.as_str());
    // Mistake 2 of the reference implementation: a literal stays what it is.
    let prompt = provider.request(0).json()["messages"][1]["content"].clone();
    assert_eq!(prompt.as_str().expect("text").trim(), "Write about bees in a concise tone.");
    let shown = ada.get(&format!("/executions/{execution}")).json();
    assert_eq!((&shown["status"], &shown["output"]), (&json!("success"), &json!("Dear Ada")));
    assert_eq!(
        shown["nodes"][1],
        json!({ "node_id": "draft", "status": "complete", "output": "Dear Ada" })
    );
    let replayed = ada.get(&format!("/executions/{execution}/events")).text();
    assert_eq!(names(&parse_events(&replayed)).len(), 11);
    let again = ada.post(&format!("/executions/{execution}/resume"), &json!({}));
    assert_eq!(again.problem().0, 409);
    let eve = studio.user("eve");
    for path in [format!("/workflows/{id}"), format!("/executions/{execution}")] {
        assert_eq!(eve.get(&path).problem().0, 404, "{path}");
    }
    assert_eq!(eve.post(&format!("/workflows/{id}/execute"), &json!({})).problem().0, 404);
}

#[test]
fn a_failed_execution_is_resumed_where_it_stopped() {
    let mut count = 0;
    let provider = ScriptedProvider::start(Script::by(move |_| {
        count += 1;
        match count {
            2 => Reply::json(400, &json!({ "error": { "message": "not today" } })),
            _ => Reply::answer(Answer::text([format!("text {count}").as_str()])),
        }
    }));
    let studio = TestStudio::with_model(&provider);
    let ada = studio.user("ada");
    let graph = json!({
        "nodes": [
            node("start", "start", json!({ "inputVariable": "topic" })),
            node("one", "llm", json!({ "systemPrompt": "One" })),
            node("two", "llm", json!({ "systemPrompt": "Two" })),
            node("end", "end", json!({})),
        ],
        "edges": [edge("start", "one"), edge("one", "two"), edge("two", "end")],
    });
    let id = create(&ada, &graph);
    let run =
        ada.events(&format!("/workflows/{id}/execute"), &json!({ "inputs": { "topic": "bees" } }));
    let execution = run.head.header("x-execution-id").to_owned();
    let events = parse_events(&run.read().text());
    assert!(names(&events).contains(&"node_error two".to_owned()), "{:?}", names(&events));
    assert_eq!(events[events.len() - 1].1["status"], "error");
    let shown = ada.get(&format!("/executions/{execution}")).json();
    assert_eq!((&shown["status"], &shown["can_resume"]), (&json!("error"), &json!(true)));
    let resumed = ada.events(&format!("/executions/{execution}/resume"), &json!({})).read();
    assert_eq!(resumed.status, 200, "{resumed:?}");
    let events = parse_events(&resumed.text());
    let restored =
        events.iter().find(|(name, data)| name == "node_complete" && data["node_id"] == "one");
    assert_eq!(restored.expect("an event").1["restored"], true);
    assert_eq!(provider.requests().len(), 3);
    assert_eq!(ada.get(&format!("/executions/{execution}")).json()["output"], "text 3");
    let listed = ada.get(&format!("/workflows/{id}/executions")).json();
    assert_eq!(listed["executions"][0]["id"], execution.as_str());
}

#[test]
fn a_lost_update_is_a_conflict_with_both_copies() {
    let studio = TestStudio::start();
    let ada = studio.user("ada");
    let id = create(&ada, &graph());
    let path = format!("/workflows/{id}");
    let put = |revision: Option<&str>, name: &str| {
        let body = json!({ "name": name, "graph_data": graph() });
        let headers: Vec<(&str, &str)> = revision.map(|it| ("if-match", it)).into_iter().collect();
        ada.send("PUT", &path, &headers, Some(&body))
    };
    assert_eq!(put(None, "Mine").problem().0, 428);
    assert_eq!(put(Some("\"1\""), "Mine").json()["revision"], 2);
    let conflict = put(Some("\"1\""), "Theirs");
    assert_eq!(conflict.status, 409);
    assert_eq!(conflict.json()["current"]["name"], "Mine");
    let exported = ada.get(&format!("{path}/export")).json();
    assert_eq!(
        exported,
        json!({ "version": 1, "workflow": { "name": "Mine", "description": "", "graph_data": graph() } })
    );
    let first = ada.get(&format!("{path}/versions/1")).json();
    assert_eq!((&first["name"], &first["revision"]), (&json!("Letter"), &json!(1)));
    let imported = ada.post("/workflows/import", &exported);
    assert_eq!(imported.status, 201, "{imported:?}");
    let imported = imported.json();
    assert_eq!((&imported["format"], &imported["losses"]), (&json!("agent-flow"), &json!([])));
    assert_eq!(imported["workflow"]["graph_data"], graph());
    assert_eq!(ada.delete(&path).status, 204);
    assert_eq!(ada.get(&path).problem().0, 404);
}

#[test]
fn problems_name_their_node() {
    let studio = TestStudio::start();
    let ada = studio.user("ada");
    let checked = ada.post("/workflows/validate", &json!({ "graph_data": graph() })).json();
    assert_eq!(checked["is_valid"], false);
    let found = checked["diagnostics"].as_array().expect("a list");
    let unknown = found.iter().find(|it| it["rule"] == "workflow-unknown-skill").expect("found");
    assert_eq!(unknown["node_id"], "draft");
    let id = create(&ada, &graph());
    let refused = ada.post(&format!("/workflows/{id}/execute"), &json!({ "input": "x" }));
    assert_eq!(refused.status, 400);
    assert_eq!(refused.json()["diagnostics"][0]["node_id"], "draft");
    let broken = ada.post("/workflows", &json!({ "name": "X", "graph_data": { "nodes": 1 } }));
    assert_eq!(broken.problem().1, "graph_data.nodes");
}

#[test]
fn requests_reach_public_addresses_only() {
    let provider = ScriptedProvider::start(Answer::text(["never"]));
    let studio = TestStudio::start();
    let ada = studio.user("ada");
    let port = provider.url().rsplit(':').next().expect("a port").to_owned();
    for host in
        ["127.0.0.1", "localhost", "[::1]", "0.0.0.0", "2130706433", "0x7f.1", "[::ffff:127.0.0.1]"]
    {
        let url = format!("http://{host}:{port}/v1/models");
        let graph = json!({
            "nodes": [
                node("start", "start", json!({ "inputVariable": "x" })),
                node("get", "http", json!({ "method": "GET", "url": url })),
                node("end", "end", json!({})),
            ],
            "edges": [edge("start", "get"), edge("get", "end")],
        });
        studio.clock.advance(std::time::Duration::from_mins(1));
        let id = create(&ada, &graph);
        let run = ada.events(&format!("/workflows/{id}/execute"), &json!({ "input": "x" })).read();
        // An address that nothing can be behind is refused before the run.
        if run.status == 200 {
            let events = parse_events(&run.text());
            assert!(names(&events).contains(&"node_error get".to_owned()), "{host}: {events:?}");
        } else {
            assert_eq!(run.status, 400, "{host}: {run:?}");
        }
    }
    assert!(provider.requests().is_empty(), "{:?}", provider.requests());
}
