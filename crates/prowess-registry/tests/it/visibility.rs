//! Private skills and namespaces, which can't be told from missing ones.

use reqwest::Method;
use serde_json::json;

use crate::scene::{Scene, skill};

// Attacks registry-D18 and D19.
#[tokio::test(flavor = "multi_thread")]
async fn a_private_skill_is_like_a_missing_one() {
    let scene = Scene::start().await;
    let (acme, other) = (scene.user("acme").await, scene.user("other").await);
    scene.publish_ok(&acme, "acme", &skill("weather", "1.0.0")).await;
    scene
        .until("it is found", || async {
            scene.get("/api/v1/search?q=weather").await.json()["total"] == 1
        })
        .await;
    let private = json!({ "private": true });
    let path = "/api/v1/skills/acme/weather/visibility";
    assert_eq!(scene.call(Method::PUT, path, &other, &private).await.status, 403);
    assert_eq!(scene.call(Method::PUT, path, &acme, &private).await.status, 204);
    for route in [
        "/api/v1/skills/acme/NAME",
        "/api/v1/skills/NAME",
        "/api/v1/skills/acme/NAME/1.0.0",
        "/api/v1/skills/acme/NAME/1.0.0/download",
        "/api/v1/skills/acme/NAME/1.0.0/archive.zip",
        "/api/v1/skills/acme/NAME/1.0.0/files",
        "/api/v1/skills/acme/NAME/1.0.0/files/SKILL.md",
        "/api/v1/skills/acme/NAME/1.0.0/scan",
        "/api/v1/skills/acme/NAME/1.0.0/signatures",
        "/api/v1/skills/acme/NAME/versions",
        "/api/v1/skills/acme/NAME/rating",
        "/api/v1/skills/acme/NAME/reviews",
        "/api/v1/index/acme/NAME",
        "/acme/NAME/1.0.0/SKILL.md",
    ] {
        for token in [None, Some(other.as_str())] {
            let ask = |name: &str| {
                scene.send(scene.request(Method::GET, &route.replace("NAME", name), token))
            };
            let (hidden, missing) = (ask("weather").await, ask("nothing").await);
            assert_eq!((hidden.status, missing.status), (404, 404), "{route}");
            assert_eq!(hidden.text(), missing.text(), "{route}");
        }
    }
    scene
        .until("it is no longer found", || async {
            let found = scene.get("/api/v1/search?q=weather").await.json();
            found["total"] == 0 && found["facets"] == json!({})
        })
        .await;
    assert_eq!(scene.get("/api/v1/search/suggest?q=weat").await.json()["suggestions"], json!([]));
    assert_eq!(scene.get("/api/v1/skills").await.json()["skills"], json!([]));
    for path in [
        "/api/v1/skills/acme/weather",
        "/api/v1/index/acme/weather",
        "/api/v1/skills/acme/weather/1.0.0/download",
    ] {
        let own = scene.get_as(path, &acme).await;
        assert_eq!(own.status, 200, "{path}");
        assert_eq!(own.header("cache-control"), "private, no-store", "{path}");
    }
}

// Organisations with roles, invitations and a transfer, which changes the identifier of the owner.
#[tokio::test(flavor = "multi_thread")]
async fn members_of_an_organisation_have_roles() {
    let scene = Scene::start().await;
    let (acme, bob) = (scene.user("acme").await, scene.user("bob").await);
    assert_eq!(
        scene
            .call(Method::POST, "/api/v1/organisations", &acme, &json!({ "name": "tools" }))
            .await
            .status,
        201
    );
    scene.publish_ok(&acme, "tools", &skill("weather", "1.0.0")).await;
    assert_eq!(scene.publish(Some(&bob), "tools", &skill("weather", "1.1.0")).await.status, 403);

    let invite = |role: &str, transfer: bool| json!({ "username": "bob", "role": role, "transfer": transfer });
    let path = "/api/v1/namespaces/tools/invitations";
    assert_eq!(scene.call(Method::POST, path, &bob, &invite("owner", false)).await.status, 403);
    assert_eq!(scene.call(Method::POST, path, &acme, &invite("reader", false)).await.status, 201);
    assert_eq!(
        scene.publish(Some(&bob), "tools", &skill("weather", "1.1.0")).await.status,
        403,
        "not accepted yet"
    );
    let accept = || async {
        scene.call(Method::POST, "/api/v1/namespaces/tools/accept", &bob, &json!({})).await
    };
    assert_eq!(accept().await.status, 204);
    assert_eq!(
        scene.publish(Some(&bob), "tools", &skill("weather", "1.1.0")).await.status,
        403,
        "a reader"
    );
    assert_eq!(
        scene.call(Method::POST, path, &acme, &invite("publisher", false)).await.status,
        201
    );
    assert_eq!(accept().await.status, 204);
    scene.publish_ok(&bob, "tools", &skill("weather", "1.1.0")).await;

    let leave = scene
        .call(Method::DELETE, "/api/v1/namespaces/tools/members/acme", &acme, &json!({}))
        .await;
    assert_eq!((leave.status, leave.code().as_str()), (409, "last-owner"));
    let owner =
        || async { scene.get("/api/v1/skills/tools/weather").await.json()["owner"].clone() };
    let before = owner().await;
    assert_eq!(scene.call(Method::POST, path, &acme, &invite("owner", true)).await.status, 201);
    assert_eq!(accept().await.status, 204);
    assert_ne!(owner().await, before);
    assert_eq!(scene.publish(Some(&acme), "tools", &skill("weather", "1.2.0")).await.status, 403);
    scene.publish_ok(&bob, "tools", &skill("weather", "1.2.0")).await;
}
