//! One request to a server and its response back.
//!
//! Neither is forwarded as bytes: the request is written from the checked fields and the response
//! from what hyper parsed, so that both sides agree where each ends (attacks sandbox-C20,
//! sandbox-C31).

use std::fmt::Write as _;
use std::future::poll_fn;
use std::io;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, Ordering};

use hyper::body::{Body, Incoming};
use hyper::client::conn::http1::{self, SendRequest};
use hyper::header::{
    CONNECTION, CONTENT_LENGTH, EXPECT, HOST, HeaderMap, HeaderName, HeaderValue, TE, TRAILER,
    TRANSFER_ENCODING, UPGRADE,
};
use hyper::http::{Method, Uri};
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};

use crate::body::{self, Upload, UploadError};
use crate::head::{Framing, Head, Version};
use crate::host::Host;
use crate::prefixed::Prefixed;
use crate::refusal::NetworkRefusal;
use crate::upstream::{ConnectError, Destination, Run};

/// Maximum size of a response head, in bytes (attack sandbox-C29).
const MAX_RESPONSE_HEAD: usize = 64 * 1024;

/// The URL scheme.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scheme {
    Http,
    Https,
}

impl Scheme {
    pub(crate) fn usual_port(self) -> u16 {
        match self {
            Scheme::Http => 80,
            Scheme::Https => 443,
        }
    }
}

/// An open connection to a server, kept for the next request to the same one.
pub(crate) struct ServerConnection {
    to: Destination,
    scheme: Scheme,
    sender: SendRequest<Upload>,
}

impl ServerConnection {
    /// The destination of the connection, if it is this host. Its addresses were checked when it
    /// was opened and are not resolved again (attack sandbox-C13).
    pub(crate) fn destination(&self, host: &Host, port: u16) -> Option<&Destination> {
        (self.to.host == *host && self.to.port == port).then_some(&self.to)
    }
}

/// The outcome of an exchange.
pub(crate) enum ExchangeOutcome {
    /// The response is sent, and the client may send the next request.
    KeepAlive,
    /// The response is sent, at least in part, and the connection must be closed.
    Close,
    /// No response was sent, for this reason.
    Nothing(ConnectError),
}

/// Forwards a checked request and its response.
pub(crate) async fn exchange<R, W>(
    run: &Run,
    link: &mut Option<ServerConnection>,
    to: &Destination,
    scheme: Scheme,
    head: &Head,
    path: &str,
    client: (&mut Prefixed<R>, &mut W),
) -> io::Result<ExchangeOutcome>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    let (reader, writer) = client;
    let Ok(uri) = path.parse::<Uri>() else {
        let refusal = NetworkRefusal::malformed("the request's target is not valid");
        return Ok(ExchangeOutcome::Nothing(refusal.into()));
    };
    let request = |upload| {
        let mut request = Request::new(upload);
        *request.method_mut() = head.method.clone();
        *request.uri_mut() = uri.clone();
        let mut fields = request_fields(head, &to.authority(scheme.usual_port()));
        run.credentials.insert(&mut fields, &to.host, scheme);
        *request.headers_mut() = fields;
        request
    };

    // The server may close a kept connection at any moment, even during a request. Only idempotent
    // requests use one (RFC 9110 §9.2.2).
    let kept = link.take();
    if head.method.is_safe()
        && !head.has_body()
        && let Some(mut sender) = reusable(kept, to, scheme).await
    {
        let (_, nothing) = body::channel(Framing::None);
        if let Ok(response) = sender.send_request(request(nothing)).await {
            return match relay(run, writer, head, to, response).await? {
                Ok(lasts) => Ok(finish(link, to, scheme, sender, lasts)),
                Err(fetch_error) => Ok(ExchangeOutcome::Nothing(fetch_error)),
            };
        }
    }

    // Connect first: a client that waits for `100 Continue` should only send its body if there is a
    // server.
    let mut sender = match open(run, to, scheme).await {
        Ok(sender) => sender,
        Err(fetch_error) => return Ok(ExchangeOutcome::Nothing(fetch_error)),
    };
    if head.has_body() && head.fields.contains_key(EXPECT) {
        writer.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").await?;
    }
    let (sink, upload) = body::channel(head.framing);
    let started = AtomicBool::new(false);
    let (relayed, uploaded) = {
        let relaying = async {
            match sender.send_request(request(upload)).await {
                Ok(response) => {
                    started.store(true, Ordering::Relaxed);
                    relay(run, writer, head, to, response).await
                }
                Err(error) => Ok(Err(broken(run, to, &error))),
            }
        };
        let uploading = body::pump(reader, head.framing, sink);
        let (mut relaying, mut uploading) = (pin!(relaying), pin!(uploading));
        let mut uploaded = false;
        loop {
            tokio::select! {
                biased;
                result = &mut uploading, if !uploaded => match result {
                    Ok(()) => uploaded = true,
                    // The response contains the reason, or the connection ends.
                    Err(UploadError::ServerStopped) => break (relaying.await?, false),
                    Err(UploadError::Client(error)) => return Err(error),
                    Err(UploadError::Malformed(what)) => {
                        if started.load(Ordering::Relaxed) {
                            return Ok(ExchangeOutcome::Close);
                        }
                        return Ok(ExchangeOutcome::Nothing(NetworkRefusal::malformed(what).into()));
                    }
                },
                result = &mut relaying => break (result?, uploaded),
            }
        }
    };
    match relayed {
        Ok(lasts) => Ok(finish(link, to, scheme, sender, lasts && uploaded)),
        Err(fetch_error) => Ok(ExchangeOutcome::Nothing(fetch_error)),
    }
}

