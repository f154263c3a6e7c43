//! Tests of the proxy with real servers on the loopback interface and real clients.

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
