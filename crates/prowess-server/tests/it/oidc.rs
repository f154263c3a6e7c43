use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::extract::{Form, State};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use http::header::{AUTHORIZATION, COOKIE, HeaderMap};
use http::{HeaderValue, StatusCode};
use jsonwebtoken::jwk::Jwk;
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use prowess_core::Problem;
use prowess_http::Authorities;
use prowess_server::Secret;
use prowess_server::accounts::Role;
use prowess_server::oidc::{
    CiIdentities, CiIdentity, CompanyLogIn, CompanyLogInOptions, FetchRules, FinishedLogIn,
    IdentityProvider, TrustedPublisher,
};
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use url::Url;

use crate::support::{Bed, on_both};

on_both! {
    tokens_of_ci_are_verified_and_accepted_once,
    a_company_s_users_log_in,
    a_log_in_belongs_to_its_browser,
    users_with_passwords_are_not_taken_over,
}

const AUDIENCE: &str = "https://registry.example";
const CLIENT: &str = "prowess";

/// An issuer on the loopback address.
struct Issuer {
    address: SocketAddr,
    state: IssuerState,
}

#[derive(Clone)]
struct IssuerState {
    facts: Arc<Mutex<Facts>>,
}

struct Facts {
    issuer: String,
    /// Keys with their names: what is published, and what signs.
    keys: Vec<(String, Algorithm, EncodingKey)>,
    /// The answer for a document, instead of the right one.
    instead: Option<(&'static str, WrongAnswer)>,
    fetches: usize,
    /// The challenge of the log-in that goes on, and the claims that it will have.
    challenge: String,
    claims: Value,
}

type WrongAnswer = (u16, String);

impl Issuer {
    async fn start() -> Issuer {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let facts = Facts {
            issuer: format!("http://{address}"),
            keys: vec![("first".to_owned(), Algorithm::ES256, ecdsa())],
            instead: None,
            fetches: 0,
            challenge: String::new(),
            claims: json!({}),
        };
        let state = IssuerState { facts: Arc::new(Mutex::new(facts)) };
        let router = Router::new()
            .route("/.well-known/openid-configuration", get(metadata))
            .route("/keys", get(keys))
            .route("/token", post(token))
            .with_state(state.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        Issuer { address, state }
    }

    fn facts(&self) -> std::sync::MutexGuard<'_, Facts> {
        self.state.facts.lock().expect("a lock")
    }

    fn provider(&self, bed: &Bed) -> IdentityProvider {
        let issuer = self.facts().issuer.clone();
        IdentityProvider::new(&issuer, rules(), bed.server.clock().clone()).expect("a provider")
    }

    /// A token, signed with the key of a name.
    fn sign(&self, key: &str, claims: &Value) -> String {
        let facts = self.facts();
        let (name, algorithm, key) =
            facts.keys.iter().find(|(name, _, _)| name == key).expect("the key");
        let mut header = Header::new(*algorithm);
        header.kid = Some(name.clone());
        encode(&header, claims, key).expect("a token")
    }

    /// The claims of a usual run.
    fn claims(&self, bed: &Bed, jti: &str) -> Value {
        let now = bed.server.clock().now().seconds();
        json!({
            "iss": self.facts().issuer,
            "aud": AUDIENCE,
            "sub": "repo:acme/weather:ref:refs/tags/v1",
            "jti": jti,
            "iat": now,
            "nbf": now,
            "exp": now + 300,
            "repository": "acme/weather",
            "repository_owner_id": "4711",
            "workflow_ref": "acme/weather/.github/workflows/release.yml@refs/tags/v1",
            "ref": "refs/tags/v1",
            "sha": "0123abc",
        })
    }
}

fn rules() -> FetchRules {
    FetchRules {
        addresses: |address: IpAddr| address.is_loopback(),
        allow_loopback_http: true,
        authorities: Authorities::None,
        use_proxy: false,
    }
}

fn ecdsa() -> EncodingKey {
    let document =
        EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &SystemRandom::new());
    EncodingKey::from_ec_der(document.expect("a key").as_ref())
}

