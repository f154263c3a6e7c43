//! Nobody reads, changes, deletes or runs what belongs to somebody else.

use prowess_testkit::{Answer, ScriptedProvider};
use serde_json::json;

use crate::support::TestStudio;

const SMALL: &str = "---\ndescription: Small\n---\n\nHello\n";

#[test]
fn another_users_skill_does_not_exist() {
    // NEG-9, AFL-9.3-2
    let provider = ScriptedProvider::start(Answer::text(["never"]));
    let studio = TestStudio::with_model(&provider);
    let (ada, eve, root) = (studio.user("ada"), studio.user("eve"), studio.admin("root"));
    ada.create_skill("secret", SMALL);
    let content = json!({ "content": SMALL });
    let inputs = json!({ "inputs": {} });
    // Byte for byte the answer for a name that nobody has, except for that name.
    for (method, path, body) in [
        ("GET", "/skills/NAME", None),
        ("PUT", "/skills/NAME", Some(&content)),
        ("DELETE", "/skills/NAME", None),
        ("POST", "/skills/NAME/run", Some(&inputs)),
        ("GET", "/skills/NAME/versions", None),
        ("GET", "/skills/NAME/versions/1", None),
        ("GET", "/skills/NAME/diff?from=1", None),
    ] {
        let answer = |name: &str| {
            let response = eve.send(method, &path.replace("NAME", name), &[], body);
            (response.status, response.text().replace(name, "NAME"))
        };
        assert_eq!(answer("secret"), answer("nobody"), "{method} {path}");
        assert_eq!(answer("secret").0, 404, "{method} {path}");
    }
    assert_eq!(eve.post("/render", &json!({ "name": "secret", "inputs": {} })).status, 404);
    assert_eq!(eve.get("/skills").json()["total"], 0);
    assert_eq!(ada.get("/skills/secret").json()["prompt"], "Hello\n");
    assert!(provider.requests().is_empty());
    // Administrators see all, also what belongs to nobody.
    std::fs::create_dir_all(studio.path("skills/orphan")).expect("a folder");
    std::fs::write(studio.path("skills/orphan/SKILL.md"), SMALL).expect("a file");
    assert_eq!(root.get("/skills").json()["total"], 2);
    assert_eq!(ada.get("/skills").json()["total"], 1);
    assert_eq!(ada.get("/skills/orphan").status, 404);
    assert_eq!(root.get("/skills/secret").status, 200);
}

#[test]
fn another_users_runs_and_chats_do_not_exist() {
    let provider = ScriptedProvider::start(vec![Answer::text(["one"]), Answer::text(["two"])]);
    let studio = TestStudio::with_model(&provider);
    let (ada, eve) = (studio.user("ada"), studio.user("eve"));
    ada.create_skill("small", SMALL);
    let run = ada.events("/skills/small/run", &json!({ "inputs": {} }));
    let id = run.run_id();
    run.read();
    assert_eq!(ada.get(&format!("/runs/{id}")).status, 200);
    for path in [format!("/runs/{id}"), format!("/runs/{id}/events")] {
        assert_eq!(eve.get(&path).problem().0, 404, "{path}");
    }
    assert_eq!(eve.delete(&format!("/runs/{id}")).problem().0, 404);
    assert_eq!(eve.post(&format!("/runs/{id}/cancel"), &json!({})).problem().0, 404);
    assert_eq!(eve.get("/runs").json()["runs"], json!([]));
    let chat = json!({ "session_id": "mine", "message": "Hello" });
    ada.events("/chat/completions", &chat).read();
    assert_eq!(ada.get("/chat/sessions/mine").status, 200);
    assert_eq!(eve.get("/chat/sessions/mine").problem().0, 404);
    assert_eq!(eve.delete("/chat/sessions/mine").problem().0, 404);
    assert_eq!(eve.get("/chat/sessions").json()["sessions"], json!([]));
}
