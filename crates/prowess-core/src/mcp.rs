//! Clients of MCP servers: the trait [`McpClient`], which connects, and [`McpSession`], which sends requests.
//!
//! Who connects decides what the server may access: a local server is started in a sandbox by the engine, which passes on
//! the two ends of its standard streams. A client knows neither skills nor policy. Everything that a server answers is
//! data from a stranger: bounded here, checked and made visible by the caller.

use std::fmt;
#[cfg(unix)]
use std::os::fd::OwnedFd;
use std::time::Instant;

use serde_json::{Map, Value};

use crate::model::BoxFuture;

/// Connects to MCP servers.
pub trait McpClient: Send + Sync {
    /// Connects and negotiates the version of the protocol. Blocks until the server has answered, the time is over, or
    /// the conversation is stopped.
    fn connect(
        &self,
        connection: McpConnection,
        bounds: McpBounds,
    ) -> Result<Box<dyn McpSession>, McpError>;
}

/// A conversation with a server. Dropping it ends the connection.
pub trait McpSession {
    /// What the server says about itself.
    fn server(&self) -> &McpServerFacts;

    /// Sends a request and waits for its result, which is an object.
    fn request(&mut self, method: &str, params: Map<String, Value>) -> Result<Value, McpError>;
}

/// How a server is reached.
pub enum McpConnection {
    /// A program that has been started: the reading end of its output, and the writing end of its input.
    #[cfg(unix)]
    Pipes {
        /// What the server writes.
        output: OwnedFd,
        /// What the server reads.
        input: OwnedFd,
    },
    /// A server over streamable HTTP.
    Http {
        /// The URL of its endpoint.
        url: String,
        /// Headers of every request; their values may be secrets.
        headers: Vec<(String, String)>,
    },
}

impl fmt::Debug for McpConnection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            #[cfg(unix)]
            Self::Pipes { .. } => "Pipes",
            Self::Http { .. } => "Http",
        })
    }
}

/// The bounds of a conversation.
pub struct McpBounds {
    /// When it has to be over.
    pub deadline: Instant,
    /// Resolves when the caller no longer wants it.
    pub stopped: BoxFuture<'static, ()>,
}

/// What a server says about itself. Nothing of it is verified.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct McpServerFacts {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// The negotiated version of the protocol.
    pub protocol: String,
    /// Its capabilities, as sent.
    pub capabilities: Value,
}

/// The kinds of failures of a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum McpErrorKind {
    /// The server can't be reached, or has gone away.
    Unreachable,
    /// The address is refused before anything is sent.
    Refused,
    /// The server wants other credentials.
    Denied,
    /// The server has answered with this JSON-RPC error code.
    Answered(i32),
    /// What the server sent is not what the protocol says, or is too large.
    Protocol,
    /// The time is over.
    TimedOut,
    /// The caller has stopped it.
    Stopped,
}

/// A failed conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct McpError {
    /// What kind of failure it is.
    pub kind: McpErrorKind,
    /// What happened, as a phrase that follows the name of the server.
    pub message: String,
}

impl McpError {
    /// An error of a kind.
    pub fn new(kind: McpErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }
}

impl fmt::Display for McpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for McpError {}