fn eddsa() -> EncodingKey {
    // RFC 8410 §7, which ends with the 32 random bytes.
    let mut document = data_encoding::HEXLOWER
        .decode(b"302e020100300506032b657004220420")
        .expect("hexadecimal digits");
    let seed: [u8; 32] = ring::rand::generate(&SystemRandom::new()).expect("random bytes").expose();
    document.extend_from_slice(&seed);
    EncodingKey::from_ed_der(&document)
}

fn rsa(pem: &[u8]) -> EncodingKey {
    EncodingKey::from_rsa_pem(pem).expect("a key")
}

impl IssuerState {
    /// Counts a fetch, and answers it wrongly if the test wants that.
    fn fetch(&self, path: &str) -> Option<Response> {
        let mut facts = self.facts.lock().expect("a lock");
        facts.fetches += 1;
        let (_, (status, body)) = facts.instead.clone().filter(|(wrong, _)| *wrong == path)?;
        Some((StatusCode::from_u16(status).expect("a status"), body).into_response())
    }
}

async fn metadata(State(state): State<IssuerState>) -> Response {
    if let Some(response) = state.fetch("metadata") {
        return response;
    }
    let issuer = state.facts.lock().expect("a lock").issuer.clone();
    Json(json!({
        "issuer": issuer,
        "jwks_uri": format!("{issuer}/keys"),
        "authorization_endpoint": format!("{issuer}/authorize?tenant=1"),
        "token_endpoint": format!("{issuer}/token"),
    }))
    .into_response()
}

async fn keys(State(state): State<IssuerState>) -> Response {
    if let Some(response) = state.fetch("keys") {
        return response;
    }
    let facts = state.facts.lock().expect("a lock");
    let published: Vec<Value> = facts
        .keys
        .iter()
        .map(|(name, algorithm, key)| {
            let mut jwk = Jwk::from_encoding_key(key, *algorithm).expect("a public key");
            jwk.common.key_id = Some(name.clone());
            serde_json::to_value(jwk).expect("JSON")
        })
        .collect();
    Json(json!({ "keys": published })).into_response()
}

async fn token(
    State(state): State<IssuerState>,
    headers: HeaderMap,
    Form(form): Form<std::collections::HashMap<String, String>>,
) -> Response {
    let facts = state.facts.lock().expect("a lock");
    let challenge = BASE64_URL_SAFE_NO_PAD.encode(Sha256::digest(form["code_verifier"].as_bytes()));
    // The password of the client, as RFC 6749 §2.3.1 wants it.
    let is_client =
        headers.get(AUTHORIZATION).is_some_and(|value| value == "Basic cHJvd2VzczpodW50ZXIy");
    let is_right = form["grant_type"] == "authorization_code"
        && form["code"] == "the-code"
        && form["redirect_uri"] == "https://studio.example/auth/callback"
        && challenge == facts.challenge
        && is_client;
    if !is_right {
        return (StatusCode::BAD_REQUEST, Json(json!({ "error": "invalid_grant" })))
            .into_response();
    }
    let (name, algorithm, key) = &facts.keys[0];
    let mut header = Header::new(*algorithm);
    header.kid = Some(name.clone());
    let token = encode(&header, &facts.claims, key).expect("a token");
    Json(json!({ "access_token": "x", "token_type": "Bearer", "id_token": token })).into_response()
}

fn identities(bed: &Bed, issuer: &Issuer) -> CiIdentities {
    CiIdentities::new(
        bed.database().clone(),
        bed.server.clock().clone(),
        AUDIENCE,
        vec![issuer.provider(bed)],
    )
}

async fn verify(identities: &CiIdentities, token: &str) -> Result<CiIdentity, &'static str> {
    identities.verify(token).await.map_err(|problem| problem.code)
}

const INVALID: &str = "invalid-identity-token";

