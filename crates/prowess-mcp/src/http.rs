//! Any number of clients, over streamable HTTP at `/mcp`.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::header::HeaderValue;
use http::request::Parts;
use http::{Method, Request, Response, StatusCode, header};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use prowess_core::{Problem, ProblemKind};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use serde::de::IgnoredAny;
use serde_json::json;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::handler::Handler;
use crate::lines;
use crate::server::SkillServer;

/// The only path that is served.
const PATH: &str = "/mcp";
/// The most bytes of a request.
const MAX_BODY: usize = 16 << 20;
/// The most bytes of a larger request that are read before it is refused.
const MAX_SKIPPED: usize = 64 << 20;
/// The most connections at a time.
const MAX_CONNECTIONS: usize = 256;
/// How long a client may take for the head of a request.
const HEAD_TIME: Duration = Duration::from_secs(10);
/// The headers in which a request without a session repeats its method and the name that it is about.
const METHOD_HEADER: &str = "mcp-method";
const NAME_HEADER: &str = "mcp-name";
/// How many random bytes a token has.
const TOKEN_BYTES: usize = 32;

type Service = StreamableHttpService<Handler, LocalSessionManager>;
type Answer = Response<BoxBody<Bytes, Infallible>>;

/// How a server is reached.
#[derive(Debug)]
pub struct HttpSettings {
    /// Where it listens; already bound, so that the caller knows the port.
    pub listener: std::net::TcpListener,
    /// The bearer token that clients must send; `None` accepts everyone.
    pub token: Option<String>,
    /// Further names by which clients may call the server, such as `skills.example.com`.
    pub hosts: Vec<String>,
}

/// A token that nobody can guess.
pub fn bearer_token() -> Result<String, Problem> {
    use std::fmt::Write as _;
    let mut bytes = [0; TOKEN_BYTES];
    getrandom::fill(&mut bytes).map_err(|error| {
        let message = format!("no random numbers are available: {error}");
        Problem::new("no-random-numbers", ProblemKind::Failed, message)
    })?;
    let mut token = String::new();
    for byte in bytes {
        let _ = write!(token, "{byte:02x}");
    }
    Ok(token)
}

/// Serves clients until `stop` is cancelled. Everything that still runs then is ended.
pub async fn serve(
    server: SkillServer,
    settings: HttpSettings,
    stop: CancellationToken,
) -> Result<(), Problem> {
    let HttpSettings { listener, token, hosts } = settings;
    let failed = |error: std::io::Error| {
        let message = format!("cannot listen: {}", prowess_core::system_reason(&error));
        Problem::new("cannot-listen", ProblemKind::Failed, message)
    };
    let address = listener.local_addr().map_err(failed)?;
    listener.set_nonblocking(true).map_err(failed)?;
    let listener = TcpListener::from_std(listener).map_err(failed)?;
    let _watcher = crate::watch::start(&server);
    let service = service(&server, address, &hosts, &stop);
    let token: Option<Arc<str>> = token.map(Into::into);
    let room = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    loop {
        let Ok(permit) = Arc::clone(&room).acquire_owned().await else { break };
        let stream = tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => stream,
                // A connection that was given up before it was accepted, or no descriptors for a moment.
                Err(_) => {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                    continue;
                }
            },
            () = stop.cancelled() => break,
        };
        let (service, token, stop) = (service.clone(), token.clone(), stop.clone());
        tokio::spawn(async move {
            let answer = service_fn(move |request| {
                let (service, token) = (service.clone(), token.clone());
                async move { Ok::<_, Infallible>(answer(&service, token.as_deref(), request).await) }
            });
            let connection = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(HEAD_TIME)
                .serve_connection(TokioIo::new(stream), answer);
            tokio::select! {
                _ = connection => {}
                () = stop.cancelled() => {}
            }
            drop(permit);
        });
    }
    server.shutdown().await;
    Ok(())
}

fn service(
    server: &SkillServer,
    address: SocketAddr,
    hosts: &[String],
    stop: &CancellationToken,
) -> Service {
    let ip = address.ip();
    let own = if ip.is_unspecified() { None } else { Some(ip.to_string()) };
    let names = ["localhost", "127.0.0.1", "::1"].map(str::to_owned);
    let allowed: Vec<String> = names.into_iter().chain(own).chain(hosts.iter().cloned()).collect();
    // A page of another site carries its own origin, whatever name it has made of this address.
    let origins = allowed.iter().map(|host| {
        let host = if host.contains(':') { format!("[{host}]") } else { host.clone() };
        format!("http://{host}:*")
    });
    let config = StreamableHttpServerConfig::default()
        .with_allowed_hosts(allowed.clone())
        .with_allowed_origins(origins)
        .enforce_origin_validation()
        .with_max_request_body_bytes(MAX_BODY)
        .with_cancellation_token(stop.clone());
    let server = server.clone();
    let number = AtomicU64::new(0);
    let make = move || {
        let number = number.fetch_add(1, Ordering::Relaxed);
        Ok(Handler::new(server.clone(), "http", &format!("http-{number}")))
    };
    StreamableHttpService::new(make, Arc::new(LocalSessionManager::default()), config)
}

