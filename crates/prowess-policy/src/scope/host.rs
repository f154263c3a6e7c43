//! Hosts in `network` grants, and their canonical spelling (GAIA §3.2, SRT §4.7, R51, R55).

use std::fmt;
use std::net::IpAddr;

/// Maximum length of a name, in bytes (RFC 1035 §2.3.4).
const MAX_NAME_BYTES: usize = 253;
/// Maximum length of a label, in bytes (RFC 1035 §2.3.4).
const MAX_LABEL_BYTES: usize = 63;
/// The ports of a grant without a port.
const USUAL_PORTS: [u16; 2] = [80, 443];

/// Domains below which anyone can get a name and that the public suffix list only has in part.
const SHARED: &[&str] =
    &["amazonaws.com", "amazonaws.com.cn", "windows.net", "glitch.me", "surge.sh"];

/// A host in its canonical spelling: lower case, punycode, no trailing dot; addresses as numbers.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum HostName {
    /// A name.
    Domain(String),
    /// An IP address.
    Address(IpAddr),
}

/// The hosts of a pattern.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum HostScope {
    /// `*`: every name, but no address.
    Any,
    /// `*.brave.com`: the domain itself and every name below it (R51).
    Below(String),
    /// One host.
    Exact(HostName),
}

/// Hosts with their ports.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct HostPattern {
    /// The hosts.
    pub host: HostScope,
    /// The port; 80 and 443 if absent.
    pub port: Option<u16>,
}

/// Why a text is not a host.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HostError {
    /// Empty.
    #[error("the host is empty")]
    Empty,
    /// `https://x/y`.
    #[error("`{0}` is a URL: write the host alone, such as `api.example.com`")]
    Url(String),
    /// Not a name and not an address.
    #[error("`{0}` is not a host name")]
    Invalid(String),
    /// `api.*.com`, `*brave.com`.
    #[error("`{0}` contains a `*` that is not the first label: write `*.example.com`")]
    Wildcard(String),
    /// `*.1.2.3.4`.
    #[error("`{0}` puts a wildcard before an address")]
    WildcardAddress(String),
    /// `*.com`, `*.github.io` (R55).
    #[error("`*.{0}` covers names that anyone can register: name the host")]
    PublicSuffix(String),
    /// `host:0`, `host:x`.
    #[error("`{0}` does not end in a port from 1 to 65535")]
    Port(String),
    /// Link-local addresses, including cloud metadata services, and special addresses.
    #[error("`{0}` is an address that no skill may access")]
    Forbidden(String),
}

impl HostName {
    /// Parses a host to its canonical spelling. Grants and requests use the same function, so that
    /// no spelling passes one and not the other.
    pub fn parse(text: &str) -> Result<Self, HostError> {
        if text.is_empty() {
            return Err(HostError::Empty);
        }
        let invalid = || HostError::Invalid(text.to_owned());
        if text.contains(['/', '\\', '@', '?', '#']) {
            return Err(HostError::Url(text.to_owned()));
        }
        // A percent sign would be decoded, or start the zone of an address: neither is a host.
        if text.contains(['%', '*']) || text.chars().any(|c| c.is_whitespace() || c.is_control()) {
            return Err(invalid());
        }
        if let Ok(address) = text.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>() {
            return Ok(Self::Address(address.to_canonical()));
        }
        let bare = text.strip_suffix('.').unwrap_or(text);
        match url::Host::parse(bare).map_err(|_| invalid())? {
            url::Host::Ipv4(address) => Ok(Self::Address(IpAddr::V4(address))),
            url::Host::Ipv6(address) => Ok(Self::Address(IpAddr::V6(address).to_canonical())),
            url::Host::Domain(name) => {
                let name = name.strip_suffix('.').unwrap_or(&name);
                let label = |label: &str| {
                    !label.is_empty()
                        && label.len() <= MAX_LABEL_BYTES
                        && label.bytes().all(|byte| {
                            byte.is_ascii_lowercase()
                                || byte.is_ascii_digit()
                                || matches!(byte, b'-' | b'_')
                        })
                };
                let valid = name.len() <= MAX_NAME_BYTES && name.split('.').all(label);
                if valid { Ok(Self::Domain(name.to_owned())) } else { Err(invalid()) }
            }
        }
    }

    /// Whether it is this machine or its local network: `localhost`, loopback and private
    /// addresses.
    pub fn is_local(&self) -> bool {
        match self {
            Self::Domain(name) => is_below(name, "localhost"),
            Self::Address(IpAddr::V4(address)) => {
                let shared = address.octets()[0] == 100 && address.octets()[1] & 0xc0 == 64;
                address.is_loopback() || address.is_private() || shared
            }
            Self::Address(IpAddr::V6(address)) => {
                address.is_loopback() || address.is_unique_local()
            }
        }
    }

    /// Whether no grant can open it: link-local (including cloud metadata), unspecified, multicast,
    /// broadcast, and other metadata addresses.
    pub fn is_forbidden(&self) -> bool {
        match self {
            Self::Domain(_) => false,
            Self::Address(IpAddr::V4(address)) => {
                address.is_link_local()
                    || address.octets()[0] == 0
                    || address.octets()[0] >= 224
                    || address.octets() == [100, 100, 100, 200]
            }
            Self::Address(IpAddr::V6(address)) => {
                let metadata = [0xfd00, 0x0ec2, 0, 0, 0, 0, 0, 0x0254];
                address.is_unspecified()
                    || address.is_multicast()
                    || address.is_unicast_link_local()
                    || address.segments() == metadata
            }
        }
    }
}

