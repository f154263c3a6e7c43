//! DNS resolution behind a trait.

use std::io;
use std::net::{IpAddr, ToSocketAddrs};

/// Resolves a granted name; only called after the decision on the name (attack sandbox-C08).
pub trait Resolver: Send + Sync {
    /// All addresses of the host.
    fn resolve(&self, host: &str) -> io::Result<Vec<IpAddr>>;
}

/// The resolver of the operating system.
#[derive(Clone, Copy, Debug)]
pub struct SystemResolver;

impl Resolver for SystemResolver {
    fn resolve(&self, host: &str) -> io::Result<Vec<IpAddr>> {
        Ok((host, 0).to_socket_addrs()?.map(|address| address.ip()).collect())
    }
}
