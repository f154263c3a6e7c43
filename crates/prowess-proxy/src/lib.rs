//! The only way out of a sandbox that has a network grant.
//!
//! A sandbox has an empty network of its own. It hands out a listening socket, and this crate
//! accepts on it in the host's process: plain HTTP requests, `CONNECT`, and TLS that came without
//! either. All three end in one decision on host and port, which is taken before a name is looked
//! up. What `network:read` means (no `POST`) is enforced inside TLS as well, by a certificate
//! authority that lives as long as the run and can only speak for the granted names.
//!
//! It knows nothing of skills: it gets a [`ProxyPolicy`] and gives back a [`Report`].
//! `docs/design/network.md` says what is decided where, and what can't be.

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