/// Keeps the connection to the server if the one to the client lasts.
fn finish(
    link: &mut Option<ServerConnection>,
    to: &Destination,
    scheme: Scheme,
    sender: SendRequest<Upload>,
    lasts: bool,
) -> ExchangeOutcome {
    if !lasts {
        return ExchangeOutcome::Close;
    }
    *link = Some(ServerConnection { to: to.clone(), scheme, sender });
    ExchangeOutcome::KeepAlive
}

/// The kept connection, if it leads to the same host and is still open.
async fn reusable(
    link: Option<ServerConnection>,
    to: &Destination,
    scheme: Scheme,
) -> Option<SendRequest<Upload>> {
    let mut link =
        link.filter(|link| link.scheme == scheme && link.destination(&to.host, to.port).is_some())?;
    link.sender.ready().await.ok()?;
    Some(link.sender)
}

async fn open(
    run: &Run,
    to: &Destination,
    scheme: Scheme,
) -> Result<SendRequest<Upload>, ConnectError> {
    let mut builder = http1::Builder::new();
    builder.max_buf_size(MAX_RESPONSE_HEAD);
    // hyper drives the connection in its own task, which ends with the sender or the run.
    match scheme {
        Scheme::Http => {
            let stream = TokioIo::new(run.dial(to).await?);
            let (sender, connection) =
                builder.handshake(stream).await.map_err(|error| broken(run, to, &error))?;
            run.tasks.spawn(async move { drop(connection.await) });
            Ok(sender)
        }
        Scheme::Https => {
            let stream = TokioIo::new(run.dial_tls(to).await?);
            let (sender, connection) =
                builder.handshake(stream).await.map_err(|error| broken(run, to, &error))?;
            run.tasks.spawn(async move { drop(connection.await) });
            Ok(sender)
        }
    }
}

/// Converts an error of hyper, whose messages contain no part of a request or a response.
fn broken(run: &Run, to: &Destination, error: &hyper::Error) -> ConnectError {
    match run.meter.exhausted() {
        Some(cap) => NetworkRefusal::byte_cap(&to.host, to.port, cap).into(),
        None => ConnectError::Failed(format!("`{}` sent an invalid response: {error}", to.host)),
    }
}

fn request_fields(head: &Head, authority: &str) -> HeaderMap {
    let mut fields = head.fields.clone();
    remove_hop_by_hop(&mut fields);
    fields.remove(EXPECT);
    fields.remove(CONTENT_LENGTH);
    let host = HeaderValue::from_str(authority).expect("a canonical host is plain ASCII");
    fields.insert(HOST, host);
    if let Framing::Length(length) = head.framing {
        fields.insert(CONTENT_LENGTH, HeaderValue::from(length));
    }
    fields
}

