//! One connection out of the sandbox, from its first byte to its last.
//!
//! ```text
//! proxy listener ──► requests ──┬─ absolute-form ─► check ─► exchange
//!                               └─ CONNECT ─► ClientHello ─┬─ write ─► tunnel
//! transparent ─┬─ TLS ─────────────► ClientHello ──────────┤
//!              └─ requests ─► check ─► exchange            └─ read ──► requests ─► check ─► exchange
//! ```

use std::borrow::Cow;
use std::io;
use std::time::Duration;

use hyper::http::Method;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadHalf, WriteHalf};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;

use crate::exchange::{ExchangeOutcome, Scheme, ServerConnection, exchange};
use crate::head::{self, Head, HeadScanner, Version};
use crate::hello::{self, Hello};
use crate::host::{Authority, Host};
use crate::meter::Metered;
use crate::policy::HostAccess;
use crate::prefixed::Prefixed;
use crate::refusal::NetworkRefusal;
use crate::request::{check, overrides_in_query};
use crate::upstream::{ConnectError, Destination, Run};

/// The first byte of a TLS `ClientHello` (RFC 8446 §5.1), with which no HTTP request begins.
const TLS: u8 = 22;
/// A fatal alert, `access_denied` (RFC 8446 §6), so that a client reports more than "closed".
const ACCESS_DENIED: [u8; 7] = [21, 3, 3, 0, 2, 2, 49];
/// How much is still read after a response, and for how long. Closing a socket with unread bytes
/// would discard the response.
const LINGER_BYTES: usize = 1024 * 1024;
const LINGER: Duration = Duration::from_secs(2);

/// How a connection was accepted.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ConnectionKind {
    /// From a client that is configured to use a proxy.
    Proxy,
    /// From a client that thinks it is connected to a server on this port.
    Transparent { port: u16 },
}

/// Serves one connection. Errors only affect this connection; relevant ones are recorded in the
/// ledger.
pub(crate) async fn serve(run: &Run, stream: TcpStream, entry: ConnectionKind) {
    let _ = stream.set_nodelay(true);
    let stream = Prefixed::new(stream, Vec::new());
    // The remaining errors are disconnects, which need no response.
    let _ = match entry {
        ConnectionKind::Proxy => serve_proxy(run, stream).await,
        ConnectionKind::Transparent { port } => serve_transparent(run, stream, port).await,
    };
}

async fn serve_proxy(run: &Run, stream: Prefixed<TcpStream>) -> io::Result<()> {
    let Some((mut stream, tunnel)) = serve_requests(run, stream, &RequestScope::Proxy).await?
    else {
        return Ok(());
    };
    let Some(server_name) =
        read_hello(run, &mut stream, Some(&tunnel.to.host), tunnel.to.port).await?
    else {
        return Ok(());
    };
    // If `CONNECT` and `ClientHello` name different hosts, the latter is the real target (attack
    // sandbox-C14). An address has no server name (RFC 6066 §3), so none may be given for one.
    let named = match (&tunnel.to.host, &server_name) {
        (Host::Name(host), Some(name)) => name.eq_ignore_ascii_case(host.as_str()),
        (Host::Address(_), None) => true,
        (Host::Name(_), None) | (Host::Address(_), Some(_)) => false,
    };
    if !named {
        let refusal = NetworkRefusal::server_name(&tunnel.to.host, tunnel.to.port);
        return deny_tls(run, stream, refusal).await;
    }
    serve_tls(run, stream, tunnel).await
}

