//! A client of MCP servers, on rmcp, the official SDK: over the pipes of a program that somebody else has started, and over
//! streamable HTTP. Both generations of the protocol are spoken: 2026-07-28, and the one with a handshake before it.
//!
//! [`Connector`] implements [`prowess_core::McpClient`]. It starts no programs and knows neither skills nor policy. A
//! server is a stranger: messages, streams and time are bounded, redirects are not followed, and what a server asks of its
//! client (answers of a model, input of the user, folders) is declined.

mod bounded;
mod endpoint;
mod http_transport;
mod session;

use prowess_core::{McpBounds, McpClient, McpConnection, McpError, McpSession};

pub use bounded::MAX_MESSAGE_BYTES;
pub use endpoint::{check_endpoint, shown_endpoint};

/// Connects to MCP servers.
#[derive(Clone, Copy, Debug, Default)]
pub struct Connector;

impl McpClient for Connector {
    fn connect(
        &self,
        connection: McpConnection,
        bounds: McpBounds,
    ) -> Result<Box<dyn McpSession>, McpError> {
        session::open(connection, bounds).map(|session| Box::new(session) as Box<dyn McpSession>)
    }
}
