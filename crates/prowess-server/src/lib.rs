//! What the HTTP servers of Prowess share: a database, accounts and sessions, tokens, limits, an audit log, metrics, and a
//! listener that ends without losing requests.
//!
//! It knows nothing of skills. The studio and the registry are routers on top of it; `docs/design/server.md` explains how
//! the parts work together.

pub mod accounts;
pub mod assets;
pub mod audit;
pub mod clock;
pub mod database;
pub mod health;
pub mod http;
pub mod identity;
pub mod limits;
pub mod log_in;
pub mod metrics;
pub mod oidc;
pub mod problem;
mod recent;
mod schema;
mod secret;
pub mod security;
mod server;
pub mod sessions;
pub mod tokens;
pub mod web_sessions;

pub use schema::COMPONENT;
pub use secret::Secret;
pub use server::{Server, ServerOptions};
