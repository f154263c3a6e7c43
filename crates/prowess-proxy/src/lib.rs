//! The network proxy of a sandbox, its only connection to the outside.
//!
//! A sandbox has its own empty network namespace. It provides a listening socket, on which this
//! crate accepts in the host's process: plain HTTP requests, `CONNECT`, and transparent TLS. All
//! three lead to one decision on host and port, before a name is resolved. `network:read` (no
//! `POST`) is enforced inside TLS as well, by a certificate authority that exists only for the run
//! and is constrained to the granted names.
//!
//! It knows nothing about skills: it takes a [`ProxyPolicy`] and returns a [`NetworkReport`]. See
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

pub use address::{forbidden as forbidden_address, forbidden_url_host};
pub use credentials::HostCredential;
pub use fetch::{FetchError, FetchRequest, FetchResponse, Fetcher};
pub use host::{DnsName, Host, HostParseError};
pub use policy::{HostAccess, HostGrant, HostMatcher, ProxyPolicy, UpstreamRoots};
pub use refusal::{NetworkRefusal, RefusalKind};
pub use report::NetworkReport;
pub use resolver::{Resolver, SystemResolver};
pub use serve::{Proxy, ProxyError, ProxyListener, RunningProxy};
