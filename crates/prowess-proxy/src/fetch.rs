//! Requests by the host itself for untrusted URLs, with the checks of a sandbox.
//!
//! Names are resolved once per hop and the checked address is used for the connection (attack
//! sandbox-C13); a redirect is a new request and checked like the first.

use std::convert::Infallible;
use std::future::poll_fn;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};
use hyper::client::conn::http1;
use hyper::header::{
    ACCEPT, ACCEPT_ENCODING, ACCEPT_LANGUAGE, CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, EXPECT,
    HOST, HeaderMap, HeaderName, HeaderValue, LOCATION, TE, TRAILER, TRANSFER_ENCODING, UPGRADE,
    USER_AGENT,
};
use hyper::http::{Method, Uri};
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};

use crate::credentials::Credentials;
use crate::exchange::Scheme;
use crate::host::Host;
use crate::meter::Meter;
use crate::policy::{HostAccess, ProxyPolicy, UpstreamRoots};
use crate::resolver::Resolver;
use crate::upstream::{ConnectError, Run};

/// Maximum number of redirects. Browsers allow 20.
const MAX_REDIRECTS: usize = 5;
/// Maximum size of a response head in bytes, as in the proxy (attack sandbox-C29).
const MAX_RESPONSE_HEAD: usize = 64 * 1024;

/// Sends requests.
pub struct Fetcher {
    run: Run,
    follows_redirects: bool,
}

/// A request.
#[derive(Clone, Debug)]
pub struct FetchRequest {
    /// The method, such as `GET`.
    pub method: String,
    /// An absolute `http` or `https` URL.
    pub url: String,
    /// Headers. Connection-specific ones are removed.
    pub headers: Vec<(String, String)>,
    /// The request body.
    pub body: Option<Vec<u8>>,
    /// Timeout for all hops together.
    pub timeout: Duration,
    /// Maximum size of a response body in bytes; a longer one is an error.
    pub max_bytes: usize,
}

/// A response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FetchResponse {
    /// The status code.
    pub status: u16,
    /// The content type, as the server declares it.
    pub content_type: Option<String>,
    /// The response body.
    pub body: Vec<u8>,
}

/// Why there is no response. Messages never contain headers or bodies.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FetchError {
    /// The request is invalid.
    #[error("{0}")]
    Invalid(String),
    /// The address is not public.
    #[error("{0}")]
    Refused(String),
    /// The server is unreachable, or its response is invalid.
    #[error("{0}")]
    Failed(String),
    /// The request timed out.
    #[error("no response within {} s", .0.as_secs_f64())]
    TimedOut(Duration),
}

impl Fetcher {
    /// Creates a fetcher. Permitted addresses are only for tests, whose servers are on the loopback
    /// interface.
    pub fn new(resolver: Arc<dyn Resolver>, roots: UpstreamRoots, permit: Vec<IpAddr>) -> Self {
        let policy = ProxyPolicy {
            hosts: Vec::new(),
            credentials: Vec::new(),
            byte_cap: None,
            bytes_per_second: None,
            connections: 1,
            head_timeout: Duration::ZERO,
            upstream_roots: roots,
            private_hosts: Vec::new(),
            permit_addresses: permit,
        };
        let meter = Arc::new(Meter::new(None, None));
        let run = Run::new(policy, resolver, None, Credentials::new(Vec::new()), meter);
        Self { run, follows_redirects: true }
    }

    /// Follows no redirect: its status is the response.
    #[must_use]
    pub fn without_redirects(self) -> Self {
        Self { follows_redirects: false, ..self }
    }

    /// Sends a request and reads the response, following redirects.
    pub async fn fetch(&self, request: &FetchRequest) -> Result<FetchResponse, FetchError> {
        match tokio::time::timeout(request.timeout, self.follow(request)).await {
            Ok(result) => result,
            Err(_) => Err(FetchError::TimedOut(request.timeout)),
        }
    }

