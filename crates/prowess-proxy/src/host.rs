//! Host names in the canonical spelling that is checked, resolved and sent.
//!
//! If a name has a second spelling, the check and the connection may mean different hosts (attacks
//! sandbox-C10, sandbox-C11). So text is parsed to a [`Host`] once, at the boundary, and the text is
//! not used again.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use thiserror::Error;

const MAX_NAME: usize = 253; // RFC 1035 §2.3.4, without the root's dot
const MAX_LABEL: usize = 63; // RFC 1035 §2.3.4
/// Maximum length of the text of a name, including Unicode.
const MAX_TEXT: usize = 1024;

/// A host name in lower case, in punycode and without a trailing dot.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DnsName(String);

/// The host of a connection: a name, or an address in canonical spelling.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Host {
    /// A name to resolve.
    Name(DnsName),
    /// An address literal.
    Address(IpAddr),
}

/// Why a text is not a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum HostParseError {
    /// Empty.
    #[error("the host is empty")]
    Empty,
    /// A character that is not allowed in a host: `@`, `\`, `#`, `%`, a space.
    #[error("the host has an invalid character")]
    Character,
    /// An empty label, a label or a name that is too long, invalid punycode.
    #[error("the host is not a valid name")]
    Name,
    /// An address in an unusual spelling: `0x7f.1`, `127.1`, a zone.
    #[error("the host is an address in an unusual spelling")]
    AddressSpelling,
    /// A port that is not a number from 1 to 65535.
    #[error("the port is not a number from 1 to 65535")]
    Port,
}

impl DnsName {
    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether this name is `parent` or a subdomain of it (R51).
    pub(crate) fn is_within(&self, parent: &DnsName) -> bool {
        self.0
            .strip_suffix(parent.as_str())
            .is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    }
}

impl FromStr for DnsName {
    type Err = HostParseError;

    fn from_str(text: &str) -> Result<Self, HostParseError> {
        match text.parse()? {
            Host::Name(name) => Ok(name),
            Host::Address(_) => Err(HostParseError::Name),
        }
    }
}

impl fmt::Display for DnsName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for Host {
    type Err = HostParseError;

    fn from_str(text: &str) -> Result<Self, HostParseError> {
        if text.is_empty() {
            return Err(HostParseError::Empty);
        }
        if text.len() > MAX_TEXT {
            return Err(HostParseError::Name);
        }
        if let Some(inner) = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            // The standard library's parser rejects zones, as required here (sandbox-C11).
            let address: Ipv6Addr = inner.parse().map_err(|_| HostParseError::AddressSpelling)?;
            return Ok(Host::Address(address.into()));
        }
        if text.bytes().any(|byte| byte.is_ascii() && !is_name_byte(byte)) {
            return Err(HostParseError::Character);
        }
        if let Ok(address) = text.parse::<Ipv4Addr>() {
            return Ok(Host::Address(address.into()));
        }
        // Mapping comes before the checks below: full-width digits and dots become plain ones.
        let ascii = idna::domain_to_ascii_cow(text.as_bytes(), idna::AsciiDenyList::URL)
            .map_err(|_| HostParseError::Name)?;
        let name = ascii.strip_suffix('.').unwrap_or(&ascii);
        if name.is_empty() || name.len() > MAX_NAME {
            return Err(HostParseError::Name);
        }
        for label in name.split('.') {
            if label.is_empty()
                || label.len() > MAX_LABEL
                || !label.bytes().all(|byte| byte != b'.' && is_name_byte(byte))
            {
                return Err(HostParseError::Name);
            }
        }
        // Most programs treat a name whose last label is a number as an address, in one of many
        // spellings. The usual one was parsed above; the others can't be granted.
        if name.rsplit('.').next().is_some_and(is_number) {
            return Err(HostParseError::AddressSpelling);
        }
        Ok(Host::Name(DnsName(name.to_owned())))
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Host::Name(name) => name.fmt(f),
            Host::Address(IpAddr::V4(address)) => address.fmt(f),
            Host::Address(IpAddr::V6(address)) => write!(f, "[{address}]"),
        }
    }
}

/// A host with an optional port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Authority {
    pub(crate) host: Host,
    pub(crate) port: Option<u16>,
}

impl FromStr for Authority {
    type Err = HostParseError;

    fn from_str(text: &str) -> Result<Self, HostParseError> {
        // An IPv6 literal has colons inside its brackets.
        let behind_brackets = text.rfind(']').map_or(0, |bracket| bracket + 1);
        let Some(colon) = text[behind_brackets..].find(':') else {
            return Ok(Authority { host: text.parse()?, port: None });
        };
        let (host, port) = text.split_at(behind_brackets + colon);
        Ok(Authority { host: host.parse()?, port: Some(parse_port(&port[1..])?) })
    }
}

fn parse_port(text: &str) -> Result<u16, HostParseError> {
    if text.starts_with('0') || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(HostParseError::Port);
    }
    text.parse().map_err(|_| HostParseError::Port)
}

/// Letters, digits, hyphen, dot; and the underscore, which real hosts have.
fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.')
}

/// Whether a label is a number by the URL standard: decimal, octal or hexadecimal.
fn is_number(label: &str) -> bool {
    match label.strip_prefix("0x") {
        Some(digits) => digits.bytes().all(|byte| byte.is_ascii_hexdigit()),
        None => label.bytes().all(|byte| byte.is_ascii_digit()),
    }
}

#[cfg(test)]
mod tests;