async fn serve_transparent(
    run: &Run,
    mut stream: Prefixed<TcpStream>,
    port: u16,
) -> io::Result<()> {
    match timeout(run.policy.head_timeout, stream.fill()).await {
        Ok(Ok(1..)) => {}
        Ok(result) => return result.map(drop),
        Err(_) => return Ok(()),
    }
    if stream.buffered().first() != Some(&TLS) {
        return serve_requests(run, stream, &RequestScope::Transparent { port }).await.map(drop);
    }
    let Some(server_name) = read_hello(run, &mut stream, None, port).await? else {
        return Ok(());
    };
    let Some(server_name) = server_name else {
        let what = "the TLS ClientHello has no server name";
        return deny_tls(run, stream, NetworkRefusal::not_tls(None, port, what)).await;
    };
    let host = match server_name.parse::<Host>() {
        // Only the canonical spelling, because the server sees the original `ClientHello`.
        Ok(Host::Name(name)) if name.as_str().eq_ignore_ascii_case(&server_name) => {
            Host::Name(name)
        }
        Ok(_) => {
            let what = "the TLS ClientHello has no server name";
            return deny_tls(run, stream, NetworkRefusal::not_tls(None, port, what)).await;
        }
        Err(error) => return deny_tls(run, stream, NetworkRefusal::bad_host(error)).await,
    };
    match admit_tunnel(run, &host, port).await {
        Ok(tunnel) => serve_tls(run, stream, tunnel).await,
        Err(ConnectError::Refused(refusal)) => deny_tls(run, stream, refusal).await,
        Err(ConnectError::Failed(why)) => {
            run.ledger.note(why);
            Ok(())
        }
    }
}

/// A destination for TLS. With write access the connection is made before the client gets a success
/// response; with read access each request is checked.
struct Tunnel {
    to: Destination,
    upstream: Option<Metered<TcpStream>>,
}

async fn admit_tunnel(run: &Run, host: &Host, port: u16) -> Result<Tunnel, ConnectError> {
    let access = run.decide(host, port)?;
    let to = run.locate(host, port, access).await?;
    let upstream = match to.access {
        // A credential can only be inserted inside TLS.
        HostAccess::Write if run.credentials.has(host) => None,
        HostAccess::Write => Some(run.dial(&to).await?),
        HostAccess::Read => None,
    };
    Ok(Tunnel { to, upstream })
}

/// Reads a complete TLS `ClientHello` and leaves it in the buffer. Returns `None` if there was none
/// and the connection has been handled.
async fn read_hello(
    run: &Run,
    stream: &mut Prefixed<TcpStream>,
    host: Option<&Host>,
    port: u16,
) -> io::Result<Option<Option<String>>> {
    let reading = async {
        loop {
            match hello::read(stream.buffered()) {
                Ok(Hello::Complete { server_name }) => return Ok(Some(server_name)),
                Ok(Hello::Incomplete) => {
                    if stream.fill().await? == 0 {
                        return Ok(None);
                    }
                }
                Err(error) => {
                    run.ledger.refused(NetworkRefusal::not_tls(host, port, &error.to_string()));
                    return Ok(None);
                }
            }
        }
    };
    match timeout(run.policy.head_timeout, reading).await {
        Ok(result) => result,
        Err(_) => {
            run.ledger.refused(NetworkRefusal::slow());
            Ok(None)
        }
    }
}

async fn serve_tls(run: &Run, stream: Prefixed<TcpStream>, tunnel: Tunnel) -> io::Result<()> {
    match tunnel.upstream {
        Some(upstream) => pass_through(stream, upstream).await,
        None => read_inside(run, stream, tunnel.to).await,
    }
}

/// Tunnels the connection unmodified: the host is granted for writing.
async fn pass_through(
    mut stream: Prefixed<TcpStream>,
    mut upstream: Metered<TcpStream>,
) -> io::Result<()> {
    tokio::io::copy_bidirectional(&mut stream, &mut upstream).await.map(drop)
}

/// Terminates TLS and checks each request: the host is granted for reading only, or has a
/// credential.
async fn read_inside(run: &Run, stream: Prefixed<TcpStream>, to: Destination) -> io::Result<()> {
    let ca = run.ca.as_ref().expect("a read grant or a credential creates an authority");
    let config = match ca.server_config(&to.host) {
        Ok(config) => config,
        Err(error) => {
            run.ledger.note(format!("can't create a certificate for `{}`: {error}", to.host));
            return Ok(());
        }
    };
    let accepting = TlsAcceptor::from(config).accept(stream);
    let Ok(Ok(inner)) = timeout(run.policy.head_timeout, accepting).await else {
        // Don't tunnel it instead: nothing would enforce the grant (attack sandbox-C19).
        run.ledger.refused(match to.access {
            HostAccess::Read => NetworkRefusal::certificate(&to.host, to.port),
            HostAccess::Write => NetworkRefusal::certificate_for_credential(&to.host, to.port),
        });
        return Ok(());
    };
    let inner = Prefixed::new(inner, Vec::new());
    serve_requests(run, inner, &RequestScope::Inside(to)).await.map(drop)
}

