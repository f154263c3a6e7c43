//! One conversation: a runtime of its own, so that the caller may block on any thread.

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::time::Duration;

use prowess_core::{
    BoxFuture, McpBounds, McpConnection, McpError, McpErrorKind, McpServerFacts, McpSession,
};
use rmcp::ClientHandler;
use rmcp::model::{
    ClientCapabilities, ClientConfig, ClientRequest, ErrorData, Implementation, ProtocolVersion,
    ServerPeerInfo,
};
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, Peer, RoleClient, RunningService, ServiceError,
    serve_client_with_lifecycle,
};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::common::client_side_sse::NeverRetry;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use serde_json::{Map, Value, json};
use tokio::net::unix::pipe;
use tokio::runtime::Runtime;
use tokio::time::Instant;

use crate::bounded::{BoundedLines, Failure, MAX_MESSAGE_BYTES};
use crate::endpoint;
use crate::http_transport::HttpTransport;

/// How long the end of a conversation may take.
const CLOSING: Duration = Duration::from_millis(500);
/// The most characters of a text of the server in a message.
const MAX_TEXT: usize = 400;
/// The identifier of the extension for skills (SEP-2640).
const SKILLS: &str = "io.modelcontextprotocol/skills";

/// A client that offers nothing to the server. What is not written here is declined by the SDK.
struct Quiet;

impl ClientHandler for Quiet {
    fn get_info(&self) -> ClientConfig {
        let mut capabilities = ClientCapabilities::default();
        capabilities.extensions = Some(BTreeMap::from([(SKILLS.to_owned(), Map::new())]));
        ClientConfig::new(capabilities, Implementation::new("prowess", env!("CARGO_PKG_VERSION")))
    }
}

/// A conversation that has begun.
pub(crate) struct Session {
    runtime: Runtime,
    service: Option<RunningService<RoleClient, Quiet>>,
    facts: McpServerFacts,
    waiting: Waiting,
}

/// What ends the wait for an answer.
struct Waiting {
    deadline: Instant,
    stopped: BoxFuture<'static, ()>,
    is_stopped: bool,
    failure: Failure,
}

impl Waiting {
    /// Waits for an answer, unless the conversation ends first.
    async fn for_answer<T>(&mut self, answer: impl Future<Output = T>) -> Result<T, McpError> {
        if self.is_stopped {
            return Err(stopped());
        }
        let Self { deadline, stopped: stop, is_stopped, failure } = self;
        tokio::select! {
            biased;
            () = stop => {
                *is_stopped = true;
                Err(stopped())
            }
            answer = answer => Ok(answer),
            error = failure.happened() => Err(error),
            () = tokio::time::sleep_until(*deadline) => {
                Err(McpError::new(McpErrorKind::TimedOut, "has not answered in time"))
            }
        }
    }
}

fn stopped() -> McpError {
    McpError::new(McpErrorKind::Stopped, "was interrupted")
}

/// Connects, and learns what the server is.
pub(crate) fn open(connection: McpConnection, bounds: McpBounds) -> Result<Session, McpError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| broken(format!("could not be initialized: {error}")))?;
    let failure = Failure::default();
    let mut waiting = Waiting {
        deadline: bounds.deadline.into(),
        stopped: bounds.stopped,
        is_stopped: false,
        failure: failure.clone(),
    };
    let service = match connection {
        McpConnection::Pipes { output, input } => {
            runtime.block_on(over_pipes(output, input, &mut waiting))
        }
        McpConnection::Http { url, headers } => {
            let transport = HttpTransport::new(endpoint::client(&url)?, &headers, failure)?;
            runtime.block_on(over_http(url, transport, &mut waiting))
        }
    }?;
    let facts = service.peer().peer_info().map(|info| facts(&info)).unwrap_or_default();
    Ok(Session { runtime, service: Some(service), facts, waiting })
}

async fn over_pipes(
    output: OwnedFd,
    input: OwnedFd,
    waiting: &mut Waiting,
) -> Result<RunningService<RoleClient, Quiet>, McpError> {
    let failed = |error: std::io::Error| broken(format!("could not be initialized: {error}"));
    let reader = pipe::Receiver::from_owned_fd(output).map_err(failed)?;
    let writer = pipe::Sender::from_owned_fd(input).map_err(failed)?;
    let reader = BoundedLines::new(reader, waiting.failure.clone());
    let transport = (reader, writer);
    let started = serve_client_with_lifecycle(Quiet, transport, lifecycle());
    let started = waiting.for_answer(started).await?;
    started.map_err(|error| waiting.failure.get().unwrap_or_else(|| not_begun(&error)))
}

