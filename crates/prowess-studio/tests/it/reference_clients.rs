//! Clients of the reference implementation find the members that they look for.

use prowess_testkit::{Answer, ScriptedProvider};
use serde_json::json;

use crate::support::TestStudio;

#[test]
fn knowledge_chats_and_workflows_have_the_names_of_the_reference_implementation() {
    let provider = ScriptedProvider::start(Answer::text(["ok"]));
    let studio = TestStudio::with_model(&provider);
    let ada = studio.user("ada");
    let base = ada.post("/knowledge", &json!({ "name": "kb" })).json();
    let id = base["id"].as_str().expect("an id").to_owned();
    let form = "--l\r\ncontent-disposition: form-data; name=\"file\"; filename=\"a.txt\"\r\n\r\nBees hum.\r\n--l--\r\n";
    let kind = "multipart/form-data; boundary=l";
    let path = format!("/knowledge/{id}/upload");
    let added = ada.stream("POST", &path, &[], Some((kind, form.as_bytes()))).read().json();
    assert_eq!(
        (&added["id"], &added["kb_id"], &added["filename"], &added["status"], &added["file_size"]),
        (&json!("a.txt"), &json!(id), &json!("a.txt"), &json!("completed"), &json!(9))
    );
    let listed = ada.get("/knowledge").json();
    assert_eq!((&listed["items"][0]["document_count"], &listed["total"]), (&json!(1), &json!(1)));
    let documents = ada.get(&format!("/knowledge/{id}/documents")).json();
    assert_eq!(documents["documents"][0]["filename"], "a.txt");
    let found = ada.get(&format!("/knowledge/{id}/search?query=bees&top_k=2")).json();
    assert_eq!(
        (&found["kb_id"], &found["top_k"], &found["total"]),
        (&json!(id), &json!(2), &json!(1))
    );

    let session = "s".repeat(128);
    let message = json!({ "session_id": session, "message": "What do bees do?", "kb_id": "kb" });
    let answer = ada.events("/chat/completions", &message).read().text();
    assert!(answer.contains("event: citation"), "{answer}");
    let shown = ada.get(&format!("/chat/sessions/{session}")).json();
    assert_eq!(
        (&shown["session_id"], &shown["message_count"]),
        (&json!(session), &json!(2)),
        "{shown}"
    );
    assert!(shown["messages"][0]["timestamp"].is_string());
    assert_eq!(ada.get("/chat/sessions").json()["sessions"][0]["message_count"], 2);

    let graph = json!({
        "nodes": [
            { "id": "start", "type": "start", "data": {} },
            { "id": "odd", "type": "unheard-of", "data": {} },
        ],
        "edges": [],
    });
    let file = json!({ "version": 1, "workflow": { "name": "W", "graph_data": graph } });
    let imported = ada.post("/workflows/import", &file);
    assert_eq!(imported.status, 201, "{imported:?}");
    let imported = imported.json();
    assert_eq!((&imported["id"], &imported["name"]), (&imported["workflow"]["id"], &json!("W")));
    assert_eq!(imported["losses"][0]["node_id"], "odd");
    assert_eq!(ada.get("/workflows").json()["items"][0]["name"], "W");
    let newer = json!({ "version": 2, "workflow": { "name": "W", "graph_data": graph } });
    let refused = ada.post("/workflows/import", &newer).problem();
    assert_eq!((refused.0, refused.1.as_str()), (400, "version"));
    let path = format!("/workflows/{}/execute", imported["id"].as_str().expect("an id"));
    assert_eq!(ada.post(&path, &json!({ "input": "" })).problem().0, 400);
}
