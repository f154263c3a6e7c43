//! Two servers on one Postgres, each with a folder of its own.

use prowess_studio::StudioLimits;
use prowess_testkit::postgres::PrivatePostgres;
use prowess_testkit::{Answer, Reply, Script, ScriptedProvider};
use serde_json::json;

use crate::support::{
    ARTICLE_SUMMARY, Client, Response, TestStudio, config, parse_events, text_of, wait_for,
};

#[test]
fn what_one_server_records_the_other_knows() {
    let Some(postgres) = PrivatePostgres::start() else { return };
    let provider = ScriptedProvider::start(Script::by(|request| {
        if request.json().to_string().contains("Wait") {
            return Reply::answer(Answer::text(["half"]).gate("go").then(" whole"));
        }
        Reply::answer(Answer::text(["done"]))
    }));
    let folders = prowess_testkit::temporary();
    let start = |node: &str| {
        let limits = StudioLimits::USUAL;
        let folder = folders.path().join(node);
        TestStudio::node(&folder, &config(&provider), limits, &postgres.url(), node)
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
    let text = "# Orra\n\nThe lighthouse keeper is called Belmiro Quint.\n\nHe has a boat.";
    let added = upload(&ada, "kb", "facts.md", text);
    assert_eq!(added.status, 201, "{added:?}");
    let found = there.get("/knowledge/kb/search?query=who%20keeps%20the%20lighthouse").json();
    let best = &found["results"][0];
    assert_eq!((&best["doc_id"], &best["words_rank"]), (&json!("facts.md"), &json!(1)), "{found}");
    assert_eq!(
        &text[..usize::try_from(best["end"].as_u64().expect("a number")).expect("small")],
        text
    );
    assert_eq!(there.get("/knowledge/kb/documents/facts.md/file").text(), text);
    assert_eq!(there.get("/knowledge/kb/documents/facts.md").json()["text"], text);
    assert_eq!(there.get("/knowledge/kb/documents/facts.md/chunks").json()["total"], 1);
    assert_eq!(upload(&there, "kb", "copy.md", text).json()["documents"][0]["status"], "duplicate");
    assert_eq!(
        upload(&there, "kb", "facts.md", text).json()["documents"][0]["status"],
        "unchanged"
    );
    let changed = upload(&there, "kb", "facts.md", "Nothing about towers.");
    assert_eq!(changed.json()["documents"][0]["status"], "replaced");
    let found = ada.get("/knowledge/kb/search?query=lighthouse").json();
    assert_eq!(found["results"], json!([]));
    assert_eq!(ada.delete("/knowledge/kb/documents/facts.md").status, 204);
    assert_eq!(there.get("/knowledge/kb/documents").json()["total"], 0);
    assert_eq!(there.delete("/knowledge/kb").status, 204);
    assert_eq!(ada.get("/knowledge/kb").status, 404);

    // What one changes, the other sees.
    let changed = ARTICLE_SUMMARY.replace("Compress", "Shorten");
    assert_eq!(there.put("/skills/article-summary", &json!({ "content": changed })).status, 200);
    let seen = ada.get("/skills/article-summary").json();
    assert!(seen["description"].as_str().expect("text").starts_with("Shorten"), "{seen}");
    let taken = there.post("/skills", &json!({ "name": "article-summary", "content": "x" }));
    assert_eq!(taken.problem().0, 409);

    // An execution belongs to one server at a time.
    let path = two_prompts(&ada);
    let mut run = ada.events(&path, &json!({ "input": "x" }));
    run.until("half");
    let execution = run.head.header("x-execution-id").to_owned();
    let resume = format!("/executions/{execution}/resume");
    assert_eq!(there.post(&resume, &json!({})).problem().0, 409);
    drop(run);
    drop(first);
    // It stops in an orderly way, and the other one goes on.
    provider.open("go");
    let shown = wait_for("the end of the workflow", || {
        let shown = there.get(&format!("/executions/{execution}")).json();
        (shown["status"] == "success").then_some(shown)
    });
    assert_eq!(shown["output"], "half whole", "{shown}");
    let asked_again =
        provider.requests().iter().filter(|it| it.json().to_string().contains("\"One\"")).count();
    assert_eq!(asked_again, 1, "a node that is complete is not run again");

    // The runs of both count.
    let refused = (0..10).find_map(|_| {
        let run = there.events("/skills/article-summary/run", &inputs).read();
        (run.status == 429).then_some(run)
    });
    let refused = refused.expect("at most ten runs within a minute");
    let wait: u64 = refused.header("retry-after").parse().expect("seconds");
    assert!((1..=60).contains(&wait), "{wait}");
    assert_eq!(there.delete("/skills/article-summary").status, 204);
    assert_eq!(there.get("/skills/article-summary").status, 404);
}

fn upload(client: &Client, base: &str, name: &str, text: &str) -> Response {
    let body = format!(
        "--l\r\ncontent-disposition: form-data; name=\"file\"; filename=\"{name}\"\r\n\r\n{text}\r\n--l--\r\n"
    );
    let kind = "multipart/form-data; boundary=l";
    let path = format!("/knowledge/{base}/upload");
    client.stream("POST", &path, &[], Some((kind, body.as_bytes()))).read()
}

/// Two servers with folders of their own.
fn pair(
    postgres: &PrivatePostgres,
    folders: &std::path::Path,
    provider: &ScriptedProvider,
    limits: StudioLimits,
) -> (TestStudio, TestStudio) {
    let start = |node: &str| {
        let folder = folders.join(node);
        TestStudio::node(&folder, &config(provider), limits, &postgres.url(), node)
    };
    (start("first"), start("second"))
}

#[test]
fn a_live_run_is_followed_and_cancelled_from_another_server() {
    let Some(postgres) = PrivatePostgres::start() else { return };
    let mut gates = ["go", "never"].into_iter();
    let provider = ScriptedProvider::start(Script::by(move |_| {
        let gate = gates.next().unwrap_or("never");
        Reply::answer(Answer::text(["one "]).gate(gate).then("two"))
    }));
    let folders = prowess_testkit::temporary();
    let (first, second) = pair(&postgres, folders.path(), &provider, StudioLimits::USUAL);
    let ada = first.user("ada");
    let there = ada.at(&second);
    ada.create_skill("article-summary", ARTICLE_SUMMARY);
    let inputs = json!({ "inputs": { "article": "x" } });
    let mut run = ada.events("/skills/article-summary/run", &inputs);
    run.until("one ");
    let path = format!("/runs/{}/events", run.run_id());
    let mut followed = there.stream("GET", &path, &[], None);
    assert_eq!(followed.run_id(), run.run_id());
    followed.until("one ");
    let mut late = there.stream("GET", &path, &[("last-event-id", "6")], None);
    assert_eq!(second.user("eve").get(&path).problem().0, 404);
    provider.open("go");
    let whole = run.read().text();
    assert_eq!(followed.read().text(), whole);
    late.until("done");
    let (_, rest) = whole.split_once("\n\nid: 7\n").expect("a seventh event");
    assert_eq!(late.read().text(), format!("id: 7\n{rest}"));

    let mut run = ada.events("/skills/article-summary/run", &inputs);
    run.until("one ");
    assert_eq!(there.post(&format!("/runs/{}/cancel", run.run_id()), &json!({})).status, 202);
    let events = parse_events(&run.read().text());
    assert_eq!(events[events.len() - 1].1["status"], "error", "{events:?}");
}

#[test]
fn the_runs_of_a_user_wait_for_each_other_on_all_servers() {
    let Some(postgres) = PrivatePostgres::start() else { return };
    let answer = || Reply::answer(Answer::text(["one "]).gate("go").then("two"));
    let provider = ScriptedProvider::start(Script::by(move |_| answer()));
    let folders = prowess_testkit::temporary();
    let limits = StudioLimits { running_per_user: 1, ..StudioLimits::USUAL };
    let (first, second) = pair(&postgres, folders.path(), &provider, limits);
    let ada = first.user("ada");
    let there = ada.at(&second);
    ada.create_skill("article-summary", ARTICLE_SUMMARY);
    let inputs = json!({ "inputs": { "article": "x" } });
    let mut run = ada.events("/skills/article-summary/run", &inputs);
    run.until("one ");
    let mut waits = there.events("/skills/article-summary/run", &inputs);
    assert_eq!(waits.until("\n\n"), "id: 1\nevent: queued\ndata: {\"position\":0}\n\n");
    // Another user does not wait.
    let eve = second.user("eve");
    eve.create_skill("other", ARTICLE_SUMMARY.replace("article-summary", "other").as_str());
    eve.events("/skills/other/run", &inputs).until("one ");
    provider.open("go");
    assert!(run.read().text().contains("two"));
    assert!(waits.read().text().contains("two"));
}

#[test]
fn the_runs_of_a_server_that_is_gone_are_continued() {
    let Some(postgres) = PrivatePostgres::start() else { return };
    let provider = ScriptedProvider::start(Script::by(|request| {
        let text = request.json().to_string();
        let asked_before =
            text.contains("Wait") || text.contains("Please") || text.contains("hello");
        if asked_before {
            return Reply::answer(Answer::text(["half"]).gate("go").then(" whole"));
        }
        Reply::answer(Answer::text(["done"]))
    }));
    let folders = prowess_testkit::temporary();
    let (first, second) = pair(&postgres, folders.path(), &provider, StudioLimits::USUAL);
    let ada = first.user("ada");
    let there = ada.at(&second);
    ada.create_skill("article-summary", ARTICLE_SUMMARY);
    let inputs = json!({ "inputs": { "article": "x" } });
    let mut run = ada.events("/skills/article-summary/run", &inputs);
    run.until("half");
    let body = json!({ "session_id": "s", "message": "hello" });
    let mut chat = ada.events("/chat/completions", &body);
    chat.until("half");
    let path = two_prompts(&ada);
    let mut execution = ada.events(&path, &json!({ "input": "x" }));
    execution.until("half");
    let (run, chat_run, execution) =
        (run.run_id(), chat.run_id(), execution.head.header("x-execution-id").to_owned());
    // What was told is written down before the server is gone.
    let mut followed = there.stream("GET", &format!("/runs/{run}/events"), &[], None);
    let before = followed.until("half");
    there.stream("GET", &format!("/executions/{execution}/events"), &[], None).until("half");
    there.stream("GET", &format!("/runs/{chat_run}/events"), &[], None).until("half");
    first.crash();

    followed.until("event: restart");
    provider.open("go");
    let text = followed.read().text();
    assert!(text.starts_with(&before), "{text}");
    let events = parse_events(&text);
    assert_eq!(text_of(&events), "halfhalf whole");
    let ids: Vec<u64> =
        text.lines().filter_map(|line| line.strip_prefix("id: ")?.parse().ok()).collect();
    assert!(ids.iter().copied().eq(1..=ids.len() as u64), "{ids:?}");
    assert_eq!(events[events.len() - 1].1["status"], "success");
    let record = there.get(&format!("/runs/{run}")).json();
    assert_eq!((&record["status"], &record["output"]), (&json!("success"), &json!("half whole")));
    assert_eq!(there.get(&format!("/runs/{run}/events")).text(), text);

    let shown = wait_for("the end of the workflow", || {
        let shown = there.get(&format!("/executions/{execution}")).json();
        (shown["status"] == "success").then_some(shown)
    });
    assert_eq!(shown["output"], "half whole");
    let asked = |text: &str| {
        provider.requests().iter().filter(|it| it.json().to_string().contains(text)).count()
    };
    assert_eq!(asked("\"One\""), 1, "a node that is complete is not run again");
    let session = wait_for("the end of the answer", || {
        let session = there.get("/chat/sessions/s").json();
        (session["messages"][1]["status"] != "running").then_some(session)
    });
    let answer = &session["messages"][1];
    assert_eq!((&answer["status"], &answer["content"]), (&json!("interrupted"), &json!("half")));
}

/// Saves a workflow of two prompts, of which the second waits, and returns the path that executes it.
fn two_prompts(ada: &Client) -> String {
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
    format!("/workflows/{}/execute", workflow["id"].as_str().expect("an id"))
}
