//! The engine that every interface uses, with everything that the engine itself does not depend on.

use std::sync::Arc;

use prowess_engine::{Engine, McpAccess, World};
use prowess_mcp_client::Connector;

/// The engine for this machine: the user's approvals, and a client for tools of MCP servers.
pub fn engine(world: Arc<World>) -> Engine {
    Engine { mcp: Some(McpAccess::new(Arc::new(Connector))), ..Engine::new(world) }
}