/// Removes hop-by-hop fields (RFC 9110 §7.6.1) and fields for proxies.
fn remove_hop_by_hop(fields: &mut HeaderMap) {
    let named: Vec<HeaderName> = fields
        .get_all(CONNECTION)
        .iter()
        .flat_map(|value| value.as_bytes().split(|&byte| byte == b','))
        .filter_map(|word| HeaderName::from_bytes(word.trim_ascii()).ok())
        .collect();
    let fixed = [CONNECTION, TE, TRAILER, TRANSFER_ENCODING, UPGRADE];
    let proxy = ["keep-alive", "http2-settings", "proxy-connection", "proxy-authorization"]
        .map(HeaderName::from_static);
    for name in named.into_iter().chain(fixed).chain(proxy) {
        fields.remove(name);
    }
}

/// Writes a response. Returns whether the connection to the client can be reused.
async fn relay<W: AsyncWrite + Unpin>(
    run: &Run,
    writer: &mut W,
    head: &Head,
    to: &Destination,
    response: Response<Incoming>,
) -> io::Result<Result<bool, ConnectError>> {
    let (parts, mut body) = response.into_parts();
    let status = parts.status;
    if status == StatusCode::SWITCHING_PROTOCOLS {
        let why = format!("`{}` switched protocols without a request", to.host);
        return Ok(Err(ConnectError::Failed(why)));
    }
    // A server that received a key may echo it. Placeholders are as long as their keys, so no
    // length changes.
    let answers = match run.credentials.response_replacer(&parts.headers, &to.host) {
        Ok(answers) => answers,
        Err(why) => return Ok(Err(ConnectError::Failed(why))),
    };
    let bodiless = head.method == Method::HEAD
        || status == StatusCode::NO_CONTENT
        || status == StatusCode::NOT_MODIFIED;
    let length = body.size_hint().exact();
    let chunked = !bodiless && length.is_none() && head.version == Version::Http11;
    let keep_alive = head.keeps_alive() && (bodiless || length.is_some() || chunked);

    let mut fields = parts.headers;
    let declared = fields.get(CONTENT_LENGTH).cloned();
    remove_hop_by_hop(&mut fields);
    fields.remove(CONTENT_LENGTH);
    let mut text =
        format!("HTTP/1.1 {} {}\r\n", status.as_u16(), status.canonical_reason().unwrap_or(""))
            .into_bytes();
    for (name, value) in &fields {
        write_field(&mut text, name.as_str(), &answers.bytes(value.as_bytes()));
    }
    match (bodiless, length) {
        // The length that a `GET` would have; there is no body.
        (true, _) if status != StatusCode::NO_CONTENT => {
            if let Some(declared) = declared {
                write_field(&mut text, "content-length", declared.as_bytes());
            }
        }
        (true, _) => {}
        (false, Some(length)) => {
            write_field(&mut text, "content-length", length.to_string().as_bytes());
        }
        (false, None) if chunked => write_field(&mut text, "transfer-encoding", b"chunked"),
        (false, None) => {}
    }
    if !keep_alive {
        write_field(&mut text, "connection", b"close");
    }
    text.extend_from_slice(b"\r\n");
    writer.write_all(&text).await?;

    let mut stream = answers.stream();
    while let Some(frame) = poll_fn(|ctx| Pin::new(&mut body).poll_frame(ctx)).await {
        // An aborted response must not look complete: close the connection.
        let frame = frame.map_err(io::Error::other)?;
        let Ok(data) = frame.into_data() else {
            continue; // trailers
        };
        if !bodiless {
            write_piece(writer, &stream.push(&data), chunked).await?;
        }
    }
    write_piece(writer, &stream.finish(), chunked).await?;
    if chunked {
        writer.write_all(b"0\r\n\r\n").await?;
    }
    writer.flush().await?;
    Ok(Ok(keep_alive))
}

/// Writes a piece of a body. An empty one is skipped, because an empty chunk would mark the end.
async fn write_piece<W: AsyncWrite + Unpin>(
    writer: &mut W,
    piece: &[u8],
    chunked: bool,
) -> io::Result<()> {
    if piece.is_empty() {
        return Ok(());
    }
    if chunked {
        let mut size = String::new();
        write!(size, "{:x}\r\n", piece.len()).expect("writing to a String succeeds");
        writer.write_all(size.as_bytes()).await?;
    }
    writer.write_all(piece).await?;
    if chunked {
        writer.write_all(b"\r\n").await?;
    }
    writer.flush().await
}

fn write_field(text: &mut Vec<u8>, name: &str, value: &[u8]) {
    text.extend_from_slice(name.as_bytes());
    text.extend_from_slice(b": ");
    text.extend_from_slice(value);
    text.extend_from_slice(b"\r\n");
}
