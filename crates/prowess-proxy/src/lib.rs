//! The network proxy of a sandbox, its only connection to the outside.
//!
//! A sandbox has its own empty network namespace. It provides a listening socket, on which this
//! crate accepts in the host's process: plain HTTP requests, `CONNECT`, and transparent TLS. All
//! three lead to one decision on host and port, before a name is resolved. `network:read` (no
//! `POST`) is enforced inside TLS as well, by a certificate authority that exists only for the run
//! and is constrained to the granted names.
//!
//! It knows nothing about skills: it takes a [`ProxyPolicy`] and returns a [`Report`]. See
//! `docs/design/network.md`.

mod address;
mod body;
mod ca;
mod connection;
mod credentials;
mod exchange;
mod fetch;
mod head;
mod hello;
mod host;
mod meter;
mod policy;
mod prefixed;
mod refusal;
mod report;
mod request;
mod resolver;
mod runtime;
mod serve;
mod tasks;
mod upstream;

pub use address::{forbidden as forbidden_address, never_reached};
pub use credentials::Credential;
pub use fetch::{FetchError, FetchRequest, Fetched, Fetcher};
pub use host::{DnsName, Host, HostError};
pub use policy::{Access, HostGrant, HostPattern, ProxyPolicy, UpstreamRoots};
pub use refusal::{Refusal, RefusalKind};
pub use report::Report;
pub use resolver::{Resolver, SystemResolver};
pub use serve::{Listener, Proxy, ProxyError, Running};
