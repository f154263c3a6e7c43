//! Two servers on one Postgres, with one folder of data.

use prowess_studio::StudioLimits;
use prowess_testkit::postgres::PrivatePostgres;
use prowess_testkit::{Answer, Reply, Script, ScriptedProvider};
use serde_json::json;

use crate::support::{ARTICLE_SUMMARY, TestStudio, config, wait_for};

#[test]
fn what_one_server_records_the_other_knows() {
    let Some(postgres) = PrivatePostgres::start() else { return };
    let provider = ScriptedProvider::start(Script::by(|request| {
        if request.json().to_string().contains("Wait") {
            return Reply::answer(Answer::text(["half"]).gate("go").then(" whole"));
        }
        Reply::answer(Answer::text(["done"]))
    }));
    let folder = prowess_testkit::temporary();
    let start = |node: &str| {
        let limits = StudioLimits::USUAL;
        TestStudio::node(folder.path(), &config(&provider), limits, &postgres.url(), node)
    };
    let (first, second) = (start("first"), start("second"));
    let ada = first.user("ada");
    let there = ada.at(&second);
    ada.create_skill("article-summary", ARTICLE_SUMMARY);
    assert_eq!(there.get("/skills/article-summary").status, 200);
    let inputs = json!({ "inputs": { "article": "x" } });
    let run = ada.events("/skills/article-summary/run", &inputs);
    let id = run.run_id();
    let events = run.read().text();
    assert_eq!(there.get(&format!("/runs/{id}/events")).text(), events);
    assert_eq!(there.get("/runs").json()["runs"][0]["id"], id);
    ada.events("/chat/completions", &json!({ "session_id": "s", "message": "Hello" })).read();
    let session = there.get("/chat/sessions/s").json();
    assert_eq!(session["messages"][1]["content"], "done");
    assert_eq!(there.get("/chat/sessions").json()["sessions"][0]["messages"], 2);
    assert_eq!(there.get("/usage").json()["totals"]["runs"], 2);
    assert_eq!(there.get("/skills/article-summary/versions").json()["versions"][0]["version"], 1);
    let base = ada.post("/knowledge", &json!({ "name": "kb" }));
    assert_eq!(base.status, 201, "{base:?}");
    assert_eq!(there.get("/knowledge/kb").json()["documents"], 0);

    // An execution belongs to one server at a time.
    let node = |id: &str, kind: &str, data| json!({ "id": id, "type": kind, "data": data });
    let graph = json!({
        "nodes": [
            node("start", "start", json!({ "inputVariable": "x" })),
            node("one", "llm", json!({ "systemPrompt": "One" })),
            node("two", "llm", json!({ "systemPrompt": "Wait" })),
            node("end", "end", json!({})),
        ],
        "edges": [
            { "source": "start", "target": "one" }, { "source": "one", "target": "two" },
            { "source": "two", "target": "end" },
        ],
    });
    let workflow = ada.post("/workflows", &json!({ "name": "W", "graph_data": graph })).json();
    let path = format!("/workflows/{}/execute", workflow["id"].as_str().expect("an id"));
    let mut run = ada.events(&path, &json!({ "input": "x" }));
    run.until("half");
    let execution = run.head.header("x-execution-id").to_owned();
    let resume = format!("/executions/{execution}/resume");
    assert_eq!(there.post(&resume, &json!({})).problem().0, 409);
    drop(run);
    drop(first);
    wait_for("the end of the first server's run", || {
        let shown = there.get(&format!("/executions/{execution}")).json();
        (shown["status"] != "running").then_some(())
    });
    provider.open("go");
    let resumed = there.events(&resume, &json!({})).read();
    assert!(resumed.text().contains("half whole"), "{resumed:?}");
    let asked_again =
        provider.requests().iter().filter(|it| it.json().to_string().contains("\"One\"")).count();
    assert_eq!(asked_again, 1, "a node that is complete is not run again");

    // The runs of both count.
    for _ in 0..10 {
        if there.events("/skills/article-summary/run", &inputs).read().status == 429 {
            return;
        }
    }
    panic!("more than ten runs within a minute");
}
