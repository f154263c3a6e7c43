//! Names: reserved ones, ambiguous ones, and those that look like others.

use reqwest::Method;
use serde_json::json;

use crate::scene::{Scene, skill};

// Attack registry-A7.
#[tokio::test(flavor = "multi_thread")]
async fn a_name_of_several_namespaces_is_never_the_first_one() {
    let scene = Scene::start().await;
    for user in ["zoe", "acme"] {
        let token = scene.user(user).await;
        scene.publish_ok(&token, user, &skill("weather", "1.0.0")).await;
    }
    for path in [
        "/api/v1/skills/weather",
        "/api/v1/skills/weather/download",
        "/api/v1/skills/weather/1.0.0",
    ] {
        let several = scene.get(path).await;
        assert_eq!(several.status, 300, "{path}");
        assert_eq!(several.json()["candidates"], json!(["acme/weather", "zoe/weather"]), "{path}");
    }
}

// GAIA-2.3-2, attack registry-A4.
#[tokio::test(flavor = "multi_thread")]
async fn reserved_prefixes_need_an_allowed_publisher() {
    let scene = Scene::start().await;
    let (acme, root) = (scene.user("acme").await, scene.administrator("root").await);
    for name in ["amd-npu", "gaia-tools", "mcp-files"] {
        let refused = scene.publish(Some(&acme), "acme", &skill(name, "1.0.0")).await;
        assert_eq!((refused.status, refused.code().as_str()), (403, "reserved-prefix"), "{name}");
    }
    let body = json!({ "prefix": "amd-", "namespace": "acme" });
    assert_eq!(
        scene.call(Method::POST, "/api/v1/moderation/prefixes", &acme, &body).await.status,
        403
    );
    assert_eq!(
        scene.call(Method::POST, "/api/v1/moderation/prefixes", &root, &body).await.status,
        204
    );
    scene.publish_ok(&acme, "acme", &skill("amd-npu", "1.0.0")).await;
    assert_eq!(scene.publish(Some(&acme), "acme", &skill("gaia-tools", "1.0.0")).await.status, 403);
    for name in ["download", "api", "search", "versions"] {
        let refused = scene.publish(Some(&acme), "acme", &skill(name, "1.0.0")).await;
        assert_eq!((refused.status, refused.code().as_str()), (400, "reserved-name"), "{name}");
    }
}

// Attacks registry-A2, A3, A6; NEG-5.
#[tokio::test(flavor = "multi_thread")]
async fn names_that_differ_in_hyphens_are_taken() {
    let scene = Scene::start().await;
    let (acme, other) = (scene.user("acme").await, scene.user("other").await);
    scene.publish_ok(&acme, "acme", &skill("foo-bar", "1.0.0")).await;
    for (token, namespace) in [(&acme, "acme"), (&other, "other")] {
        let taken = scene.publish(Some(token), namespace, &skill("foobar", "1.0.0")).await;
        assert_eq!((taken.status, taken.code().as_str()), (409, "name-taken"));
        assert!(taken.text().contains("acme/foo-bar"));
    }
    for name in ["Foo", "foo_bar", "../x", "a/b", "f\u{f6}\u{f6}", "r\u{430}yp"] {
        let refused = scene.publish(Some(&acme), "acme", &skill(name, "1.0.0")).await;
        assert_eq!(refused.status, 400, "{name}: {}", refused.text());
    }
}

