//! Tests over real databases and real connections.

mod accounts;
mod assets;
mod audit;
mod backup;
mod database;
mod http;
mod limits;
mod log_in;
mod oidc;
mod sessions;
mod support;
mod tokens;
mod web_sessions;
