//! Addresses that can't be granted.
//!
//! A granted name may resolve to any address (attacks sandbox-C12, sandbox-C13). Addresses that are
//! not on the public internet belong to others: to the machine itself, its network, or its cloud's
//! metadata service.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};

use crate::host::{Authority, DnsName, Host};

/// Returns why the host of an `http` or `https` URL is always refused, without resolving names. A
/// name is checked again when it is resolved.
pub fn forbidden_url_host(url: &str) -> Option<&'static str> {
    let (scheme, rest) = url.trim_start().split_once("://")?;
    if !scheme.eq_ignore_ascii_case("http") && !scheme.eq_ignore_ascii_case("https") {
        return None;
    }
    let authority = rest.split(['/', '?', '#']).next()?;
    match authority.parse::<Authority>().ok()?.host {
        Host::Address(IpAddr::V4(address)) => forbidden_v4(address),
        Host::Address(IpAddr::V6(address)) => forbidden_v6(address),
        Host::Name(name) => is_localhost(&name).then_some("a loopback address"),
    }
}

/// Whether a name is this machine by RFC 6761, whatever it resolves to.
pub(crate) fn is_localhost(name: &DnsName) -> bool {
    let name = name.as_str();
    name == "localhost" || name.ends_with(".localhost")
}

/// Returns why an address is always refused, or `None` for an ordinary public one.
pub fn forbidden(address: IpAddr) -> Option<&'static str> {
    match address {
        IpAddr::V4(address) => forbidden_v4(address),
        IpAddr::V6(address) => forbidden_v6(address),
    }
    .or_else(|| is_own(address).then_some("an address of this machine"))
}

fn forbidden_v4(address: Ipv4Addr) -> Option<&'static str> {
    // IANA's special-purpose registry; metadata services first, because they are the main target.
    // 168.63.129.16 is Azure's, and the only one with a public address.
    match address.octets() {
        [169, 254, 169, 254] | [168, 63, 129, 16] | [100, 100, 100, 200] | [192, 0, 0, 192] => {
            Some("a cloud metadata address")
        }
        [0, ..] => Some("an unspecified address"),
        [127, ..] => Some("a loopback address"),
        [169, 254, ..] => Some("a link-local address"),
        [10, ..] | [172, 16..=31, ..] | [192, 168, ..] => Some("a private address"),
        [100, 64..=127, ..] => Some("a shared address (carrier-grade NAT)"),
        [224..=239, ..] => Some("a multicast address"),
        [192, 0, 0 | 2, _]
        | [192, 88, 99, _]
        | [198, 18..=19, ..]
        | [198, 51, 100, _]
        | [203, 0, 113, _]
        | [240..=255, ..] => Some("a reserved address"),
        _ => None,
    }
}

fn forbidden_v6(address: Ipv6Addr) -> Option<&'static str> {
    match address.segments() {
        [0, 0, 0, 0, 0, 0, 0, 0] => Some("an unspecified address"),
        [0, 0, 0, 0, 0, 0, 0, 1] => Some("a loopback address"),
        // Each of these embeds an IPv4 address that would be contacted instead.
        [0, 0, 0, 0, 0, 0xffff, ..] => Some("an IPv4 address inside an IPv6 one"),
        [0x0064, 0xff9b, ..] => Some("an IPv4 address inside an IPv6 one"),
        [0x2002, ..] | [0x2001, 0, ..] => Some("an IPv4 address inside an IPv6 one"),
        [0xfe80..=0xfebf, ..] => Some("a link-local address"),
        [0xfd00, 0x0ec2, ..] => Some("a cloud metadata address"),
        [0xfc00..=0xfdff, ..] => Some("a private address"),
        [0xff00..=0xffff, ..] => Some("a multicast address"),
        [0x2001, 0x0001..=0x01ff | 0x0db8, ..] | [0x3fff, 0..=0x0fff, ..] => {
            Some("a reserved address")
        }
        // Only 2000::/3 is allocated for global unicast; the rest is special.
        [0x2000..=0x3fff, ..] => None,
        _ => Some("a reserved address"),
    }
}

/// Whether the address belongs to this machine.
///
/// Interfaces change, so the kernel is asked each time: only a local address can be bound. This
/// fails if the kernel binds any address (`ip_nonlocal_bind`), which is detected by binding an
/// invalid address. In that case the source address of a route is used: for a local address it is
/// the address itself, except for additional addresses of the same network.
fn is_own(address: IpAddr) -> bool {
    if UdpSocket::bind((address, 0)).is_err() {
        return false;
    }
    let nobodys: IpAddr = match address {
        IpAddr::V4(_) => Ipv4Addr::new(192, 0, 2, 1).into(),
        IpAddr::V6(_) => Ipv6Addr::new(0x2001, 0x0db8, 0, 0, 0, 0, 0, 1).into(),
    };
    if UdpSocket::bind((nobodys, 0)).is_err() {
        return true;
    }
    let any: IpAddr = match address {
        IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    // Connecting a UDP socket sends nothing.
    let source = UdpSocket::bind((any, 0)).and_then(|socket| {
        socket.connect((address, 9))?;
        socket.local_addr()
    });
    source.is_ok_and(|source| source.ip() == address)
}

#[cfg(test)]
mod tests;
