//! Yanking, deprecating and revoking.

use reqwest::Method;
use serde_json::json;

use crate::scene::{Scene, skill};

// Attack registry-C22: a yanked version is not chosen and can still be had.
#[tokio::test(flavor = "multi_thread")]
async fn a_yanked_version_is_marked_and_stays() {
    let scene = Scene::start().await;
    let (acme, other) = (scene.user("acme").await, scene.user("other").await);
    for version in ["1.0.0", "1.1.0"] {
        scene.publish_ok(&acme, "acme", &skill("weather", version)).await;
    }
    let path = "/api/v1/skills/acme/weather/1.1.0/yank";
    assert_eq!(scene.call(Method::POST, path, &other, &json!({})).await.status, 403);
    assert_eq!(scene.send(scene.request(Method::POST, path, Some(&acme))).await.status, 204);
    let index = scene.get("/api/v1/index/acme/weather").await.text();
    let lines: Vec<&str> = index.lines().collect();
    assert!(
        lines[1].contains("\"yanked\":false") && lines[2].contains("\"yanked\":true"),
        "{index}"
    );
    assert_eq!(scene.get("/api/v1/skills/acme/weather").await.json()["latest"], "1.0.0");
    assert_eq!(scene.get("/api/v1/skills/acme/weather/1.1.0/download").await.status, 200);
    assert_eq!(scene.call(Method::DELETE, path, &acme, &json!({})).await.status, 204);
    assert_eq!(scene.get("/api/v1/skills/acme/weather").await.json()["latest"], "1.1.0");
}

// Attack registry-D20: a revocation counts on every route at once, and the index says why.
#[tokio::test(flavor = "multi_thread")]
async fn a_revoked_version_is_gone_everywhere() {
    let scene = Scene::start().await;
    let (acme, root) = (scene.user("acme").await, scene.administrator("root").await);
    scene.publish_ok(&acme, "acme", &skill("weather", "1.0.0")).await;
    let old = scene.get("/api/v1/index/acme/weather").await;
    scene.until("it is found", || async { found(&scene).await == 1 }).await;

    let path = "/api/v1/skills/acme/weather/1.0.0/revoke";
    assert_eq!(
        scene.call(Method::POST, path, &acme, &json!({ "reason": "malware" })).await.status,
        403
    );
    assert_eq!(scene.call(Method::POST, path, &root, &json!({})).await.status, 400);
    assert_eq!(
        scene.call(Method::POST, path, &root, &json!({ "reason": "malware" })).await.status,
        204
    );
    for path in [
        "/api/v1/skills/acme/weather",
        "/api/v1/skills/weather",
        "/api/v1/skills/acme/weather/1.0.0",
        "/api/v1/skills/weather/1.0.0",
        "/api/v1/skills/acme/weather/1.0.0/download",
        "/api/v1/skills/acme/weather/download",
        "/api/v1/skills/acme/weather/1.0.0/archive.zip",
        "/api/v1/skills/acme/weather/1.0.0/files",
        "/api/v1/skills/acme/weather/1.0.0/files/SKILL.md",
        "/api/v1/skills/acme/weather/1.0.0/scan",
        "/acme/weather/1.0.0/SKILL.md",
    ] {
        let gone = scene.get(path).await;
        assert_eq!(gone.status, 410, "{path}: {}", gone.text());
        assert!(gone.json()["detail"].as_str().expect("a detail").contains("malware"), "{path}");
    }
    let new = scene.get("/api/v1/index/acme/weather").await;
    let read = |body: &[u8]| {
        prowess_registry_protocol::RegistryIndex::read(body, "acme/weather").expect("an index")
    };
    let (old, new) = (read(&old.body), read(&new.body));
    assert_eq!(new.lines[0].revoked.as_deref(), Some("malware"));
    assert!(new.head.expect("a header").sequence > old.head.expect("a header").sequence);
    for path in ["/.well-known/agent-skills/index.json", "/api/v1/skills"] {
        assert_eq!(scene.get(path).await.json()["skills"], json!([]), "{path}");
    }
    scene.until("it is no longer found", || async { found(&scene).await == 0 }).await;
    let audit = scene.get_as("/api/v1/moderation/audit", &root).await.text();
    assert!(audit.contains("version.revoke") && audit.contains("acme/weather 1.0.0"), "{audit}");
}

async fn found(scene: &Scene) -> usize {
    scene.get("/api/v1/search?q=weather").await.json()["results"].as_array().map_or(0, Vec::len)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deprecated_skill_says_what_to_use_instead() {
    let scene = Scene::start().await;
    let acme = scene.user("acme").await;
    scene.publish_ok(&acme, "acme", &skill("weather", "1.0.0")).await;
    let path = "/api/v1/skills/acme/weather/deprecate";
    let body = json!({ "message": "use acme/forecast" });
    assert_eq!(scene.call(Method::POST, path, &acme, &body).await.status, 204);
    let shown =
        || async { scene.get("/api/v1/skills/acme/weather").await.json()["deprecated"].clone() };
    assert_eq!(shown().await, "use acme/forecast");
    assert_eq!(scene.call(Method::POST, path, &acme, &json!({})).await.status, 204);
    assert_eq!(shown().await, json!(null));
}