/// The targets that requests on a connection may name.
enum RequestScope {
    /// Any host: each request names it.
    Proxy,
    /// The host in the `Host` field, on this port.
    Transparent { port: u16 },
    /// Only this host, for which TLS was terminated.
    Inside(Destination),
}

/// Serves requests until the connection ends or becomes a tunnel.
async fn serve_requests<S>(
    run: &Run,
    stream: Prefixed<S>,
    scope: &RequestScope,
) -> io::Result<Option<(Prefixed<S>, Tunnel)>>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let (stream, prefix) = stream.into_parts();
    let (reader, mut writer) = tokio::io::split(stream);
    let mut reader = Prefixed::new(reader, prefix);
    let mut link = None;
    loop {
        let head = match read_head(run, &mut reader).await? {
            Some(Ok(head)) => head,
            Some(Err(refusal)) => {
                answer_refusal(run, &mut writer, &refusal, None).await?;
                return linger(reader, writer).await.map(|()| None);
            }
            None => {
                // Inside TLS this sends `close_notify`, so that the end can't be mistaken for a
                // truncation.
                writer.shutdown().await?;
                return Ok(None);
            }
        };
        let outcome = if matches!(scope, RequestScope::Proxy) && head.method == Method::CONNECT {
            match connect(run, &head).await {
                Ok(tunnel) => {
                    writer.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await?;
                    let (reader, prefix) = reader.into_parts();
                    let stream = Prefixed::new(reader.unsplit(writer), prefix);
                    return Ok(Some((stream, tunnel)));
                }
                Err(error) => ExchangeOutcome::Nothing(error),
            }
        } else {
            let client = (&mut reader, &mut writer);
            serve_request(run, scope, &mut link, &head, client).await?
        };
        let again = match outcome {
            ExchangeOutcome::KeepAlive => true,
            ExchangeOutcome::Close => false,
            ExchangeOutcome::Nothing(error) => answer(run, &mut writer, error, &head).await?,
        };
        if !again {
            return linger(reader, writer).await.map(|()| None);
        }
    }
}

async fn serve_request<S: AsyncRead + AsyncWrite + Unpin>(
    run: &Run,
    scope: &RequestScope,
    link: &mut Option<ServerConnection>,
    head: &Head,
    client: (&mut Prefixed<ReadHalf<S>>, &mut WriteHalf<S>),
) -> io::Result<ExchangeOutcome> {
    let nothing = |error: ConnectError| Ok(ExchangeOutcome::Nothing(error));
    let (host, port, path) = match target(scope, head) {
        Ok(target) => target,
        Err(refusal) => return nothing(refusal.into()),
    };
    let (access, scheme) = match scope {
        RequestScope::Inside(to) => (Ok(to.access), Scheme::Https),
        RequestScope::Proxy | RequestScope::Transparent { .. } => {
            (run.decide(&host, port), Scheme::Http)
        }
    };
    // Everything that does not need the server is checked before the DNS lookup (attack
    // sandbox-C08).
    let checked = access.and_then(|access| {
        check(head, access, &host, port)?;
        run.credentials.check(&head.fields, &host, port, scheme)?;
        Ok(access)
    });
    let access = match checked {
        Ok(access) => access,
        Err(refusal) => return nothing(refusal.into()),
    };
    if let Some(cap) = run.meter.exhausted() {
        return nothing(NetworkRefusal::byte_cap(&host, port, cap).into());
    }
    let to = match scope {
        RequestScope::Inside(to) => to.clone(),
        RequestScope::Proxy | RequestScope::Transparent { .. } => {
            match link.as_ref().and_then(|link| link.destination(&host, port)) {
                Some(to) => to.clone(),
                None => match run.locate(&host, port, access).await {
                    Ok(to) => to,
                    Err(error) => return nothing(error),
                },
            }
        }
    };
    if access == HostAccess::Read && overrides_in_query(head) {
        run.ledger.note(format!("a query to `{host}` asked for another method (`_method=`)"));
    }
    exchange(run, link, &to, scheme, head, &path, client).await
}

