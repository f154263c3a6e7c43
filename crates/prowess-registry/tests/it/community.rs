//! Ratings, reviews, reports, downloads, signatures.

use base64::Engine as _;
use prowess_trust::{Contents, Purpose, SecretKey, sign};
use reqwest::Method;
use serde_json::{Value, json};

use crate::scene::{Scene, manifest, package_of, skill};

// NEG-14; attack registry-A14.
#[tokio::test(flavor = "multi_thread")]
async fn ratings_are_whole_numbers_from_one_to_five() {
    let scene = Scene::start().await;
    let (acme, ann, bob) =
        (scene.user("acme").await, scene.user("ann").await, scene.user("bob").await);
    scene.publish_ok(&acme, "acme", &skill("weather", "1.0.0")).await;
    let path = "/api/v1/skills/acme/weather/rating";
    let rate = |token: &str, rating: Value| {
        let token = token.to_owned();
        let scene = &scene;
        async move { scene.call(Method::PUT, path, &token, &json!({ "rating": rating })).await }
    };
    for wrong in [
        json!(0),
        json!(6),
        json!(-1),
        json!(4.5),
        json!(4.0),
        json!("4"),
        json!(null),
        json!([4]),
        json!(u64::MAX),
    ] {
        let refused = rate(&ann, wrong.clone()).await;
        assert_eq!((refused.status, refused.code().as_str()), (400, "invalid-rating"), "{wrong}");
    }
    assert_eq!(rate(&acme, json!(5)).await.code(), "own-skill");
    assert_eq!(rate(&ann, json!(5)).await.status, 200);
    assert_eq!(rate(&bob, json!(2)).await.status, 200);
    // A second rating replaces the first.
    assert_eq!(rate(&ann, json!(4)).await.status, 200);
    let found = scene.get_as(path, &ann).await.json();
    assert_eq!(
        (&found["mean"], &found["count"], &found["own"]),
        (&json!(3.0), &json!(2), &json!(4))
    );
    assert_eq!(scene.send(scene.request(Method::PUT, path, None).body("{}")).await.status, 401);

    let text = "Says \"sunny\" when it rains. <script>alert(1)</script>";
    let body = json!({ "rating": 1, "review": text });
    assert_eq!(
        scene.call(Method::POST, "/api/v1/skills/acme/weather/reviews", &bob, &body).await.status,
        200
    );
    let reviews = scene.get("/api/v1/skills/acme/weather/reviews").await.json();
    assert_eq!(
        (&reviews["reviews"][0]["user"], &reviews["reviews"][0]["text"]),
        (&json!("bob"), &json!(text))
    );
    assert_eq!(reviews["reviews"].as_array().map(Vec::len), Some(1));
}

// Attack registry-A12: one download for each identity and day.
#[tokio::test(flavor = "multi_thread")]
async fn downloads_count_once_for_each_identity() {
    let scene = Scene::start().await;
    let (acme, ann) = (scene.user("acme").await, scene.user("ann").await);
    scene.publish_ok(&acme, "acme", &skill("weather", "1.0.0")).await;
    for _ in 0..20 {
        scene.get("/api/v1/skills/acme/weather/1.0.0/download").await;
    }
    // A header that anybody can write makes no other identity.
    let spoofed = scene.request(Method::GET, "/api/v1/skills/acme/weather/1.0.0/download", None);
    scene.send(spoofed.header("x-forwarded-for", "198.51.100.7")).await;
    scene.get_as("/api/v1/skills/acme/weather/1.0.0/archive.zip", &ann).await;
    scene
        .until("they are counted", || async {
            scene.get("/api/v1/skills/acme/weather").await.json()["downloads"] == 2
        })
        .await;
    scene.get("/api/v1/skills/acme/weather/1.0.0/download").await;
    assert_eq!(scene.registry.flush_downloads().await.expect("downloads"), 0);
}

