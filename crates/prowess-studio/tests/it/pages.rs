//! The description of the API, the web app's pages, and unknown addresses.

use serde_json::json;

use crate::support::TestStudio;

#[test]
fn the_description_is_complete_and_stable() {
    let studio = TestStudio::start();
    let description = studio.nobody().get("/openapi.json");
    assert_eq!(description.status, 200);
    let description = description.json();
    let mut ids = std::collections::HashSet::new();
    for (path, methods) in description["paths"].as_object().expect("paths") {
        for (method, operation) in methods.as_object().expect("methods") {
            let summary = operation["summary"].as_str().unwrap_or_default();
            assert!(!summary.is_empty() && !summary.ends_with('.'), "{method} {path}: {summary:?}");
            assert!(operation["responses"]["401"].is_object(), "{method} {path}");
            let id = operation["operationId"].as_str().expect("an id").to_owned();
            assert!(ids.insert(id), "{method} {path} has the id of another operation");
        }
    }
    let text = description.to_string();
    let references = text.split("\"$ref\":\"#").skip(1).filter_map(|rest| rest.split('"').next());
    for reference in references {
        assert!(description.pointer(reference).is_some(), "{reference} is not described");
    }
    let routes: Vec<String> = description["paths"]
        .as_object()
        .expect("paths")
        .iter()
        .flat_map(|(path, methods)| {
            let methods = methods.as_object().expect("methods").keys();
            methods.map(move |method| format!("{} {path}", method.to_uppercase()))
        })
        .collect();
    insta::assert_snapshot!("routes", routes.join("\n"));
    insta::assert_snapshot!("openapi", prowess_studio::openapi());
}

#[test]
fn pages_have_a_strict_policy() {
    let studio = TestStudio::start();
    let nobody = studio.nobody();
    let page = nobody.send("GET", "/", &[("accept", "text/html")], None);
    assert_eq!((page.status, page.header("cache-control")), (200, "no-store"));
    assert_eq!(page.header("content-type"), "text/html; charset=utf-8");
    let policy = page.header("content-security-policy");
    for directive in [
        "default-src 'none'",
        "script-src 'self'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types svelte-trusted-html",
        "style-src 'self' 'nonce-",
    ] {
        assert!(policy.contains(directive), "{directive}: {policy}");
    }
    assert!(!page.text().contains("PROWESS-CSP-NONCE"));
    let again = nobody.send("GET", "/", &[("accept", "text/html")], None);
    assert_ne!(again.header("content-security-policy"), policy, "each page has its own nonce");
}

#[test]
fn unknown_addresses_have_the_usual_error() {
    let studio = TestStudio::start();
    let ada = studio.user("ada");
    assert_eq!(ada.get("/nothing").problem().0, 404);
    assert_eq!(ada.get("/assets/old.js").status, 404);
    let wrong = ada.send("PATCH", "/skills", &[], Some(&json!({})));
    assert_eq!(wrong.problem().0, 405);
    let cut = ada.stream("POST", "/skills", &[], Some(("application/json", b"{\"name\":"))).read();
    assert_eq!((cut.problem().0, cut.problem().1.as_str()), (400, "body"));
    assert!(!ada.get("/skills").header("x-request-id").is_empty());
    let denied = ada.get("/audit").problem();
    assert_eq!(denied.0, 403);
    let root = studio.admin("root");
    root.create_skill("one", "---\ndescription: x\n---\nHi\n");
    let audit = root.get("/audit").json();
    assert_eq!(
        (&audit["is_intact"], &audit["entries"][0]["action"]),
        (&json!(true), &json!("skill-create"))
    );
    assert_eq!(root.get("/usage").json()["days"], json!([]));
    assert_eq!(root.get("/agent-view").json()["skills"][0]["name"], "one");
    assert_eq!(root.get("/settings").json()["limits"]["skill_bytes"], 51_200);
    assert_eq!(root.get("/approvals/pending").json(), json!({ "questions": [] }));
}

#[test]
fn models_are_listed_tested_and_restricted() {
    let provider = prowess_testkit::ScriptedProvider::start(
        prowess_testkit::Answer::text(["OK"]).usage(1_000_000, 500_000),
    );
    let studio = TestStudio::with_model(&provider);
    let (root, ada) = (studio.admin("root"), studio.user("ada"));
    assert_eq!(ada.get("/models").json()["default"], "test/small");
    let list = json!({
        "currency": "USD",
        "models": [{ "id": "test/small", "input_price": 2.0, "output_price": 4.0 }],
    });
    assert_eq!(ada.put("/models", &list).problem().0, 403);
    assert_eq!(root.put("/models", &list).json()["models"][0]["is_default"], true);
    let tested = ada.post("/models/test", &json!({})).json();
    assert_eq!((&tested["ok"], &tested["text"]), (&json!(true), &json!("OK")));
    let other = ada.post("/models/test", &json!({ "model": "test/other" })).json();
    assert_eq!(other["error"], "`test/other` is not among the models of this studio");
}