/// Handles `CONNECT host:port`; the `Host` field must agree (attack sandbox-C09).
async fn connect(run: &Run, head: &Head) -> Result<Tunnel, ConnectError> {
    let authority: Authority = head.target.parse().map_err(NetworkRefusal::bad_host)?;
    let Some(port) = authority.port else {
        return Err(NetworkRefusal::malformed("`CONNECT` without a port").into());
    };
    if head.has_body() {
        return Err(NetworkRefusal::malformed("`CONNECT` with a body").into());
    }
    // Some clients omit the port.
    check_host(head, &authority.host, port, port)?;
    admit_tunnel(run, &authority.host, port).await
}

/// The target of a request, and its path.
fn target<'a>(
    scope: &RequestScope,
    head: &'a Head,
) -> Result<(Host, u16, Cow<'a, str>), NetworkRefusal> {
    match scope {
        RequestScope::Proxy => {
            let (authority, path) = absolute_form(&head.target)?;
            let authority: Authority = authority.parse().map_err(NetworkRefusal::bad_host)?;
            let port = authority.port.unwrap_or(Scheme::Http.usual_port());
            check_host(head, &authority.host, port, Scheme::Http.usual_port())?;
            Ok((authority.host, port, path))
        }
        RequestScope::Transparent { port } => {
            let Some(field) = head.host() else {
                return Err(NetworkRefusal::malformed("no `Host` field"));
            };
            let text =
                field.to_str().map_err(|_| NetworkRefusal::malformed("`Host` is not a host"))?;
            let authority: Authority = text.parse().map_err(NetworkRefusal::bad_host)?;
            if authority.port.is_some_and(|named| named != *port) {
                return Err(NetworkRefusal::host_mismatch(&authority.host, *port));
            }
            Ok((authority.host, *port, origin_form(head)?.into()))
        }
        RequestScope::Inside(to) => {
            // A different host here is domain fronting (attack sandbox-C17).
            check_host(head, &to.host, to.port, to.port)?;
            Ok((to.host.clone(), to.port, origin_form(head)?.into()))
        }
    }
}

/// Checks that the `Host` field, if present, names the target of the request.
fn check_host(head: &Head, host: &Host, port: u16, usual_port: u16) -> Result<(), NetworkRefusal> {
    let mismatch = || NetworkRefusal::host_mismatch(host, port);
    let Some(field) = head.host() else {
        // HTTP/1.1 without the field has already been rejected.
        return match head.version {
            Version::Http10 => Ok(()),
            Version::Http11 => Err(mismatch()),
        };
    };
    let text = field.to_str().map_err(|_| mismatch())?;
    let authority: Authority = text.parse().map_err(|_| mismatch())?;
    if authority.host == *host && authority.port.unwrap_or(usual_port) == port {
        Ok(())
    } else {
        Err(mismatch())
    }
}

/// Splits `http://authority/path`. Anything else (`user@`, `\`) stays in the authority, which
/// rejects it (attack sandbox-C10).
fn absolute_form(target: &str) -> Result<(&str, Cow<'_, str>), NetworkRefusal> {
    let scheme = target.get(..7).filter(|scheme| scheme.eq_ignore_ascii_case("http://"));
    if scheme.is_none() {
        let what = "a proxy only accepts `http://` targets and `CONNECT`";
        return Err(NetworkRefusal::malformed(what));
    }
    let rest = &target[7..];
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    if path.starts_with('/') {
        return Ok((authority, path.into()));
    }
    Ok((authority, format!("/{path}").into()))
}

fn origin_form(head: &Head) -> Result<&str, NetworkRefusal> {
    if head.target.starts_with('/') || head.target == "*" && head.method == Method::OPTIONS {
        return Ok(&head.target);
    }
    if head.method == Method::CONNECT {
        // It is checked and rejected later.
        return Ok("/");
    }
    Err(NetworkRefusal::malformed("the request's target does not begin with `/`"))
}

