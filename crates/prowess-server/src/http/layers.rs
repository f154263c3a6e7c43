//! What surrounds every handler.

use std::any::Any;
use std::net::{IpAddr, SocketAddr};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::{ConnectInfo, DefaultBodyLimit, FromRequestParts, MatchedPath, Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use http::header::{AUTHORIZATION, CACHE_CONTROL, HeaderName, HeaderValue};
use http::request::Parts;
use http::{HeaderMap, StatusCode};
use prowess_core::{Problem, ProblemKind};
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::timeout::RequestBodyTimeoutLayer;
use tracing::Instrument as _;

use crate::Server;
use crate::problem::{ProblemDocument, not_found};
use crate::secret::new_id;
use crate::security;

/// The header of the identifier of a request.
const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The longest identifier that is taken over from a proxy.
const MOST_ID_BYTES: usize = 64;

/// Options of the layers.
#[derive(Clone, Copy, Debug)]
pub struct LayerOptions {
    /// The largest body, in bytes. A route that takes uploads sets its own with
    /// [`axum::extract::DefaultBodyLimit::max`].
    pub body_limit: usize,
    /// How long a client may pause while it sends a body.
    pub body_timeout: Duration,
}

impl Default for LayerOptions {
    fn default() -> LayerOptions {
        LayerOptions { body_limit: 1024 * 1024, body_timeout: Duration::from_secs(30) }
    }
}

/// The identifier of a request, as an argument of handlers. It is in the response and in the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestId(pub String);

impl<S: Send + Sync> FromRequestParts<S> for RequestId {
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Self::Rejection> {
        let id = parts.extensions.get::<RequestId>().cloned();
        Ok(id.unwrap_or_else(|| RequestId(new_request_id())))
    }
}

/// Puts the layers around a router. It has to be called after all routes were added.
pub fn with_layers(router: Router, server: &Server, options: LayerOptions) -> Router {
    router
        .method_not_allowed_fallback(method_not_allowed)
        .layer(RequestBodyTimeoutLayer::new(options.body_timeout))
        .layer(DefaultBodyLimit::max(options.body_limit))
        .layer(CatchPanicLayer::custom(panicked))
        .layer(from_fn_with_state(server.clone(), surround))
}

/// A fallback for paths that no route has.
pub async fn path_not_found() -> ProblemDocument {
    not_found("no-such-page", "there is nothing at this address")
}

async fn method_not_allowed() -> ProblemDocument {
    let problem = Problem::new(
        "method-not-allowed",
        ProblemKind::InvalidInput,
        "this address does not support the method",
    );
    ProblemDocument::new(problem).with_status(StatusCode::METHOD_NOT_ALLOWED)
}

/// The message of a panic may repeat anything, so the client does not get it. The hook of the process has logged it.
fn panicked(_: Box<dyn Any + Send>) -> Response {
    let problem = Problem::new("internal", ProblemKind::Internal, "the server has a bug")
        .advice("report it with the identifier of the request, which the log has as well");
    ProblemDocument::new(problem).into_response()
}

async fn surround(State(server): State<Server>, mut request: Request, next: Next) -> Response {
    let started = Instant::now();
    let id = request_id(&server, &request);
    let method = request.method().clone();
    // The pattern of the route and never the address itself, which may have a token in it.
    let route = request.extensions().get::<MatchedPath>().cloned();
    let route = route.as_ref().map(MatchedPath::as_str);
    let is_private = is_private(&server, request.headers());
    request.extensions_mut().insert(RequestId(id.clone()));
    let span = tracing::info_span!(
        "request",
        id,
        method = method.as_str(),
        route = route.unwrap_or("none"),
    );
    let in_flight = InFlight::new(&server);
    let mut response = next.run(request).instrument(span.clone()).await;
    let elapsed = started.elapsed();
    let status = response.status();
    in_flight.finished(&method, route, status, elapsed);
    span.in_scope(|| {
        let (status, millis) = (status.as_u16(), elapsed.as_millis());
        if status >= 500 {
            tracing::warn!(status, millis, "request failed");
        } else {
            tracing::info!(status, millis, "request answered");
        }
    });
    let headers = response.headers_mut();
    if let Ok(id) = HeaderValue::from_str(&id) {
        headers.insert(REQUEST_ID, id);
    }
    security::add_headers(headers, server.is_https());
    keep_from_caches(headers, is_private);
    response
}

/// Attack registry-D18: what somebody sees because of a credential must not be kept by a cache that others share.
fn keep_from_caches(headers: &mut HeaderMap, is_private: bool) {
    let shown = headers.get(CACHE_CONTROL).and_then(|value| value.to_str().ok());
    let replacement = match shown {
        None => "no-store",
        Some(shown) if is_private && may_be_shared(shown) => "private, no-store",
        Some(_) => return,
    };
    headers.insert(CACHE_CONTROL, HeaderValue::from_static(replacement));
}

fn may_be_shared(cache_control: &str) -> bool {
    let mut directives = cache_control.split(',').map(str::trim);
    !directives.any(|directive| {
        directive.eq_ignore_ascii_case("no-store") || directive.eq_ignore_ascii_case("private")
    })
}

fn is_private(server: &Server, headers: &HeaderMap) -> bool {
    headers.contains_key(AUTHORIZATION) || server.web_sessions().has_cookie(headers)
}

/// That of a trusted proxy, if it is safe to log, or a new one.
fn request_id(server: &Server, request: &Request) -> String {
    let peer = request.extensions().get::<ConnectInfo<SocketAddr>>();
    let is_trusted = |address: IpAddr| {
        let address = address.to_canonical();
        server.trusted_proxies().iter().any(|network| network.contains(&address))
    };
    let given = request.headers().get(REQUEST_ID).and_then(|value| value.to_str().ok());
    let is_safe = |id: &&str| {
        (1..=MOST_ID_BYTES).contains(&id.len())
            && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
    };
    given
        .filter(|_| peer.is_some_and(|info| is_trusted(info.0.ip())))
        .filter(is_safe)
        .map_or_else(new_request_id, str::to_owned)
}

/// Differs from all others, and need not be hard to guess: asking the system for random bytes costs more than the rest of
/// what surrounds a small handler.
fn new_request_id() -> String {
    static PROCESS: LazyLock<String> = LazyLock::new(|| new_id("r"));
    static COUNT: AtomicU64 = AtomicU64::new(0);
    format!("{}-{:x}", *PROCESS, COUNT.fetch_add(1, Ordering::Relaxed))
}

/// Counts a request while it has no response, also if the client goes away before.
struct InFlight {
    server: Option<Server>,
}

impl InFlight {
    fn new(server: &Server) -> InFlight {
        server.metrics().started();
        InFlight { server: Some(server.clone()) }
    }

    fn finished(
        mut self,
        method: &http::Method,
        route: Option<&str>,
        status: StatusCode,
        elapsed: Duration,
    ) {
        if let Some(server) = self.server.take() {
            server.metrics().finished(method, route, status.as_u16(), elapsed);
        }
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        if let Some(server) = self.server.take() {
            server.metrics().abandoned();
        }
    }
}
