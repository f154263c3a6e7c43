//! Addresses that can't be granted.

use std::net::{IpAddr, Ipv4Addr};

use proptest::prelude::*;

use super::{forbidden, forbidden_v6, is_own};

fn why(text: &str) -> Option<&'static str> {
    forbidden(text.parse().unwrap())
}

#[test]
fn private_local_and_special_addresses_are_forbidden() {
    // sandbox-C12
    let table = [
        ("127.0.0.1", "a loopback address"),
        ("127.255.255.254", "a loopback address"),
        ("0.0.0.0", "an unspecified address"),
        ("0.1.2.3", "an unspecified address"),
        ("10.0.0.1", "a private address"),
        ("172.16.0.1", "a private address"),
        ("172.31.255.255", "a private address"),
        ("192.168.1.1", "a private address"),
        ("169.254.169.254", "a cloud metadata address"),
        ("168.63.129.16", "a cloud metadata address"),
        ("100.100.100.200", "a cloud metadata address"),
        ("192.0.0.192", "a cloud metadata address"),
        ("169.254.0.1", "a link-local address"),
        ("100.64.0.1", "a shared address (carrier-grade NAT)"),
        ("100.127.255.255", "a shared address (carrier-grade NAT)"),
        ("192.0.2.1", "a reserved address"),
        ("192.88.99.1", "a reserved address"),
        ("198.18.0.1", "a reserved address"),
        ("198.19.255.255", "a reserved address"),
        ("198.51.100.1", "a reserved address"),
        ("203.0.113.1", "a reserved address"),
        ("224.0.0.1", "a multicast address"),
        ("240.0.0.1", "a reserved address"),
        ("255.255.255.255", "a reserved address"),
        ("::", "an unspecified address"),
        ("::1", "a loopback address"),
        ("::ffff:8.8.8.8", "an IPv4 address inside an IPv6 one"),
        ("::ffff:127.0.0.1", "an IPv4 address inside an IPv6 one"),
        ("::127.0.0.1", "a reserved address"),
        ("64:ff9b::7f00:1", "an IPv4 address inside an IPv6 one"),
        ("64:ff9b:1::a00:1", "an IPv4 address inside an IPv6 one"),
        ("2002:7f00:1::", "an IPv4 address inside an IPv6 one"),
        ("2001::1", "an IPv4 address inside an IPv6 one"),
        ("fe80::1", "a link-local address"),
        ("febf::1", "a link-local address"),
        ("fec0::1", "a reserved address"),
        ("fc00::1", "a private address"),
        ("fd12::1", "a private address"),
        ("fd00:ec2::254", "a cloud metadata address"),
        ("ff02::1", "a multicast address"),
        ("2001:db8::1", "a reserved address"),
        ("2001:10::1", "a reserved address"),
        ("3fff::1", "a reserved address"),
        ("4000::1", "a reserved address"),
    ];
    for (text, expected) in table {
        assert_eq!(why(text), Some(expected), "{text}");
    }
}

#[test]
fn public_addresses_are_allowed() {
    for text in [
        "1.1.1.1",
        "9.255.255.255",
        "11.0.0.0",
        "100.63.255.255",
        "100.128.0.0",
        "126.255.255.255",
        "128.0.0.0",
        "172.15.255.255",
        "172.32.0.0",
        "192.0.1.1",
        "192.167.255.255",
        "198.17.255.255",
        "198.20.0.0",
        "223.255.255.255",
        "2606:4700::1111",
        "2001:4860::8888",
        "3ffe::1",
    ] {
        assert_eq!(why(text), None, "{text}");
    }
}

#[test]
fn addresses_of_this_machine_are_detected() {
    assert!(is_own(Ipv4Addr::LOCALHOST.into()));
    assert!(!is_own(Ipv4Addr::new(192, 0, 2, 7).into()));
    assert!(!is_own("2001:db8::7".parse().unwrap()));
}

proptest! {
    /// Forbidden IPv4 addresses stay forbidden inside IPv6 addresses.
    #[test]
    fn ipv6_addresses_that_embed_ipv4_are_forbidden(address in any::<u32>()) {
        let [high, low] = [(address >> 16) as u16, (address & 0xffff) as u16];
        let carriers = [
            format!("::ffff:{high:x}:{low:x}"),
            format!("::{high:x}:{low:x}"),
            format!("64:ff9b::{high:x}:{low:x}"),
            format!("2002:{high:x}:{low:x}::1"),
        ];
        for carrier in carriers {
            prop_assert!(forbidden_v6(carrier.parse().unwrap()).is_some(), "{carrier}");
        }
    }

    #[test]
    fn local_addresses_agree_with_the_standard_library(address in any::<u32>()) {
        let address = Ipv4Addr::from(address);
        if address.is_private()
            || address.is_loopback()
            || address.is_link_local()
            || address.is_multicast()
            || address.is_broadcast()
            || address.is_documentation()
            || address.is_unspecified()
        {
            prop_assert!(forbidden(IpAddr::V4(address)).is_some());
        }
    }
}

#[test]
fn forbidden_url_hosts_are_detected_without_a_lookup() {
    let check = crate::forbidden_url_host;
    for (url, what) in [
        ("http://127.0.0.1:8080/", "a loopback address"),
        ("https://LOCALHOST", "a loopback address"),
        ("http://a.localhost./x", "a loopback address"),
        ("http://[::1]:80/?q", "a loopback address"),
        ("http://192.168.0.1#x", "a private address"),
        ("http://169.254.169.254/latest", "a cloud metadata address"),
    ] {
        assert_eq!(check(url), Some(what), "{url}");
    }
    // Names are checked when they are resolved, and invalid hosts are reported elsewhere.
    for url in
        ["http://example.org/", "https://8.8.8.8/", "ftp://127.0.0.1/", "127.0.0.1", "http://", ""]
    {
        assert_eq!(check(url), None, "{url}");
    }
}