/// Attack registry-D1.
async fn tokens_of_ci_are_verified_and_accepted_once(bed: Bed) {
    let issuer = Issuer::start().await;
    let identities = identities(&bed, &issuer);
    let token = issuer.sign("first", &issuer.claims(&bed, "one"));
    let identity = verify(&identities, &token).await.expect("the token is right");
    assert_eq!(identity.repository.as_deref(), Some("acme/weather"));
    assert_eq!(identity.workflow.as_deref(), Some(".github/workflows/release.yml"));
    assert_eq!(identity.commit.as_deref(), Some("0123abc"));
    let publisher = TrustedPublisher {
        issuer: identity.issuer.clone(),
        repository: "acme/weather".to_owned(),
        owner_id: Some("4711".to_owned()),
        workflow: "release.yml".to_owned(),
        environment: None,
    };
    assert!(publisher.matches(&identity));
    assert_eq!(verify(&identities, &token).await.err(), Some("used-identity-token"));
    // Another node, with a memory of its own.
    let other = CiIdentities::new(
        bed.node().await.database().clone(),
        bed.server.clock().clone(),
        AUDIENCE,
        vec![issuer.provider(&bed)],
    );
    assert_eq!(verify(&other, &token).await.err(), Some("used-identity-token"));
    // Twenty at the same time: one of them counts.
    let token = issuer.sign("first", &issuer.claims(&bed, "two"));
    let attempts = (0..20).map(|_| verify(&identities, &token));
    let accepted = futures_util::future::join_all(attempts).await;
    assert_eq!(accepted.iter().filter(|attempt| attempt.is_ok()).count(), 1);
    // A used token is remembered for as long as it is valid, and forgotten afterwards.
    bed.clock.advance(Duration::from_mins(4));
    bed.server.maintain().await.expect("what has expired is removed");
    assert_eq!(verify(&identities, &token).await.err(), Some("used-identity-token"));
    bed.clock.advance(Duration::from_mins(20));
    bed.server.maintain().await.expect("what has expired is removed");
    assert_eq!(verify(&identities, &token).await.err(), Some(INVALID));
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_that_prove_nothing_are_refused() {
    let bed = Bed::sqlite().await;
    let issuer = Issuer::start().await;
    let identities = identities(&bed, &issuer);
    let now = bed.server.clock().now().seconds();
    let usual = issuer.claims(&bed, "usual");
    for (claim, value) in [
        ("iss", json!("https://evil.example")),
        ("aud", json!("https://other-registry.example")),
        ("aud", Value::Null),
        ("exp", json!(now - 61)),
        ("exp", Value::Null),
        ("exp", json!(now + 30 * 24 * 60 * 60)),
        ("exp", json!("tomorrow")),
        ("nbf", json!(now + 120)),
        ("iat", json!(now + 120)),
        ("jti", Value::Null),
        ("jti", json!("")),
        ("jti", json!("x".repeat(300))),
        ("sub", Value::Null),
    ] {
        let mut claims = usual.clone();
        match &value {
            Value::Null => drop(claims.as_object_mut().expect("an object").remove(claim)),
            value => claims[claim] = value.clone(),
        }
        let token = issuer.sign("first", &claims);
        assert_eq!(verify(&identities, &token).await.err(), Some(INVALID), "{claim} {value}");
    }
    let mut header = Header::new(Algorithm::ES256);
    header.kid = Some("first".to_owned());
    let stranger = encode(&header, &usual, &ecdsa()).expect("a token");
    let part = |json: &Value| BASE64_URL_SAFE_NO_PAD.encode(json.to_string());
    let unsigned = format!("{}.{}.", part(&json!({ "alg": "none", "kid": "first" })), part(&usual));
    // The public key as a shared secret.
    let mut shared = Header::new(Algorithm::HS256);
    shared.kid = Some("first".to_owned());
    let public = Jwk::from_encoding_key(&issuer.facts().keys[0].2, Algorithm::ES256);
    let public = serde_json::to_vec(&public.expect("a key")).expect("JSON");
    let confused = encode(&shared, &usual, &EncodingKey::from_secret(&public)).expect("a token");
    for token in
        [stranger, unsigned, confused, String::new(), "a.b.c".to_owned(), "x".repeat(50_000)]
    {
        assert_eq!(verify(&identities, &token).await.err(), Some(INVALID), "{token}");
    }
    // After all of that the usual one is still new.
    verify(&identities, &issuer.sign("first", &usual)).await.expect("the token is right");
}

#[tokio::test(flavor = "multi_thread")]
async fn all_usual_kinds_of_keys_are_accepted_and_weak_ones_are_not() {
    let bed = Bed::sqlite().await;
    let issuer = Issuer::start().await;
    issuer.facts().keys = vec![
        ("rsa".to_owned(), Algorithm::RS256, rsa(include_bytes!("keys/rsa-2048.pem"))),
        ("weak".to_owned(), Algorithm::RS256, rsa(include_bytes!("keys/rsa-1024.pem"))),
        ("ecdsa".to_owned(), Algorithm::ES256, ecdsa()),
        ("eddsa".to_owned(), Algorithm::EdDSA, eddsa()),
    ];
    let identities = identities(&bed, &issuer);
    for key in ["rsa", "ecdsa", "eddsa"] {
        let token = issuer.sign(key, &issuer.claims(&bed, key));
        verify(&identities, &token).await.expect(key);
    }
    let token = issuer.sign("weak", &issuer.claims(&bed, "weak"));
    assert_eq!(verify(&identities, &token).await.err(), Some(INVALID));
}

#[tokio::test(flavor = "multi_thread")]
async fn new_keys_are_fetched_but_not_for_every_token() {
    let bed = Bed::sqlite().await;
    let issuer = Issuer::start().await;
    let identities = identities(&bed, &issuer);
    verify(&identities, &issuer.sign("first", &issuer.claims(&bed, "1"))).await.expect("right");
    assert_eq!(issuer.facts().fetches, 2);
    issuer.facts().keys.push(("second".to_owned(), Algorithm::ES256, ecdsa()));
    // Right after the last fetch nobody asks again, whatever keys tokens name.
    for jti in ["2", "3", "4"] {
        let token = issuer.sign("second", &issuer.claims(&bed, jti));
        assert_eq!(verify(&identities, &token).await.err(), Some(INVALID));
    }
    assert_eq!(issuer.facts().fetches, 2);
    bed.clock.advance(Duration::from_secs(31));
    verify(&identities, &issuer.sign("second", &issuer.claims(&bed, "5"))).await.expect("right");
    assert_eq!(issuer.facts().fetches, 4);
    // An issuer that is away does not stop what its known keys verify.
    issuer.facts().instead = Some(("metadata", (500, String::new())));
    bed.clock.advance(Duration::from_hours(2));
    for jti in ["6", "7", "8"] {
        verify(&identities, &issuer.sign("first", &issuer.claims(&bed, jti))).await.expect("right");
    }
    // It was asked once, not for each of them.
    assert_eq!(issuer.facts().fetches, 5);
    issuer.facts().instead = None;
    bed.clock.advance(Duration::from_secs(31));
    verify(&identities, &issuer.sign("second", &issuer.claims(&bed, "9"))).await.expect("right");
    assert_eq!(issuer.facts().fetches, 7);
}

/// Attack registry-D12.
#[tokio::test(flavor = "multi_thread")]
async fn documents_of_an_issuer_are_not_trusted_blindly() {
    let bed = Bed::sqlite().await;
    let issuer = Issuer::start().await;
    let own = issuer.facts().issuer.clone();
    let metadata = |changes: Value| {
        let mut metadata = json!({ "issuer": own, "jwks_uri": format!("{own}/keys") });
        for (name, value) in changes.as_object().expect("an object") {
            metadata[name] = value.clone();
        }
        ("metadata", (200, metadata.to_string()))
    };
    for instead in [
        metadata(json!({ "issuer": "https://evil.example" })),
        metadata(json!({ "jwks_uri": "http://169.254.169.254/latest/meta-data" })),
        metadata(json!({ "jwks_uri": "https://10.0.0.1/keys" })),
        metadata(json!({ "jwks_uri": "file:///etc/passwd" })),
        metadata(json!({ "jwks_uri": "http://localhost/keys" })),
        metadata(json!({ "jwks_uri": null })),
        ("metadata", (302, String::new())),
        ("metadata", (200, "<html>".to_owned())),
        ("keys", (200, "[]".to_owned())),
        ("keys", (200, format!("{{\"keys\":[],\"x\":\"{}\"}}", "x".repeat(600_000)))),
    ] {
        issuer.facts().instead = Some(instead.clone());
        let identities = identities(&bed, &issuer);
        let token = issuer.sign("first", &issuer.claims(&bed, "one"));
        let code = verify(&identities, &token).await.err();
        assert_eq!(code, Some("issuer-unavailable"), "{:.200}", instead.1.1);
    }
    let clock = || bed.server.clock().clone();
    for address in [
        "http://issuer.example",
        "https://user:password@issuer.example",
        "https://issuer.example/?a=b",
        "https://10.0.0.1",
        "http://localhost:1",
        "file:///etc",
        "issuer",
    ] {
        let problem = IdentityProvider::new(address, rules(), clock()).expect_err(address);
        assert_eq!(problem.code, "invalid-issuer");
    }
    let strict = FetchRules { allow_loopback_http: false, ..rules() };
    IdentityProvider::new(&own, strict, clock()).expect_err("no TLS");
}

fn company(bed: &Bed, issuer: &Issuer) -> CompanyLogIn {
    let options = CompanyLogInOptions {
        provider: issuer.provider(bed),
        client_id: CLIENT.to_owned(),
        client_secret: Some(Secret::new("hunter2")),
        redirect_url: Url::parse("https://studio.example/auth/callback").expect("a URL"),
        create_users: true,
        mail_domains: vec!["acme.example".to_owned()],
    };
    CompanyLogIn::new(bed.server.clone(), options)
}

/// What the browser has after a log-in was begun: the parameters of the provider's page, and the cookie.
struct Browser {
    state: String,
    cookie: HeaderMap,
}

/// Begins a log-in; the provider will say that it is somebody with these claims.
async fn begin(
    bed: &Bed,
    issuer: &Issuer,
    log_in: &CompanyLogIn,
    return_to: &str,
    claims: Value,
) -> Browser {
    let begun = log_in.begin(return_to).await.expect("a beginning");
    let text = begun.location.to_string();
    assert!(text.starts_with(&format!("http://{}/authorize?tenant=1&", issuer.address)), "{text}");
    let parameter = |name: &str| {
        let found = begun.location.query_pairs().find(|(key, _)| key == name);
        found.expect(name).1.into_owned()
    };
    assert_eq!(parameter("response_type"), "code");
    assert_eq!(parameter("client_id"), CLIENT);
    assert_eq!(parameter("code_challenge_method"), "S256");
    let now = bed.server.clock().now().seconds();
    let mut facts = issuer.facts();
    facts.challenge = parameter("code_challenge");
    facts.claims = json!({
        "iss": facts.issuer,
        "aud": [CLIENT],
        "sub": "subject-1",
        "nonce": parameter("nonce"),
        "iat": now,
        "exp": now + 300,
        "preferred_username": "Ada.Lovelace",
        "email": "ada@acme.example",
        "email_verified": true,
    });
    for (name, value) in claims.as_object().expect("an object") {
        facts.claims[name] = value.clone();
    }
    let set_cookie = begun.set_cookie.to_str().expect("text");
    assert!(set_cookie.contains("; HttpOnly; SameSite=Lax"), "{set_cookie}");
    let cookie = set_cookie.split(';').next().expect("a cookie");
    let mut headers = HeaderMap::new();
    headers.insert(COOKIE, HeaderValue::from_str(cookie).expect("a header"));
    Browser { state: parameter("state"), cookie: headers }
}

async fn finish(log_in: &CompanyLogIn, browser: &Browser) -> Result<FinishedLogIn, Problem> {
    log_in.finish("the-code", &browser.state, &browser.cookie).await
}

async fn a_company_s_users_log_in(bed: Bed) {
    let issuer = Issuer::start().await;
    let log_in = company(&bed, &issuer);
    let browser = begin(&bed, &issuer, &log_in, "/skills?q=a", json!({})).await;
    let first = finish(&log_in, &browser).await.expect("a user");
    assert_eq!(first.user.username.as_str(), "ada-lovelace");
    assert_eq!(first.user.role, Role::User);
    assert_eq!(first.return_to, "/skills?q=a");
    // Each beginning can be finished once.
    assert_eq!(finish(&log_in, &browser).await.expect_err("used").code, "log-in-not-begun");
    // The same person again, under another name at the provider.
    let claims = json!({ "preferred_username": "ada.byron" });
    let browser = begin(&bed, &issuer, &log_in, "//evil.example", claims).await;
    let second = finish(&log_in, &browser).await.expect("the same user");
    assert_eq!(second.user.id, first.user.id);
    assert_eq!(second.return_to, "/");
    // A disabled account stays closed.
    bed.user("root", Role::Admin).await;
    bed.server.accounts().set_disabled(&first.user.id, true).await.expect("a change");
    let browser = begin(&bed, &issuer, &log_in, "/", json!({})).await;
    assert_eq!(finish(&log_in, &browser).await.expect_err("disabled").code, "user-disabled");
    // Nobody knows a password of such a user.
    let verified = bed.server.accounts().verify_password("ada-lovelace", &Secret::new("")).await;
    assert_eq!(verified.expect("an answer"), None);
}

async fn a_log_in_belongs_to_its_browser(bed: Bed) {
    let issuer = Issuer::start().await;
    let log_in = company(&bed, &issuer);
    let code = |result: Result<FinishedLogIn, Problem>| result.expect_err("it is refused").code;
    // Eve has her own log-in finished in Ada's browser.
    let eve = begin(&bed, &issuer, &log_in, "/", json!({})).await;
    let ada = begin(&bed, &issuer, &log_in, "/", json!({})).await;
    let mixed = Browser { state: eve.state.clone(), cookie: ada.cookie.clone() };
    assert_eq!(code(finish(&log_in, &mixed).await), "log-in-not-begun");
    let without = Browser { state: ada.state.clone(), cookie: HeaderMap::new() };
    assert_eq!(code(finish(&log_in, &without).await), "log-in-not-begun");
    let invented = Browser { state: "x".to_owned(), cookie: ada.cookie.clone() };
    assert_eq!(code(finish(&log_in, &invented).await), "log-in-not-begun");
    // A beginning expires.
    let late = begin(&bed, &issuer, &log_in, "/", json!({})).await;
    bed.clock.advance(Duration::from_mins(11));
    assert_eq!(code(finish(&log_in, &late).await), "log-in-not-begun");
    // The token has to be for this log-in, this client and this company.
    for (claims, expected) in [
        (json!({ "nonce": "another" }), INVALID),
        (json!({ "aud": "another" }), INVALID),
        (json!({ "azp": "another" }), INVALID),
        (json!({ "iss": "https://evil.example" }), INVALID),
        (json!({ "email": "ada@evil.example" }), "mail-domain-refused"),
        (json!({ "email": "ada@acme.example@evil.example" }), "mail-domain-refused"),
        (json!({ "email_verified": false }), "mail-domain-refused"),
    ] {
        let browser = begin(&bed, &issuer, &log_in, "/", claims.clone()).await;
        assert_eq!(code(finish(&log_in, &browser).await), expected, "{claims}");
    }
    // A code that somebody else has got does not fit the verifier.
    let browser = begin(&bed, &issuer, &log_in, "/", json!({})).await;
    issuer.facts().challenge.push('x');
    assert_eq!(code(finish(&log_in, &browser).await), "issuer-unavailable");
    assert!(bed.server.accounts().is_empty().await.expect("an answer"));
}

async fn users_with_passwords_are_not_taken_over(bed: Bed) {
    let issuer = Issuer::start().await;
    let ada = bed.user("ada-lovelace", Role::Admin).await;
    let log_in = company(&bed, &issuer);
    let browser = begin(&bed, &issuer, &log_in, "/", json!({})).await;
    let other = finish(&log_in, &browser).await.expect("a user").user;
    assert_eq!(other.username.as_str(), "ada-lovelace-2");
    assert_ne!(other.id, ada.id);
    assert_eq!(other.role, Role::User);
    let options = CompanyLogInOptions {
        provider: issuer.provider(&bed),
        client_id: CLIENT.to_owned(),
        client_secret: Some(Secret::new("hunter2")),
        redirect_url: Url::parse("https://studio.example/auth/callback").expect("a URL"),
        create_users: false,
        mail_domains: Vec::new(),
    };
    let closed = CompanyLogIn::new(bed.server.clone(), options);
    let browser = begin(&bed, &issuer, &closed, "/", json!({ "sub": "subject-2" })).await;
    assert_eq!(finish(&closed, &browser).await.expect_err("no account").code, "no-account");
}
