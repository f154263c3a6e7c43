//! Publishing by CI runs, with an issuer on the loopback address.

use std::sync::{Arc, Mutex};

use axum::routing::get;
use axum::{Json, Router};
use jsonwebtoken::jwk::Jwk;
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use reqwest::Method;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair};
use serde_json::{Value, json};

use crate::scene::{Answer, Scene, skill};

const AUDIENCE: &str = "https://registry.example";
const EXCHANGE: &str = "/api/v1/trusted-publishing/token";

/// An issuer with one key.
struct Issuer {
    address: String,
    key: EncodingKey,
}

impl Issuer {
    async fn start() -> Self {
        let random = SystemRandom::new();
        let document = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random);
        let key = EncodingKey::from_ec_der(document.expect("a key").as_ref());
        let mut published = Jwk::from_encoding_key(&key, Algorithm::ES256).expect("a public key");
        published.common.key_id = Some("first".to_owned());
        let published = Arc::new(Mutex::new(json!({ "keys": [published] })));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = format!("http://{}", listener.local_addr().expect("an address"));
        let metadata = json!({ "issuer": &address, "jwks_uri": format!("{address}/keys") });
        let router = Router::new()
            .route("/.well-known/openid-configuration", get(async || Json(metadata)))
            .route("/keys", get(async move || Json(published.lock().expect("a lock").clone())));
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { address, key }
    }

    /// The identity token of a run of `acme/weather`, with other claims.
    fn token(&self, scene: &Scene, jti: &str, changes: &Value) -> String {
        let now = scene.registry.now();
        let mut claims = json!({
            "iss": self.address,
            "aud": AUDIENCE,
            "sub": "repo:acme/weather:ref:refs/tags/v1",
            "jti": jti,
            "iat": now,
            "nbf": now,
            "exp": now + 300,
            "repository": "acme/weather",
            "repository_owner_id": "4711",
            "workflow_ref": "acme/weather/.github/workflows/release.yml@refs/tags/v1",
            "sha": "0123abc",
        });
        for (name, value) in changes.as_object().expect("an object") {
            claims[name] = value.clone();
        }
        let mut header = Header::new(Algorithm::ES256);
        header.kid = Some("first".to_owned());
        encode(&header, &claims, &self.key).expect("a token")
    }
}

async fn exchange(scene: &Scene, token: &str, name: &str) -> Answer {
    let body = json!({ "token": token, "namespace": "acme", "name": name });
    let request = scene.request(Method::POST, EXCHANGE, None);
    scene.send(request.header("content-type", "application/json").body(body.to_string())).await
}

// Attacks registry-D1 and A11.
#[tokio::test(flavor = "multi_thread")]
async fn a_ci_run_publishes_without_a_stored_token() {
    let issuer = Issuer::start().await;
    let settings = format!("public_url = '{AUDIENCE}'\ntrusted_issuers = ['{}']\n", issuer.address);
    let scene = Scene::with_settings(&settings).await;
    let (acme, root) = (scene.user("acme").await, scene.administrator("root").await);

    // Nobody is trusted yet.
    let early = exchange(&scene, &issuer.token(&scene, "0", &json!({})), "weather").await;
    assert_eq!((early.status, early.code().as_str()), (403, "not-a-trusted-publisher"));
    let publisher = json!({
        "issuer": issuer.address,
        "repository": "acme/weather",
        "workflow": "release.yml",
    });
    let path = "/api/v1/skills/acme/weather/trusted-publishers";
    assert_eq!(scene.call(Method::POST, path, &acme, &publisher).await.status / 100, 2);

    let identity = issuer.token(&scene, "1", &json!({}));
    let answer = exchange(&scene, &identity, "weather").await;
    assert_eq!(answer.status, 201, "{}", answer.text());
    let token = answer.json()["token"].as_str().expect("a token").to_owned();
    // An identity token counts once.
    let again = exchange(&scene, &identity, "weather").await;
    assert_eq!((again.status, again.code().as_str()), (401, "used-identity-token"));

    // It publishes this skill and does nothing else.
    let other = scene.publish(Some(&token), "acme", &skill("clock", "1.0.0")).await;
    assert_eq!((other.status, other.code().as_str()), (403, "token-scope"));
    scene.publish_ok(&token, "acme", &skill("weather", "1.0.0")).await;
    let yank = "/api/v1/skills/acme/weather/1.0.0/yank";
    assert_eq!(scene.call(Method::POST, yank, &token, &json!({})).await.status, 403);
    let version = scene.get("/api/v1/skills/acme/weather/1.0.0").await.json();
    let provenance = &version["provenance"];
    assert_eq!(provenance["repository"], "acme/weather", "{version}");
    assert_eq!(provenance["commit"], "0123abc");
    assert_eq!(provenance["workflow"], ".github/workflows/release.yml");
    // What a person uploads has no provenance.
    scene.publish_ok(&acme, "acme", &skill("weather", "1.1.0")).await;
    let by_hand = scene.get("/api/v1/skills/acme/weather/1.1.0").await.json();
    assert_eq!(by_hand["provenance"], json!(null));

    for (jti, changes, status) in [
        ("2", json!({ "repository": "eve/weather" }), 403),
        (
            "3",
            json!({ "workflow_ref": "acme/weather/.github/workflows/test.yml@refs/heads/x" }),
            403,
        ),
        // Somebody else got the name after it was given up.
        ("4", json!({ "repository_owner_id": "4712" }), 403),
        ("5", json!({ "aud": "https://another.example" }), 401),
        ("6", json!({ "exp": 1_000_000 }), 401),
        ("7", json!({ "iss": "https://another.example" }), 401),
        ("8", json!({ "jti": null }), 401),
    ] {
        let refused = exchange(&scene, &issuer.token(&scene, jti, &changes), "weather").await;
        assert_eq!(refused.status, status, "{changes}: {}", refused.text());
    }
    let elsewhere = exchange(&scene, &issuer.token(&scene, "9", &json!({})), "clock").await;
    assert_eq!(elsewhere.status, 403);
    assert_eq!(exchange(&scene, "no token", "weather").await.status, 401);
    let audit = scene.get_as("/api/v1/moderation/audit", &root).await.text();
    assert!(audit.contains("token.exchange") && audit.contains("publisher.trust"), "{audit}");
    assert!(!audit.contains(&token), "a secret is in the audit log");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_trusted_issuers_nothing_is_exchanged() {
    let scene = Scene::start().await;
    let answer = exchange(&scene, "a.b.c", "weather").await;
    assert_eq!((answer.status, answer.code().as_str()), (404, "no-trusted-publishing"));
}