/// The next request's head; `None` at the end of the connection.
async fn read_head<R: AsyncRead + Unpin>(
    run: &Run,
    reader: &mut Prefixed<R>,
) -> io::Result<Option<Result<Head, NetworkRefusal>>> {
    let reading = async {
        let mut scanner = HeadScanner::default();
        loop {
            match scanner.find_end(reader.buffered()) {
                Ok(Some(length)) => {
                    let bytes = reader.consume(length);
                    return Ok(Some(head::parse(&bytes).map_err(NetworkRefusal::malformed)));
                }
                Ok(None) => {
                    if reader.fill().await? == 0 {
                        return Ok(None);
                    }
                }
                Err(what) => return Ok(Some(Err(NetworkRefusal::malformed(what)))),
            }
        }
    };
    match timeout(run.policy.head_timeout, reading).await {
        Ok(result) => result,
        // An idle connection between two requests is not an error.
        Err(_) if reader.buffered().is_empty() => Ok(None),
        Err(_) => Ok(Some(Err(NetworkRefusal::slow()))),
    }
}

/// Writes an error response. Returns whether another request may follow.
async fn answer<W: AsyncWrite + Unpin>(
    run: &Run,
    writer: &mut W,
    error: ConnectError,
    head: &Head,
) -> io::Result<bool> {
    match error {
        ConnectError::Refused(refusal) => answer_refusal(run, writer, &refusal, Some(head)).await,
        ConnectError::Failed(why) => {
            run.ledger.note(why.clone());
            write_answer(writer, 502, &format!("failed: {why}\n"), Some(head)).await
        }
    }
}

async fn answer_refusal<W: AsyncWrite + Unpin>(
    run: &Run,
    writer: &mut W,
    refusal: &NetworkRefusal,
    head: Option<&Head>,
) -> io::Result<bool> {
    run.ledger.refused(refusal.clone());
    write_answer(writer, refusal.status(), &format!("{refusal}\n"), head).await
}

async fn write_answer<W: AsyncWrite + Unpin>(
    writer: &mut W,
    status: u16,
    text: &str,
    head: Option<&Head>,
) -> io::Result<bool> {
    // A body still in transit would be read as the next request, and the connection is closed after
    // a malformed request.
    let again = status != 400
        && head.is_some_and(|head| {
            head.keeps_alive() && !head.has_body() && head.method != Method::CONNECT
        });
    let reason = match status {
        400 => "Bad Request",
        403 => "Forbidden",
        _ => "Bad Gateway",
    };
    let connection = if again { "" } else { "connection: close\r\n" };
    let shown = if head.is_some_and(|head| head.method == Method::HEAD) { "" } else { text };
    let response = format!(
        "HTTP/1.1 {status} {reason}\r\ncontent-type: text/plain; charset=utf-8\r\n\
         content-length: {}\r\n{connection}\r\n{shown}",
        text.len()
    );
    writer.write_all(response.as_bytes()).await?;
    writer.flush().await?;
    Ok(again)
}

async fn deny_tls(
    run: &Run,
    mut stream: Prefixed<TcpStream>,
    refusal: NetworkRefusal,
) -> io::Result<()> {
    run.ledger.refused(refusal);
    stream.write_all(&ACCESS_DENIED).await?;
    let (reader, writer) = tokio::io::split(stream);
    linger(Prefixed::new(reader, Vec::new()), writer).await
}

/// Closes a connection so that the client can still read the last response.
async fn linger<S: AsyncRead + AsyncWrite + Unpin>(
    mut reader: Prefixed<ReadHalf<S>>,
    mut writer: WriteHalf<S>,
) -> io::Result<()> {
    let draining = async {
        writer.shutdown().await?;
        let mut sink = vec![0; 16 * 1024];
        let mut seen = 0;
        while seen < LINGER_BYTES {
            match reader.read(&mut sink).await? {
                0 => break,
                length => seen += length,
            }
        }
        Ok(())
    };
    match timeout(LINGER, draining).await {
        Ok(result) => result,
        Err(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests;
