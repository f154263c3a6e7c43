//! The decision on host and port.

use std::time::Duration;

use proptest::prelude::*;

use super::{HostAccess, HostGrant, HostMatcher, ProxyPolicy, Ungranted, UpstreamRoots};

fn policy(grants: &[(&str, Option<u16>, HostAccess)]) -> ProxyPolicy {
    let grants = grants.iter().map(|&(host, port, access)| HostGrant {
        host: host.parse().unwrap(),
        port,
        access,
    });
    ProxyPolicy {
        hosts: grants.collect(),
        credentials: Vec::new(),
        byte_cap: None,
        bytes_per_second: None,
        connections: 1,
        head_timeout: Duration::from_secs(1),
        upstream_roots: UpstreamRoots::System,
        private_hosts: Vec::new(),
        permit_addresses: Vec::new(),
    }
}

fn decide(policy: &ProxyPolicy, host: &str, port: u16) -> Result<HostAccess, Ungranted> {
    policy.decide(&host.parse().unwrap(), port)
}

const READ: Result<HostAccess, Ungranted> = Ok(HostAccess::Read);
const WRITE: Result<HostAccess, Ungranted> = Ok(HostAccess::Write);
const HOST: Result<HostAccess, Ungranted> = Err(Ungranted::Host);
const PORT: Result<HostAccess, Ungranted> = Err(Ungranted::Port);

#[test]
fn a_wildcard_matches_the_domain_and_its_subdomains() {
    // GAIA §3.2, R51
    let policy = policy(&[("*.brave.com", None, HostAccess::Read)]);
    for host in ["brave.com", "api.brave.com", "a.b.c.brave.com", "API.BRAVE.COM."] {
        assert_eq!(decide(&policy, host, 443), READ, "{host}");
    }
    for host in ["example.com", "xbrave.com", "brave.com.evil.test", "brave.co", "com", "1.1.1.1"] {
        assert_eq!(decide(&policy, host, 443), HOST, "{host}");
    }
}

#[test]
fn an_empty_list_matches_nothing_and_a_star_every_name() {
    // SRT §4.7, sandbox-C27, sandbox-C11
    let nobody = policy(&[]);
    let everybody = policy(&[("*", None, HostAccess::Write)]);
    for host in ["brave.com", "localhost", "a"] {
        assert_eq!(decide(&nobody, host, 443), HOST, "{host}");
        assert_eq!(decide(&everybody, host, 443), WRITE, "{host}");
    }
    for literal in ["1.1.1.1", "[2606:4700::1111]"] {
        assert_eq!(decide(&everybody, literal, 443), HOST, "{literal}");
        let exactly = policy(&[(literal, None, HostAccess::Read)]);
        assert_eq!(decide(&exactly, literal, 443), READ, "{literal}");
    }
}

#[test]
fn ports_are_80_and_443_unless_the_grant_names_one() {
    // sandbox-C24
    let usual = policy(&[("api.test", None, HostAccess::Read)]);
    let named = policy(&[("api.test", Some(8443), HostAccess::Read)]);
    for (port, with_usual, with_named) in
        [(80, READ, PORT), (443, READ, PORT), (8443, PORT, READ), (22, PORT, PORT)]
    {
        assert_eq!(decide(&usual, "api.test", port), with_usual, "{port}");
        assert_eq!(decide(&named, "api.test", port), with_named, "{port}");
    }
}

#[test]
fn grants_are_cumulative() {
    let policy = policy(&[
        ("*.test", None, HostAccess::Read),
        ("api.test", None, HostAccess::Write),
        ("api.test", Some(8443), HostAccess::Read),
    ]);
    assert_eq!(decide(&policy, "api.test", 443), WRITE);
    assert_eq!(decide(&policy, "api.test", 8443), READ);
    assert_eq!(decide(&policy, "other.test", 443), READ);
}

fn grants() -> impl Strategy<Value = Vec<HostGrant>> {
    let host = prop_oneof![
        Just("*"),
        Just("*.brave.test"),
        Just("*.test"),
        Just("api.brave.test"),
        Just("1.1.1.1"),
    ];
    let port = prop_oneof![Just(None), Just(Some(443)), Just(Some(22))];
    let access = prop_oneof![Just(HostAccess::Read), Just(HostAccess::Write)];
    let grant = (host, port, access).prop_map(|(host, port, access)| HostGrant {
        host: host.parse::<HostMatcher>().unwrap(),
        port,
        access,
    });
    proptest::collection::vec(grant, 0..5)
}

proptest! {
    #[test]
    fn fewer_grants_never_allow_more(
        all in grants(),
        kept in any::<u8>(),
        host in prop_oneof![
            Just("api.brave.test"), Just("brave.test"), Just("x.test"), Just("y.example"),
            Just("1.1.1.1"),
        ],
        port in prop_oneof![Just(80), Just(443), Just(22)],
    ) {
        let mut wide = policy(&[]);
        wide.hosts.clone_from(&all);
        let mut narrow = policy(&[]);
        narrow.hosts = all
            .into_iter()
            .enumerate()
            .filter(|(index, _)| kept & (1 << index) != 0)
            .map(|(_, grant)| grant)
            .collect();
        let (narrow, wide) = (decide(&narrow, host, port).ok(), decide(&wide, host, port).ok());
        prop_assert!(narrow <= wide);
    }
}