// Attack registry-A1: names that are made to be taken for a popular one wait for a moderator.
#[tokio::test(flavor = "multi_thread")]
async fn names_like_popular_ones_are_held_for_review() {
    let scene = Scene::with_settings("popular_downloads = 3\nnew_names = 50\n").await;
    let (acme, thief) = (scene.user("acme").await, scene.user("thief").await);
    let root = scene.administrator("root").await;
    scene.publish_ok(&acme, "acme", &skill("clawhub", "1.0.0")).await;
    let like = |name: &'static str| {
        let (scene, thief) = (&scene, &thief);
        async move { scene.publish_ok(thief, "thief", &skill(name, "1.0.0")).await }
    };
    assert_eq!(like("clawhubs").await["state"], "visible", "it is not popular yet");
    for user in ["a1", "a2", "a3"] {
        let token = scene.user(user).await;
        scene.get_as("/api/v1/skills/acme/clawhub/1.0.0/download", &token).await;
    }
    scene.registry.flush_downloads().await.expect("downloads");
    for name in ["cllawhub", "clawhub1", "clahwub", "clawhib", "clawhu", "clawhub-pro"] {
        let held = like(name).await;
        assert_eq!(
            (&held["state"], &held["reason"]),
            (&json!("held"), &json!("name.typosquat:acme/clawhub")),
            "{name}"
        );
        for path in [
            format!("/api/v1/skills/thief/{name}"),
            format!("/api/v1/index/thief/{name}"),
            format!("/api/v1/skills/thief/{name}/1.0.0/download"),
            format!("/thief/{name}/1.0.0/SKILL.md"),
        ] {
            assert_eq!(scene.get(&path).await.status, 404, "{path}");
        }
        assert_eq!(
            scene.get_as(&format!("/api/v1/skills/thief/{name}"), &thief).await.status,
            200,
            "{name}"
        );
    }
    assert_eq!(like("umbrella").await["state"], "visible");
    scene.publish_ok(&acme, "acme", &skill("clawhub2", "1.0.0")).await;
    let queue = scene.get_as("/api/v1/moderation/held", &root).await.json();
    assert_eq!(queue["held"].as_array().map(Vec::len), Some(6));
    let approve =
        scene.call(Method::POST, "/api/v1/skills/thief/clawhu/approve", &root, &json!({})).await;
    assert_eq!(approve.status, 204);
    assert_eq!(scene.get("/api/v1/skills/thief/clawhu").await.status, 200);
}

// Attack registry-A5.
#[tokio::test(flavor = "multi_thread")]
async fn deleted_names_cool_down_and_versions_never_come_back() {
    let scene = Scene::start().await;
    let (acme, other) = (scene.user("acme").await, scene.user("other").await);
    let body = json!({ "name": "tools" });
    assert_eq!(scene.call(Method::POST, "/api/v1/organisations", &acme, &body).await.status, 201);
    scene.publish_ok(&acme, "tools", &skill("weather", "1.0.0")).await;
    let before = scene.get("/api/v1/skills/tools/weather").await.json()["owner"].clone();

    let gone = scene.call(Method::DELETE, "/api/v1/skills/tools/weather", &acme, &json!({})).await;
    assert_eq!(gone.status, 204);
    assert_eq!(scene.get("/api/v1/skills/tools/weather").await.status, 404);
    let same = scene.publish(Some(&acme), "tools", &skill("weather", "1.0.0")).await;
    assert_eq!((same.status, same.code().as_str()), (409, "version-exists"));
    scene.publish_ok(&acme, "tools", &skill("weather", "1.0.1")).await;

    // Another owner of the same namespace waits, and clients see that it is another one.
    let gone = scene.call(Method::DELETE, "/api/v1/namespaces/tools", &acme, &json!({})).await;
    assert_eq!(gone.status, 204);
    let taken = scene.call(Method::POST, "/api/v1/organisations", &other, &body).await;
    assert_eq!((taken.status, taken.code().as_str()), (403, "name-cooling-down"));
    assert!(taken.text().contains("20"), "it says when: {}", taken.text());
    let change = "UPDATE namespaces SET deleted = deleted - 10000000 WHERE name = 'tools'";
    let retired = "UPDATE retired_names SET available = 0";
    scene
        .registry
        .database()
        .write(move |transaction| {
            transaction.execute(change, &[])?;
            transaction.execute(retired, &[])
        })
        .await
        .expect("time passes");
    assert_eq!(scene.call(Method::POST, "/api/v1/organisations", &other, &body).await.status, 201);
    let used = scene.publish(Some(&other), "tools", &skill("weather", "1.0.1")).await;
    assert_eq!((used.status, used.code().as_str()), (409, "version-exists"));
    scene.publish_ok(&other, "tools", &skill("weather", "2.0.0")).await;
    assert_ne!(scene.get("/api/v1/skills/tools/weather").await.json()["owner"], before);
}
