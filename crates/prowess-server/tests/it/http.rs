use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, FromRef, Path, State};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use http::header::CACHE_CONTROL;
use prowess_http::{AddressFilter, Authorities, ClientOptions, ProxySetting};
use prowess_server::accounts::Role;
use prowess_server::health::{get_health, get_ready};
use prowess_server::http::{
    LayerOptions, RequestId, ServeOptions, ServeReport, Shutdown, path_not_found, serve,
    with_layers,
};
use prowess_server::identity::{Administrator, ClientAddress, CurrentUser, FormUser, OptionalUser};
use prowess_server::limits::Limit;
use prowess_server::problem::HandlerResult;
use prowess_server::tokens::NewApiToken;
use prowess_server::{Secret, Server, ServerOptions};
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use crate::support::{Bed, PASSWORD, cluster};

#[derive(Clone)]
struct AppState {
    server: Server,
    slow_may_end: Arc<Notify>,
    slow_has_begun: Arc<Notify>,
}

impl FromRef<AppState> for Server {
    fn from_ref(state: &AppState) -> Server {
        state.server.clone()
    }
}

/// A running server with some routes.
struct Running {
    address: SocketAddr,
    client: reqwest::Client,
    shutdown: Shutdown,
    state: AppState,
    task: JoinHandle<std::io::Result<ServeReport>>,
}

async fn who_am_i(CurrentUser(identity): CurrentUser) -> String {
    identity.user.username.to_string()
}

async fn who_may_it_be(OptionalUser(identity): OptionalUser) -> String {
    identity.map_or("nobody".to_owned(), |identity| identity.user.username.to_string())
}

async fn administer(Administrator(identity): Administrator) -> String {
    identity.user.username.to_string()
}

async fn publish(
    Path(name): Path<String>,
    CurrentUser(identity): CurrentUser,
) -> HandlerResult<&'static str> {
    identity.require_scope("publish", &name)?;
    Ok("published")
}

async fn submit(FormUser { session, .. }: FormUser, body: String) -> HandlerResult<&'static str> {
    session.check_csrf(&body)?;
    Ok("done")
}

async fn address(ClientAddress(address): ClientAddress) -> String {
    address.to_string()
}

async fn limited(
    State(state): State<AppState>,
    ClientAddress(address): ClientAddress,
) -> HandlerResult<Response> {
    let limit = Limit::per_minute("test", 2);
    let left = state.server.limits().check(limit, &address.to_string()).await?;
    let mut response = "here you are".into_response();
    left.write_headers(response.headers_mut());
    Ok(response)
}

async fn shared() -> impl IntoResponse {
    ([(CACHE_CONTROL, "public, max-age=60")], "the same for all")
}

async fn slow(State(state): State<AppState>) -> &'static str {
    state.slow_has_begun.notify_one();
    state.slow_may_end.notified().await;
    "finished"
}

async fn buggy() -> &'static str {
    panic!("the secret is hunter2");
}

async fn length(body: Bytes) -> String {
    body.len().to_string()
}

async fn typed(Json(body): Json<Vec<u8>>) -> String {
    body.len().to_string()
}

async fn metrics(State(state): State<AppState>) -> String {
    state.server.metrics().to_text()
}

impl Running {
    async fn start(server: Server) -> Running {
        let options = ServeOptions {
            head_timeout: Duration::from_millis(400),
            grace: Duration::from_secs(20),
            ..ServeOptions::default()
        };
        Running::with(server, options).await
    }

