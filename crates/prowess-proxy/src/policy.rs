//! What a sandbox may reach, and the one decision on host and port.

use std::net::IpAddr;
use std::str::FromStr;
use std::time::Duration;

use crate::credentials::Credential;
use crate::host::{DnsName, Host, HostError};

/// What a run may do with the network; it never changes while the run lasts (attack sandbox-C26).
#[derive(Clone, Debug)]
pub struct ProxyPolicy {
    /// Who may be reached. An empty list means nobody (SRT §4.7, attack sandbox-C27).
    pub hosts: Vec<HostGrant>,
    /// Keys that requests to these hosts get on their way out. A host has to be granted as well.
    pub credentials: Vec<Credential>,
    /// Bytes of both directions together, after which every connection is cut.
    pub byte_cap: Option<u64>,
    /// Bytes per second of both directions and all connections together.
    pub bytes_per_second: Option<u64>,
    /// How many connections may be open at once; further ones wait.
    pub connections: usize,
    /// How long a client may take to send a request's head or a TLS greeting.
    pub head_timeout: Duration,
    /// Whom to believe when a server shows its certificate.
    pub upstream_roots: UpstreamRoots,
    /// Granted hosts that may have private or local addresses, because the user named them and not a skill: a package
    /// index of a company or of this machine.
    pub private_hosts: Vec<Host>,
    /// Addresses that are dialled although no grant reaches them. For tests alone, whose servers
    /// are on the loopback; a skill's permissions must never fill this.
    pub permit_addresses: Vec<IpAddr>,
}

/// One host, or a family of hosts, and what may be done there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostGrant {
    /// Which hosts.
    pub host: HostPattern,
    /// The one port that is meant; without it 80 and 443 are (attack sandbox-C24).
    pub port: Option<u16>,
    /// What may be done there.
    pub access: Access,
}

/// Which hosts a grant means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HostPattern {
    /// This host and no other. Only this way can an address literal be granted.
    Exact(Host),
    /// `*.brave.com`: the name itself and everything below it (R51).
    Suffix(DnsName),
    /// `*`: every name, and no address literal.
    Any,
}

/// What may be done with a host; the greater includes the smaller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Access {
    /// `network:read`: only requests that change nothing (GAIA §3.1).
    Read,
    /// `network:write`: everything.
    Write,
}

/// Whom to believe when a server shows its certificate.
#[derive(Clone, Debug)]
pub enum UpstreamRoots {
    /// The authorities this machine trusts.
    System,
    /// These certificates in DER and no others.
    Only(Vec<Vec<u8>>),
}

/// What of a host and port is not granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ungranted {
    Host,
    Port,
}

impl ProxyPolicy {
    /// The decision: every way into the proxy ends here, with a canonical host and before any
    /// name is looked up (attack sandbox-C08).
    ///
    /// Grants add up: where a host may be written to, a further grant to read it takes nothing
    /// away.
    pub(crate) fn decide(&self, host: &Host, port: u16) -> Result<Access, Ungranted> {
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

impl HostPattern {
    /// Whether the pattern means this host.
    pub fn matches(&self, host: &Host) -> bool {
        match (self, host) {
            (HostPattern::Exact(granted), host) => granted == host,
            (HostPattern::Suffix(parent), Host::Name(name)) => name.is_within(parent),
            (HostPattern::Any, Host::Name(_)) => true,
            // An address literal has no parent domain, and whoever wrote `*` thought of names
            // (attack sandbox-C11).
            (HostPattern::Suffix(_) | HostPattern::Any, Host::Address(_)) => false,
        }
    }
}

impl FromStr for HostPattern {
    type Err = HostError;

    fn from_str(text: &str) -> Result<Self, HostError> {
        if text == "*" {
            return Ok(HostPattern::Any);
        }
        match text.strip_prefix("*.") {
            Some(parent) => Ok(HostPattern::Suffix(parent.parse()?)),
            None => Ok(HostPattern::Exact(text.parse()?)),
        }
    }
}

#[cfg(test)]
mod tests;