async fn over_http(
    url: String,
    transport: HttpTransport,
    waiting: &mut Waiting,
) -> Result<RunningService<RoleClient, Quiet>, McpError> {
    let mut config =
        StreamableHttpClientTransportConfig::with_uri(url).max_sse_event_size(MAX_MESSAGE_BYTES);
    // A lost answer is not asked for again: the tool may have run.
    config.retry_config = std::sync::Arc::new(NeverRetry::default());
    config.reinit_on_expired_session = false;
    let transport = StreamableHttpClientTransport::with_client(transport, config);
    let started = serve_client_with_lifecycle(Quiet, transport, lifecycle());
    let started = waiting.for_answer(started).await?;
    started.map_err(|error| waiting.failure.get().unwrap_or_else(|| not_begun(&error)))
}

/// The newer protocol first; the older one for servers that don't know it.
fn lifecycle() -> ClientLifecycleMode {
    ClientLifecycleMode::Auto {
        preferred_versions: vec![ProtocolVersion::V_2026_07_28],
        legacy_version: Some(ProtocolVersion::V_2025_11_25),
    }
}

fn facts(info: &ServerPeerInfo) -> McpServerFacts {
    let server = info.server_info.as_ref();
    McpServerFacts {
        name: server.map(|server| cut(&server.name)).unwrap_or_default(),
        version: server.map(|server| cut(&server.version)).unwrap_or_default(),
        protocol: info.protocol_version.to_string(),
        capabilities: serde_json::to_value(&info.capabilities).unwrap_or_default(),
    }
}

impl McpSession for Session {
    fn server(&self) -> &McpServerFacts {
        &self.facts
    }

    fn request(&mut self, method: &str, params: Map<String, Value>) -> Result<Value, McpError> {
        let Some(service) = &self.service else { return Err(stopped()) };
        let request = json!({ "method": method, "params": params });
        let request: ClientRequest = serde_json::from_value(request)
            .map_err(|error| broken(format!("could not be sent `{method}`: {error}")))?;
        let peer: Peer<RoleClient> = service.peer().clone();
        let waiting = &mut self.waiting;
        let answer = self.runtime.block_on(waiting.for_answer(peer.send_request(request)))?;
        let answer = answer.map_err(|error| waiting.failure.get().unwrap_or_else(|| of(error)))?;
        serde_json::to_value(answer)
            .map_err(|error| broken(format!("answered `{method}` with invalid data: {error}")))
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if let Some(mut service) = self.service.take() {
            // Whoever does not answer is not waited for.
            let _ = self.runtime.block_on(service.close_with_timeout(CLOSING));
        }
    }
}

fn broken(message: String) -> McpError {
    McpError::new(McpErrorKind::Protocol, message)
}

fn gone() -> McpError {
    McpError::new(McpErrorKind::Unreachable, "closed the connection")
}

fn answered(error: &ErrorData) -> McpError {
    McpError::new(McpErrorKind::Answered(error.code.0), format!("says: {}", cut(&error.message)))
}

fn of(error: ServiceError) -> McpError {
    match error {
        ServiceError::McpError(error) => answered(&error),
        ServiceError::TransportSend(_)
        | ServiceError::TransportClosed
        | ServiceError::Cancelled { .. } => gone(),
        ServiceError::Timeout { .. } => {
            McpError::new(McpErrorKind::TimedOut, "has not answered in time")
        }
        _ => broken("sent an unexpected response".to_owned()),
    }
}

fn not_begun(error: &ClientInitializeError) -> McpError {
    match error {
        ClientInitializeError::ConnectionClosed(_)
        | ClientInitializeError::TransportError { .. } => gone(),
        ClientInitializeError::JsonRpcError(error) => answered(error),
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => not_begun(fallback),
        ClientInitializeError::NoCompatibleProtocolVersion { server_supported, .. } => {
            let versions: Vec<String> =
                server_supported.iter().take(5).map(|version| cut(&version.to_string())).collect();
            broken(format!("supports no known protocol version: {}", versions.join(", ")))
        }
        ClientInitializeError::Cancelled => stopped(),
        _ => broken("did not complete the handshake".to_owned()),
    }
}

/// A text of the server for a message.
fn cut(text: &str) -> String {
    match text.char_indices().nth(MAX_TEXT) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}