    async fn follow(&self, request: &FetchRequest) -> Result<FetchResponse, FetchError> {
        let mut method = Method::from_bytes(request.method.as_bytes())
            .map_err(|_| FetchError::Invalid(format!("`{}` is not a method", request.method)))?;
        let mut target = Target::parse(&request.url)?;
        let mut headers = fields(&request.headers)?;
        let mut body = request.body.clone();
        for _ in 0..=MAX_REDIRECTS {
            let response = self.send(&target, &method, &headers, body.as_deref()).await?;
            if !self.follows_redirects {
                return answer(response, request.max_bytes).await;
            }
            let Some(next) = redirect(&response, &target)? else {
                return answer(response, request.max_bytes).await;
            };
            let status = response.status().as_u16();
            // RFC 9110 §15.4: 307 and 308 repeat the request, the others change it to `GET`.
            if !matches!(status, 307 | 308) && method != Method::HEAD {
                method = Method::GET;
                body = None;
                headers.remove(CONTENT_TYPE);
            }
            if next.host != target.host || next.port != target.port {
                // Credentials were meant for the first host, in whatever header.
                headers = harmless(&headers);
            }
            target = next;
        }
        Err(FetchError::Failed(format!("more than {MAX_REDIRECTS} redirects")))
    }

    async fn send(
        &self,
        target: &Target,
        method: &Method,
        headers: &HeaderMap,
        body: Option<&[u8]>,
    ) -> Result<Response<Incoming>, FetchError> {
        let to = self
            .run
            .locate(&target.host, target.port, HostAccess::Write)
            .await
            .map_err(fetch_error)?;
        let mut request = Request::new(FullBody(body.map(Bytes::copy_from_slice)));
        *request.method_mut() = method.clone();
        *request.uri_mut() = target
            .path
            .parse()
            .map_err(|_| FetchError::Invalid("the path of the URL is not valid".to_owned()))?;
        *request.headers_mut() = headers.clone();
        let authority = to.authority(target.scheme.usual_port());
        let authority = HeaderValue::from_str(&authority)
            .map_err(|_| FetchError::Invalid("the host is not valid".to_owned()))?;
        request.headers_mut().insert(HOST, authority);
        match target.scheme {
            Scheme::Http => exchange(self.run.dial(&to).await.map_err(fetch_error)?, request).await,
            Scheme::Https => {
                exchange(self.run.dial_tls(&to).await.map_err(fetch_error)?, request).await
            }
        }
        .map_err(|error| FetchError::Failed(format!("no response from `{}`: {error}", target.host)))
    }
}

impl std::fmt::Debug for Fetcher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Fetcher").finish_non_exhaustive()
    }
}

async fn exchange<S>(stream: S, request: Request<FullBody>) -> hyper::Result<Response<Incoming>>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (mut sender, connection) = http1::Builder::new()
        .max_buf_size(MAX_RESPONSE_HEAD)
        .handshake(TokioIo::new(stream))
        .await?;
    // It ends with the body, or when the body is dropped.
    tokio::spawn(connection);
    sender.send_request(request).await
}

fn fetch_error(error: ConnectError) -> FetchError {
    match error {
        ConnectError::Refused(refusal) => FetchError::Refused(refusal.message),
        ConnectError::Failed(why) => FetchError::Failed(why),
    }
}

/// Where a request goes.
struct Target {
    scheme: Scheme,
    host: Host,
    port: u16,
    path: String,
}

impl Target {
    fn parse(url: &str) -> Result<Self, FetchError> {
        let invalid = |why: &str| FetchError::Invalid(format!("the URL is not valid: {why}"));
        let without_fragment = url.trim().split('#').next().unwrap_or_default();
        let uri: Uri = without_fragment.parse().map_err(|_| invalid("it can't be parsed"))?;
        let scheme = match uri.scheme_str() {
            Some("http") => Scheme::Http,
            Some("https") => Scheme::Https,
            _ => return Err(invalid("it does not begin with `http://` or `https://`")),
        };
        let authority = uri.authority().ok_or_else(|| invalid("it has no host"))?;
        // `http://good@bad/`: people read the first name, programs the second.
        if authority.as_str().contains('@') {
            return Err(invalid("it has a user name before the host"));
        }
        let host: Host = authority.host().parse().map_err(|why| invalid(&format!("{why}")))?;
        let port = match (authority.port_u16(), authority.port()) {
            (Some(port), _) => port,
            (None, Some(_)) => return Err(invalid("its port is not valid")),
            (None, None) => scheme.usual_port(),
        };
        let path = uri.path_and_query().map_or("/", |path| path.as_str()).to_owned();
        Ok(Self { scheme, host, port, path })
    }