    async fn with(server: Server, options: ServeOptions) -> Running {
        let state = AppState {
            server: server.clone(),
            slow_may_end: Arc::default(),
            slow_has_begun: Arc::default(),
        };
        let router = Router::new()
            .route("/me", get(who_am_i).post(who_am_i))
            .route("/maybe", get(who_may_it_be))
            .route("/admin", get(administer))
            .route("/publish/{*name}", post(publish))
            .route("/form", post(submit))
            .route("/address", get(address))
            .route("/limited", get(limited))
            .route("/shared", get(shared))
            .route("/slow", get(slow))
            .route("/buggy", get(buggy))
            .route("/length", post(length))
            .route("/upload", post(length).layer(DefaultBodyLimit::max(5_000_000)))
            .route("/typed", post(typed))
            .route("/id", get(async |RequestId(id): RequestId| id))
            .route("/metrics", get(metrics))
            .route("/health", get(get_health))
            .route("/ready", get(get_ready))
            .route("/setup/{token}", get(async |Path(token): Path<String>| token.len().to_string()))
            .fallback(path_not_found)
            .with_state(state.clone());
        let layers = LayerOptions { body_limit: 1000, body_timeout: Duration::from_millis(400) };
        let router = with_layers(router, &server, layers);
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let shutdown = Shutdown::new();
        let requested = shutdown.clone();
        let task =
            tokio::spawn(async move { serve(listener, router, &server, options, requested).await });
        let client = prowess_http::client(ClientOptions {
            authorities: Authorities::None,
            proxy: ProxySetting::None,
            addresses: AddressFilter::All,
            connect_timeout: Duration::from_secs(10),
        })
        .expect("a client");
        Running { address, client, shutdown, state, task }
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    fn get(&self, path: &str) -> reqwest::RequestBuilder {
        self.client.get(self.url(path))
    }

    fn post(&self, path: &str) -> reqwest::RequestBuilder {
        self.client.post(self.url(path))
    }

    async fn stop(self) -> ServeReport {
        self.shutdown.request();
        self.task.await.expect("a task").expect("it ends")
    }
}

/// The status and the text of a response.
async fn answer(request: reqwest::RequestBuilder) -> (u16, String) {
    let response = request.send().await.expect("a response");
    (response.status().as_u16(), response.text().await.expect("a body"))
}

/// The status and the code of a problem.
async fn problem(request: reqwest::RequestBuilder) -> (u16, String) {
    let response = request.send().await.expect("a response");
    let status = response.status().as_u16();
    let kind = response.headers()["content-type"].to_str().expect("text").to_owned();
    let text = response.text().await.expect("a body");
    assert_eq!(kind, "application/problem+json", "{text}");
    let document: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(document["status"], status);
    (status, document["code"].as_str().expect("a code").to_owned())
}

async fn access_token(bed: &Bed, name: &str, role: Role) -> String {
    let user = bed.user(name, role).await;
    let pair = bed.server.sessions().start(&user).await.expect("a session");
    pair.access_token.expose().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn identities_are_proven_by_tokens() {
    let bed = Bed::sqlite().await;
    let running = Running::start(bed.server.clone()).await;
    let ada = access_token(&bed, "ada", Role::User).await;
    let root = access_token(&bed, "root", Role::Admin).await;
    assert_eq!(answer(running.get("/me").bearer_auth(&ada)).await, (200, "ada".to_owned()));
    assert_eq!(answer(running.get("/maybe").bearer_auth(&ada)).await, (200, "ada".to_owned()));
    assert_eq!(answer(running.get("/maybe")).await, (200, "nobody".to_owned()));
    assert_eq!(answer(running.get("/admin").bearer_auth(&root)).await, (200, "root".to_owned()));
    let refused = (403, "administrator-required".to_owned());
    assert_eq!(problem(running.get("/admin").bearer_auth(&ada)).await, refused);
    let unauthorized = (401, "unauthorized".to_owned());
    for path in ["/me", "/admin"] {
        assert_eq!(problem(running.get(path)).await, unauthorized);
    }
    // A token that is not valid is refused also where none is needed: its sender relies on it.
    for path in ["/me", "/maybe", "/admin"] {
        for header in ["Bearer x", "Bearer ", "Basic YTpi", "Bearer prw_x", ""] {
            let request = running.get(path).header("authorization", header);
            assert_eq!(problem(request).await, unauthorized, "{path} {header}");
        }
    }
    let response = running.get("/me").send().await.expect("a response");
    assert_eq!(response.headers()["www-authenticate"], "Bearer");
    running.stop().await;
}

/// Attack registry-D1.
#[tokio::test(flavor = "multi_thread")]
async fn api_tokens_do_what_their_scopes_say() {
    let bed = Bed::sqlite().await;
    let running = Running::start(bed.server.clone()).await;
    let ada = bed.user("ada", Role::User).await;
    let new = NewApiToken {
        user_id: ada.id.clone(),
        name: "ci".to_owned(),
        scopes: vec!["publish:ada/*".parse().expect("a scope")],
        lifetime: Some(Duration::from_hours(1)),
    };
    let (token, secret) = bed.server.tokens().create(new).await.expect("a token");
    let publish =
        |name: &str| running.post(&format!("/publish/{name}")).bearer_auth(secret.expose());
    assert_eq!(answer(publish("ada/weather")).await, (200, "published".to_owned()));
    assert_eq!(problem(publish("grace/weather")).await, (403, "out-of-scope".to_owned()));
    bed.server.tokens().revoke(&ada.id, &token.id).await.expect("it is revoked");
    assert_eq!(problem(publish("ada/weather")).await, (401, "unauthorized".to_owned()));
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn cookies_prove_an_identity_but_changes_need_the_session_token() {
    let bed = Bed::sqlite().await;
    let running = Running::start(bed.server.clone()).await;
    let ada = bed.user("ada", Role::User).await;
    let new = bed.server.web_sessions().start(&ada).await.expect("a session");
    let text = new.set_cookie.to_str().expect("text");
    let cookie = text.split(';').next().expect("a cookie").to_owned();
    let with_cookie = |request: reqwest::RequestBuilder| request.header("cookie", &cookie);
    assert_eq!(answer(with_cookie(running.get("/me"))).await, (200, "ada".to_owned()));
    let forged = (403, "forged-request".to_owned());
    assert_eq!(problem(with_cookie(running.post("/me"))).await, forged);
    let csrf = new.session.csrf();
    let request = with_cookie(running.post("/me")).header("x-csrf-token", csrf);
    assert_eq!(answer(request).await, (200, "ada".to_owned()));
    let form = |body: &str| with_cookie(running.post("/form")).body(body.to_owned());
    assert_eq!(answer(form(csrf)).await, (200, "done".to_owned()));
    assert_eq!(problem(form("x")).await, forged);
    assert_eq!(problem(running.post("/form")).await, (401, "unauthorized".to_owned()));
    running.stop().await;
}

/// Attacks registry-D5 and registry-D6.
#[tokio::test(flavor = "multi_thread")]
async fn limits_are_per_address_and_forwarded_addresses_need_trust() {
    let bed = Bed::sqlite().await;
    let running = Running::start(bed.server.clone()).await;
    let from = |address: &str| running.get("/limited").header("x-forwarded-for", address);
    let first = from("198.51.100.1").send().await.expect("a response");
    assert_eq!(first.headers()["ratelimit-remaining"], "1");
    assert_eq!(from("198.51.100.2").send().await.expect("a response").status(), 200);
    // Nobody trusts the header, so all of them come from the same address.
    let third = from("198.51.100.3").send().await.expect("a response");
    assert_eq!(third.status(), 429);
    assert_eq!(third.headers()["retry-after"], "30");
    let seen = answer(running.get("/address").header("x-forwarded-for", "198.51.100.1")).await;
    assert_eq!(seen, (200, "127.0.0.1".to_owned()));
    running.stop().await;

    let trusting = ServerOptions {
        trusted_proxies: vec!["127.0.0.0/8".parse().expect("a network")],
        ..ServerOptions::new("prowess-test", bed.database().clone())
    };
    let running = Running::start(Server::start(trusting).await.expect("a server")).await;
    let seen = |forwarded: &'static str| {
        answer(running.get("/address").header("x-forwarded-for", forwarded))
    };
    assert_eq!(seen("198.51.100.1").await.1, "198.51.100.1");
    assert_eq!(seen("10.9.9.9, 198.51.100.1").await.1, "198.51.100.1");
    // A fresh address is not refused because of others.
    for number in 1..20 {
        let request = running.get("/limited");
        let request = request.header("x-forwarded-for", format!("198.51.100.{number}"));
        assert_eq!(answer(request).await.0, 200);
    }
    running.stop().await;
}

/// Attack registry-D17.
#[tokio::test(flavor = "multi_thread")]
async fn bodies_have_limits_of_size_and_time() {
    let bed = Bed::sqlite().await;
    let running = Running::start(bed.server.clone()).await;
    let body = |bytes: usize| vec![b'x'; bytes];
    assert_eq!(answer(running.post("/length").body(body(1000))).await, (200, "1000".to_owned()));
    assert_eq!(answer(running.post("/length").body(body(1001))).await.0, 413);
    // A route can allow more.
    let uploaded = answer(running.post("/upload").body(body(100_000))).await;
    assert_eq!(uploaded, (200, "100000".to_owned()));
    // Chunks, so that no length is declared.
    let mut stream = TcpStream::connect(running.address).expect("a connection");
    let head = "POST /length HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n";
    stream.write_all(head.as_bytes()).expect("the head is sent");
    for _ in 0..20 {
        // The server may close the connection in between.
        let _ = stream.write_all(format!("64\r\n{}\r\n", "x".repeat(100)).as_bytes());
    }
    assert!(read_all(&mut stream).starts_with("HTTP/1.1 413 "));
    // A body that never ends, without a byte.
    let mut stream = TcpStream::connect(running.address).expect("a connection");
    let head = "POST /length HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\nxx";
    stream.write_all(head.as_bytes()).expect("the head is sent");
    let started = Instant::now();
    let answer = read_all(&mut stream);
    assert!(answer.starts_with("HTTP/1.1 4"), "{answer}");
    assert!(started.elapsed() < Duration::from_secs(10));
    running.stop().await;
}

fn read_all(stream: &mut TcpStream) -> String {
    stream.set_read_timeout(Some(Duration::from_secs(15))).expect("a timeout");
    let mut text = Vec::new();
    // An error is the end too: the server closes what it does not read to the end.
    let _ = stream.read_to_end(&mut text);
    String::from_utf8_lossy(&text).into_owned()
}

/// Attack registry-D17.
#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_sends_its_head_slowly_is_disconnected() {
    let bed = Bed::sqlite().await;
    let running = Running::start(bed.server.clone()).await;
    for head in ["", "GET /he", "GET /health HTTP/1.1\r\nhost: x\r\nx-slow: "] {
        let mut stream = TcpStream::connect(running.address).expect("a connection");
        stream.write_all(head.as_bytes()).expect("it is sent");
        stream.set_read_timeout(Some(Duration::from_secs(15))).expect("a timeout");
        let mut text = Vec::new();
        stream.read_to_end(&mut text).expect("the server closes the connection");
    }
    // Others are served meanwhile and afterwards.
    assert_eq!(answer(running.get("/health")).await.0, 200);
    // A head without an end.
    let mut stream = TcpStream::connect(running.address).expect("a connection");
    stream.write_all(b"GET /health HTTP/1.1\r\n").expect("it is sent");
    let mut sent = 0_usize;
    while stream.write_all(format!("x-{sent}: {}\r\n", "y".repeat(1000)).as_bytes()).is_ok() {
        sent += 1000;
        assert!(sent < 50_000_000, "the server reads heads without a bound");
    }
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_are_bounded_in_number() {
    let bed = Bed::sqlite().await;
    let options = ServeOptions {
        head_timeout: Duration::from_secs(20),
        most_connections: 2,
        grace: Duration::from_secs(1),
    };
    let running = Running::with(bed.server.clone(), options).await;
    let first = TcpStream::connect(running.address).expect("a connection");
    let _second = TcpStream::connect(running.address).expect("a connection");
    let mut third = TcpStream::connect(running.address).expect("the system accepts it");
    third.write_all(b"GET /health HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").expect("sent");
    third.set_read_timeout(Some(Duration::from_millis(300))).expect("a timeout");
    let error = third.read(&mut [0; 1]).expect_err("nobody answers");
    assert!(matches!(error.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut));
    drop(first);
    assert!(read_all(&mut third).starts_with("HTTP/1.1 200 "));
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn running_requests_end_before_the_server_does() {
    let bed = Bed::sqlite().await;
    let running = Running::start(bed.server.clone()).await;
    let slow = tokio::spawn(answer(running.get("/slow")));
    running.state.slow_has_begun.notified().await;
    assert_eq!(answer(running.get("/ready")).await.0, 200);
    running.shutdown.request();
    let refused = async {
        while TcpStream::connect(running.address).is_ok() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), refused).await.expect("nobody listens");
    assert!(!bed.server.health().readiness().await.is_ready);
    running.state.slow_may_end.notify_one();
    assert_eq!(slow.await.expect("a task"), (200, "finished".to_owned()));
    assert_eq!(running.stop().await, ServeReport { cut_off: 0 });
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_that_do_not_end_are_cut_off() {
    let bed = Bed::sqlite().await;
    let options = ServeOptions { grace: Duration::from_millis(100), ..ServeOptions::default() };
    let running = Running::with(bed.server.clone(), options).await;
    let slow = tokio::spawn(running.get("/slow").send());
    running.state.slow_has_begun.notified().await;
    assert_eq!(running.stop().await, ServeReport { cut_off: 1 });
    slow.await.expect("a task").expect_err("it is cut off");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_wrong_with_a_request_is_a_problem_document() {
    let bed = Bed::sqlite().await;
    let running = Running::start(bed.server.clone()).await;
    let no_such_page = (404, "no-such-page".to_owned());
    assert_eq!(problem(running.get("/nothing/here")).await, no_such_page);
    let method = (405, "method-not-allowed".to_owned());
    assert_eq!(problem(running.post("/address")).await, method);
    // The panic's message stays in the server.
    let response = running.get("/buggy").send().await.expect("a response");
    assert_eq!(response.status(), 500);
    let text = response.text().await.expect("a body");
    assert!(text.contains("\"code\":\"internal\"") && !text.contains("hunter2"), "{text}");
    assert_eq!(answer(running.get("/health")).await.0, 200);
    running.stop().await;
}

/// Attack registry-D18.
#[tokio::test(flavor = "multi_thread")]
async fn responses_are_safe_in_browsers_and_caches() {
    let bed = Bed::sqlite().await;
    let running = Running::start(bed.server.clone()).await;
    let token = access_token(&bed, "ada", Role::User).await;
    let header = async |request: reqwest::RequestBuilder, name: &str| {
        let response = request.send().await.expect("a response");
        response.headers().get(name).map(|value| value.to_str().expect("text").to_owned())
    };
    let policy = header(running.get("/health"), "content-security-policy").await;
    assert_eq!(policy.as_deref(), Some("default-src 'none'; frame-ancestors 'none'; sandbox"));
    for (name, value) in [
        ("x-content-type-options", "nosniff"),
        ("x-frame-options", "DENY"),
        ("referrer-policy", "strict-origin-when-cross-origin"),
        ("cross-origin-resource-policy", "same-origin"),
    ] {
        // Also on what no handler has written.
        for path in ["/health", "/nothing", "/buggy"] {
            assert_eq!(header(running.get(path), name).await.as_deref(), Some(value), "{path}");
        }
    }
    assert_eq!(header(running.get("/health"), "strict-transport-security").await, None);
    let cache = async |request| header(request, "cache-control").await.expect("it is set");
    assert_eq!(cache(running.get("/shared")).await, "public, max-age=60");
    assert_eq!(cache(running.get("/shared").bearer_auth(&token)).await, "private, no-store");
    let with_cookie = running.get("/shared").header("cookie", "prowess-test=x");
    assert_eq!(cache(with_cookie).await, "private, no-store");
    assert_eq!(cache(running.get("/me").bearer_auth(&token)).await, "no-store");
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_have_identifiers() {
    let bed = Bed::sqlite().await;
    let running = Running::start(bed.server.clone()).await;
    let response = running.get("/id").send().await.expect("a response");
    let header = response.headers()["x-request-id"].to_str().expect("text").to_owned();
    assert_eq!(response.text().await.expect("a body"), header);
    assert!(header.starts_with("r_"), "{header}");
    // Strangers do not choose it.
    let given = running.get("/id").header("x-request-id", "mine");
    assert_ne!(answer(given).await.1, "mine");
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn metrics_count_routes_and_not_addresses() {
    let bed = Bed::sqlite().await;
    let running = Running::start(bed.server.clone()).await;
    for path in ["/setup/one", "/setup/two", "/nothing/one", "/nothing/two"] {
        answer(running.get(path)).await;
    }
    let (_, text) = answer(running.get("/metrics")).await;
    for line in [
        "prowess_http_requests_total{method=\"GET\",route=\"/setup/{token}\",status=\"200\"} 2",
        "prowess_http_requests_total{method=\"GET\",route=\"none\",status=\"404\"} 2",
        "prowess_http_requests_in_flight 1",
    ] {
        assert!(text.lines().any(|found| found == line), "{line}\n{text}");
    }
    assert!(!text.contains("/one"), "{text}");
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn readiness_depends_on_what_the_server_needs() {
    let bed = Bed::sqlite().await;
    bed.server.health().add_check("storage", async || Err("the bucket is missing".to_owned()));
    let running = Running::start(bed.server.clone()).await;
    let (status, body) = answer(running.get("/ready")).await;
    assert_eq!(status, 503);
    let body: Value = serde_json::from_str(&body).expect("JSON");
    let checks = json!({ "database": "ok", "storage": "the bucket is missing" });
    assert_eq!(body, json!({ "status": "not ready", "checks": checks }));
    assert_eq!(answer(running.get("/health")).await.0, 200);
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn readiness_notices_a_lost_database() {
    let Some(cluster) = cluster() else { return };
    let bed = Bed::postgres(&cluster, "readiness").await;
    let running = Running::start(bed.server.clone()).await;
    assert_eq!(answer(running.get("/ready")).await.0, 200);
    cluster.lock().expect("a lock").crash();
    assert_eq!(answer(running.get("/ready")).await.0, 503);
    assert_eq!(answer(running.get("/health")).await.0, 200);
    cluster.lock().expect("a lock").restart();
    assert_eq!(answer(running.get("/ready")).await.0, 200);
    running.stop().await;
}

/// Attack registry-D22: secrets of each kind pass through everything that logs, at the most detailed level.
#[tokio::test(flavor = "multi_thread")]
async fn secrets_do_not_reach_the_log() {
    #[derive(Clone, Default)]
    struct Log(Arc<Mutex<Vec<u8>>>);
    impl std::io::Write for Log {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().expect("a lock").extend_from_slice(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let log = Log::default();
    let writer = log.clone();
    // Tests run in processes of their own, and the server logs on other threads.
    tracing_subscriber::fmt()
        .with_max_level(tracing::level_filters::LevelFilter::TRACE)
        .with_writer(move || writer.clone())
        .init();
    let bed = Bed::sqlite().await;
    let running = Running::start(bed.server.clone()).await;
    let ada = bed.user("ada", Role::User).await;
    let pair = bed.server.sessions().start(&ada).await.expect("a session");
    let new = NewApiToken {
        user_id: ada.id.clone(),
        name: "ci".to_owned(),
        scopes: vec!["publish".parse().expect("a scope")],
        lifetime: None,
    };
    let (_, token) = bed.server.tokens().create(new).await.expect("a token");
    let cookie = bed.server.web_sessions().start(&ada).await.expect("a session");
    let set_cookie = cookie.set_cookie.to_str().expect("text").to_owned();
    let cookie_value = set_cookie.split(';').next().expect("a cookie").to_owned();
    let link = "prwl_canary-of-a-link";
    for path in ["/me", "/admin", "/publish/x", "/buggy", "/nothing", "/form"] {
        answer(running.get(path).bearer_auth(pair.access_token.expose())).await;
        answer(running.post(path).bearer_auth(token.expose())).await;
        answer(running.post(path).header("cookie", &cookie_value)).await;
    }
    answer(running.get(&format!("/setup/{link}"))).await;
    answer(running.get(&format!("/nothing/{link}?token={link}"))).await;
    answer(
        running
            .post("/typed")
            .header("content-type", "application/json")
            .body("{\"canary-body\":1}"),
    )
    .await;
    let log_in = |password: &str| prowess_server::log_in::LogIn {
        username: "ada".to_owned(),
        password: Secret::new(password),
        code: Some(Secret::new("canary-code")),
        address: [127, 0, 0, 1].into(),
    };
    bed.server.log_ins().authenticate(log_in("canary-password")).await.expect_err("wrong");
    bed.server.log_ins().authenticate(log_in(PASSWORD)).await.expect("right");
    let refreshed = bed.server.sessions().refresh(pair.refresh_token.expose()).await;
    let refreshed = refreshed.expect("a pair");
    bed.server.sessions().refresh(pair.refresh_token.expose()).await.expect_err("twice");
    let metrics = answer(running.get("/metrics")).await.1;
    running.stop().await;
    let log = String::from_utf8(log.0.lock().expect("a lock").clone()).expect("text");
    assert!(log.contains("request answered"), "{log}");
    assert!(log.contains("a log-in failed"), "{log}");
    let secrets = [
        pair.access_token.expose(),
        pair.refresh_token.expose(),
        refreshed.access_token.expose(),
        token.expose(),
        cookie_value.split_once('=').expect("a value").1,
        cookie.session.csrf(),
        link,
        "canary",
        PASSWORD,
    ];
    for secret in secrets {
        assert!(!log.contains(secret), "{secret} is in the log:\n{log}");
        assert!(!metrics.contains(secret), "{secret} is in the metrics");
    }
}