/// Changes of a tool of a user, as a run leaves them that needs a decision.
#[cfg(target_os = "linux")]
fn pending_changes(studio: &TestStudio, user: &str, id: &str) -> std::path::PathBuf {
    // The folders of a user are made by the first request.
    let root = studio.path(&format!("users/{user}"));
    let work = root.join("work");
    std::fs::create_dir_all(root.join("data")).expect("made");
    let mut run = prowess_changes::RunFolder::create(&root.join("data/changes"), id).expect("made");
    run.add_copies_layer(&work, false).expect("a layer");
    run.mark_start().expect("marked");
    let upper = run.layers()[0].upper();
    for name in [".npmrc", "report.md"] {
        std::fs::write(upper.join(name), "x\n").expect("written");
    }
    let change = |name: &str, decision: &str, reason: serde_json::Value| {
        let path = work.join(name);
        json!({ "path": path, "kind": "added", "bytes": 2, "decision": decision, "reason": reason })
    };
    let note = json!({
        "version": 1, "title": "probe/go", "skill": "probe", "digest": "", "exit_code": 0,
        "changes": [
            change(".npmrc", "ask", json!("package managers run what it names")),
            change("report.md", "apply", json!(null)),
        ],
    });
    run.set_note(note.to_string().as_bytes()).expect("noted");
    run.keep_pending().expect("kept");
    work
}

#[test]
#[cfg(target_os = "linux")]
fn changes_of_tools_are_listed_and_decided_about() {
    let studio = TestStudio::start();
    let (ada, bob) = (studio.user("ada"), studio.user("bob"));
    for user in [&ada, &bob] {
        assert_eq!(user.get("/changes").json(), json!({ "runs": [] }));
    }
    let work = pending_changes(&studio, &ada.user_id, "0123456789abcdef");
    let listed = ada.get("/changes").json();
    let run = &listed["runs"][0];
    assert_eq!((&run["run"], &run["tool"]), (&json!("0123456789abcdef"), &json!("probe/go")));
    assert_eq!((&run["state"], &run["changes_applied"]), (&json!("pending"), &json!(false)));
    assert_eq!(run["changes"][0]["decision"], "ask");
    let patch = ada.get("/changes/0123456789abcdef/patch").json();
    assert!(patch["patch"].as_str().is_some_and(|text| text.contains("b/.npmrc")), "{patch}");
    // Those of somebody else do not exist.
    assert_eq!(bob.get("/changes").json(), json!({ "runs": [] }));
    assert_eq!(bob.get("/changes/0123456789abcdef/patch").problem().0, 404);
    let apply = |accept: serde_json::Value| {
        let body = json!({ "action": "apply", "accept": accept });
        ada.post("/changes/0123456789abcdef", &body)
    };
    assert_eq!(
        bob.post("/changes/0123456789abcdef", &json!({ "action": "discard" })).problem().0,
        404
    );
    assert_eq!(ada.post("/changes/..%2Fx", &json!({ "action": "discard" })).problem().0, 404);
    // All or nothing.
    assert_eq!(apply(json!([])).problem().0, 403);
    assert_eq!(apply(json!(["../x"])).problem().0, 400);
    assert!(!work.join("report.md").exists());
    assert_eq!(apply(json!([".npmrc"])).status, 204);
    assert!(work.join("report.md").exists() && work.join(".npmrc").exists());
    assert_eq!(apply(json!([".npmrc"])).problem().0, 409);
    assert_eq!(ada.get("/changes").json()["runs"][0]["state"], "applied");
    assert_eq!(ada.post("/changes/0123456789abcdef", &json!({ "action": "undo" })).status, 204);
    assert!(!work.join("report.md").exists());
    pending_changes(&studio, &ada.user_id, "0123456789abcde0");
    assert_eq!(ada.post("/changes/0123456789abcde0", &json!({ "action": "discard" })).status, 204);
    assert_eq!(ada.get("/changes").json()["runs"].as_array().map(Vec::len), Some(1));
}
