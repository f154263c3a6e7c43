//! Each host has one spelling.

use std::net::Ipv4Addr;

use proptest::prelude::*;

use super::{Authority, Host};
use crate::policy::HostMatcher;

fn read(text: &str) -> String {
    match text.parse::<Host>() {
        Ok(Host::Name(name)) => format!("name {name}"),
        Ok(Host::Address(address)) => format!("address {address}"),
        Err(error) => format!("{error:?}"),
    }
}

#[test]
fn every_spelling_has_one_canonical_form() {
    let table = [
        ("api.brave.test", "name api.brave.test"),
        ("API.Brave.TEST", "name api.brave.test"),
        ("api.brave.test.", "name api.brave.test"),
        ("api.brave.test..", "Name"),
        (".brave.test", "Name"),
        ("api..brave.test", "Name"),
        (".", "Name"),
        ("", "Empty"),
        ("b\u{fc}cher.test", "name xn--bcher-kva.test"),
        ("XN--BCHER-KVA.test", "name xn--bcher-kva.test"),
        // Full-width dots and letters become ASCII.
        ("evil.test\u{3002}brave.test", "name evil.test.brave.test"),
        ("\u{ff41}pi.brave.test", "name api.brave.test"),
        ("xn--a.brave.test", "Name"),
        ("my_bucket.s3.test", "name my_bucket.s3.test"),
        // sandbox-C10
        ("api.brave.test@evil.test", "Character"),
        ("evil.test#.brave.test", "Character"),
        ("evil.test\\.brave.test", "Character"),
        ("evil%2etest.brave.test", "Character"),
        ("evil.test .brave.test", "Character"),
        ("evil.test\0.brave.test", "Character"),
        ("evil.test/.brave.test", "Character"),
        ("*.brave.test", "Character"),
        // sandbox-C11
        ("127.0.0.1", "address 127.0.0.1"),
        ("127.0.0.1.", "AddressSpelling"),
        ("2130706433", "AddressSpelling"),
        ("0x7f.1", "AddressSpelling"),
        ("0x7f000001", "AddressSpelling"),
        ("0x", "AddressSpelling"),
        ("017700000001", "AddressSpelling"),
        ("0177.0.0.1", "AddressSpelling"),
        ("127.1", "AddressSpelling"),
        ("127.0.0.0x1", "AddressSpelling"),
        ("evil.test.1", "AddressSpelling"),
        ("\u{ff11}\u{ff12}\u{ff17}.0.0.1", "AddressSpelling"),
        ("1.2.3.4.brave.test", "name 1.2.3.4.brave.test"),
        ("[::1]", "address ::1"),
        ("[0:0:0:0:0:0:0:1]", "address ::1"),
        ("[::ffff:127.0.0.1]", "address ::ffff:127.0.0.1"),
        ("[fe80::1%25eth0]", "AddressSpelling"),
        ("[::ffff:1.2.3.4%x.brave.test]", "AddressSpelling"),
        ("::ffff:1.2.3.4%x.brave.test", "Character"),
        ("::1", "Character"),
        ("[::1", "Character"),
        ("[127.0.0.1]", "AddressSpelling"),
    ];
    for (text, expected) in table {
        assert_eq!(read(text), expected, "{text:?}");
    }
}

#[test]
fn name_lengths_are_limited_as_in_dns() {
    let label = "a".repeat(63);
    let longest = format!("{label}.{label}.{label}.{}", "a".repeat(61));
    assert_eq!(read(&longest), format!("name {longest}"));
    assert_eq!(read(&format!("{longest}a")), "Name");
    assert_eq!(read(&format!("a{label}.test")), "Name");
    assert_eq!(read(&"a.".repeat(100_000)), "Name");
}

#[test]
fn ports_are_plain_numbers() {
    let read = |text: &str| match text.parse::<Authority>() {
        Ok(Authority { host, port }) => format!("{host} {port:?}"),
        Err(error) => format!("{error:?}"),
    };
    let table = [
        ("api.test:8443", "api.test Some(8443)"),
        ("api.test", "api.test None"),
        ("[::1]:443", "[::1] Some(443)"),
        ("[::1]", "[::1] None"),
        ("api.test:", "Port"),
        ("api.test:0", "Port"),
        ("api.test:0443", "Port"),
        ("api.test:+443", "Port"),
        ("api.test:65536", "Port"),
        ("api.test:443:443", "Port"),
        ("api.test:443@evil.test", "Port"),
        ("user:443@evil.test", "Port"),
        ("user@evil.test:443", "Character"),
        ("[::1]x:443", "Character"),
        (":443", "Empty"),
    ];
    for (text, expected) in table {
        assert_eq!(read(text), expected, "{text:?}");
    }
}

/// All spellings of an address that `inet_aton` and browsers accept.
fn spellings(address: u32) -> Vec<String> {
    let [a, b, c, d] = address.to_be_bytes();
    let (low24, low16) = (address & 0x00ff_ffff, address & 0xffff);
    vec![
        format!("{address}"),
        format!("{address:#x}"),
        format!("0X{address:X}"),
        format!("0{address:o}"),
        format!("{a}.{low24}"),
        format!("{a}.{b}.{low16}"),
        format!("{a:#x}.{b:#x}.{c:#x}.{d:#x}"),
        format!("0{a:o}.0{b:o}.0{c:o}.0{d:o}"),
        format!("{a}.{b}.{c}.{d:#x}"),
        format!("{a}.{b}.{c}.{d}."),
        format!("{a}\u{3002}{b}\u{3002}{c}\u{3002}{d}"),
    ]
}

proptest! {
    #[test]
    fn parsing_never_panics_and_round_trips(text in any::<String>()) {
        if let Ok(host) = text.parse::<Host>() {
            prop_assert_eq!(host.to_string().parse::<Host>(), Ok(host));
        }
        let _ = text.parse::<Authority>();
    }

    #[test]
    fn only_true_subdomains_match(
        text in "[a-z0-9.@#%:/\\\\\\[\\]\u{3002}\u{ff0e}\u{ad} _-]{0,12}(brave\\.test)?[a-z.@#\\\\]{0,6}",
    ) {
        let pattern: HostMatcher = "*.brave.test".parse().unwrap();
        if let Ok(host) = text.parse::<Host>() {
            let name = host.to_string();
            let truly = name == "brave.test" || name.ends_with(".brave.test");
            prop_assert_eq!(pattern.matches(&host), truly);
            prop_assert!(name.bytes().all(|byte| matches!(
                byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b':' | b'[' | b']'
            )));
        }
    }

    #[test]
    fn no_spelling_of_an_address_is_parsed_as_a_name(address in any::<u32>()) {
        for text in spellings(address) {
            match text.parse::<Host>() {
                Err(_) => {}
                Ok(Host::Address(read)) => prop_assert_eq!(read, Ipv4Addr::from(address)),
                Ok(Host::Name(name)) => prop_assert!(false, "{text} was read as {name}"),
            }
        }
    }
}
