//! Accepts connections, bounds them in number and time, and ends without cutting off responses.
//!
//! HTTP/1.1 only: the reverse proxy that has the certificates speaks newer versions to browsers, and one protocol has one
//! set of limits.

use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::ConnectInfo;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tower::ServiceExt as _;

use super::Shutdown;
use crate::Server;

/// The pause after an error of the system, such as too many open files.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// The buffer for the head of a request, and so its largest size.
const MOST_HEAD_BYTES: usize = 64 * 1024;

/// Headers of a request.
const MOST_HEADERS: usize = 100;

/// How long what was sent may stay without an answer of the client's system, or without room at the client.
#[cfg(target_os = "linux")]
const UNREAD_TIMEOUT: Duration = Duration::from_mins(2);

/// Options of a listener.
#[derive(Clone, Copy, Debug)]
pub struct ServeOptions {
    /// How long a client may take to send the head of a request, and how long an unused connection stays open.
    pub head_timeout: Duration,
    /// Connections at the same time; others wait in the queue of the system.
    pub most_connections: usize,
    /// How long running requests may take after the stop was requested.
    pub grace: Duration,
}

impl Default for ServeOptions {
    fn default() -> ServeOptions {
        ServeOptions {
            head_timeout: Duration::from_secs(15),
            most_connections: 20_000,
            grace: Duration::from_secs(30),
        }
    }
}

/// How a server ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServeReport {
    /// Connections that were still busy when the time was over, and were closed.
    pub cut_off: usize,
}

/// Serves a router until the stop is requested. Then no more connections are accepted, unused ones are closed, and running
/// requests may end.
pub async fn serve(
    listener: TcpListener,
    router: Router,
    server: &Server,
    options: ServeOptions,
    shutdown: Shutdown,
) -> io::Result<ServeReport> {
    let places = Arc::new(Semaphore::new(options.most_connections));
    let graceful = GracefulShutdown::new();
    // Dropping it ends the tasks of connections that outlast the grace period.
    let mut connections = tokio::task::JoinSet::new();
    loop {
        // Finished tasks are removed as others begin.
        while connections.try_join_next().is_some() {}
        let accepted = tokio::select! {
            accepted = accept(&listener, &places) => accepted,
            () = shutdown.requested() => break,
        };
        let (stream, address, place) = accepted;
        let open = OpenConnection::new(server);
        let builder = builder(options.head_timeout);
        let service = {
            let router = router.clone();
            service_fn(move |mut request: http::Request<Incoming>| {
                request.extensions_mut().insert(ConnectInfo(address));
                router.clone().oneshot(request)
            })
        };
        let connection = builder.serve_connection(TokioIo::new(stream), service);
        let connection = graceful.watch(connection);
        connections.spawn(async move {
            // Errors are those of clients that go away, or that speak no HTTP.
            if let Err(error) = connection.await {
                tracing::debug!(%error, "a connection ended early");
            }
            drop((open, place));
        });
    }
    server.health().start_draining();
    drop(listener);
    let mut ended = pin!(graceful.shutdown());
    let is_over = tokio::time::timeout(options.grace, &mut ended).await.is_ok();
    while connections.try_join_next().is_some() {}
    let cut_off = if is_over { 0 } else { connections.len() };
    Ok(ServeReport { cut_off })
}

fn builder(head_timeout: Duration) -> http1::Builder {
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(head_timeout)
        .max_buf_size(MOST_HEAD_BYTES)
        .max_headers(MOST_HEADERS);
    builder
}

/// Waits for a place and for a client.
async fn accept(
    listener: &TcpListener,
    places: &Arc<Semaphore>,
) -> (TcpStream, SocketAddr, tokio::sync::OwnedSemaphorePermit) {
    let place = Arc::clone(places).acquire_owned().await.expect("the semaphore is never closed");
    loop {
        match listener.accept().await {
            Ok((stream, address)) => {
                if let Err(error) = configure(&stream) {
                    tracing::debug!(%error, "cannot configure a connection");
                }
                return (stream, address, place);
            }
            Err(error) if is_of_one_connection(&error) => {}
            Err(error) => {
                tracing::error!(%error, "cannot accept connections");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

fn configure(stream: &TcpStream) -> io::Result<()> {
    // Tokens of a stream are small, and must not wait for each other.
    stream.set_nodelay(true)?;
    // A client that is gone, or that does not read what it asked for, does not keep its place.
    #[cfg(target_os = "linux")]
    {
        use rustix::net::sockopt::{set_socket_keepalive, set_tcp_user_timeout};
        let millis = u32::try_from(UNREAD_TIMEOUT.as_millis()).unwrap_or(u32::MAX);
        set_tcp_user_timeout(stream, millis)?;
        set_socket_keepalive(stream, true)?;
    }
    Ok(())
}

fn is_of_one_connection(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionRefused
            | io::ErrorKind::ConnectionReset
    )
}

/// Counts a connection while it is open.
struct OpenConnection {
    server: Server,
}

impl OpenConnection {
    fn new(server: &Server) -> OpenConnection {
        server.metrics().connections().inc();
        OpenConnection { server: server.clone() }
    }
}

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.server.metrics().connections().dec();
    }
}