async fn answer(service: &Service, token: Option<&str>, request: Request<Incoming>) -> Answer {
    if request.uri().path() != PATH {
        return plain(StatusCode::NOT_FOUND, "the server is at /mcp\n");
    }
    if let Some(token) = token
        && !is_authorized(&request, token)
    {
        let mut answer = plain(StatusCode::UNAUTHORIZED, "a bearer token is required\n");
        let challenge = HeaderValue::from_static("Bearer");
        answer.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
        return answer;
    }
    if request.method() == Method::POST {
        return answer_message(service, request).await;
    }
    service.handle(request).await
}

/// Answers a message. The SDK says that one which it can't read has the wrong media type, and says so to no id.
async fn answer_message(service: &Service, request: Request<Incoming>) -> Answer {
    let (mut head, mut body) = request.into_parts();
    let Ok(read) = Limited::new(&mut body, MAX_BODY).collect().await else {
        skip(body).await;
        return plain(StatusCode::PAYLOAD_TOO_LARGE, "the request is too large, or incomplete\n");
    };
    let mut body = read.to_bytes();
    if let Some(replaced) = lines::replacement(&body) {
        body = replaced.into();
        head.headers.remove(header::CONTENT_LENGTH);
        // These headers repeat what the body says.
        head.headers.remove(NAME_HEADER);
        if let Some(method) = head.headers.get_mut(METHOD_HEADER) {
            *method = HeaderValue::from_static(lines::MALFORMED);
        }
    }
    let is_json = is_json(&head);
    let answer = service.handle(Request::from_parts(head, Full::new(body.clone()))).await;
    if answer.status() != StatusCode::UNSUPPORTED_MEDIA_TYPE || !is_json {
        return answer;
    }
    unreadable(&body)
}

/// Reads on for a while: many clients look for the answer only after they have sent everything.
async fn skip(mut body: Incoming) {
    let mut skipped = 0;
    let rest = async {
        while let Some(Ok(frame)) = body.frame().await {
            skipped += frame.data_ref().map_or(0, Bytes::len);
            if skipped > MAX_SKIPPED {
                return;
            }
        }
    };
    let _ = tokio::time::timeout(HEAD_TIME, rest).await;
}

/// Whether a request says that it is JSON.
fn is_json(head: &Parts) -> bool {
    let media_type = head.headers.get(header::CONTENT_TYPE);
    let media_type = media_type.and_then(|value| value.to_str().ok()).unwrap_or_default();
    media_type.split(';').next().is_some_and(|kind| kind.trim() == "application/json")
}

/// The answer to what is no message: an error without an id, as the protocol has it.
fn unreadable(body: &[u8]) -> Answer {
    let (code, message) = match serde_json::from_slice::<IgnoredAny>(body) {
        Ok(_) => (-32600, "the request is not a message of JSON-RPC 2.0"),
        Err(_) => (-32700, "the request is not valid JSON"),
    };
    let error = json!({ "jsonrpc": "2.0", "error": { "code": code, "message": message } });
    let mut answer = Response::new(Full::new(Bytes::from(error.to_string())).boxed());
    *answer.status_mut() = StatusCode::BAD_REQUEST;
    let json = HeaderValue::from_static("application/json");
    answer.headers_mut().insert(header::CONTENT_TYPE, json);
    answer
}

fn is_authorized(request: &Request<Incoming>, token: &str) -> bool {
    let given = request.headers().get(header::AUTHORIZATION);
    let given = given.and_then(|value| value.to_str().ok()).and_then(|value| {
        let (scheme, token) = value.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
    });
    given.is_some_and(|given| is_equal(given.as_bytes(), token.as_bytes()))
}

/// Compares without telling by its time how much is equal.
fn is_equal(one: &[u8], other: &[u8]) -> bool {
    let differences = one.iter().zip(other).fold(0, |sum, (one, other)| sum | (one ^ other));
    one.len() == other.len() && differences == 0
}

fn plain(status: StatusCode, text: &'static str) -> Answer {
    let mut answer = Response::new(Full::new(Bytes::from_static(text.as_bytes())).boxed());
    *answer.status_mut() = status;
    answer
}
