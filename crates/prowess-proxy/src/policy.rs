//! What a sandbox may access, and the decision on host and port.

use std::net::IpAddr;
use std::str::FromStr;
use std::time::Duration;

use crate::credentials::HostCredential;
use crate::host::{DnsName, Host, HostParseError};

/// The network policy of a run; it never changes during the run (attack sandbox-C26).
#[derive(Clone, Debug)]
pub struct ProxyPolicy {
    /// The granted hosts. An empty list means none (SRT §4.7, attack sandbox-C27).
    pub hosts: Vec<HostGrant>,
    /// Credentials that are inserted into requests to their hosts. A host has to be granted as
    /// well.
    pub credentials: Vec<HostCredential>,
    /// Traffic limit in bytes for both directions together, after which every connection is
    /// aborted.
    pub byte_cap: Option<u64>,
    /// Bandwidth limit in bytes per second for both directions and all connections together.
    pub bytes_per_second: Option<u64>,
    /// Maximum number of open connections; further ones wait.
    pub connections: usize,
    /// Timeout for a client to send a request head or a TLS `ClientHello`.
    pub head_timeout: Duration,
    /// The trusted certificate authorities of servers.
    pub upstream_roots: UpstreamRoots,
    /// Granted hosts that may have private or local addresses, because the user configured them: a
    /// package index of a company or of this machine.
    pub private_hosts: Vec<Host>,
    /// Addresses that are allowed although they can't be granted. Only for tests, whose servers are
    /// on the loopback interface; never set from a skill's permissions.
    pub permit_addresses: Vec<IpAddr>,
}

/// A grant for one or several hosts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostGrant {
    /// The hosts.
    pub host: HostMatcher,
    /// The port; 80 and 443 if absent (attack sandbox-C24).
    pub port: Option<u16>,
    /// The granted access.
    pub access: HostAccess,
}

/// The hosts of a grant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HostMatcher {
    /// Exactly this host. The only way to grant an address literal.
    Exact(Host),
    /// `*.brave.com`: the name itself and its subdomains (R51).
    Suffix(DnsName),
    /// `*`: every name, but no address literal.
    Any,
}

/// The access to a host; writing includes reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum HostAccess {
    /// `network:read`: only requests that change nothing (GAIA §3.1).
    Read,
    /// `network:write`: everything.
    Write,
}

/// The trusted certificate authorities of servers.
#[derive(Clone, Debug)]
pub enum UpstreamRoots {
    /// The authorities that this machine trusts.
    System,
    /// Only these certificates, in DER.
    Only(Vec<Vec<u8>>),
}

/// Whether the host or the port is not granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ungranted {
    Host,
    Port,
}

impl ProxyPolicy {
    /// Decides on a host and port. All requests get here, with a canonical host and before any name
    /// is resolved (attack sandbox-C08).
    ///
    /// Grants are cumulative: an additional read grant does not reduce write access.
    pub(crate) fn decide(&self, host: &Host, port: u16) -> Result<HostAccess, Ungranted> {
        let mut reason = Ungranted::Host;
        let mut access = None;
        for grant in &self.hosts {
            if !grant.host.matches(host) {
                continue;
            }
            reason = Ungranted::Port;
            let port_granted = match grant.port {
                Some(granted) => port == granted,
                None => matches!(port, 80 | 443),
            };
            if port_granted {
                access = access.max(Some(grant.access));
            }
        }
        access.ok_or(reason)
    }
}

impl HostMatcher {
    /// Whether the pattern matches this host.
    pub fn matches(&self, host: &Host) -> bool {
        match (self, host) {
            (HostMatcher::Exact(granted), host) => granted == host,
            (HostMatcher::Suffix(parent), Host::Name(name)) => name.is_within(parent),
            (HostMatcher::Any, Host::Name(_)) => true,
            // Wildcards only match names, never address literals (attack sandbox-C11).
            (HostMatcher::Suffix(_) | HostMatcher::Any, Host::Address(_)) => false,
        }
    }
}

impl FromStr for HostMatcher {
    type Err = HostParseError;

    fn from_str(text: &str) -> Result<Self, HostParseError> {
        if text == "*" {
            return Ok(HostMatcher::Any);
        }
        match text.strip_prefix("*.") {
            Some(parent) => Ok(HostMatcher::Suffix(parent.parse()?)),
            None => Ok(HostMatcher::Exact(text.parse()?)),
        }
    }
}

#[cfg(test)]
mod tests;