// Attack registry-A14: four unique reports hide a skill until a moderator has looked at it.
#[tokio::test(flavor = "multi_thread")]
async fn reports_of_four_users_hide_a_skill() {
    let scene = Scene::start().await;
    let (acme, root) = (scene.user("acme").await, scene.administrator("root").await);
    scene.publish_ok(&acme, "acme", &skill("weather", "1.0.0")).await;
    let path = "/api/v1/skills/acme/weather/reports";
    let body = json!({ "reason": "malicious", "detail": "It asks for my password." });
    for user in ["u1", "u2", "u3"] {
        let token = scene.user(user).await;
        for _ in 0..2 {
            assert_eq!(scene.call(Method::POST, path, &token, &body).await.status, 202);
        }
    }
    assert_eq!(scene.get("/api/v1/skills/acme/weather").await.status, 200);
    let token = scene.user("u4").await;
    assert_eq!(
        scene.call(Method::POST, path, &token, &json!({ "reason": "dislike" })).await.status,
        400
    );
    assert_eq!(scene.call(Method::POST, path, &token, &body).await.status, 202);
    assert_eq!(scene.get("/api/v1/skills/acme/weather").await.status, 404);
    let queue = scene.get_as("/api/v1/moderation/reports", &root).await.json();
    assert_eq!(queue["reports"].as_array().map(Vec::len), Some(4));
    assert_eq!(scene.get_as("/api/v1/moderation/reports", &acme).await.status, 403);
    let approve =
        scene.call(Method::POST, "/api/v1/skills/acme/weather/approve", &root, &json!({})).await;
    assert_eq!(approve.status, 204);
    assert_eq!(scene.get("/api/v1/skills/acme/weather").await.status, 200);
}

// GAIA-4.4-1, GAIA-10.1-1: a signature promotes to community, an auditor's to verified, and a new version starts over.
#[tokio::test(flavor = "multi_thread")]
async fn signatures_promote_each_version_anew() {
    let scene = Scene::start().await;
    let (acme, root) = (scene.user("acme").await, scene.administrator("root").await);
    let text = manifest("weather", "1.0.0", "security_tier: verified\n");
    scene.publish_ok(&acme, "acme", &package_of(&[("SKILL.md", &text)])).await;
    let tier = |version: &'static str| {
        let scene = &scene;
        async move {
            let index = scene.get("/api/v1/index/acme/weather").await.body;
            let index = prowess_registry_protocol::RegistryIndex::read(&index, "acme/weather")
                .expect("an index");
            let line = index.lines.into_iter().find(|line| line.version.to_string() == version);
            line.expect("a line").tier.expect("a tier")
        }
    };
    assert_eq!(tier("1.0.0").await, "experimental", "a claim proves nothing");

    let (publisher, auditor) = (
        SecretKey::generate_ed25519().expect("a key"),
        SecretKey::generate_ed25519().expect("a key"),
    );
    let contents = Contents::new("weather", "1.0.0").with_file("SKILL.md", text.as_bytes());
    let record = |key: &SecretKey, purpose: Purpose| {
        let record = sign(&contents, key, "", purpose).expect("a signature");
        base64::engine::general_purpose::STANDARD.encode(record)
    };
    let path = "/api/v1/skills/acme/weather/1.0.0/signatures";
    let release =
        json!({ "file": "SIGNATURE.json", "content": record(&publisher, Purpose::Release) });
    // A key that the publisher has not registered promotes nothing.
    scene.call(Method::POST, path, &acme, &release).await;
    assert_eq!(tier("1.0.0").await, "experimental");
    let key = json!({ "key": publisher.public().line() });
    assert_eq!(
        scene.call(Method::POST, "/api/v1/namespaces/acme/keys", &acme, &key).await.status,
        200
    );
    let signed = scene.call(Method::POST, path, &acme, &release).await;
    assert_eq!(
        (signed.status, signed.json()["tier"].clone()),
        (200, json!("community")),
        "{}",
        signed.text()
    );
    assert_eq!(tier("1.0.0").await, "community");

    let key = json!({ "key": auditor.public().line(), "role": "auditor" });
    assert_eq!(scene.call(Method::POST, "/api/v1/moderation/keys", &acme, &key).await.status, 403);
    assert_eq!(scene.call(Method::POST, "/api/v1/moderation/keys", &root, &key).await.status, 200);
    let audit = json!({ "file": "AUDIT.json", "content": record(&auditor, Purpose::Audit) });
    let signed = scene.call(Method::POST, path, &root, &audit).await;
    assert_eq!(
        (signed.status, signed.json()["tier"].clone()),
        (200, json!("verified")),
        "{}",
        signed.text()
    );

    // Attack registry-C5: a signature can't be moved to another version.
    scene.publish_ok(&acme, "acme", &skill("weather", "1.0.1")).await;
    assert_eq!(tier("1.0.1").await, "experimental");
    let moved = scene
        .call(Method::POST, "/api/v1/skills/acme/weather/1.0.1/signatures", &acme, &release)
        .await;
    assert_eq!((moved.status, moved.code().as_str()), (400, "invalid-signature"));
    assert_eq!(tier("1.0.1").await, "experimental");
}