impl HostPattern {
    /// Every host on the usual ports.
    pub const ANY: Self = Self { host: HostScope::Any, port: None };

    /// Parses `host`, `*.host` or `*`, each optionally with `:port`.
    pub fn parse(text: &str) -> Result<Self, HostError> {
        let text = text.trim();
        if text.is_empty() {
            return Err(HostError::Empty);
        }
        if text.contains("://") {
            return Err(HostError::Url(text.to_owned()));
        }
        let (name, port) = split_port(text)?;
        if name == "*" {
            return Ok(Self { host: HostScope::Any, port });
        }
        let Some(domain) = name.strip_prefix("*.") else {
            if name.contains('*') {
                return Err(HostError::Wildcard(text.to_owned()));
            }
            let host = HostName::parse(name)?;
            if host.is_forbidden() {
                return Err(HostError::Forbidden(text.to_owned()));
            }
            return Ok(Self { host: HostScope::Exact(host), port });
        };
        if domain.contains('*') {
            return Err(HostError::Wildcard(text.to_owned()));
        }
        match HostName::parse(domain)? {
            HostName::Address(_) => Err(HostError::WildcardAddress(text.to_owned())),
            HostName::Domain(domain) => {
                // A public suffix has no single owner (R55). A single label is always treated as
                // one.
                let is_suffix = psl::suffix_str(&domain) == Some(domain.as_str());
                if is_suffix || SHARED.contains(&domain.as_str()) {
                    return Err(HostError::PublicSuffix(domain));
                }
                Ok(Self { host: HostScope::Below(domain), port })
            }
        }
    }

    /// Whether the pattern matches this host and port.
    pub fn matches(&self, host: &HostName, port: u16) -> bool {
        let port = self.port.map_or(USUAL_PORTS.contains(&port), |wanted| wanted == port);
        port && self.host.contains(host)
    }

    /// The ports of the pattern.
    pub fn ports(&self) -> Vec<u16> {
        self.port.map_or_else(|| USUAL_PORTS.to_vec(), |port| vec![port])
    }

    /// Whether this pattern contains every host and port of `other`.
    pub fn covers(&self, other: &HostPattern) -> bool {
        let host = match (&self.host, &other.host) {
            (HostScope::Any, HostScope::Any) => true,
            (HostScope::Any, HostScope::Below(theirs)) => !is_below(theirs, "localhost"),
            (mine, HostScope::Exact(host)) => mine.contains(host),
            (HostScope::Below(mine), HostScope::Below(theirs)) => is_below(theirs, mine),
            (HostScope::Below(_) | HostScope::Exact(_), _) => false,
        };
        host && other.ports().iter().all(|port| self.ports().contains(port))
    }

    /// Whether it is every host.
    pub fn is_any(&self) -> bool {
        self.host == HostScope::Any
    }

    /// Whether it names this machine or its local network.
    pub fn is_local(&self) -> bool {
        match &self.host {
            HostScope::Any => false,
            HostScope::Below(domain) => is_below(domain, "localhost"),
            HostScope::Exact(host) => host.is_local(),
        }
    }
}

impl HostScope {
    fn contains(&self, host: &HostName) -> bool {
        match (self, host) {
            (HostScope::Exact(mine), _) => mine == host,
            // Attack sandbox-C11: an address never matches a wildcard, not even `*`.
            (HostScope::Any | HostScope::Below(_), HostName::Address(_)) => false,
            // A wildcard never includes this machine, which has to be named.
            (HostScope::Any, HostName::Domain(_)) => !host.is_local(),
            (HostScope::Below(domain), HostName::Domain(name)) => is_below(name, domain),
        }
    }
}

impl fmt::Display for HostName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Domain(name) => f.write_str(name),
            Self::Address(IpAddr::V4(address)) => write!(f, "{address}"),
            Self::Address(IpAddr::V6(address)) => write!(f, "[{address}]"),
        }
    }
}

impl fmt::Display for HostPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.host {
            HostScope::Any => f.write_str("*")?,
            HostScope::Below(domain) => write!(f, "*.{domain}")?,
            HostScope::Exact(host) => write!(f, "{host}")?,
        }
        self.port.map_or(Ok(()), |port| write!(f, ":{port}"))
    }
}

/// Whether a name is the domain itself or a subdomain (R51).
fn is_below(name: &str, domain: &str) -> bool {
    name.strip_suffix(domain).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}

/// Splits a text into host and port. A bare IPv6 address has colons but no port.
fn split_port(text: &str) -> Result<(&str, Option<u16>), HostError> {
    let error = || HostError::Port(text.to_owned());
    let (name, port) = if text.starts_with('[') {
        let close = text.find(']').ok_or_else(|| HostError::Invalid(text.to_owned()))?;
        match &text[close + 1..] {
            "" => return Ok((text, None)),
            rest => (&text[..=close], rest.strip_prefix(':').ok_or_else(error)?),
        }
    } else {
        match text.split_once(':') {
            None => return Ok((text, None)),
            Some((_, rest)) if rest.contains(':') => return Ok((text, None)),
            Some((name, port)) => (name, port),
        }
    };
    let digits = port.bytes().all(|byte| byte.is_ascii_digit());
    match port.parse::<u16>() {
        Ok(number) if number > 0 && digits => Ok((name, Some(number))),
        _ => Err(error()),
    }
}
