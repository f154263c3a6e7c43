//! Tests of the proxy against real servers on the loopback, with real clients.

mod clients;
mod connect;
mod credentials;
mod fetch;
mod inside;
mod limits;
mod plain;
mod server;
mod shared;
mod transparent;
mod world;