    /// Resolves a `Location` relative to this URL (the part of RFC 3986 §5 that servers use).
    fn join(&self, location: &str) -> Result<Self, FetchError> {
        let scheme = match self.scheme {
            Scheme::Http => "http",
            Scheme::Https => "https",
        };
        if location.contains("://") {
            return Self::parse(location);
        }
        if let Some(rest) = location.strip_prefix("//") {
            return Self::parse(&format!("{scheme}://{rest}"));
        }
        let path = self.path.split('?').next().unwrap_or("/");
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        let path = match location.chars().next() {
            Some('/') => location.to_owned(),
            Some('?') => format!("{path}{location}"),
            _ => format!("{folder}/{location}"),
        };
        Self::parse(&format!("{scheme}://{}:{}{path}", self.host, self.port))
    }
}

fn redirect(response: &Response<Incoming>, from: &Target) -> Result<Option<Target>, FetchError> {
    if !matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308) {
        return Ok(None);
    }
    let Some(location) = response.headers().get(LOCATION) else { return Ok(None) };
    let location = location
        .to_str()
        .map_err(|_| FetchError::Failed("a redirect has no valid URL".to_owned()))?;
    let next = from.join(location.trim())?;
    if from.scheme == Scheme::Https && next.scheme == Scheme::Http {
        let message = format!("`{}` redirects from `https` to `http`", from.host);
        return Err(FetchError::Refused(message));
    }
    Ok(Some(next))
}

async fn answer(response: Response<Incoming>, most: usize) -> Result<FetchResponse, FetchError> {
    let status = response.status().as_u16();
    let content_type = response.headers().get(CONTENT_TYPE);
    let content_type = content_type.and_then(|it| it.to_str().ok()).map(str::to_owned);
    let mut incoming = response.into_body();
    let mut body = Vec::new();
    while let Some(frame) = poll_fn(|context| Pin::new(&mut incoming).poll_frame(context)).await {
        let frame = frame
            .map_err(|error| FetchError::Failed(format!("the response was aborted: {error}")))?;
        // Trailers are not needed.
        let Ok(data) = frame.into_data() else { continue };
        if body.len() + data.len() > most {
            return Err(FetchError::Failed(format!("the response is longer than {most} bytes")));
        }
        body.extend_from_slice(&data);
    }
    Ok(FetchResponse { status, content_type, body })
}

/// The headers, without connection-specific ones.
fn fields(headers: &[(String, String)]) -> Result<HeaderMap, FetchError> {
    let mut fields = HeaderMap::new();
    for (name, value) in headers {
        let invalid = || FetchError::Invalid(format!("the header `{name}` is not valid"));
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| invalid())?;
        let value = HeaderValue::from_str(value).map_err(|_| invalid())?;
        fields.append(name, value);
    }
    for name in [HOST, CONNECTION, CONTENT_LENGTH, TE, TRAILER, TRANSFER_ENCODING, UPGRADE, EXPECT]
    {
        fields.remove(name);
    }
    // The limit applies to the bytes received, so compression is not accepted.
    fields.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    Ok(fields)
}

/// The headers that may be sent to another host.
fn harmless(fields: &HeaderMap) -> HeaderMap {
    let known = [ACCEPT, ACCEPT_ENCODING, ACCEPT_LANGUAGE, CONTENT_TYPE, USER_AGENT];
    known.into_iter().filter_map(|name| Some((name.clone(), fields.get(name)?.clone()))).collect()
}

/// A body in one piece.
struct FullBody(Option<Bytes>);

impl Body for FullBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.0.take().map(|bytes| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.0.as_ref().map_or(0, |bytes| bytes.len() as u64))
    }
}
