//! Skills over MCP: the public ones, read and never run.

use std::process::Command;

use reqwest::Method;
use serde_json::{Value, json};

use crate::scene::{Scene, manifest, package_of, sha256, skill};

/// The interpreter that has the official SDK; `cargo xtask test` sets it.
const PYTHON: &str = "PROWESS_MCP_PYTHON";

async fn filled() -> (Scene, String) {
    let scene = Scene::start().await;
    let token = scene.user("acme").await;
    let text = manifest("weather", "1.0.0", "");
    let package = package_of(&[("SKILL.md", &text), ("notes/a.md", "# Notes\n")]);
    scene.publish_ok(&token, "acme", &package).await;
    scene.publish_ok(&token, "acme", &skill("secret", "1.0.0")).await;
    let path = "/api/v1/skills/acme/secret/visibility";
    let hidden = scene.call(Method::PUT, path, &token, &json!({ "private": true })).await;
    assert_eq!(hidden.status, 204);
    scene
        .until("only the public one is found", || async {
            scene.get("/api/v1/search?q=").await.json()["total"] == 1
        })
        .await;
    (scene, token)
}

/// A request of MCP, by itself.
async fn ask(scene: &Scene, method: &str, params: Value) -> Value {
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    let request = scene.request(Method::POST, "/mcp", None);
    let request = request.header("content-type", "application/json");
    let request = request.header("accept", "application/json, text/event-stream");
    scene.send(request.body(body.to_string())).await.json()
}

#[tokio::test(flavor = "multi_thread")]
#[expect(clippy::print_stderr, reason = "a test that was skipped must say so")]
async fn the_sdk_for_python_searches_and_reads() {
    let Some(python) = std::env::var_os(PYTHON) else {
        eprintln!("SKIPPED: `{PYTHON}` is not set (`cargo xtask test` sets it)");
        return;
    };
    let (scene, _) = filled().await;
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/mcp_session.py");
    let mut client = Command::new(python);
    client.args([script, &format!("http://{}/mcp", scene.address)]);
    let output = tokio::task::spawn_blocking(move || client.output()).await.expect("it is run");
    let output = output.expect("Python runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    insta::assert_snapshot!(String::from_utf8_lossy(&output.stdout), @r"
    server prowess-registry
    tools search_skills
    found acme/weather 1.0.0 skill://acme/weather/SKILL.md
    listed skill://acme/weather/SKILL.md
    read name: weather
    file text/markdown # Notes
    refused there is no such skill or file; find skills with `search_skills`
    refused there is no such skill or file; find skills with `search_skills`
    refused there is no such skill or file; find skills with `search_skills`
    wrong True `limit` is a whole number from 1 to 50
    unknown there is no tool `publish`
    ");
}

#[tokio::test(flavor = "multi_thread")]
async fn skills_are_listed_with_the_digests_of_their_files() {
    let (scene, token) = filled().await;
    let listed = ask(&scene, "skills/list", json!({})).await;
    let skills = listed["result"]["skills"].as_array().expect("skills").clone();
    assert_eq!(skills.len(), 1, "{listed}");
    assert_eq!(skills[0]["uri"], "skill://acme/weather/SKILL.md");
    assert_eq!(skills[0]["frontmatter"]["version"], "1.0.0");
    let files = &skills[0]["resources"];
    assert_eq!(files[1]["uri"], "skill://acme/weather/notes/a.md", "{files}");
    assert_eq!(files[1]["digest"], format!("sha256:{}", sha256(b"# Notes\n")));
    let one = ask(&scene, "skills/get", json!({ "uri": "skill://acme/weather/SKILL.md" })).await;
    assert_eq!(one["result"]["skill"], skills[0]);
    let folder = json!({ "uri": "skill://acme/weather" });
    let entries = ask(&scene, "resources/directory/read", folder).await;
    let names: Vec<&Value> = entries["result"]["resources"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|entry| &entry["name"])
        .collect();
    assert_eq!(names, ["notes", "SKILL.md"], "{entries}");

    // What is private is like what is missing, also for its owner: everybody is a stranger here.
    for name in ["secret", "missing"] {
        let uri = json!({ "uri": format!("skill://acme/{name}/SKILL.md") });
        let refused = ask(&scene, "skills/get", uri.clone()).await;
        assert_eq!(refused["error"]["code"], -32602, "{refused}");
        let read = ask(&scene, "resources/read", uri).await;
        assert!(read["error"].is_object(), "{read}");
    }
    // Attack registry-D20: a revoked version is not read here either.
    let root = scene.administrator("root").await;
    let body = json!({ "reason": "malware" });
    let path = "/api/v1/skills/acme/weather/1.0.0/revoke";
    assert_eq!(scene.call(Method::POST, path, &token, &body).await.status, 403);
    assert_eq!(scene.call(Method::POST, path, &root, &body).await.status, 204);
    let uri = json!({ "uri": "skill://acme/weather/SKILL.md" });
    assert!(ask(&scene, "resources/read", uri.clone()).await["error"].is_object());
    assert!(ask(&scene, "skills/get", uri).await["error"].is_object());
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_are_bounded_and_change_nothing() {
    let (scene, _) = filled().await;
    for (method, params) in [
        ("skills/publish", json!({})),
        ("prompts/get", json!({ "name": "weather" })),
        ("skills/list", json!({ "cursor": "made up" })),
        ("skills/get", json!({})),
    ] {
        let answer = ask(&scene, method, params).await;
        assert!(answer["error"].is_object(), "{method}: {answer}");
    }
    let request = scene.request(Method::POST, "/mcp", None);
    let request = request.header("content-type", "application/json");
    let request = request.header("accept", "application/json, text/event-stream");
    let large = scene.send(request.body("x".repeat(100 << 10))).await;
    assert_eq!(large.status, 413, "{}", large.text());
    // Without sessions there is nothing to listen to or to end.
    for method in [Method::GET, Method::DELETE] {
        assert_eq!(scene.send(scene.request(method, "/mcp", None)).await.status, 405);
    }
}
